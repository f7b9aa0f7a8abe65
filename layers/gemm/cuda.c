/* SPDX-License-Identifier: Apache-2.0 */
/* Gemm's kernels on CUDA: the products of kit/cuda/gemm/product.h. */
#include "gemm/gemm.h"
#include "kit/cuda/gemm/product.h"

static bool read_gemm(const tn_call *call, tn_cuda_product *out_product) {
    const tn_gemm_params *params = call->params;
    tn_call probe = *call;
    tn_gemm_sizes sizes;
    if (tn_gemm_read(&probe, &sizes) != TN_OK) return false;
    *out_product = (tn_cuda_product){.batch = 1,
                                     .rows = sizes.rows,
                                     .columns = sizes.columns,
                                     .depth = sizes.depth,
                                     .a_is_transposed = params->transA,
                                     .b_is_transposed = params->transB,
                                     .alpha = params->alpha,
                                     .c_factor = params->beta,
                                     .has_c = call->input_count > TN_GEMM_C &&
                                              call->inputs[TN_GEMM_C] && params->beta != 0,
                                     .c_row_stride = sizes.c_row_stride,
                                     .c_column_stride = sizes.c_column_stride};
    return true;
}

#define ALIKE                                                                                      \
    "f32, f32, f32? -> f32", "f16, f32, f32? -> f16", "bf16, f32, f32? -> bf16",                   \
        "f16, f16, f16? -> f16", "bf16, bf16, bf16? -> bf16"
static const char *const combinations[] = {ALIKE};
static const char *const few_combinations[] = {ALIKE, "f32, f16, f32? -> f32",
                                               "f32, bf16, f32? -> f32"};
static const char *const byte_combinations[] = {"qi8, f32, f32? -> qi8", "qi8, f32, f32? -> f32"};
/* Those in which 32-bit floats may be rounded to tf32. */
static const char *const float_combinations[] = {"f32, f32, f32? -> f32"};
static const char *const half_combinations[] = {"f16, f32, f32? -> f16", "bf16, f32, f32? -> bf16",
                                                "f16, f16, f16? -> f16",
                                                "bf16, bf16, bf16? -> bf16"};
TN_CUDA_PRODUCT_KERNELS("Gemm", read_gemm, combinations, few_combinations, half_combinations,
                        float_combinations, byte_combinations);

extern const tn_kernel *const tn_gemm_cuda_kernels[];
const tn_kernel *const tn_gemm_cuda_kernels[] = {TN_CUDA_PRODUCT_KERNEL_LIST, NULL};
