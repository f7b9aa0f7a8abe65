/* SPDX-License-Identifier: Apache-2.0 */
/* Gemm with a constant B as the matrix product of tenon/kit/matrix_kernel.h. */
#include "gemm/gemm.h"
#include "kit/int8/tiles/tile_matrix.h"
#include <tenon/kit/matrix_kernel.h>
#include <tenon/kit/int8_matrix.h>
#include <tenon/kit/open.h>

static bool read_gemm(const tn_call *call, tn_matrix_problem *out_problem) {
    const tn_gemm_params *params = call->params;
    const tn_tensor *c = call->input_count > TN_GEMM_C ? call->inputs[TN_GEMM_C] : NULL;
    const tn_tensor *b = call->inputs[TN_GEMM_B];
    tn_open_stand_in stand_in;
    if (b->rank != 2) return false;
    const tn_tensor *inputs[3] = {
        tn_open_resolve(call->inputs[TN_GEMM_A], b->shape[params->transB ? 1 : 0], &stand_in), b,
        c};
    tn_call probe = *call;
    probe.inputs = inputs;
    tn_gemm_sizes sizes;
    if (params->transA || tn_gemm_read(&probe, &sizes) != TN_OK) return false;
    if (c && sizes.c_row_stride != 0) /* a C that differs from row to row is no bias */
        return false;
    *out_problem = (tn_matrix_problem){.rows = sizes.rows,
                                       .depth = sizes.depth,
                                       .columns = sizes.columns,
                                       .b_row_stride = sizes.b_row_stride,
                                       .b_column_stride = sizes.b_column_stride,
                                       .scale = params->alpha,
                                       .bias_scale = params->beta,
                                       .has_bias = c != NULL,
                                       .bias_is_scalar = c && sizes.c_column_stride == 0};
    return true;
}

static const char *const combinations[] = {"f32, f32, f32? -> f32", "f16, f16, f16? -> f16",
                                           "bf16, bf16, bf16? -> bf16"};
TN_MATRIX_KERNELS(packed, "", "Gemm", read_gemm, combinations);

static const char *const int8_combinations[] = {"qi8, f32, f32? -> qi8", "qi8, f32, f32? -> f32"};
TN_INT8_MATRIX_KERNELS(int8, "", "Gemm", read_gemm, int8_combinations);

#if defined(__x86_64__)
TN_TILE_MATRIX_KERNELS(tiles, "Gemm", read_gemm, int8_combinations);
#endif

const tn_kernel *const tn_gemm_kernels[TN_GEMM_KERNELS] = {
#if defined(__x86_64__)
    TN_LEVEL_LIST(tiles),
#endif
    &packed_avx512,
    &packed_avx2,
    &packed_baseline,
    &int8_avx512vnni,
    &int8_avx2,
    &int8_baseline,
    TN_LEVEL_LIST(tn_gemm_varying)};
