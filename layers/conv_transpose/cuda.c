/* SPDX-License-Identifier: Apache-2.0 */
/* ConvTranspose's kernels on CUDA: through cuDNN (kit/cuda/cudnn/cudnn_conv.h). */
#include "conv_transpose/conv_transpose.h"
#include "kit/cuda/cudnn/cudnn_conv.h"
#include <tenon/kit/epilogue.h>

#if TN_HAS_CUDNN
TN_CUDNN_CONV_KERNELS("ConvTranspose", tn_conv_transpose_window, true,
                      "cuDNN's transposed convolution");
#endif

extern const tn_kernel *const tn_conv_transpose_cuda_kernels[];
const tn_kernel *const tn_conv_transpose_cuda_kernels[] = {
#if TN_HAS_CUDNN
    &cudnn, &cudnn_tf32,
#endif
    NULL};
