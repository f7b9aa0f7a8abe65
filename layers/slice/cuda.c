/* SPDX-License-Identifier: Apache-2.0 */
/* Slice on CUDA: a copy of the box that is kept. */
#include "kit/cuda/region/region.h"
#include "slice/slice.h"

static const char *const combinations[] = {
    "*:linear|nhwc:strided, *?... -> *:linear|nhwc:strided",
    "f16:linear|nhwc:strided, *?... -> f16:linear|nhwc:strided",
    "bf16:linear|nhwc:strided, *?... -> bf16:linear|nhwc:strided",
    "qi8:linear|nhwc:strided, *?... -> qi8:linear|nhwc:strided"};

TN_CUDA_MOVE_LAYER(slice, "Slice", combinations, tn_slice_move);
