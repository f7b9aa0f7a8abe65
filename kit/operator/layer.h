/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a folder of layers/ offers: its operators (one entry a version), kernels and rewrites. The
 * build collects them by folder name: layers/conv/operator.c defines `const tn_layer
 * tn_layer_conv`.
 */
#ifndef TN_KIT_OPERATOR_LAYER_H
#define TN_KIT_OPERATOR_LAYER_H

#include <tenon/plugin/rewrite.h>

typedef struct tn_layer {
    uint64_t operator_count;
    const tn_operator *const *operators;
    uint64_t kernel_count;
    const tn_kernel *const *kernels;
    uint64_t rewrite_count;
    const tn_rewrite *const *rewrites;
} tn_layer;

extern const tn_layer *const tn_layer_table[]; /* null-terminated */

#define TN_LAYER(folder, operator_table, kernel_table)                                             \
    extern const tn_layer tn_layer_##folder;                                                       \
    const tn_layer tn_layer_##folder = {                                                           \
        TN_COUNT(operator_table), operator_table, TN_COUNT(kernel_table), kernel_table, 0, NULL}
#define TN_LAYER_WITH_REWRITES(folder, operator_table, kernel_table, rewrite_table)                \
    extern const tn_layer tn_layer_##folder;                                                       \
    const tn_layer tn_layer_##folder = {TN_COUNT(operator_table), operator_table,                  \
                                        TN_COUNT(kernel_table),   kernel_table,                    \
                                        TN_COUNT(rewrite_table),  rewrite_table}
#define TN_LAYER_WITHOUT_KERNELS(folder, operator_table)                                           \
    extern const tn_layer tn_layer_##folder;                                                       \
    const tn_layer tn_layer_##folder = {TN_COUNT(operator_table), operator_table, 0, NULL, 0, NULL}

#endif
