/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of types that are no built-in ones: a plugin's operators. */
#include "base/status.h"
#include "parse/caffe/caffe.h"

bool tn_caffe_custom_is_wanted(const tn_caffe_reader *reader, const tn_caffe_layer *layer) {
    (void)reader;
    return !layer->type;
}

tn_status tn_caffe_read_custom(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    (void)reader;
    const char *nearest = tn_caffe_type_nearest(layer->type_name);
    return tn_fail(TN_ERROR_UNSUPPORTED, "layers of type '%.200s' are not known%s%s%s",
                   layer->type_name, nearest ? "; the nearest is '" : "", nearest ? nearest : "",
                   nearest ? "'" : "");
}
