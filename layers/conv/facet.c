/* SPDX-License-Identifier: Apache-2.0 */
/* What a Conv node declares itself to be. */
#include "conv/conv.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/known_steps.h>
#include <tenon/plugin/before.h>

static void describe_linear(tn_linear *linear) {
    linear->axis = 1;
    linear->weights = TN_CONV_W;
    linear->weights_axis = 0;
    linear->bias = TN_CONV_B;
}

/* False for extents of more than 32 bits. */
static bool describe_window(const tn_window *window, tn_facet_convolution *to) {
    for (uint32_t i = 0; i < window->rank; i++) {
        if (window->kernel[i] > INT32_MAX || window->stride[i] > INT32_MAX ||
            window->dilation[i] > INT32_MAX || window->pad_begin[i] > INT32_MAX ||
            window->pad_end[i] > INT32_MAX || window->pad_begin[i] < INT32_MIN ||
            window->pad_end[i] < INT32_MIN)
            return false;
        to->kernel[i] = (int32_t)window->kernel[i];
        to->stride[i] = (int32_t)window->stride[i];
        to->dilation[i] = (int32_t)window->dilation[i];
        to->pad_begin[i] = (int32_t)window->pad_begin[i];
        to->pad_end[i] = (int32_t)window->pad_end[i];
    }
    return true;
}

/* A convolution of a run's tensor with constants. */
static tn_status describe_convolution(tn_call *call, uint32_t input, tn_facet *out_facet) {
    const tn_tensor *w = tn_infer_input(call, TN_CONV_W), *b = tn_infer_input(call, TN_CONV_B);
    const tn_conv_params *params = call->params;
    tn_facet_convolution *what = out_facet->what;
    tn_window window;
    if (input != TN_CONV_X || !w || !w->data || (b && !b->data) ||
        tn_conv_window(call, &window) != TN_OK || window.rank > TN_COUNT(what->kernel) ||
        w->shape[0] > INT32_MAX || !describe_window(&window, what))
        return TN_ERROR_UNSUPPORTED;
    what->size = sizeof(*what);
    what->rank = window.rank;
    what->groups = (int32_t)params->group;
    what->filters = (int32_t)w->shape[0];
    out_facet->flags = TN_FACET_RESHAPES;
    out_facet->operand_count = b ? 2 : 1;
    out_facet->operands[0] = (tn_facet_operand){.input = TN_CONV_W, .form = TN_OPERAND_CONSTANT};
    out_facet->operands[1] =
        (tn_facet_operand){.input = TN_CONV_B, .form = TN_OPERAND_VECTOR, .axis = 1};
    return TN_OK;
}

tn_status tn_conv_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    if (tn_known_is(name, TN_FACET_CONVOLUTION))
        return describe_convolution(call, input, out_facet);
    if (!tn_known_is(name, TN_FACET_LINEAR)) return TN_ERROR_UNSUPPORTED;
    describe_linear(out_facet->what);
    return TN_OK;
}
