/* SPDX-License-Identifier: Apache-2.0 */
/* One blob of a binary file: its shape, and its elements as floats. For weights.c and mean.c. */
#ifndef TN_IMPORTERS_CAFFE_BLOB_H
#define TN_IMPORTERS_CAFFE_BLOB_H

#include "importers/common/import.h"
#include "importers/caffe/weights.pb-c.h"

typedef Tenon__Caffe__Weights__Blob tn_caffe_blob;

/* The older four extents where one is there, else the shape. */
tn_status tn_caffe_blob_shape(const tn_caffe_blob *blob, tn_shape *out_shape);
/* The elements, as many as the shape takes; they have the lifetime of the graph. They are taken out
 * of the message: this can be done once. Null when there are none. */
tn_status tn_caffe_blob_data(tn_import_graph *graph, tn_caffe_blob *blob, const tn_shape *shape,
                             const float **out_data);

#endif
