/* SPDX-License-Identifier: Apache-2.0 */
/* A Conv node's numbers as the processor's kernels read them. */
#ifndef TN_LAYERS_CONV_GEOMETRY_H
#define TN_LAYERS_CONV_GEOMETRY_H

#include <tenon/kit/open.h>

/* One group of one image, or of one plane of a volume's output. A convolution over one axis has
 * height 1, and all but those of volumes have depth 1. */
typedef struct tn_conv_geometry {
    int64_t batch, groups;
    int64_t channels, filters; /* of one group: input, output */
    int64_t in_height, in_width, out_height, out_width;
    int64_t kernel_height, kernel_width;
    int64_t stride_height, stride_width, dilation_height, dilation_width;
    int64_t pad_top, pad_left;
    int64_t in_depth, out_depth, kernel_depth, stride_depth, dilation_depth, pad_front;
    int64_t window_height, window_width; /* y has the largest element of each; 1 and 1: all */
    int64_t y_height, y_width;           /* out_height and out_width, or the windows in them */
} tn_conv_geometry;

/* X, or where a run alone knows its extents a stand-in with as many channels as W wants. */
const tn_tensor *tn_conv_open_x(const tn_call *call, const tn_tensor *w,
                                tn_open_stand_in *stand_in);

/* False for ranks other than 3 and 4 and for extents of zero. */
bool tn_conv_geometry_read(const tn_call *call, tn_conv_geometry *out_geometry);
/* The same of volumes, too (rank 5). Axes along which an element of the output sees its own
 * position of the input alone are one with the next. */
bool tn_conv_volume_read(const tn_call *call, tn_conv_geometry *out_geometry);

#endif
