/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of every elementwise operator that states its value as an expression, a stranger's too,
 * with the chain of such operators after it: run as a program over rows
 * (kit/elementwise/row_program.h), or in 8 bits by a table that such a program fills. There is no
 * operator here. On CUDA the same is kit/cuda/fused/fused.c.
 */
#include <tenon/kit/levels.h>
#include "fused/fused.h"
#include "kit/elementwise/map_kernel.h"
#include <tenon/kit/epilogue.h>
#include "kit/operator/layer.h"

/* ----------------------------------------------------------------------------------------------
 * tables */

static const char *const fused_combinations[] = {"f32... -> f32", "f32:nhwc... -> f32:nhwc",
                                                 "f32:c16... -> f32:c16", "f32:c8... -> f32:c8"};

#define FUSED_LEVEL(level_name, features)                                                          \
    static const tn_kernel fused_##level_name = {                                                  \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "*",                                                                             \
        .op = "*",                                                                                 \
        .device = "cpu",                                                                           \
        .name = "fused_" #level_name,                                                              \
        .doc = "Any elementwise operator, and a chain of them, from their expressions.",           \
        .requires_features = features,                                                             \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,                                    \
        .absorbs = TN_ELEMENTWISE_ABSORBS,                                                         \
        TN_COMBINATIONS(fused_combinations),                                                       \
        .accepts = tn_fused_rows_accepts,                                                          \
        .prepare = tn_fused_rows_prepare,                                                          \
        .release = tn_row_program_release,                                                         \
        .reshape = tn_fused_rows_reshape,                                                          \
        .run = tn_fused_rows_run,                                                                  \
        .user = (void *)(uintptr_t)&tn_rows_##level_name,                                          \
    }
FUSED_LEVEL(baseline, NULL);
FUSED_LEVEL(avx2, TN_KIT_FEATURES_avx2);
FUSED_LEVEL(avx512, TN_KIT_FEATURES_avx512);

#define FUSED_BYTES(suffix, features)                                                              \
    static const tn_kernel fused_bytes##suffix = {                                                 \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "*",                                                                             \
        .op = "*",                                                                                 \
        .device = "cpu",                                                                           \
        .name = "fused_int8" #suffix,                                                              \
        .doc = "Any elementwise operator of one 8-bit tensor, looked up in a table.",              \
        .requires_features = features,                                                             \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,                                    \
        .absorbs = TN_FACET_ACTIVATION "(" TN_ACTIVATIONS_1_0 "), " TN_FACET_ROW                   \
                                       ", " TN_FACET_EXPRESSION,                                   \
        TN_COMBINATIONS(tn_map_bytes_combinations),                                                \
        .accepts = tn_fused_bytes_accepts,                                                         \
        .prepare = tn_fused_bytes_prepare,                                                         \
        .release = tn_map_bytes_release,                                                           \
        .run = tn_map_bytes_run##suffix,                                                           \
    }
FUSED_BYTES(, NULL);
FUSED_BYTES(_avx2, TN_KIT_FEATURES_avx2);
FUSED_BYTES(_avx512, TN_KIT_FEATURES_avx512);

static const tn_kernel *const fused_kernels[] = {&fused_avx512,     &fused_avx2,
                                                 &fused_baseline,   &fused_bytes_avx512,
                                                 &fused_bytes_avx2, &fused_bytes};

extern const tn_layer tn_layer_fused;
const tn_layer tn_layer_fused = {0, NULL, TN_COUNT(fused_kernels), fused_kernels, 0, NULL};
