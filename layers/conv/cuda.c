/* SPDX-License-Identifier: Apache-2.0 */
/* Conv's kernels on CUDA: through cuDNN (common/cuda/cudnn_conv.h), and our own (cuda_direct.h). */
#include "common/cuda/cudnn_conv.h"
#include "common/epilogue.h"
#include "conv/conv.h"
#include "conv/cuda_kernels.h"

static const char *const direct_combinations[] = {"f32, f32, f32? -> f32"};

#define DIRECT_KERNEL(name_of, text)                                                               \
    static const tn_kernel name_of = {                                                             \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = "Conv",                                                                              \
        .device = "cuda",                                                                          \
        .name = "direct_" #name_of,                                                                \
        .doc = text,                                                                               \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,                                  \
        .epilogues = TN_FLOAT_EPILOGUES,                                                           \
        TN_COMBINATIONS(direct_combinations),                                                      \
        TN_CUDA_DIRECT_CALLBACKS,                                                                  \
        .user = (void *)(uintptr_t)&tn_cuda_##name_of##_kind,                                      \
    }
DIRECT_KERNEL(tile, "Tiles of large images with few channels, in registers and shared memory.");
DIRECT_KERNEL(small, "Layers that are all latency: channels are shared out among warps.");

#if TN_HAS_CUDNN
static const tn_cudnn_conv strict = {tn_conv_window, false, false};
static const tn_cudnn_conv rounded = {tn_conv_window, false, true};

static const tn_kernel cudnn = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "",
    .op = "Conv",
    .device = "cuda",
    .name = "cudnn",
    .doc = "cuDNN's convolution; 32-bit floats are multiplied as they are.",
    .traits = TN_KERNEL_CAPTURABLE,
    .epilogues = TN_FLOAT_EPILOGUES,
    TN_COMBINATIONS(tn_cudnn_conv_combinations),
    TN_CUDNN_CONV_CALLBACKS,
    .user = (void *)(uintptr_t)&strict,
};
static const tn_kernel cudnn_tf32 = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "",
    .op = "Conv",
    .device = "cuda",
    .name = "cudnn_tf32",
    .doc = "cuDNN's convolution; 32-bit floats are rounded to tf32 before they are multiplied.",
    .traits = TN_KERNEL_CAPTURABLE | TN_KERNEL_TF32,
    .epilogues = TN_FLOAT_EPILOGUES,
    TN_COMBINATIONS(tn_cudnn_conv_float_combinations),
    TN_CUDNN_CONV_CALLBACKS,
    .user = (void *)(uintptr_t)&rounded,
};
#endif

extern const tn_kernel *const tn_conv_cuda_kernels[];
const tn_kernel *const tn_conv_cuda_kernels[] = {&tile, &small,
#if TN_HAS_CUDNN
                                                 &cudnn, &cudnn_tf32,
#endif
                                                 NULL};
