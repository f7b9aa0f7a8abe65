/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epilogues of elementwise kernels: activations, and other elementwise operators by their row
 * functions, done on each block of the output while it is in the cache.
 */
#ifndef TN_KIT_ELEMENTWISE_ROW_CHAIN_H
#define TN_KIT_ELEMENTWISE_ROW_CHAIN_H

#include "kit/elementwise/rows.h"

#define TN_ROW_EPILOGUES                                                                           \
    (TN_EPILOGUE_BIT(TN_EPILOGUE_ACTIVATION) | TN_EPILOGUE_BIT(TN_EPILOGUE_ROW))
/* Those that rows.h has. */
#define TN_ROW_ACTIVATIONS                                                                         \
    ((1u << TN_ACTIVATION_RELU) | (1u << TN_ACTIVATION_LEAKY_RELU) | (1u << TN_ACTIVATION_CLIP) |  \
     (1u << TN_ACTIVATION_SIGMOID) | (1u << TN_ACTIVATION_TANH) |                                  \
     (1u << TN_ACTIVATION_HARD_SIGMOID) | (1u << TN_ACTIVATION_HARD_SWISH) |                       \
     (1u << TN_ACTIVATION_GELU_ERF) | (1u << TN_ACTIVATION_GELU_TANH) |                            \
     (1u << TN_ACTIVATION_SWISH) | (1u << TN_ACTIVATION_ELU))

/* Floats of a block. */
enum { TN_ROW_BLOCK = 2048 };

/* Whether all of call->epilogues can be done. */
bool tn_row_chain_accepts(const tn_call *call);
/* Does them on `count` floats, at most TN_ROW_BLOCK. */
void tn_row_chain_apply(const tn_call *call, const tn_rows_level *level, int64_t count, float *row);

#endif
