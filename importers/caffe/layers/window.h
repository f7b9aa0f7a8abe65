/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over spatial axes, shared by layers_convolution.c (which implements this) and
 * layers_pooling.c. */
#ifndef TN_IMPORTERS_CAFFE_LAYERS_WINDOW_H
#define TN_IMPORTERS_CAFFE_LAYERS_WINDOW_H

#include "importers/caffe/layer.h"

#define TN_CAFFE_WINDOW_AXES (TN_MAX_RANK - 2)

typedef struct tn_caffe_window {
    uint32_t rank; /* spatial axes */
    bool has_dilation;
    int64_t kernel[TN_CAFFE_WINDOW_AXES], stride[TN_CAFFE_WINDOW_AXES];
    int64_t dilation[TN_CAFFE_WINDOW_AXES];
    int64_t pads[2 * TN_CAFFE_WINDOW_AXES]; /* before each axis, then after each */
} tn_caffe_window;

/* From a layer's parameters; rank and has_dilation are set. */
tn_status tn_caffe_window_read(const tn_prototext_message *params, tn_caffe_window *window);
/* As the first four fields of an operator, which the window outlives. */
tn_emit_fields tn_caffe_window_fields(const tn_caffe_window *window);

#endif
