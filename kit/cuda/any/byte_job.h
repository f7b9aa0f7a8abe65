/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantisation, and products of 8-bit integers less their zero points: what callbacks hand to
 * byte.cu. For C and CUDA C++.
 */
#ifndef TN_KIT_CUDA_ANY_BYTE_JOB_H
#define TN_KIT_CUDA_ANY_BYTE_JOB_H

#include "kit/cuda/any/each.h"
#include "kit/window/window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Between floats and integers. Element k of lane (outer, inner) has the scale and the zero point at
 * k / block, or, `is_blocked`, at (outer * scales + k / block) * inner extent + inner. */
typedef struct tn_cuda_quantize_job {
    const void *x, *scale, *zero; /* zero: null where there is none */
    void *y;
    tn_type x_type, scale_type, zero_type, y_type;
    uint32_t count;
    tn_divider lane, inner; /* elements of a lane, and after it */
    int64_t scales, block;
    bool is_blocked, is_back; /* is_back: from integers */
} tn_cuda_quantize_job;
cudaError_t tn_cuda_quantize_launch(const void *job, cudaStream_t stream);

/* DynamicQuantizeLinear; `parameters` is scratch of eight bytes a block and eight more. */
enum { TN_CUDA_RANGE_BLOCKS = 256 };
typedef struct tn_cuda_dynamic_job {
    const float *x;
    uint8_t *y, *zero; /* null: not wanted */
    float *scale;      /* null: not wanted */
    float *scratch;    /* 2 * (TN_CUDA_RANGE_BLOCKS + 1) */
    int64_t count;
} tn_cuda_dynamic_job;
cudaError_t tn_cuda_dynamic_launch(const void *job, cudaStream_t stream);

/* A scale or zero point: its element for a matrix and a row, column or filter is at `matrix *
 * matrix_step + index * step`. */
typedef struct tn_cuda_parameter {
    const void *data; /* null: absent */
    tn_type type;
    int64_t matrix_step, step;
} tn_cuda_parameter;

/* Sums of (a - a_zero) * (b - b_zero), as they are, or, with scales, as 8-bit integers of y's. Of
 * floats: sums of a * b in double precision. */
typedef struct tn_cuda_byte_product_job {
    const void *a, *b;
    void *y;
    tn_type a_type, b_type, y_type;
    int64_t rows, columns, depth;
    tn_cuda_box batch; /* steps 0: of A's matrices, 1: of B's */
    tn_cuda_parameter a_zero, b_zero, a_scale, b_scale, y_scale, y_zero;
} tn_cuda_byte_product_job;
cudaError_t tn_cuda_byte_product_launch(const void *job, cudaStream_t stream);

/* The same over windows; padding is zero. Parameters of W are a filter's; a bias has W's type, or
 * i32. */
typedef struct tn_cuda_byte_conv_job {
    const void *x, *w;
    const void *bias; /* null: absent */
    void *y;
    tn_type x_type, w_type, bias_type, y_type;
    int64_t channels, filters, group_channels, group_filters;
    tn_window window;
    tn_cuda_box box; /* of the output */
    tn_cuda_parameter x_zero, w_zero, x_scale, w_scale, y_scale, y_zero;
} tn_cuda_byte_conv_job;
cudaError_t tn_cuda_byte_conv_launch(const void *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
