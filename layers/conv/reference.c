/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of Conv: a correlation, computed by the loops of kit/window/convolve.h. */
#include "conv/conv.h"
#include <tenon/kit/infer.h>
#include "kit/window/convolve.h"

static int64_t find_input(const tn_window *window, const int64_t *position, const int64_t *tap) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < window->rank; i++) {
        int64_t at =
            position[i] * window->stride[i] - window->pad_begin[i] + tap[i] * window->dilation[i];
        if (at < 0 || at >= window->input[i]) return -1;
        offset = offset * window->input[i] + at;
    }
    return offset;
}

tn_status tn_conv_reference(tn_call *call) {
    const tn_conv_params *params = call->params;
    const tn_tensor *w = call->inputs[TN_CONV_W];
    tn_window window;
    TN_TRY(tn_conv_window(call, &window));
    tn_convolution convolution = {
        .x = call->inputs[TN_CONV_X],
        .w = w,
        .b = tn_infer_input(call, TN_CONV_B),
        .y = call->outputs[0],
        .window = &window,
        .groups = params->group,
        .channels = w->shape[1],
        .filters = w->shape[0] / params->group,
        .find = find_input,
    };
    return tn_convolve(call, &convolution);
}
