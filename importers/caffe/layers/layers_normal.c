/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalisation and what scales whole channels: BatchNorm, Scale, Bias, LRN, MVN, Softmax.
 * Semantics: Caffe's layers of these names.
 */
#include "base/status.h"
#include "importers/caffe/layer.h"

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * BatchNorm */

/* A list of floats of the graph's own: `from` times a factor, or the factor where it is null. */
static tn_import_tensor make_channels(const tn_caffe_layer *layer, const char *part,
                                      int64_t channels, const float *from, double factor) {
    size_t bytes;
    const bool fits = tn_mul_size((size_t)channels, sizeof(float), &bytes);
    float *data = fits ? tn_import_allocate(layer->reader->graph, bytes) : NULL;
    if (!data) tn_emit_keep(layer->emit, tn_fail_memory("weights"));
    for (int64_t i = 0; data && i < channels; i++)
        data[i] = (float)(from ? factor * (double)from[i] : factor);
    return tn_emit_lent(layer->emit, part, TN_F32, 1, &channels, data);
}

/* What a BatchNorm layer's blobs come to. */
typedef struct batch_norm {
    int64_t channels;
    const float *mean, *variance, *gamma, *beta;
    double factor; /* of mean and variance */
} batch_norm;

/* Three blobs: sums of means and variances, and what they are to be divided by. NVIDIA's fork has
 * five: mean, variance, factor, gamma and beta, of which the first two stand for themselves. */
static tn_status read_batch_norm(tn_caffe_layer *layer, batch_norm *out) {
    const bool has_scale = tn_caffe_blob_count(layer) == 5;
    const float *divisor;
    int64_t one = 1;
    if (!tn_prototext_bool(layer->params, "use_global_stats", true))
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "use_global_stats: false (statistics of the batch) is not supported");
    TN_TRY(tn_caffe_check_rank(layer, 2, true));
    out->channels = tn_caffe_extent(&layer->bottoms[0], 1);
    TN_TRY(tn_caffe_blob_read(layer, 0, 1, &out->channels, &out->mean));
    TN_TRY(tn_caffe_blob_read(layer, 1, 1, &out->channels, &out->variance));
    TN_TRY(tn_caffe_blob_read(layer, 2, 1, &one, &divisor));
    if (has_scale) TN_TRY(tn_caffe_blob_read(layer, 3, 1, &out->channels, &out->gamma));
    if (has_scale) TN_TRY(tn_caffe_blob_read(layer, 4, 1, &out->channels, &out->beta));
    out->factor = has_scale ? 1 : divisor[0] == 0 ? 0 : 1 / (double)divisor[0];
    return TN_OK;
}

/* The layer after this one where it is a Scale of the channels that works on its top in place, so
 * that nobody else sees what is between the two; or null. */
static tn_caffe_layer *find_scale(const tn_caffe_layer *layer) {
    if (layer->index + 1 >= layer->reader->layer_count) return NULL;
    tn_caffe_layer *next = &layer->reader->layers[layer->index + 1];
    bool is_scale = next->type && strcmp(next->type_name, "Scale") == 0 &&
                    next->bottom_count == 1 && tn_prototext_integer(next->params, "axis", 1) == 1 &&
                    tn_prototext_integer(next->params, "num_axes", 1) == 1;
    return is_scale && strcmp(next->bottom_names[0], layer->top_names[0]) == 0 &&
                   strcmp(next->top_names[0], layer->top_names[0]) == 0
               ? next
               : NULL;
}

static tn_status merge_scale(tn_caffe_layer *scale, batch_norm *out) {
    TN_TRY(tn_caffe_blob_read(scale, 0, 1, &out->channels, &out->gamma));
    if (tn_prototext_bool(scale->params, "bias_term", false))
        TN_TRY(tn_caffe_blob_read(scale, 1, 1, &out->channels, &out->beta));
    scale->is_merged = true;
    return TN_OK;
}

/* A BatchNorm layer, and the Scale layer that follows most of them, are one node. */
tn_status tn_caffe_read_batch_norm(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    batch_norm norm = {0};
    TN_TRY(read_batch_norm(layer, &norm));
    tn_caffe_layer *scale = norm.gamma ? NULL : find_scale(layer);
    if (scale) TN_TRY(tn_error_at(merge_scale(scale, &norm), "layer '%s' after it", scale->name));
    const int64_t channels = norm.channels;
    const double shift = norm.beta ? 1 : 0, factor = norm.factor;
    tn_import_tensor inputs[5] = {x->tensor};
    inputs[1] = make_channels(layer, "gamma", channels, norm.gamma, 1);
    inputs[2] = make_channels(layer, "beta", channels, norm.beta, shift);
    inputs[3] = make_channels(layer, "mean", channels, norm.mean, factor);
    inputs[4] = make_channels(layer, "variance", channels, norm.variance, factor);
    const double epsilon = tn_prototext_number(layer->params, "eps", 1e-5);
    return tn_caffe_top(scale ? scale : layer, 0, "BatchNormalization",
                        TN_EMIT(tn_emit_f64("epsilon", epsilon)), (tn_emit_tensors){5, inputs}, x);
}

/* ----------------------------------------------------------------------------------------------
 * Scale and Bias */

/* The axes of the bottom that an operand spans: their extents, and how many axes are behind. */
typedef struct span {
    uint32_t count, behind;
    int64_t extents[TN_MAX_RANK];
} span;

static void set_span(const tn_caffe_value *x, uint32_t axis, uint32_t count, span *out) {
    out->count = count;
    out->behind = count == 0 ? 0 : x->rank - axis - count;
    memcpy(out->extents, x->extents + axis, count * sizeof(*out->extents));
}

static tn_status read_span(const tn_caffe_layer *layer, span *out) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t count = tn_prototext_integer(layer->params, "num_axes", 1);
    uint32_t axis;
    TN_TRY(tn_caffe_require_rank(x));
    TN_TRY(tn_caffe_axis_read(layer, 1, &axis));
    if (count == -1) count = x->rank - axis;
    if (count < 0 || count > x->rank - axis)
        return tn_fail(TN_ERROR_RANGE,
                       "num_axes is %" PRId64 "; the bottom has %" PRIu32 " axes from axis %" PRIu32
                       " on",
                       count, x->rank - axis, axis);
    set_span(x, axis, (uint32_t)count, out);
    return TN_OK;
}

/* A blob with 1s after its extents, so that it is spread over the axes behind. */
static tn_status span_constant(tn_caffe_layer *layer, uint32_t index, span from,
                               tn_import_tensor *out_tensor) {
    return tn_caffe_blob_constant(layer, index, from.count, from.extents, from.behind, out_tensor);
}

/* The second bottom with 1s after its extents. */
static tn_status span_bottom(const tn_caffe_layer *layer, span *out_span,
                             tn_import_tensor *out_tensor) {
    const tn_caffe_value *x = &layer->bottoms[0], *y = &layer->bottoms[1];
    int64_t axes[TN_MAX_RANK];
    uint32_t axis;
    TN_TRY(tn_caffe_require_rank(x));
    TN_TRY(tn_caffe_require_rank(y));
    TN_TRY(tn_caffe_axis_read(layer, 1, &axis));
    if (y->rank > x->rank - axis)
        return tn_fail(TN_ERROR_SHAPE,
                       "its second bottom has rank %" PRIu32 "; the first has %" PRIu32
                       " axes from axis %" PRIu32 " on",
                       y->rank, x->rank - axis, axis);
    set_span(x, axis, y->rank, out_span);
    *out_tensor = y->tensor;
    if (out_span->behind == 0) return TN_OK;
    for (uint32_t i = 0; i < out_span->behind; i++)
        axes[i] = y->rank + i;
    const tn_import_tensor list = tn_emit_list(layer->emit, "axes", out_span->behind, axes);
    *out_tensor = tn_emit_binary(layer->emit, "spread", "Unsqueeze", y->tensor, list);
    return layer->emit->status;
}

/* What is multiplied or added: the second bottom, or else the first blob. */
static tn_status read_operand(tn_caffe_layer *layer, span *out_span, tn_import_tensor *out_tensor) {
    if (layer->bottom_count > 1) return span_bottom(layer, out_span, out_tensor);
    TN_TRY(read_span(layer, out_span));
    return span_constant(layer, 0, *out_span, out_tensor);
}

tn_status tn_caffe_read_scale(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_caffe_chain chain = {0};
    tn_import_tensor operand;
    span axes = {0};
    TN_TRY(read_operand(layer, &axes, &operand));
    tn_caffe_chain_add(&chain, "Mul", "scaled", operand);
    if (tn_prototext_bool(layer->params, "bias_term", false)) {
        TN_TRY(span_constant(layer, layer->bottom_count == 1 ? 1 : 0, axes, &operand));
        tn_caffe_chain_add(&chain, "Add", "shifted", operand);
    }
    return tn_caffe_chain_emit(layer, &chain, x->tensor, x);
}

tn_status tn_caffe_read_bias(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_import_tensor operand;
    span axes = {0};
    TN_TRY(read_operand(layer, &axes, &operand));
    return tn_caffe_top(layer, 0, "Add", NULL, TN_TENSORS(x->tensor, operand), x);
}

/* ----------------------------------------------------------------------------------------------
 * LRN, MVN, Softmax */

/* x * (1 + alpha * mean of squares in the window) ^ -beta */
static tn_status emit_within(const tn_caffe_layer *layer, int64_t size, double alpha, double beta) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_emitter *emit = layer->emit;
    const int64_t kernel[2] = {size, size}, pad = (size - 1) / 2, pads[4] = {pad, pad, pad, pad};
    static const char *const steps[] = {"Mul", "Add", "Pow"};
    static const char *const names[] = {"alpha", "one", "beta"};
    const double values[] = {alpha, 1, -beta};
    const tn_import_tensor squares = tn_emit_binary(emit, "squares", "Mul", x->tensor, x->tensor);
    tn_import_tensor mean =
        tn_emit(emit, "means", "AveragePool",
                TN_EMIT(tn_emit_i64s("kernel_shape", 2, kernel), tn_emit_i64s("pads", 4, pads),
                        tn_emit_i64("count_include_pad", 1)),
                TN_TENSORS(squares));
    for (size_t i = 0; i < TN_COUNT(steps); i++)
        mean = tn_emit_binary(emit, names[i], steps[i], mean,
                              tn_emit_scalar(emit, names[i], values[i]));
    return tn_caffe_top(layer, 0, "Mul", NULL, TN_TENSORS(x->tensor, mean), x);
}

tn_status tn_caffe_read_lrn(tn_caffe_layer *layer) {
    const int64_t size = tn_prototext_integer(layer->params, "local_size", 5);
    const double alpha = tn_prototext_number(layer->params, "alpha", 1);
    const double beta = tn_prototext_number(layer->params, "beta", 0.75);
    const double bias = tn_prototext_number(layer->params, "k", 1);
    if (size < 1 || size % 2 == 0)
        return tn_fail(TN_ERROR_RANGE, "local_size is %" PRId64 "; an odd number is expected",
                       size);
    if (strcmp(tn_prototext_text(layer->params, "norm_region", ""), "WITHIN_CHANNEL") == 0)
        return emit_within(layer, size, alpha, beta);
    return tn_caffe_map(layer, "LRN",
                        TN_EMIT(tn_emit_i64("size", size), tn_emit_f64("alpha", alpha),
                                tn_emit_f64("beta", beta), tn_emit_f64("bias", bias)));
}

/* (x - mean) / (standard deviation + eps), over each plane or each item of the batch. */
tn_status tn_caffe_read_mvn(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_emitter *emit = layer->emit;
    int64_t axes[TN_MAX_RANK];
    uint32_t count = 0;
    TN_TRY(tn_caffe_require_rank(x));
    TN_TRY(tn_caffe_check_rank(layer, 3, true));
    for (uint32_t i = tn_prototext_bool(layer->params, "across_channels", false) ? 1 : 2;
         i < x->rank; i++)
        axes[count++] = i;
    const tn_emit_fields *over = TN_EMIT(tn_emit_i64s("axes", count, axes));
    const tn_import_tensor mean = tn_emit(emit, "mean", "ReduceMean", over, TN_TENSORS(x->tensor));
    if (!tn_prototext_bool(layer->params, "normalize_variance", true))
        return tn_caffe_top(layer, 0, "Sub", NULL, TN_TENSORS(x->tensor, mean), x);
    const tn_import_tensor centred = tn_emit_binary(emit, "centred", "Sub", x->tensor, mean);
    const tn_import_tensor squares = tn_emit_binary(emit, "squares", "Mul", centred, centred);
    const tn_import_tensor variance =
        tn_emit(emit, "variance", "ReduceMean", over, TN_TENSORS(squares));
    const tn_import_tensor deviation = tn_emit_unary(emit, "deviation", "Sqrt", variance);
    const tn_import_tensor epsilon =
        tn_emit_scalar(emit, "eps", tn_prototext_number(layer->params, "eps", 1e-9));
    const tn_import_tensor divisor = tn_emit_binary(emit, "divisor", "Add", deviation, epsilon);
    return tn_caffe_top(layer, 0, "Div", NULL, TN_TENSORS(centred, divisor), x);
}

tn_status tn_caffe_read_softmax(tn_caffe_layer *layer) {
    uint32_t axis;
    TN_TRY(tn_caffe_axis_read(layer, 1, &axis));
    return tn_caffe_map(layer, "Softmax", TN_EMIT(tn_emit_i64("axis", axis)));
}
