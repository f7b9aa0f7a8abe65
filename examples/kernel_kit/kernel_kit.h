/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the library share. */
#ifndef KERNEL_KIT_H
#define KERNEL_KIT_H

#include <tenon/kit/infer.h>
#include <tenon/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct softmax_params {
    uint64_t present;
    int64_t axis;
} softmax_params;

/* Lanes of `count` contiguous elements; softmax_body.h, compiled once a processor level. */
typedef void (*softmax_lane)(int64_t count, const float *x, float *y);
void softmax_baseline(int64_t count, const float *x, float *y);
void softmax_avx2(int64_t count, const float *x, float *y);
void softmax_avx512(int64_t count, const float *x, float *y);

extern const tn_kernel softmax_cuda;

#ifdef __cplusplus
}
#endif

#endif
