/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul of anything by a constant matrix as the matrix product of common/matrix_kernel.h. */
#include "common/activation.h"
#include "common/epilogue.h"
#include "common/int8_matrix.h"
#include "common/matrix_kernel.h"
#include "mat_mul/mat_mul.h"
#include "mat_mul/kernels.h"

/* All axes of A but the last are rows, since B is one matrix. */
static bool read_mat_mul(const tn_call *call, tn_matrix_problem *out_problem) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    tn_call probe = *call;
    tn_mat_mul_sizes sizes;
    if (!a || !b || b->rank != 2 || tn_mat_mul_read(&probe, &sizes) != TN_OK) return false;
    int64_t rows = 1;
    for (uint32_t i = 0; i + 1 < a->rank; i++)
        rows *= a->shape[i];
    *out_problem = (tn_matrix_problem){.rows = rows,
                                       .depth = b->shape[0],
                                       .columns = b->shape[1],
                                       .b_row_stride = b->shape[1],
                                       .b_column_stride = 1,
                                       .scale = 1.0f};
    return true;
}

static const char *const combinations[] = {"f32, f32 -> f32"};

#define PACKED_KERNEL(level, features_text)                                                        \
    static const tn_matrix_kernel_user user_##level = {&tn_matrix_##level, read_mat_mul};          \
    static const tn_kernel level = {                                                               \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = "MatMul",                                                                            \
        .device = "cpu",                                                                           \
        .name = "packed_" #level,                                                                  \
        .doc = "A constant B, packed by columns.",                                                 \
        .requires_features = features_text,                                                        \
        .traits = TN_KERNEL_DETERMINISTIC,                                                         \
        .epilogues = TN_FLOAT_EPILOGUES,                                                           \
        .activations = TN_SIMPLE_ACTIVATIONS,                                                      \
        TN_COMBINATIONS(combinations),                                                             \
        TN_MATRIX_KERNEL_CALLBACKS,                                                                \
        .user = (void *)&user_##level,                                                             \
    }
PACKED_KERNEL(baseline, NULL);
PACKED_KERNEL(avx2, "avx2,fma");
PACKED_KERNEL(avx512, "avx512f,avx512bw,avx512vl,avx512dq");

static const char *const int8_combinations[] = {"qi8, f32 -> qi8", "qi8, f32 -> f32"};
TN_INT8_MATRIX_KERNELS("MatMul", read_mat_mul, int8_combinations);

const tn_kernel *const tn_mat_mul_kernels[9] = {&avx512,
                                                &avx2,
                                                &baseline,
                                                &tn_mat_mul_batched_avx512,
                                                &tn_mat_mul_batched_avx2,
                                                &tn_mat_mul_batched_baseline,
                                                &int8_avx512vnni,
                                                &int8_avx2,
                                                &int8_baseline};
