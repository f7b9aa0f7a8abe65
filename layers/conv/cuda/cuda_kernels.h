/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of our own convolutions on CUDA (cuda_conv.cu), for their tables (cuda.c). */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_KERNELS_H
#define TN_LAYERS_CONV_CUDA_CUDA_KERNELS_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

tn_status tn_cuda_conv_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_conv_tactics(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_conv_prepare(tn_call *call) TN_NOEXCEPT;
void tn_cuda_conv_release(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_conv_open(tn_call *call) TN_NOEXCEPT;
void tn_cuda_conv_close(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_conv_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_conv_run(tn_call *call) TN_NOEXCEPT;

#define TN_CUDA_CONV_CALLBACKS                                                                     \
    .accepts = tn_cuda_conv_accepts, .tactics = tn_cuda_conv_tactics,                              \
    .prepare = tn_cuda_conv_prepare, .release = tn_cuda_conv_release, .open = tn_cuda_conv_open,   \
    .close = tn_cuda_conv_close, .reshape = tn_cuda_conv_reshape, .run = tn_cuda_conv_run

/* Those of separable convolutions (cuda_separable_node.cu), whose contexts close as others do. */
tn_status tn_cuda_separable_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_separable_tactics(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_separable_prepare(tn_call *call) TN_NOEXCEPT;
void tn_cuda_separable_release(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_separable_open(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_separable_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_separable_run(tn_call *call) TN_NOEXCEPT;

/* cuda_any.c */
extern const tn_kernel tn_conv_cuda_any, tn_conv_integer_cuda_any, tn_q_linear_conv_cuda_any;

struct tn_cuda_conv_kind;
extern const struct tn_cuda_conv_kind tn_cuda_direct, tn_cuda_implicit_gemm,
    tn_cuda_implicit_gemm_tf32, tn_cuda_row_stationary, tn_cuda_row_stationary_tf32, tn_cuda_kn2row,
    tn_cuda_kn2row_tf32;

#ifdef __cplusplus
}
#endif

#endif
