/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of Caffe's Crop, for the operator and the kernels of every device. */
#ifndef TN_LAYERS_CAFFE_CROP_FIELDS_H
#define TN_LAYERS_CAFFE_CROP_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_caffe_crop_params {
    uint64_t present;
    int64_t axis;
    tn_i64s offset;
} tn_caffe_crop_params;

static const tn_field crop_fields[] = {
    TN_FIELD(tn_caffe_crop_params, axis, TN_FIELD_I64, TN_OPTIONAL, "2",
             "first axis that is cropped; negative: from the end"),
    TN_FIELD(tn_caffe_crop_params, offset, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "where the part begins: for each cropped axis, or one for all; absent: 0"),
};

#endif
