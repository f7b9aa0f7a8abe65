/* SPDX-License-Identifier: Apache-2.0 */
/* What the shape rule (operator.c) and the search (reference.c) of DetectionOutput share. */
#ifndef TN_LAYERS_CAFFE_DETECTION_OUTPUT_H
#define TN_LAYERS_CAFFE_DETECTION_OUTPUT_H

#include <tenon/plugin.h>

enum { TN_DETECTION_LOC = 0, TN_DETECTION_CONF = 1, TN_DETECTION_PRIORS = 2 };
enum { TN_DETECTION_CORNER = 1, TN_DETECTION_CENTER_SIZE = 2, TN_DETECTION_CORNER_SIZE = 3 };
/* Numbers of a row of the output: image, label, score, xmin, ymin, xmax, ymax. */
enum { TN_DETECTION_ROW = 7 };

typedef struct tn_detection_params {
    uint64_t present;
    int64_t num_classes, background_label_id, top_k, keep_top_k;
    bool share_location, variance_encoded_in_target;
    uint32_t code_type;
    float nms_threshold, eta, confidence_threshold;
} tn_detection_params;

typedef struct tn_detection_sizes {
    int64_t images, priors, classes;
    int64_t most; /* rows that an image can give */
} tn_detection_sizes;

/* Checks shapes and fields. TN_ERROR_SHAPE. */
tn_status tn_detection_read(tn_call *call, tn_detection_sizes *out_sizes);
tn_status tn_detection_reference(tn_call *call) TN_NOEXCEPT;

#endif
