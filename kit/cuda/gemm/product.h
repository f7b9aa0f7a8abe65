/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products on CUDA for operators that read as one (Gemm, MatMul): what a node means, and the
 * callbacks of five kernels, through cuBLASLt (product_library.cu), and our own for a constant
 * matrix times few rows (product_gemv.cu), times rows on tensor cores (product_tensor.cu), for two
 * of them and a normalisation (product_cluster.h; MatMul's) and for 8-bit numbers
 * (product_int8.cu). The operator's folder says how its node reads as a product.
 */
#ifndef TN_KIT_CUDA_GEMM_PRODUCT_H
#define TN_KIT_CUDA_GEMM_PRODUCT_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <tenon/kit/epilogue.h>
#include "kit/operator/layer.h"

/* Where rows of a are what a window sees of an image with its channels last: element k of row
 * (image, y, x) is channel k % channels of tap k / channels. Of two axes, rows first. */
typedef struct tn_cuda_product_image {
    int32_t taps; /* 0: rows of a lie as the product says */
    int32_t channels, input[2], output[2], kernel[2], stride[2], dilation[2], pad[2];
} tn_cuda_product_image;

/* y[i][row][column] = alpha * sum of a[i][row][k] * b[i][k][column] + c_factor * c, and then the
 * epilogues. Matrices are contiguous; a stride of 0 from one product to the next is the same matrix
 * again. */
typedef struct tn_cuda_product {
    int64_t batch, rows, columns, depth;
    int64_t a_batch_stride, b_batch_stride;
    bool a_is_transposed, b_is_transposed; /* depth x rows; columns x depth */
    float alpha, c_factor;
    bool has_c;                            /* input 2 */
    int64_t c_row_stride, c_column_stride; /* 0: the same for all */
    tn_cuda_product_image image; /* the int8 kernels'; b then is filters of x channels x taps */
} tn_cuda_product;

/* Whether there are kernels through cuBLASLt: they are compiled where its headers are, and ask for
 * the library when they are first wanted. */
#define TN_HAS_CUBLASLT __has_include(<cublasLt.h>)

/* What a kernel's `user` points at. `read` answers false for nodes that do not read as a product.
 */
typedef struct tn_cuda_product_user {
    bool (*read)(const tn_call *call, tn_cuda_product *out_product);
    bool may_round;       /* 32-bit floats may be rounded to tf32 before they are multiplied */
    int32_t channel_axis; /* of the output, along which the columns lie: -1, or 1 of images with
                             their channels last; the int8 and tensor kernels' */
} tn_cuda_product_user;

/* A product with its epilogue; `has_bias`: of the constant c or the chain, one a column. */
typedef struct tn_cuda_product_node {
    tn_cuda_product product;
    tn_float_epilogue epilogue;
    tn_type type;   /* of a and y as they are stored; means may be 32-bit floats */
    tn_type b_type; /* in which a constant b is kept: gemv's may have 16 bits beside a's 32 */
    int64_t pixels; /* rows of an image, of whose results the mean is stored; 0: all are */
    bool has_bias, has_matrix /* c is a matrix, added like a residual */;
} tn_cuda_product_node;

/* False for what no kernel here does. */
bool tn_cuda_product_read(const tn_call *call, tn_cuda_product_node *out_node);
/* Whether what prepare converts has a value: biases, and b where its type is not a's. */
bool tn_cuda_product_is_constant(const tn_call *call, const tn_cuda_product_node *node);
/* The biases of all columns, floating-point values. */
void tn_cuda_product_bias(const tn_call *call, const tn_cuda_product_node *node, float *bias);
/* What is added to the product: the residual or the matrix c; null: nothing. */
const void *tn_cuda_product_addend(const tn_call *call, const tn_cuda_product_node *node);

#define TN_CUDA_PRODUCT_DECLARE(name)                                                              \
    tn_status tn_cuda_product_##name##_accepts(tn_call *call) TN_NOEXCEPT;                         \
    tn_status tn_cuda_product_##name##_tactics(tn_call *call) TN_NOEXCEPT;                         \
    tn_status tn_cuda_product_##name##_reshape(tn_call *call) TN_NOEXCEPT;                         \
    tn_status tn_cuda_product_##name##_run(tn_call *call) TN_NOEXCEPT
#define TN_CUDA_PRODUCT_DECLARE_STATE(name)                                                        \
    tn_status tn_cuda_product_##name##_prepare(tn_call *call) TN_NOEXCEPT;                         \
    void tn_cuda_product_##name##_release(tn_call *call) TN_NOEXCEPT;                              \
    tn_status tn_cuda_product_##name##_open(tn_call *call) TN_NOEXCEPT;                            \
    void tn_cuda_product_##name##_close(tn_call *call) TN_NOEXCEPT
TN_CUDA_PRODUCT_DECLARE(library);
TN_CUDA_PRODUCT_DECLARE(gemv);
TN_CUDA_PRODUCT_DECLARE(tensor);
TN_CUDA_PRODUCT_DECLARE(int8);
TN_CUDA_PRODUCT_DECLARE(cluster);
TN_CUDA_PRODUCT_DECLARE_STATE(library);
TN_CUDA_PRODUCT_DECLARE_STATE(constants); /* gemv's and tensor's; product_constants.h */
TN_CUDA_PRODUCT_DECLARE_STATE(int8);
TN_CUDA_PRODUCT_DECLARE_STATE(cluster);

/* `state`: whose prepare, release, open and close. */
#define TN_CUDA_PRODUCT_CALLBACKS(name, state)                                                     \
    .accepts = tn_cuda_product_##name##_accepts, .tactics = tn_cuda_product_##name##_tactics,      \
    .prepare = tn_cuda_product_##state##_prepare, .release = tn_cuda_product_##state##_release,    \
    .open = tn_cuda_product_##state##_open, .close = tn_cuda_product_##state##_close,              \
    .reshape = tn_cuda_product_##name##_reshape, .run = tn_cuda_product_##name##_run

#define TN_CUDA_PRODUCT_KERNEL(variable, operator_name, name_text, callbacks, user_table,          \
                               traits_of, more_facets, combination_table, text)                    \
    static const tn_kernel variable = {                                                            \
        TN_KERNEL_BEGIN("cuda", "", operator_name, name_text, 1, text),                            \
        .traits = traits_of,                                                                       \
        .absorbs = TN_FLOAT_ABSORBS(TN_ACTIVATIONS_1_0) more_facets,                               \
        TN_COMBINATIONS(combination_table),                                                        \
        callbacks,                                                                                 \
        .user = (void *)(uintptr_t) & (user_table),                                                \
    }
#define TN_CUDA_PRODUCT_OWN TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_CONCURRENT
#define TN_CUDA_PRODUCT_OWN_KERNELS(operator_name, read_function, table, few_table, half_table,    \
                                    float_table, byte_table)                                       \
    static const tn_cuda_product_user strict = {read_function, false, -1};                         \
    static const tn_cuda_product_user rounded = {read_function, true, -1};                         \
    TN_CUDA_PRODUCT_KERNEL(gemv, operator_name, "gemv",                                            \
                           TN_CUDA_PRODUCT_CALLBACKS(gemv, constants), strict,                     \
                           TN_CUDA_PRODUCT_OWN, ", " TN_FACET_SOFTMAX, few_table,                  \
                           "Up to 8 rows times a constant matrix. Limited by reading it, once.");  \
    TN_CUDA_PRODUCT_KERNEL(gemm_tensor, operator_name, "gemm_tensor",                              \
                           TN_CUDA_PRODUCT_CALLBACKS(tensor, constants), strict,                   \
                           TN_CUDA_PRODUCT_OWN, "", half_table,                                    \
                           "Rows times a constant matrix on tensor cores. Limited by the latency " \
                           "of tiles to shared memory.");                                          \
    TN_CUDA_PRODUCT_KERNEL(gemm_tensor_tf32, operator_name, "gemm_tensor_tf32",                    \
                           TN_CUDA_PRODUCT_CALLBACKS(tensor, constants), rounded,                  \
                           TN_CUDA_PRODUCT_OWN | TN_KERNEL_TF32, "", float_table,                  \
                           "The same; 32-bit floats are rounded to tf32 before they are "          \
                           "multiplied.");                                                         \
    TN_CUDA_PRODUCT_KERNEL(gemm_int8, operator_name, "gemm_int8",                                  \
                           TN_CUDA_PRODUCT_CALLBACKS(int8, int8), strict, TN_CUDA_PRODUCT_OWN, "", \
                           byte_table,                                                             \
                           "8-bit products, exact sums; the matrix quantised a column. Limited "   \
                           "by the latency of tiles to shared memory.")
#define TN_CUDA_PRODUCT_OWN_LIST &gemv, &gemm_tensor, &gemm_tensor_tf32, &gemm_int8

/* Defines the kernels of an operator that reads as a product; TN_CUDA_PRODUCT_KERNEL_LIST names
 * them. `table`: the combinations, `few_table`: those for few rows, with matrices of fewer bits
 * than rows have, `half_table`: those of 16-bit floats, `float_table`: those in which 32-bit floats
 * may be rounded to tf32, `byte_table`: those of 8-bit numbers. */
#if TN_HAS_CUBLASLT
#define TN_CUDA_PRODUCT_KERNELS(operator_name, read_function, table, few_table, half_table,        \
                                float_table, byte_table)                                           \
    TN_CUDA_PRODUCT_OWN_KERNELS(operator_name, read_function, table, few_table, half_table,        \
                                float_table, byte_table);                                          \
    TN_CUDA_PRODUCT_KERNEL(cublaslt, operator_name, "cublaslt",                                    \
                           TN_CUDA_PRODUCT_CALLBACKS(library, library), strict,                    \
                           TN_KERNEL_CAPTURABLE, "", table,                                        \
                           "cuBLASLt's product; 32-bit floats are multiplied as they are.");       \
    TN_CUDA_PRODUCT_KERNEL(                                                                        \
        cublaslt_tf32, operator_name, "cublaslt_tf32",                                             \
        TN_CUDA_PRODUCT_CALLBACKS(library, library), rounded,                                      \
        TN_KERNEL_CAPTURABLE | TN_KERNEL_TF32, "", float_table,                                    \
        "cuBLASLt's product; 32-bit floats are rounded to tf32 before they are multiplied.")
#define TN_CUDA_PRODUCT_KERNEL_LIST TN_CUDA_PRODUCT_OWN_LIST, &cublaslt, &cublaslt_tf32
#else
#define TN_CUDA_PRODUCT_KERNELS     TN_CUDA_PRODUCT_OWN_KERNELS
#define TN_CUDA_PRODUCT_KERNEL_LIST TN_CUDA_PRODUCT_OWN_LIST
#endif

#ifdef __cplusplus
}
#endif

#endif
