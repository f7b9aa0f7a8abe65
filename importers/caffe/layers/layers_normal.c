/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalisation and what scales whole channels: BatchNorm, Scale, Bias, LRN, MVN, Softmax.
 * Semantics: Caffe's layers of these names.
 */
#include "base/status.h"
#include "importers/caffe/caffe.h"

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * BatchNorm */

/* A list of floats of the graph's own: `from` times a factor, or the factor where it is null. */
static tn_status make_channels(tn_caffe_reader *reader, tn_caffe_layer *layer, const char *part,
                               int64_t channels, const float *from, double factor,
                               tn_import_tensor *out_tensor) {
    size_t bytes;
    if (!tn_mul_size((size_t)channels, sizeof(float), &bytes)) return tn_fail_memory("weights");
    float *data = tn_import_room(reader->graph, bytes);
    if (!data) return tn_fail_memory("weights");
    for (int64_t i = 0; i < channels; i++)
        data[i] = (float)(from ? factor * (double)from[i] : factor);
    return tn_caffe_floats(reader, layer, part, 1, &channels, data, out_tensor);
}

/* What a BatchNorm layer's blobs come to. */
typedef struct batch_norm {
    int64_t channels;
    const float *mean, *variance, *gamma, *beta;
    double factor; /* of mean and variance */
} batch_norm;

/* Three blobs: sums of means and variances, and what they are to be divided by. NVIDIA's fork has
 * five: mean, variance, factor, gamma and beta, of which the first two stand for themselves. */
static tn_status read_batch_norm(tn_caffe_reader *reader, tn_caffe_layer *layer, batch_norm *out) {
    const tn_caffe_value *x = &layer->bottoms[0];
    bool has_scale = tn_caffe_blob_count(reader, layer) == 5;
    const float *divisor;
    int64_t one = 1;
    if (!tn_prototext_bool(layer->params, "use_global_stats", true))
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "use_global_stats: false (statistics of the batch) is not supported");
    if (x->rank != UINT32_MAX && x->rank < 2)
        return tn_fail(TN_ERROR_SHAPE, "its bottom has rank %" PRIu32 "; at least 2 is expected",
                       x->rank);
    out->channels = x->rank == UINT32_MAX ? -1 : x->extents[1];
    TN_TRY(tn_caffe_blob_read(reader, layer, 0, 1, &out->channels, &out->mean));
    TN_TRY(tn_caffe_blob_read(reader, layer, 1, 1, &out->channels, &out->variance));
    TN_TRY(tn_caffe_blob_read(reader, layer, 2, 1, &one, &divisor));
    if (has_scale) TN_TRY(tn_caffe_blob_read(reader, layer, 3, 1, &out->channels, &out->gamma));
    if (has_scale) TN_TRY(tn_caffe_blob_read(reader, layer, 4, 1, &out->channels, &out->beta));
    out->factor = has_scale ? 1 : divisor[0] == 0 ? 0 : 1 / (double)divisor[0];
    return TN_OK;
}

/* The layer after this one where it is a Scale of the channels that works on its top in place, so
 * that nobody else sees what is between the two; or null. */
static tn_caffe_layer *find_scale(const tn_caffe_reader *reader, const tn_caffe_layer *layer) {
    if (layer->place + 1 >= reader->layer_count) return NULL;
    tn_caffe_layer *next = &reader->layers[layer->place + 1];
    bool is_scale = next->type && strcmp(next->type_name, "Scale") == 0 &&
                    next->bottom_count == 1 && tn_prototext_integer(next->params, "axis", 1) == 1 &&
                    tn_prototext_integer(next->params, "num_axes", 1) == 1;
    return is_scale && strcmp(next->bottom_names[0], layer->top_names[0]) == 0 &&
                   strcmp(next->top_names[0], layer->top_names[0]) == 0
               ? next
               : NULL;
}

static tn_status merge_scale(tn_caffe_reader *reader, tn_caffe_layer *scale, batch_norm *out) {
    TN_TRY(tn_caffe_blob_read(reader, scale, 0, 1, &out->channels, &out->gamma));
    if (tn_prototext_bool(scale->params, "bias_term", false))
        TN_TRY(tn_caffe_blob_read(reader, scale, 1, 1, &out->channels, &out->beta));
    scale->is_merged = true;
    return TN_OK;
}

/* A BatchNorm layer, and the Scale layer that follows most of them, are one node. */
tn_status tn_caffe_read_batch_norm(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_import_tensor inputs[5] = {x->tensor, TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR,
                                  TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR};
    tn_caffe_attributes attributes = {0};
    batch_norm norm = {0};
    TN_TRY(read_batch_norm(reader, layer, &norm));
    tn_caffe_layer *scale = norm.gamma ? NULL : find_scale(reader, layer);
    if (scale)
        TN_TRY(tn_error_at(merge_scale(reader, scale, &norm), "layer '%s' after it", scale->name));
    const int64_t channels = norm.channels;
    TN_TRY(make_channels(reader, layer, "gamma", channels, norm.gamma, 1, &inputs[1]));
    TN_TRY(
        make_channels(reader, layer, "beta", channels, norm.beta, norm.beta ? 1 : 0, &inputs[2]));
    TN_TRY(make_channels(reader, layer, "mean", channels, norm.mean, norm.factor, &inputs[3]));
    TN_TRY(
        make_channels(reader, layer, "variance", channels, norm.variance, norm.factor, &inputs[4]));
    tn_caffe_add_float(&attributes, "epsilon", tn_prototext_number(layer->params, "eps", 1e-5));
    return tn_caffe_top(reader, scale ? scale : layer, 0, "", "BatchNormalization", &attributes, 5,
                        inputs, x);
}

/* ----------------------------------------------------------------------------------------------
 * Scale and Bias */

/* Which axes of the bottom a blob spans. */
typedef struct span {
    uint32_t axis, count;
    int64_t shape[TN_MAX_RANK]; /* of the constant: the span's extents and 1s after them */
    uint32_t rank;
} span;

static tn_status read_span(const tn_caffe_layer *layer, span *out) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t count = tn_prototext_integer(layer->params, "num_axes", 1);
    TN_TRY(tn_caffe_require_rank(x));
    TN_TRY(tn_caffe_axis(x, "axis", tn_prototext_integer(layer->params, "axis", 1), &out->axis));
    if (count == -1) count = x->rank - out->axis;
    if (count < 0 || count > x->rank - out->axis)
        return tn_fail(TN_ERROR_RANGE,
                       "num_axes is %" PRId64 "; the bottom has %" PRIu32 " axes from axis %" PRIu32
                       " on",
                       count, x->rank - out->axis, out->axis);
    out->count = (uint32_t)count;
    out->rank = count == 0 ? 0 : x->rank - out->axis;
    for (uint32_t i = 0; i < out->rank; i++)
        out->shape[i] = i < out->count ? x->extents[out->axis + i] : 1;
    return TN_OK;
}

/* A blob with 1s after its extents, so that it is spread over the axes behind. */
static tn_status span_constant(tn_caffe_reader *reader, tn_caffe_layer *layer, uint32_t index,
                               const span *from, tn_import_tensor *out_tensor) {
    int64_t extents[TN_MAX_RANK], shape[TN_MAX_RANK];
    const float *data;
    memcpy(extents, from->shape, sizeof(extents));
    TN_TRY(tn_caffe_blob_read(reader, layer, index, from->count, extents, &data));
    memcpy(shape, from->shape, sizeof(shape));
    memcpy(shape, extents, from->count * sizeof(*shape));
    return tn_caffe_blob_constant(reader, layer, index, from->count, extents, from->rank, shape,
                                  out_tensor);
}

/* The second bottom with 1s after its extents. */
static tn_status span_bottom(tn_caffe_reader *reader, tn_caffe_layer *layer, span *out_span,
                             tn_import_tensor *out_tensor) {
    const tn_caffe_value *x = &layer->bottoms[0], *y = &layer->bottoms[1];
    int64_t axes[TN_MAX_RANK];
    TN_TRY(tn_caffe_require_rank(x));
    TN_TRY(tn_caffe_require_rank(y));
    TN_TRY(
        tn_caffe_axis(x, "axis", tn_prototext_integer(layer->params, "axis", 1), &out_span->axis));
    if (y->rank > x->rank - out_span->axis)
        return tn_fail(TN_ERROR_SHAPE,
                       "its second bottom has rank %" PRIu32 "; the first has %" PRIu32
                       " axes from axis %" PRIu32 " on",
                       y->rank, x->rank - out_span->axis, out_span->axis);
    out_span->count = y->rank;
    out_span->rank = y->rank == 0 ? 0 : x->rank - out_span->axis;
    for (uint32_t i = 0; i < out_span->rank; i++)
        out_span->shape[i] = i < y->rank ? x->extents[out_span->axis + i] : 1;
    uint32_t behind = out_span->rank - y->rank;
    *out_tensor = y->tensor;
    if (behind == 0) return TN_OK;
    for (uint32_t i = 0; i < behind; i++)
        axes[i] = y->rank + i;
    tn_import_tensor inputs[2] = {y->tensor, TN_IMPORT_NO_TENSOR};
    TN_TRY(tn_caffe_index_list(reader, layer, "axes", behind, axes, &inputs[1]));
    return tn_caffe_inner(reader, layer, "spread", "", "Unsqueeze", NULL, 2, inputs, out_tensor);
}

tn_status tn_caffe_read_scale(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    bool has_blob = layer->bottom_count == 1;
    tn_caffe_chain chain = {0};
    tn_import_tensor operand;
    span axes = {0};
    if (has_blob) {
        TN_TRY(read_span(layer, &axes));
        TN_TRY(span_constant(reader, layer, 0, &axes, &operand));
    } else {
        TN_TRY(span_bottom(reader, layer, &axes, &operand));
    }
    tn_caffe_chain_add(&chain, "Mul", "scaled", operand);
    if (tn_prototext_bool(layer->params, "bias_term", false)) {
        TN_TRY(span_constant(reader, layer, has_blob ? 1 : 0, &axes, &operand));
        tn_caffe_chain_add(&chain, "Add", "shifted", operand);
    }
    return tn_caffe_chain_emit(reader, layer, &chain, x->tensor, x);
}

tn_status tn_caffe_read_bias(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_caffe_chain chain = {0};
    tn_import_tensor operand;
    span axes = {0};
    if (layer->bottom_count == 1) {
        TN_TRY(read_span(layer, &axes));
        TN_TRY(span_constant(reader, layer, 0, &axes, &operand));
    } else {
        TN_TRY(span_bottom(reader, layer, &axes, &operand));
    }
    tn_caffe_chain_add(&chain, "Add", "shifted", operand);
    return tn_caffe_chain_emit(reader, layer, &chain, x->tensor, x);
}

/* ----------------------------------------------------------------------------------------------
 * LRN, MVN, Softmax */

/* x * (1 + alpha * mean of squares in the window) ^ -beta */
static tn_status emit_within(tn_caffe_reader *reader, tn_caffe_layer *layer, int64_t size,
                             double alpha, double beta) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t kernel[2] = {size, size}, pad = (size - 1) / 2, pads[4] = {pad, pad, pad, pad};
    tn_import_tensor inputs[2] = {x->tensor, x->tensor}, mean;
    tn_caffe_attributes attributes = {0};
    tn_caffe_add_integers(&attributes, "kernel_shape", 2, kernel);
    tn_caffe_add_integers(&attributes, "pads", 4, pads);
    tn_caffe_add_integer(&attributes, "count_include_pad", 1);
    TN_TRY(tn_caffe_inner(reader, layer, "squares", "", "Mul", NULL, 2, inputs, &mean));
    TN_TRY(tn_caffe_inner(reader, layer, "means", "", "AveragePool", &attributes, 1, &mean, &mean));
    static const char *const steps[] = {"Mul", "Add", "Pow"};
    static const char *const names[] = {"alpha", "one", "beta"};
    const double values[] = {alpha, 1, -beta};
    for (size_t i = 0; i < TN_COUNT(steps); i++) {
        tn_import_tensor operands[2] = {mean, TN_IMPORT_NO_TENSOR};
        TN_TRY(tn_caffe_scalar(reader, layer, names[i], values[i], &operands[1]));
        TN_TRY(tn_caffe_inner(reader, layer, names[i], "", steps[i], NULL, 2, operands, &mean));
    }
    inputs[1] = mean;
    return tn_caffe_top(reader, layer, 0, "", "Mul", NULL, 2, inputs, x);
}

tn_status tn_caffe_read_lrn(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t size = tn_prototext_integer(layer->params, "local_size", 5);
    double alpha = tn_prototext_number(layer->params, "alpha", 1);
    double beta = tn_prototext_number(layer->params, "beta", 0.75);
    tn_caffe_attributes attributes = {0};
    if (size < 1 || size % 2 == 0)
        return tn_fail(TN_ERROR_RANGE, "local_size is %" PRId64 "; an odd number is expected",
                       size);
    if (strcmp(tn_prototext_text(layer->params, "norm_region", ""), "WITHIN_CHANNEL") == 0)
        return emit_within(reader, layer, size, alpha, beta);
    tn_caffe_add_integer(&attributes, "size", size);
    tn_caffe_add_float(&attributes, "alpha", alpha);
    tn_caffe_add_float(&attributes, "beta", beta);
    tn_caffe_add_float(&attributes, "bias", tn_prototext_number(layer->params, "k", 1));
    return tn_caffe_top(reader, layer, 0, "", "LRN", &attributes, 1, &x->tensor, x);
}

/* (x - mean) / (standard deviation + eps), over each plane or each item of the batch. */
tn_status tn_caffe_read_mvn(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t axes[TN_MAX_RANK];
    uint32_t count = 0;
    tn_import_tensor pair[2] = {x->tensor, TN_IMPORT_NO_TENSOR}, centred, deviation;
    tn_caffe_attributes mean = {0};
    TN_TRY(tn_caffe_require_rank(x));
    if (x->rank < 3)
        return tn_fail(TN_ERROR_SHAPE, "its bottom has rank %" PRIu32 "; at least 3 is expected",
                       x->rank);
    for (uint32_t i = tn_prototext_bool(layer->params, "across_channels", false) ? 1 : 2;
         i < x->rank; i++)
        axes[count++] = i;
    tn_caffe_add_integers(&mean, "axes", count, axes);
    TN_TRY(tn_caffe_inner(reader, layer, "mean", "", "ReduceMean", &mean, 1, pair, &pair[1]));
    if (!tn_prototext_bool(layer->params, "normalize_variance", true))
        return tn_caffe_top(reader, layer, 0, "", "Sub", NULL, 2, pair, x);
    TN_TRY(tn_caffe_inner(reader, layer, "centred", "", "Sub", NULL, 2, pair, &centred));
    pair[0] = pair[1] = centred;
    TN_TRY(tn_caffe_inner(reader, layer, "squares", "", "Mul", NULL, 2, pair, &deviation));
    TN_TRY(tn_caffe_inner(reader, layer, "variance", "", "ReduceMean", &mean, 1, &deviation,
                          &deviation));
    TN_TRY(tn_caffe_inner(reader, layer, "deviation", "", "Sqrt", NULL, 1, &deviation, &pair[0]));
    TN_TRY(tn_caffe_scalar(reader, layer, "eps", tn_prototext_number(layer->params, "eps", 1e-9),
                           &pair[1]));
    TN_TRY(tn_caffe_inner(reader, layer, "divisor", "", "Add", NULL, 2, pair, &pair[1]));
    pair[0] = centred;
    return tn_caffe_top(reader, layer, 0, "", "Div", NULL, 2, pair, x);
}

tn_status tn_caffe_read_softmax(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    uint32_t axis;
    tn_caffe_attributes attributes = {0};
    TN_TRY(tn_caffe_axis(x, "axis", tn_prototext_integer(layer->params, "axis", 1), &axis));
    tn_caffe_add_integer(&attributes, "axis", axis);
    return tn_caffe_top(reader, layer, 0, "", "Softmax", &attributes, 1, &x->tensor, x);
}
