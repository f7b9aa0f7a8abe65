/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of QuantizeLinear and DequantizeLinear between floats and 8-bit integers, around the rows
 * of quantize_rows.h: one a processor level. Blocks of scales are left to the reference.
 */
#ifndef TN_KIT_QUANTIZE_QUANTIZE_KERNEL_H
#define TN_KIT_QUANTIZE_QUANTIZE_KERNEL_H

#include <tenon/kit/levels.h>
#include "kit/quantize/quantize_rows.h"
#include <tenon/plugin.h>

tn_status tn_quantize_kernel_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_quantize_kernel_run(tn_call *call) TN_NOEXCEPT;

#define TN_QUANTIZE_KERNEL_LEVEL(prefix, operator_name, level_name, features, combination_table)   \
    static const tn_kernel prefix##_##level_name = {                                               \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = operator_name,                                                                       \
        .device = "cpu",                                                                           \
        .name = "rows_" #level_name,                                                               \
        .doc = "Rows between floats and 8-bit integers, on all threads.",                          \
        .requires_features = features,                                                             \
        .traits = TN_KERNEL_DETERMINISTIC,                                                         \
        TN_COMBINATIONS(combination_table),                                                        \
        .accepts = tn_quantize_kernel_accepts,                                                     \
        .run = tn_quantize_kernel_run,                                                             \
        .user = (void *)(uintptr_t)&tn_quantize_##level_name,                                      \
    }

/* Defines the array PREFIX_kernels of an operator: one kernel a level. */
#define TN_QUANTIZE_KERNELS(prefix, operator_name, combination_table)                              \
    TN_QUANTIZE_KERNEL_LEVEL(prefix, operator_name, baseline, NULL, combination_table);            \
    TN_QUANTIZE_KERNEL_LEVEL(prefix, operator_name, avx2, TN_KIT_FEATURES_avx2,                    \
                             combination_table);                                                   \
    TN_QUANTIZE_KERNEL_LEVEL(prefix, operator_name, avx512, TN_KIT_FEATURES_avx512,                \
                             combination_table);                                                   \
    static const tn_kernel *const prefix##_kernels[] = {&prefix##_avx512, &prefix##_avx2,          \
                                                        &prefix##_baseline}

#endif
