/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of every elementwise operator that states its value as an expression, a third party's
 * too, with the chain of such operators after it: run as a program over rows
 * (kit/elementwise/row_program.h), or in 8 bits by a table that such a program fills. There is no
 * operator here. On CUDA the same is kit/cuda/fused/fused.c.
 */
#include "fused/fused.h"
#include "kit/elementwise/cell_program.h"
#include "kit/elementwise/map_kernel.h"
#include <tenon/kit/epilogue.h>
#include "kit/operator/layer.h"

/* ----------------------------------------------------------------------------------------------
 * tables */

static const char *const fused_combinations[] = {"f32... -> f32", "f32:nhwc... -> f32:nhwc",
                                                 "f32:c16... -> f32:c16", "f32:c8... -> f32:c8"};

TN_LEVEL_KERNELS_IN("*", fused, tn_rows, "*", "fused",
                    "Any elementwise operator, and a chain of them, from their expressions.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE | TN_KERNEL_ANY_SHAPE,
                    .absorbs = TN_ELEMENTWISE_ABSORBS, TN_COMBINATIONS(fused_combinations),
                    .accepts = tn_fused_rows_accepts, .prepare = tn_fused_rows_prepare,
                    .release = tn_kernel_state_destroy, .reshape = tn_fused_rows_reshape,
                    .run = tn_fused_rows_run);

#define FUSED_BYTES(suffix, features)                                                              \
    TN_CPU_KERNEL_OF(fused_bytes##suffix, TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE, "*", "*",  \
                     "fused_int8" #suffix,                                                         \
                     "Any elementwise operator of one 8-bit tensor, looked up in a table.",        \
                     .requires_features = features,                                                \
                     .absorbs = TN_ROW_ABSORBS ", " TN_FACET_EXPRESSION,                           \
                     TN_COMBINATIONS(tn_map_bytes_combinations),                                   \
                     .accepts = tn_fused_bytes_accepts, .prepare = tn_fused_bytes_prepare,         \
                     .release = tn_kernel_state_destroy, .run = tn_map_bytes_run##suffix)
FUSED_BYTES(, NULL);
FUSED_BYTES(_avx2, TN_KIT_FEATURES_avx2);
FUSED_BYTES(_avx512, TN_KIT_FEATURES_avx512);

TN_LEVEL_KERNELS_IN("*", fused_types, tn_cell, "*", "fused_types",
                    "Any elementwise operator of other types than 32-bit floats alone.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    .accepts = tn_fused_types_accepts, .prepare = tn_fused_types_prepare,
                    .release = tn_kernel_state_destroy, .run = tn_fused_types_run);

static const tn_kernel *const fused_kernels[] = {TN_LEVEL_LIST(fused), TN_LEVEL_LIST(fused_types),
                                                 &fused_bytes_avx512, &fused_bytes_avx2,
                                                 &fused_bytes};

extern const tn_layer tn_layer_fused;
const tn_layer tn_layer_fused = {.kernel_count = TN_COUNT(fused_kernels), .kernels = fused_kernels};
