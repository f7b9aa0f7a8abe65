/* SPDX-License-Identifier: Apache-2.0 */
/* Gemm's kernels on CUDA: the products of common/cuda/product.h. */
#include "common/cuda/product.h"
#include "gemm/gemm.h"

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

static const tn_cuda_product_user strict = {read_gemm, false, -1};
#if TN_HAS_CUBLASLT
static const tn_cuda_product_user rounded = {read_gemm, true, -1};
#endif

static const char *const combinations[] = {
    "f32, f32, f32? -> f32", "f16, f32, f32? -> f16",     "bf16, f32, f32? -> bf16",
    "f16, f16, f16? -> f16", "bf16, bf16, bf16? -> bf16",
};
static const char *const byte_combinations[] = {"qi8, f32, f32? -> qi8", "qi8, f32, f32? -> f32"};
#if TN_HAS_CUBLASLT
static const char *const float_combinations[] = {"f32, f32, f32? -> f32"};
#endif

#define PRODUCT_KERNEL(variable, name_text, callbacks, user_table, traits_of, combination_table,   \
                       text)                                                                       \
    static const tn_kernel variable = {                                                            \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = "Gemm",                                                                              \
        .device = "cuda",                                                                          \
        .name = name_text,                                                                         \
        .doc = text,                                                                               \
        .traits = traits_of,                                                                       \
        .epilogues = TN_FLOAT_EPILOGUES,                                                           \
        TN_COMBINATIONS(combination_table),                                                        \
        TN_CUDA_PRODUCT_CALLBACKS(callbacks),                                                      \
        .user = (void *)(uintptr_t) & (user_table),                                                \
    }
PRODUCT_KERNEL(rows, "rows", rows, strict, TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,
               combinations, "Few rows times a constant matrix, which is read once.");
PRODUCT_KERNEL(bytes, "bytes", bytes, strict, TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,
               byte_combinations, "8-bit products, exact sums; the matrix quantised a column.");
#if TN_HAS_CUBLASLT
PRODUCT_KERNEL(cublaslt, "cublaslt", library, strict, TN_KERNEL_CAPTURABLE, combinations,
               "cuBLASLt's product; 32-bit floats are multiplied as they are.");
PRODUCT_KERNEL(cublaslt_tf32, "cublaslt_tf32", library, rounded,
               TN_KERNEL_CAPTURABLE | TN_KERNEL_TF32, float_combinations,
               "cuBLASLt's product; 32-bit floats are rounded to tf32 before they are multiplied.");
#endif

extern const tn_kernel *const tn_gemm_cuda_kernels[];
const tn_kernel *const tn_gemm_cuda_kernels[] = {&rows, &bytes,
#if TN_HAS_CUBLASLT
                                                 &cublaslt, &cublaslt_tf32,
#endif
                                                 NULL};
