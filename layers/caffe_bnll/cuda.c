/* SPDX-License-Identifier: Apache-2.0 */
/* BNLL of Caffe on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_MAP_KERNEL_AS(caffe_bnll, "Caffe", "BNLL", TN_MAP_SOFTPLUS, NULL, NULL,
                      tn_cuda_map_combinations);
