/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of our own convolutions on CUDA (cuda_direct.cu), for their tables (cuda.c). */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_KERNELS_H
#define TN_LAYERS_CONV_CUDA_CUDA_KERNELS_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

tn_status tn_cuda_direct_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_direct_tactics(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_direct_prepare(tn_call *call) TN_NOEXCEPT;
void tn_cuda_direct_release(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_direct_open(tn_call *call) TN_NOEXCEPT;
void tn_cuda_direct_close(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_direct_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_direct_run(tn_call *call) TN_NOEXCEPT;

#define TN_CUDA_DIRECT_CALLBACKS                                                                   \
    .accepts = tn_cuda_direct_accepts, .tactics = tn_cuda_direct_tactics,                          \
    .prepare = tn_cuda_direct_prepare, .release = tn_cuda_direct_release,                          \
    .open = tn_cuda_direct_open, .close = tn_cuda_direct_close, .reshape = tn_cuda_direct_reshape, \
    .run = tn_cuda_direct_run

struct tn_cuda_direct_kind;
extern const struct tn_cuda_direct_kind tn_cuda_tile_kind, tn_cuda_small_kind, tn_cuda_staged_kind,
    tn_cuda_few_kind, tn_cuda_narrow_kind, tn_cuda_deep_kind;

#ifdef __cplusplus
}
#endif

#endif
