/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caffe's BlobProto. Elements are floats, doubles, or (NVIDIA's fork) raw bytes of a stated type;
 * all become floats, Caffe's own type at inference.
 */
#include "importers/caffe/blob.h"

#include "base/status.h"
#include "tensor/type.h"

#include <string.h>

enum { RAW_DOUBLE = 0, RAW_FLOAT = 1, RAW_FLOAT16 = 2 };

tn_status tn_caffe_blob_shape(const tn_caffe_blob *blob, tn_shape *out_shape) {
    if (blob->has_num || blob->has_channels || blob->has_height || blob->has_width) {
        const int64_t extents[4] = {blob->num, blob->channels, blob->height, blob->width};
        return tn_shape_set(out_shape, 4, extents);
    }
    if (!blob->shape) return tn_shape_set(out_shape, 0, NULL);
    if (blob->shape->n_dim > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %zu; at most %d is possible", blob->shape->n_dim,
                       TN_MAX_RANK);
    return tn_shape_set(out_shape, (uint32_t)blob->shape->n_dim, blob->shape->dim);
}

static tn_status fail_count(const tn_shape *shape, size_t expected, size_t found) {
    char text[TN_SHAPE_TEXT_BYTES];
    return tn_fail(TN_ERROR_FORMAT, "its shape %s takes %zu elements, but it has %zu",
                   tn_shape_print(shape->rank, shape->extents, text, sizeof(text)), expected,
                   found);
}

static float raw_element(const tn_caffe_blob *blob, size_t index) {
    const uint8_t *data = blob->raw_data.data;
    double wide;
    float single;
    uint16_t half;
    switch (blob->raw_data_type) {
    case RAW_DOUBLE:
        memcpy(&wide, data + index * sizeof(wide), sizeof(wide));
        return (float)wide;
    case RAW_FLOAT:
        memcpy(&single, data + index * sizeof(single), sizeof(single));
        return single;
    default:
        memcpy(&half, data + index * sizeof(half), sizeof(half));
        return tn_f16_to_f32(half);
    }
}

static tn_status raw_count(const tn_caffe_blob *blob, size_t *out_count) {
    static const size_t bytes[] = {8, 4, 2};
    if (blob->raw_data_type < 0 || blob->raw_data_type > RAW_FLOAT16)
        return tn_fail(TN_ERROR_UNSUPPORTED, "raw data of type number %d are not supported",
                       blob->raw_data_type);
    *out_count = blob->raw_data.len / bytes[blob->raw_data_type];
    return TN_OK;
}

tn_status tn_caffe_blob_data(tn_import_graph *graph, tn_caffe_blob *blob, const tn_shape *shape,
                             const float **out_data) {
    bool is_double = blob->n_double_data > 0, is_raw = blob->has_raw_data && blob->n_data == 0;
    size_t expected, found = is_double ? blob->n_double_data : blob->n_data;
    TN_TRY(tn_shape_count(shape, &expected));
    if (is_raw && !is_double) TN_TRY(raw_count(blob, &found));
    if (found != expected) return fail_count(shape, expected, found);
    *out_data = NULL;
    if (expected == 0) return TN_OK;
    if (!is_double && !is_raw) {
        const void *taken;
        TN_TRY(tn_import_take(graph, (void **)&blob->data, expected * sizeof(float), "weights",
                              &taken));
        if (!blob->data) blob->n_data = 0;
        *out_data = taken;
        return TN_OK;
    }
    float *copy = tn_import_allocate(graph, expected * sizeof(*copy));
    if (!copy) return tn_fail_memory("weights");
    for (size_t i = 0; i < expected; i++)
        copy[i] = is_double ? (float)blob->double_data[i] : raw_element(blob, i);
    *out_data = copy;
    return TN_OK;
}
