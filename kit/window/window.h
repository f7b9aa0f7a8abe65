/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding windows: kernel, stride, dilation and padding of convolutions and pooling, resolved from
 * a node's fields and the input's spatial extents, with ONNX's automatic paddings and ceil_mode.
 */
#ifndef TN_KIT_WINDOW_WINDOW_H
#define TN_KIT_WINDOW_WINDOW_H

#include <tenon/plugin.h>

enum { TN_WINDOW_MAX_RANK = TN_MAX_RANK - 2 };

/* Values of a node's auto_pad field. */
enum {
    TN_AUTO_PAD_NOTSET = 0,     /* as `pads` says */
    TN_AUTO_PAD_SAME_UPPER = 1, /* output = ceil(input / stride); an odd element at the end */
    TN_AUTO_PAD_SAME_LOWER = 2, /* the same; an odd element at the beginning */
    TN_AUTO_PAD_VALID = 3       /* none */
};
#define TN_AUTO_PAD_CHOICES "NOTSET|SAME_UPPER|SAME_LOWER|VALID"

/* The fields as ONNX has them: lists are empty (all ones, pads all zero) or as long as there are
 * spatial axes, pads twice that: all beginnings, then all ends. */
typedef struct tn_window_fields {
    tn_i64s kernel, strides, dilations, pads;
    uint32_t auto_pad;
    bool ceil_mode;
} tn_window_fields;

/* For each spatial axis: output position o sees the inputs o * stride - pad_begin + k * dilation,
 * k in 0..kernel-1, those outside 0..input-1 being padding. */
typedef struct tn_window {
    uint32_t rank;
    int64_t input[TN_WINDOW_MAX_RANK], output[TN_WINDOW_MAX_RANK];
    int64_t kernel[TN_WINDOW_MAX_RANK], stride[TN_WINDOW_MAX_RANK], dilation[TN_WINDOW_MAX_RANK];
    int64_t pad_begin[TN_WINDOW_MAX_RANK], pad_end[TN_WINDOW_MAX_RANK]; /* without ceil_mode's */
} tn_window;

/* Checks the fields and fills *out_window; `rank` spatial axes with extents `input`, rank at most
 * TN_WINDOW_MAX_RANK. All later positions then fit an int64. TN_ERROR_SHAPE (lists of another
 * length, a window larger than the padded input), TN_ERROR_RANGE. */
tn_status tn_window_resolve(tn_call *call, const tn_window_fields *fields, uint32_t rank,
                            const int64_t *input, tn_window *out_window);
/* The checks and the kernel, strides and dilations alone; input, output and pads are left. */
tn_status tn_window_read(tn_call *call, const tn_window_fields *fields, uint32_t rank,
                         tn_window *out_window);
/* Explicit pads into the window (zero when there are none). */
tn_status tn_window_read_pads(tn_call *call, const tn_window_fields *fields, tn_window *window);

/* (kernel - 1) * dilation + 1 of one axis. */
static inline int64_t tn_window_extent(const tn_window *window, uint32_t axis) {
    return (window->kernel[axis] - 1) * window->dilation[axis] + 1;
}
/* What one output position sees: along each axis the inputs begin + i * dilation, i < count. */
typedef struct tn_window_view {
    int64_t begin[TN_WINDOW_MAX_RANK], count[TN_WINDOW_MAX_RANK];
} tn_window_view;
/* False when it sees padding only; the counts are then not to be used. */
bool tn_window_look(const tn_window *window, const int64_t *position, tn_window_view *out_view);
/* The offset in the input's plane of the view's elements begin + index * dilation along all axes.
 */
int64_t tn_window_offset(const tn_window *window, const tn_window_view *view, const int64_t *index);
/* The product of all extents. */
int64_t tn_window_count(uint32_t rank, const int64_t *extents);
/* Steps a multi-index over `extents`, last axis fastest; false after the last, which is then all
 * zero again. Rank 0 has one index. */
bool tn_window_step(uint32_t rank, const int64_t *extents, int64_t *index);

/* Fields of operators with windows, members of the struct `type`. */
#define TN_FIELD_STRIDES(type)                                                                     \
    TN_FIELD(type, strides, TN_FIELD_I64S, TN_OPTIONAL, NULL,                                      \
             "step of the window along each spatial axis; absent: 1")
#define TN_FIELD_DILATIONS(type)                                                                   \
    TN_FIELD(type, dilations, TN_FIELD_I64S, TN_OPTIONAL, NULL,                                    \
             "distance of the window's elements along each spatial axis; absent: 1")
#define TN_FIELD_PADS(type)                                                                        \
    TN_FIELD(type, pads, TN_FIELD_I64S, TN_OPTIONAL, NULL,                                         \
             "padding before each spatial axis, then after each; absent: 0")

#endif
