/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul's kernels on CUDA: the products of common/cuda/product.h. */
#include "common/cuda/product.h"
#include "mat_mul/mat_mul.h"

/* The batch as one stride from product to product, where the broadcast is one: B for all, A for
 * all, or both alike. */
static bool set_batch(const tn_call *call, const tn_mat_mul_sizes *sizes,
                      tn_cuda_product *product) {
    int64_t a_count = 1, b_count = 1, count = 1;
    for (uint32_t i = 0; i < sizes->a_batch_rank; i++)
        a_count *= call->inputs[0]->shape[i];
    for (uint32_t i = 0; i < sizes->b_batch_rank; i++)
        b_count *= call->inputs[1]->shape[i];
    for (uint32_t i = 0; i < sizes->batch_rank; i++)
        count *= sizes->batch[i];
    if ((a_count != 1 && a_count != count) || (b_count != 1 && b_count != count)) return false;
    if (b_count == 1) {
        /* One B: all rows of A are rows of one product. */
        if (a_count != count) return false;
        product->batch = 1;
        return !__builtin_mul_overflow(count, sizes->rows, &product->rows);
    }
    product->batch = count;
    product->a_batch_stride = a_count == 1 ? 0 : sizes->rows * sizes->depth;
    product->b_batch_stride = sizes->depth * sizes->columns;
    return true;
}

static bool read_mat_mul(const tn_call *call, tn_cuda_product *out_product) {
    tn_call probe = *call;
    tn_mat_mul_sizes sizes = {0};
    if (tn_mat_mul_read(&probe, &sizes) != TN_OK) return false;
    /* A bias or a residual along the columns needs them to be an axis of the output. */
    if (sizes.b_is_vector && call->epilogue_count > 0) return false;
    *out_product = (tn_cuda_product){
        .rows = sizes.rows, .columns = sizes.columns, .depth = sizes.depth, .alpha = 1};
    return set_batch(call, &sizes, out_product);
}

static const tn_cuda_product_user strict = {read_mat_mul, false, -1};
#if TN_HAS_CUBLASLT
static const tn_cuda_product_user rounded = {read_mat_mul, true, -1};
#endif

static const char *const combinations[] = {
    "f32, f32 -> f32", "f16, f32 -> f16",    "bf16, f32 -> bf16",
    "f16, f16 -> f16", "bf16, bf16 -> bf16",
};
static const char *const byte_combinations[] = {"qi8, f32 -> qi8", "qi8, f32 -> f32"};
#if TN_HAS_CUBLASLT
static const char *const float_combinations[] = {"f32, f32 -> f32"};
#endif

#define PRODUCT_KERNEL(variable, name_text, callbacks, user_table, traits_of, combination_table,   \
                       text)                                                                       \
    static const tn_kernel variable = {                                                            \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = "MatMul",                                                                            \
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

extern const tn_kernel *const tn_mat_mul_cuda_kernels[];
const tn_kernel *const tn_mat_mul_cuda_kernels[] = {&rows, &bytes,
#if TN_HAS_CUBLASLT
                                                    &cublaslt, &cublaslt_tf32,
#endif
                                                    NULL};
