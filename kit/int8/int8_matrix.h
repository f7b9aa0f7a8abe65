/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels around the 8-bit products of dot.h for operators whose right side is a constant matrix
 * (Gemm, MatMul), beside the float ones of matrix_kernel.h: the same reading of a node as a
 * product, packing, threads, bias and epilogues.
 */
#ifndef TN_KIT_INT8_INT8_MATRIX_H
#define TN_KIT_INT8_INT8_MATRIX_H

#include "kit/gemm/matrix_kernel.h"
#include "kit/int8/dot.h"
#include "kit/math/activation.h"
#include "kit/operator/epilogue.h"

/* What a kernel's `user` points at; `read` as in tn_matrix_kernel_user. */
typedef struct tn_int8_matrix_user {
    const tn_dot_level *level;
    bool (*read)(const tn_call *call, tn_matrix_problem *out_problem);
} tn_int8_matrix_user;

tn_status tn_int8_matrix_accepts(tn_call *call);
tn_status tn_int8_matrix_prepare(tn_call *call);
void tn_int8_matrix_release(tn_call *call);
tn_status tn_int8_matrix_open(tn_call *call);
void tn_int8_matrix_close(tn_call *call);
tn_status tn_int8_matrix_reshape(tn_call *call);
tn_status tn_int8_matrix_run(tn_call *call);

#define TN_INT8_MATRIX_KERNEL(operator_name, read_function, table, level, features_text)           \
    static const tn_int8_matrix_user int8_user_##level = {&tn_dot_##level, read_function};         \
    static const tn_kernel int8_##level = {                                                        \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = operator_name,                                                                       \
        .device = "cpu",                                                                           \
        .name = "int8_" #level,                                                                    \
        .doc = "8-bit products, exact sums; weights quantised a column.",                          \
        .requires_features = features_text,                                                        \
        .traits = TN_KERNEL_DETERMINISTIC,                                                         \
        .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),                                        \
        TN_COMBINATIONS(table),                                                                    \
        .accepts = tn_int8_matrix_accepts,                                                         \
        .prepare = tn_int8_matrix_prepare,                                                         \
        .release = tn_int8_matrix_release,                                                         \
        .open = tn_int8_matrix_open,                                                               \
        .close = tn_int8_matrix_close,                                                             \
        .reshape = tn_int8_matrix_reshape,                                                         \
        .run = tn_int8_matrix_run,                                                                 \
        .user = (void *)(uintptr_t)&int8_user_##level,                                             \
    }

/* Defines the kernels int8_baseline, int8_avx2 and int8_avx512vnni. */
#define TN_INT8_MATRIX_KERNELS(operator_name, read_function, table)                                \
    TN_INT8_MATRIX_KERNEL(operator_name, read_function, table, baseline, NULL);                    \
    TN_INT8_MATRIX_KERNEL(operator_name, read_function, table, avx2, "avx2,fma");                  \
    TN_INT8_MATRIX_KERNEL(operator_name, read_function, table, avx512vnni,                         \
                          "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")

#endif
