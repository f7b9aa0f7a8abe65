/* SPDX-License-Identifier: Apache-2.0 */
/* Floor on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_MAP_KERNEL(floor, "Floor", TN_MAP_FLOOR);
