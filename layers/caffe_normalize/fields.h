/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of Caffe's Normalize, for the operator and the kernels of every device. */
#ifndef TN_LAYERS_CAFFE_NORMALIZE_FIELDS_H
#define TN_LAYERS_CAFFE_NORMALIZE_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_caffe_normalize_params {
    uint64_t present;
    bool across_spatial, channel_shared;
    float eps;
} tn_caffe_normalize_params;

static const tn_field normalize_fields[] = {
    TN_FIELD(tn_caffe_normalize_params, across_spatial, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether the length is that of a whole image instead of the channels at one pixel"),
    TN_FIELD(tn_caffe_normalize_params, channel_shared, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether all channels have one scale"),
    TN_FIELD(tn_caffe_normalize_params, eps, TN_FIELD_F32, TN_OPTIONAL, "1e-10",
             "what is added to the sum of squares"),
};

#endif
