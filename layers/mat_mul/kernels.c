/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul of anything by a constant matrix as the matrix product of tenon/kit/matrix_kernel.h. */
#include "kit/int8/tiles/tile_matrix.h"
#include <tenon/kit/int8_matrix.h>
#include <tenon/kit/matrix_kernel.h>
#include <tenon/kit/open.h>
#include "kit/operator/layer.h"
#include "mat_mul/integer.h"

/* All axes of A but the last are rows, since B is one matrix. */
static bool read_mat_mul(const tn_call *call, tn_matrix_problem *out_problem) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    tn_call probe = *call;
    tn_mat_mul_sizes sizes;
    tn_open_stand_in stand_in;
    if (!a || !b || b->rank != 2) return false;
    const tn_tensor *const inputs[2] = {tn_open_resolve(a, b->shape[0], &stand_in), b};
    probe.inputs = inputs;
    if (tn_mat_mul_read(&probe, &sizes) != TN_OK) return false;
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

static const char *const combinations[] = {"f32, f32 -> f32", "f16, f16 -> f16",
                                           "bf16, bf16 -> bf16"};
TN_MATRIX_KERNELS(packed, "", "MatMul", read_mat_mul, combinations);

static const char *const int8_combinations[] = {"qi8, f32 -> qi8", "qi8, f32 -> f32"};
TN_INT8_MATRIX_KERNELS(int8, "", "MatMul", read_mat_mul, int8_combinations);
#if defined(__x86_64__)
TN_TILE_MATRIX_KERNELS(tiles, "MatMul", read_mat_mul, int8_combinations);
#endif

const tn_kernel *const tn_mat_mul_kernels[TN_MAT_MUL_KERNELS] = {
#if defined(__x86_64__)
    TN_LEVEL_LIST(tn_mat_mul_integer_tiles),
    TN_LEVEL_LIST(tn_q_linear_mat_mul_tiles),
    TN_LEVEL_LIST(tn_mat_mul_to_float_tiles),
    TN_LEVEL_LIST(tiles),
#endif
    TN_LEVEL_LIST(tn_mat_mul_types_kernel),
    &packed_avx512,
    &packed_avx2,
    &packed_baseline,
    TN_LEVEL_LIST(tn_mat_mul_batched),
    &int8_avx512vnni,
    &int8_avx2,
    &int8_baseline,
    TN_LEVEL_LIST(tn_mat_mul_integer),
    TN_LEVEL_LIST(tn_q_linear_mat_mul),
    TN_LEVEL_LIST(tn_mat_mul_to_float)};
