/* SPDX-License-Identifier: Apache-2.0 */
/* Threshold of Caffe on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_MAP_KERNEL_AS(caffe_threshold, "Caffe", "Threshold", TN_MAP_THRESHOLD, "threshold", NULL,
                      tn_cuda_map_combinations);
