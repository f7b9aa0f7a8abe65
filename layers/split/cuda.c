/* SPDX-License-Identifier: Apache-2.0 */
/* Split on CUDA: a copy of a box for each part. */
#include "split/split.h"
#include "kit/cuda/region/region.h"

static const char *const combinations[] = {
    "*:linear|nhwc:strided, *?... -> *:linear|nhwc:strided...",
    "f16:linear|nhwc:strided, *?... -> f16:linear|nhwc:strided...",
    "bf16:linear|nhwc:strided, *?... -> bf16:linear|nhwc:strided...",
    "qi8:linear|nhwc:strided, *?... -> qi8:linear|nhwc:strided..."};

TN_CUDA_MOVE_LAYER(split, "Split", combinations, tn_split_move);
