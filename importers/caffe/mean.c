/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mean image (.binaryproto): a file that is one blob, read as a network that is one constant. Who
 * subtracts it is importers/edits/mean.c.
 */
#include "base/status.h"
#include "base/wire.h"
#include "importers/caffe/blob.h"
#include "importers/caffe/caffe.h"

static tn_status add_constant(tn_import_graph *graph, tn_caffe_blob *blob) {
    tn_shape shape;
    size_t count;
    const float *data;
    tn_import_tensor mean;
    TN_TRY(tn_caffe_blob_shape(blob, &shape));
    TN_TRY(tn_shape_count(&shape, &count));
    TN_TRY(tn_caffe_blob_data(graph, blob, &shape, &data));
    TN_TRY(
        tn_import_add_constant(graph, "mean", TN_F32, &shape, data, count * sizeof(*data), &mean));
    return tn_import_add_output(graph, mean, NULL);
}

static tn_status read_in(tn_import *import) {
    const tn_allocator allocator = tn_import_allocator(import);
    ProtobufCMessage *message;
    TN_TRY(tn_wire_unpack(&allocator, &tenon__caffe__weights__blob__descriptor, import->data,
                          (size_t)import->bytes, &message));
    const tn_status status = add_constant(import->graph, (tn_caffe_blob *)message);
    tn_wire_free(&allocator, message);
    return status;
}

static tn_status read_mean(tn_import *import) {
    return tn_import_read(import, read_in);
}

const tn_importer tn_caffe_mean_importer = {.size = sizeof(tn_importer),
                                            .name = "caffe_mean",
                                            .what = "a mean image of Caffe",
                                            .doc = "a mean image, as a model that is one constant",
                                            .endings = ".binaryproto",
                                            TN_NO_FIELDS,
                                            .read = read_mean};
