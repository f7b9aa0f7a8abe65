/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a Conv node's numbers; see geometry.h. */
#include "conv/geometry.h"
#include <tenon/kit/known_steps.h>
#include <tenon/kit/open.h>
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
        geometry->window_height = steps.items[i].window[0];
        geometry->window_width = steps.items[i].window[1];
        geometry->y_height = y->rank > 3 ? y->shape[2] : 1;
        geometry->y_width = y->shape[y->rank - 1];
        if (y->rank < 4 && geometry->window_height != 1) return false;
    }
    return true;
}

bool tn_conv_geometry_read(const tn_call *call, tn_conv_geometry *out_geometry) {
    const tn_conv_params *params = call->params;
    const tn_tensor *x = call->inputs[TN_CONV_X], *w = call->inputs[TN_CONV_W];
    tn_window window;
    tn_open_stand_in stand_in;
    if (!x || !w || (x->rank != 3 && x->rank != 4) || w->rank != x->rank) return false;
    const bool is_open = x->shape[1] < 0;
    x = tn_open_resolve(x, TN_OPEN_EXTENT, &stand_in);
    if (is_open) stand_in.shape[1] = w->shape[1] * params->group;
    const tn_tensor *inputs[3] = {x, w, call->input_count > 2 ? call->inputs[2] : NULL};
    tn_call probe = *call;
    probe.inputs = inputs;
    if (tn_conv_window(&probe, &window) != TN_OK) return false;
    const uint32_t last = window.rank - 1;
    const bool is_flat = window.rank == 1;
    *out_geometry = (tn_conv_geometry){
        .batch = x->shape[0],
        .groups = params->group,
        .channels = w->shape[1],
        .filters = w->shape[0] / params->group,
        .in_height = is_flat ? 1 : window.input[0],
        .in_width = window.input[last],
        .out_height = is_flat ? 1 : window.output[0],
        .out_width = window.output[last],
        .kernel_height = is_flat ? 1 : window.kernel[0],
        .kernel_width = window.kernel[last],
        .stride_height = is_flat ? 1 : window.stride[0],
        .stride_width = window.stride[last],
        .dilation_height = is_flat ? 1 : window.dilation[0],
        .dilation_width = window.dilation[last],
        .pad_top = is_flat ? 0 : window.pad_begin[0],
        .pad_left = window.pad_begin[last],
    };
    if (!read_windows(call, out_geometry)) return false;
    const tn_conv_geometry *g = out_geometry;
    return g->channels > 0 && g->filters > 0 && g->in_height > 0 && g->in_width > 0 &&
           g->out_height > 0 && g->out_width > 0 && g->kernel_height > 0 && g->kernel_width > 0;
}
