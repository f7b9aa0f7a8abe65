/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions, and their gradients by the data, through cuDNN: the callbacks of a kernel whose
 * `user` is a tn_cudnn_conv. One to three spatial axes, groups, strides, dilations, and paddings
 * that can be seen as equal on both sides. Bias, residual and activation become part of cuDNN's
 * operation where it has an engine for that, and one launch after it otherwise: both are tactics,
 * in the order of cuDNN's heuristics.
 */
#ifndef TN_KIT_CUDA_CUDNN_CUDNN_CONV_H
#define TN_KIT_CUDA_CUDNN_CUDNN_CONV_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <tenon/kit/epilogue.h>
#include "kit/operator/layer.h"
#include "kit/window/window.h"

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

#define TN_CUDNN_CONV_KERNEL(variable, operator_name, name_text, user_table, traits_of,            \
                             combination_table, text)                                              \
    static const tn_kernel variable = {                                                            \
        TN_KERNEL_BEGIN("cuda", "", operator_name, name_text, 1, text),                            \
        .traits = traits_of,                                                                       \
        .absorbs = TN_FLOAT_ABSORBS(TN_ACTIVATIONS_1_0),                                           \
        TN_COMBINATIONS(combination_table),                                                        \
        TN_CUDNN_CONV_CALLBACKS,                                                                   \
        .user = (void *)(uintptr_t) & (user_table),                                                \
    }
/* Defines the kernels cudnn and cudnn_tf32; `what` is a convolution of cuDNN's, for the doc. */
#define TN_CUDNN_CONV_KERNELS(operator_name, window_function, transposed, what)                    \
    static const tn_cudnn_conv strict = {window_function, transposed, false};                      \
    static const tn_cudnn_conv rounded = {window_function, transposed, true};                      \
    TN_CUDNN_CONV_KERNEL(cudnn, operator_name, "cudnn", strict, TN_KERNEL_CAPTURABLE,              \
                         tn_cudnn_conv_combinations,                                               \
                         what "; 32-bit floats are multiplied as they are.");                      \
    TN_CUDNN_CONV_KERNEL(cudnn_tf32, operator_name, "cudnn_tf32", rounded,                         \
                         TN_KERNEL_CAPTURABLE | TN_KERNEL_TF32, tn_cudnn_conv_float_combinations,  \
                         what "; 32-bit floats are rounded to tf32 before they are multiplied.")

#ifdef __cplusplus
}
#endif

#endif
