/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps after elementwise kernels: activations, and other elementwise operators by their row
 * functions, done on each block of the output while it is in the cache.
 */
#ifndef TN_KIT_ELEMENTWISE_ROW_CHAIN_H
#define TN_KIT_ELEMENTWISE_ROW_CHAIN_H

#include <tenon/kit/rows.h>
#include <tenon/kit/known_steps.h>

/* rows.h has all of these activations. */
#define TN_ROW_ABSORBS TN_FACET_ACTIVATION "(" TN_ACTIVATIONS_1_0 "), " TN_FACET_ROW

/* Floats of a block. */
enum { TN_ROW_BLOCK = 2048 };

/* The call's steps; false when not all of them can be done. */
bool tn_row_chain_read(const tn_call *call, tn_known_steps *out_steps);
bool tn_row_chain_accepts(const tn_call *call);
/* Does them on `count` floats, at most TN_ROW_BLOCK. */
void tn_row_chain_apply(const tn_known_steps *steps, const tn_rows_level *level, int64_t count,
                        float *row);

#endif
