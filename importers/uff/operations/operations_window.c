/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows over spatial axes (window.h), and the operations without weights that have one or name an
 * axis of channels: Pool, LRN, BatchNorm. The input is brought into N, C, spatial order by the
 * node's dimension orders; the output stays so. Conv and ConvTranspose are operations_conv.c.
 */
#include "base/status.h"
#include "importers/uff/operations/window.h"

#include <inttypes.h>
#include <string.h>

static tn_status read_list(const tn_uff_reader *reader, const tn_uff_node *node, const char *name,
                           uint32_t rank, int64_t fallback, int64_t *out_items) {
    size_t count = 0;
    const int64_t *items;
    TN_TRY(tn_uff_field_i64s(reader, node, name, &count, &items));
    if (count != 0 && count != rank)
        return tn_fail(TN_ERROR_FORMAT, "field '%s' has %zu numbers for %" PRIu32 " spatial axes",
                       name, count, rank);
    for (uint32_t i = 0; i < rank; i++) {
        out_items[i] = count ? items[i] : fallback;
        if (out_items[i] < fallback || out_items[i] > INT32_MAX)
            return tn_fail(TN_ERROR_FORMAT, "field '%s' holds %" PRId64, name, out_items[i]);
    }
    return TN_OK;
}

/* The window's kernel is set by the caller. */
tn_status tn_uff_window_read(tn_uff_reader *reader, const tn_uff_node *node,
                             tn_uff_window *out_window) {
    const char *padding;
    tn_uff_window *w = out_window;
    TN_TRY(read_list(reader, node, "strides", w->rank, 1, w->strides));
    TN_TRY(read_list(reader, node, "dilation", w->rank, 1, w->dilations));
    TN_TRY(read_list(reader, node, "padding", w->rank, 0, w->pads));
    memcpy(&w->pads[w->rank], w->pads, w->rank * sizeof(int64_t));
    TN_TRY(tn_uff_field_text(reader, node, "implicit_padding", &padding));
    w->is_same = padding && strcmp(padding, "same") == 0;
    if (padding && !w->is_same)
        return tn_fail(TN_ERROR_UNSUPPORTED, "implicit padding '%s' is not known; there is 'same'",
                       padding);
    for (uint32_t i = 0; w->is_same && i < w->rank; i++)
        if (w->pads[i] != 0)
            return tn_fail(TN_ERROR_FORMAT, "padding is given both by numbers and as 'same'");
    return TN_OK;
}

void tn_uff_window_add(const tn_uff_window *w, tn_uff_attributes *attributes) {
    tn_uff_attribute_i64s(attributes, "strides", w->rank, w->strides);
    if (w->is_same)
        tn_uff_attribute_text(attributes, "auto_pad", "SAME_UPPER");
    else
        tn_uff_attribute_i64s(attributes, "pads", 2 * (size_t)w->rank, w->pads);
}

/* The output's extent along a spatial axis. */
int64_t tn_uff_window_extent(tn_uff_reader *reader, const tn_uff_window *w, uint32_t axis,
                             int64_t in) {
    if (tn_uff_is_open(in)) return w->is_same && w->strides[axis] == 1 ? in : tn_uff_open(reader);
    if (w->is_same) return in / w->strides[axis] + (in % w->strides[axis] != 0);
    const int64_t reach = (w->kernel[axis] - 1) * w->dilations[axis] + 1;
    int64_t room;
    if (!tn_add_i64(in, 2 * w->pads[axis] - reach, &room) || room < 0) return tn_uff_open(reader);
    return room / w->strides[axis] + 1;
}

/* An input's axes by the node's orders; the output lies as the input is brought. */
tn_status tn_uff_window_order(const tn_uff_reader *reader, tn_uff_call *call,
                              uint32_t minimum_rank) {
    const tn_uff_value *x = call->inputs[0];
    if (x->rank < minimum_rank)
        return tn_fail(TN_ERROR_SHAPE,
                       "input '%s' has rank %" PRIu32 "; %" PRIu32 " and more is expected", x->name,
                       x->rank, minimum_rank);
    tn_uff_value_like(call->output, x);
    return tn_uff_order_read(reader, call->node, 0, x->rank, &call->output->storage);
}

/* ----------------------------------------------------------------------------------------------
 * Pool, LRN, BatchNorm */

tn_status tn_uff_read_pool(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *y = call->output;
    const char *function;
    tn_uff_window w = {0};
    tn_uff_attributes attributes = {0};
    tn_import_tensor input;
    TN_TRY(tn_uff_window_order(reader, call, 3));
    w.rank = y->rank - 2;
    TN_TRY(tn_uff_field_text(reader, call->node, "func", &function));
    const bool is_max = function && strcmp(function, "max") == 0;
    if (!is_max && (!function || strcmp(function, "avg") != 0))
        return tn_fail(function ? TN_ERROR_UNSUPPORTED : TN_ERROR_FORMAT,
                       "field 'func' is '%s': expected max or avg", function ? function : "");
    TN_TRY(read_list(reader, call->node, "kernel", w.rank, 1, w.kernel));
    TN_TRY(tn_uff_window_read(reader, call->node, &w));
    tn_uff_attribute_i64s(&attributes, "kernel_shape", w.rank, w.kernel);
    tn_uff_window_add(&w, &attributes);
    TN_TRY(tn_uff_value_ordered(reader, call->inputs[0], &y->storage, &input));
    for (uint32_t i = 0; i < w.rank; i++) {
        int64_t *extent = &y->extents[y->storage.axes[i + 2]];
        *extent = tn_uff_window_extent(reader, &w, i, *extent);
    }
    return tn_uff_emit(reader, is_max ? "MaxPool" : "AveragePool", 0, y->name, &attributes, 1,
                       &input, &y->tensor);
}

/* UFF keeps the framework's numbers: alpha is not divided by the window's size, and the window is
 * given by its radius. */
tn_status tn_uff_read_lrn(tn_uff_reader *reader, tn_uff_call *call) {
    int64_t radius;
    double alpha, beta, bias;
    tn_uff_attributes attributes = {0};
    tn_import_tensor input;
    TN_TRY(tn_uff_window_order(reader, call, 2));
    TN_TRY(tn_uff_field_i64(reader, call->node, "window_size", 5, &radius));
    TN_TRY(tn_uff_field_f64(reader, call->node, "alpha", 1, &alpha));
    TN_TRY(tn_uff_field_f64(reader, call->node, "beta", 0.5, &beta));
    TN_TRY(tn_uff_field_f64(reader, call->node, "k", 1, &bias));
    if (radius < 0 || radius > 65536)
        return tn_fail(TN_ERROR_FORMAT, "field 'window_size' is %" PRId64, radius);
    const int64_t size = 2 * radius + 1;
    tn_uff_attribute_i64(&attributes, "size", size);
    tn_uff_attribute_f64(&attributes, "alpha", alpha * (double)size);
    tn_uff_attribute_f64(&attributes, "beta", beta);
    tn_uff_attribute_f64(&attributes, "bias", bias);
    TN_TRY(tn_uff_value_ordered(reader, call->inputs[0], &call->output->storage, &input));
    return tn_uff_emit(reader, "LRN", 0, call->output->name, &attributes, 1, &input,
                       &call->output->tensor);
}

tn_status tn_uff_read_batch_norm(tn_uff_reader *reader, tn_uff_call *call) {
    double epsilon;
    tn_uff_attributes attributes = {0};
    tn_import_tensor inputs[5];
    TN_TRY(tn_uff_window_order(reader, call, 2));
    TN_TRY(tn_uff_field_require(reader, call->node, "epsilon"));
    TN_TRY(tn_uff_field_f64(reader, call->node, "epsilon", 0, &epsilon));
    tn_uff_attribute_f64(&attributes, "epsilon", epsilon);
    TN_TRY(tn_uff_value_ordered(reader, call->inputs[0], &call->output->storage, &inputs[0]));
    for (uint32_t i = 1; i < 5; i++)
        TN_TRY(tn_uff_value_plain(reader, call->inputs[i], &inputs[i]));
    return tn_uff_emit(reader, "BatchNormalization", 0, call->output->name, &attributes, 5, inputs,
                       &call->output->tensor);
}
