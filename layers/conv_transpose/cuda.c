/* SPDX-License-Identifier: Apache-2.0 */
/* ConvTranspose's kernels on CUDA: through cuDNN (common/cuda/cudnn_conv.h). */
#include "common/cuda/cudnn_conv.h"
#include "common/epilogue.h"
#include "conv_transpose/conv_transpose.h"

#if TN_HAS_CUDNN
static const tn_cudnn_conv strict = {tn_conv_transpose_window, true, false};
static const tn_cudnn_conv rounded = {tn_conv_transpose_window, true, true};

static const tn_kernel cudnn = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "",
    .op = "ConvTranspose",
    .device = "cuda",
    .name = "cudnn",
    .doc = "cuDNN's transposed convolution; 32-bit floats are multiplied as they are.",
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
    .op = "ConvTranspose",
    .device = "cuda",
    .name = "cudnn_tf32",
    .doc = "cuDNN's transposed convolution; 32-bit floats are rounded to tf32 before they are "
           "multiplied.",
    .traits = TN_KERNEL_CAPTURABLE | TN_KERNEL_TF32,
    .epilogues = TN_FLOAT_EPILOGUES,
    TN_COMBINATIONS(tn_cudnn_conv_float_combinations),
    TN_CUDNN_CONV_CALLBACKS,
    .user = (void *)(uintptr_t)&rounded,
};
#endif

extern const tn_kernel *const tn_conv_transpose_cuda_kernels[];
const tn_kernel *const tn_conv_transpose_cuda_kernels[] = {
#if TN_HAS_CUDNN
    &cudnn, &cudnn_tf32,
#endif
    NULL};
