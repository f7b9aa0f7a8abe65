/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a Conv node's numbers; see geometry.h. */
#include "conv/geometry.h"
#include <tenon/kit/known_steps.h>
#include "conv/conv.h"

/* An output has as many elements as there are windows, those cut off at an end among them or not.
 * False: windows of several channels. */
static bool read_windows(const tn_call *call, tn_conv_geometry *geometry) {
    const tn_tensor *y = call->outputs[0];
    tn_known_steps steps;
    geometry->window_height = geometry->window_width = 1;
    geometry->y_height = geometry->out_height;
    geometry->y_width = geometry->out_width;
    if (call->step_count == 0) return true;
    if (!tn_known_steps_read(call, &steps)) return false;
    for (uint32_t i = 0; i < steps.count; i++) {
        if (steps.items[i].kind != TN_KNOWN_WINDOW_MAX) continue;
        if (y->rank > 4) return false;
        geometry->window_height = steps.items[i].window[0];
        geometry->window_width = steps.items[i].window[1];
        geometry->y_height = y->rank > 3 ? y->shape[2] : 1;
        geometry->y_width = y->shape[y->rank - 1];
        if (y->rank < 4 && geometry->window_height != 1) return false;
    }
    return true;
}

/* An axis's numbers; of one that is not there those of an extent of 1. */
typedef struct conv_axis {
    int64_t input, output, kernel, stride, dilation, pad;
} conv_axis;

static conv_axis axis_of(const tn_window *window, uint32_t from_last) {
    if (from_last >= window->rank) return (conv_axis){1, 1, 1, 1, 1, 0};
    const uint32_t axis = window->rank - 1 - from_last;
    return (conv_axis){window->input[axis],  window->output[axis],   window->kernel[axis],
                       window->stride[axis], window->dilation[axis], window->pad_begin[axis]};
}

static bool is_pointwise(const conv_axis *axis) {
    return axis->kernel == 1 && axis->stride == 1 && axis->pad == 0 && axis->input == axis->output;
}

/* Positions along both axes are neighbours in the input and in the output. */
static void merge(conv_axis *outer, conv_axis *inner) {
    if (outer->input == 1 || !is_pointwise(outer) || !is_pointwise(inner)) return;
    inner->input *= outer->input;
    inner->output = inner->input;
    *outer = (conv_axis){1, 1, 1, 1, 1, 0};
}

static bool read_window(const tn_call *call, const tn_window *window, const tn_tensor *x,
                        const tn_tensor *w, tn_conv_geometry *out_geometry) {
    const tn_conv_params *params = call->params;
    conv_axis column = axis_of(window, 0), row = axis_of(window, 1), plane = axis_of(window, 2);
    if (window->rank == 3) {
        merge(&row, &column);
        merge(&plane, row.input == 1 ? &column : &row);
    }
    *out_geometry = (tn_conv_geometry){
        .batch = x->shape[0],
        .groups = params->group,
        .channels = w->shape[1],
        .filters = w->shape[0] / params->group,
        .in_height = row.input,
        .in_width = column.input,
        .out_height = row.output,
        .out_width = column.output,
        .kernel_height = row.kernel,
        .kernel_width = column.kernel,
        .stride_height = row.stride,
        .stride_width = column.stride,
        .dilation_height = row.dilation,
        .dilation_width = column.dilation,
        .pad_top = row.pad,
        .pad_left = column.pad,
        .in_depth = plane.input,
        .out_depth = plane.output,
        .kernel_depth = plane.kernel,
        .stride_depth = plane.stride,
        .dilation_depth = plane.dilation,
        .pad_front = plane.pad,
    };
    if (!read_windows(call, out_geometry)) return false;
    const tn_conv_geometry *g = out_geometry;
    return g->channels > 0 && g->filters > 0 && g->in_height > 0 && g->in_width > 0 &&
           g->in_depth > 0 && g->out_depth > 0 && g->kernel_depth > 0 && g->out_height > 0 &&
           g->out_width > 0 && g->kernel_height > 0 && g->kernel_width > 0;
}

const tn_tensor *tn_conv_open_x(const tn_call *call, const tn_tensor *w,
                                tn_open_stand_in *stand_in) {
    const tn_conv_params *params = call->params;
    const tn_tensor *x = call->inputs[TN_CONV_X];
    const bool is_open = x->shape[1] < 0;
    x = tn_open_resolve(x, TN_OPEN_EXTENT, stand_in);
    if (is_open) stand_in->shape[1] = w->shape[1] * params->group;
    return x;
}

static bool read(const tn_call *call, uint32_t most_rank, tn_conv_geometry *out_geometry) {
    const tn_tensor *x = call->inputs[TN_CONV_X], *w = call->inputs[TN_CONV_W];
    tn_window window;
    tn_open_stand_in stand_in;
    if (!x || !w || x->rank < 3 || x->rank > most_rank || w->rank != x->rank) return false;
    x = tn_conv_open_x(call, w, &stand_in);
    const tn_tensor *inputs[3] = {x, w, call->input_count > 2 ? call->inputs[2] : NULL};
    tn_call probe = *call;
    probe.inputs = inputs;
    return tn_conv_window(&probe, &window) == TN_OK &&
           read_window(call, &window, x, w, out_geometry);
}

bool tn_conv_geometry_read(const tn_call *call, tn_conv_geometry *out_geometry) {
    return read(call, 4, out_geometry);
}

bool tn_conv_volume_read(const tn_call *call, tn_conv_geometry *out_geometry) {
    return read(call, 5, out_geometry);
}
