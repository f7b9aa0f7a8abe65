/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions, and their gradients by the data, through cuDNN: the callbacks of a kernel whose
 * `user` is a tn_cudnn_conv. One to three spatial axes, groups, strides, dilations, and paddings
 * that can be seen as equal on both sides. Bias, residual and activation become part of cuDNN's
 * operation where it has an engine for that, and one launch after it otherwise: both are tactics,
 * in the order of cuDNN's heuristics.
 */
#ifndef TN_LAYERS_CUDA_CUDNN_CONV_H
#define TN_LAYERS_CUDA_CUDNN_CONV_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "common/window.h"

/* Whether there are such kernels: they are compiled where cuDNN's headers are (9.8 or newer), and
 * ask for the library when they are first wanted. */
#if __has_include(<cudnn_version.h>)
#include <cudnn_version.h>
#define TN_HAS_CUDNN (CUDNN_VERSION >= 90800)
#else
#define TN_HAS_CUDNN 0
#endif

typedef struct tn_cudnn_conv {
    tn_status (*read_window)(tn_call *call, tn_window *out_window);
    bool is_transposed; /* W is channels of X, filters of a group, kernel */
    bool may_round;     /* 32-bit floats may be rounded to tf32 before they are multiplied */
} tn_cudnn_conv;

tn_status tn_cudnn_conv_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_cudnn_conv_tactics(tn_call *call) TN_NOEXCEPT;
tn_status tn_cudnn_conv_prepare(tn_call *call) TN_NOEXCEPT;
void tn_cudnn_conv_release(tn_call *call) TN_NOEXCEPT;
tn_status tn_cudnn_conv_open(tn_call *call) TN_NOEXCEPT;
void tn_cudnn_conv_close(tn_call *call) TN_NOEXCEPT;
tn_status tn_cudnn_conv_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_cudnn_conv_run(tn_call *call) TN_NOEXCEPT;

#define TN_CUDNN_CONV_CALLBACKS                                                                    \
    .accepts = tn_cudnn_conv_accepts, .tactics = tn_cudnn_conv_tactics,                            \
    .prepare = tn_cudnn_conv_prepare, .release = tn_cudnn_conv_release,                            \
    .open = tn_cudnn_conv_open, .close = tn_cudnn_conv_close, .reshape = tn_cudnn_conv_reshape,    \
    .run = tn_cudnn_conv_run

extern const char *const tn_cudnn_conv_combinations[8];
extern const char *const tn_cudnn_conv_float_combinations[2]; /* those that may_round speaks of */

#ifdef __cplusplus
}
#endif

#endif
