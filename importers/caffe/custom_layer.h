/* SPDX-License-Identifier: Apache-2.0 */
/* Between custom_layer.c, and custom_fields.c, which implements this. */
#ifndef TN_IMPORTERS_CAFFE_CUSTOM_LAYER_H
#define TN_IMPORTERS_CAFFE_CUSTOM_LAYER_H

#include "importers/caffe/layer.h"
#include "importers/common/custom.h"

/* All parameters of a layer, in the reader's arena. */
tn_status tn_caffe_custom_fields_read(const tn_caffe_layer *layer, size_t *out_count,
                                      tn_custom_field **out_fields);

#endif
