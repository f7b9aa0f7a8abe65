/* SPDX-License-Identifier: Apache-2.0 */
/* ThresholdedRelu on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_MAP_KERNEL_AS(thresholded_relu, "", "ThresholdedRelu", TN_MAP_THRESHOLDED_RELU, "alpha",
                      NULL, tn_cuda_map_combinations);
