/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul's kernels on CUDA: the products of kit/cuda/gemm/product.h. */
#include "kit/cuda/gemm/product.h"
#include "mat_mul/cuda_any.h"
#include "mat_mul/mat_mul.h"
#include <tenon/plugin/before.h>
#include <tenon/plugin/normalize.h>

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
    if (sizes.b_is_vector && call->step_count > 0) return false;
    *out_product = (tn_cuda_product){
        .rows = sizes.rows, .columns = sizes.columns, .depth = sizes.depth, .alpha = 1};
    return set_batch(call, &sizes, out_product);
}

#define ALIKE                                                                                      \
    "f32, f32 -> f32", "f16, f32 -> f16", "bf16, f32 -> bf16", "f16, f16 -> f16",                  \
        "bf16, bf16 -> bf16"
static const char *const combinations[] = {ALIKE};
static const char *const few_combinations[] = {ALIKE, "f32, f16 -> f32", "f32, bf16 -> f32"};
static const char *const byte_combinations[] = {"qi8, f32 -> qi8", "qi8, f32 -> f32"};
/* Those in which 32-bit floats may be rounded to tf32. */
static const char *const float_combinations[] = {"f32, f32 -> f32"};
static const char *const half_combinations[] = {"f16, f32 -> f16", "bf16, f32 -> bf16",
                                                "f16, f16 -> f16", "bf16, bf16 -> bf16"};
TN_CUDA_PRODUCT_KERNELS("MatMul", read_mat_mul, combinations, few_combinations, half_combinations,
                        float_combinations, byte_combinations);

static const tn_kernel gemm_cluster = {
    TN_KERNEL_BEGIN("cuda", "", "MatMul", "gemm_cluster", 1,
                    "Few rows times a constant matrix of up to 384 columns, with the product "
                    "before it and the normalisation behind it, on tensor cores. Limited by "
                    "latency: the blocks of a cluster share the depth and exchange sums once."),
    .traits = TN_CUDA_PRODUCT_OWN,
    .absorbs =
        "@1 " TN_FACET_MATRIX_PRODUCT ", @1 " TN_FACET_BIAS ", @1 " TN_FACET_ACTIVATION
        "(" TN_ACTIVATIONS_1_0 "), " TN_FACET_BIAS ", " TN_FACET_RESIDUAL ", " TN_FACET_NORMALIZE,
    TN_COMBINATIONS(half_combinations),
    TN_CUDA_PRODUCT_CALLBACKS(cluster, cluster),
};

extern const tn_kernel *const tn_mat_mul_cuda_kernels[];
const tn_kernel *const tn_mat_mul_cuda_kernels[] = {
    TN_CUDA_PRODUCT_KERNEL_LIST,   &gemm_cluster,
    &tn_mat_mul_cuda_any,          &tn_mat_mul_integer_cuda_any,
    &tn_q_linear_mat_mul_cuda_any, NULL};
