/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing the facets of tenon/plugin.h; see known_steps.h. */
#include <tenon/kit/known_steps.h>
#include <tenon/plugin/plane_mean.h>

#include <string.h>

static const char *const names[] = {
    [TN_KNOWN_BIAS] = TN_FACET_BIAS,
    [TN_KNOWN_SCALE] = TN_FACET_SCALE,
    [TN_KNOWN_RESIDUAL] = TN_FACET_RESIDUAL,
    [TN_KNOWN_ACTIVATION] = TN_FACET_ACTIVATION,
    [TN_KNOWN_ROW] = TN_FACET_ROW,
    [TN_KNOWN_EXPRESSION] = TN_FACET_EXPRESSION,
    [TN_KNOWN_WINDOW_MAX] = TN_FACET_WINDOW_MAX,
    [TN_KNOWN_SOFTMAX] = TN_FACET_SOFTMAX,
    [TN_KNOWN_PLANE_MEAN] = TN_FACET_PLANE_MEAN,
};

static uint32_t kind_of(const char *facet) {
    for (uint32_t kind = 1; kind < TN_COUNT(names); kind++)
        if (strcmp(names[kind], facet) == 0) return kind;
    return 0;
}

static void read_what(const tn_step *step, tn_known_step *out_step) {
    if (out_step->kind == TN_KNOWN_BIAS || out_step->kind == TN_KNOWN_SCALE ||
        out_step->kind == TN_KNOWN_SOFTMAX) {
        out_step->axis = ((const tn_facet_axis *)step->what)->axis;
    } else if (out_step->kind == TN_KNOWN_ACTIVATION) {
        const tn_facet_activation *activation = step->what;
        out_step->activation = activation->function;
        out_step->alpha = activation->alpha;
        out_step->beta = activation->beta;
    } else if (out_step->kind == TN_KNOWN_WINDOW_MAX) {
        const tn_facet_window_max *windows = step->what;
        memcpy(out_step->window, windows->window, sizeof(out_step->window));
    } else if (out_step->kind == TN_KNOWN_ROW || out_step->kind == TN_KNOWN_EXPRESSION) {
        const tn_facet_expression *expression = step->what;
        out_step->row = expression->row;
        out_step->params = expression->params;
        out_step->expression = expression->text;
        out_step->op = expression->op;
    }
}

/* The value before the step once, and at most one operand. */
static bool read_inputs(const tn_step *step, uint32_t before, tn_known_step *out_step) {
    uint32_t chained = 0;
    for (uint32_t i = 0; i < step->input_count; i++) {
        const uint32_t input = step->inputs[i];
        if (input == TN_STEP_ABSENT) continue;
        if (input == before) {
            out_step->input = i;
            chained++;
        } else if ((input & TN_STEP_OPERAND) && out_step->operand == UINT32_MAX) {
            out_step->operand = input & ~TN_STEP_OPERAND;
            out_step->operand_input = i;
        } else {
            return false;
        }
    }
    return chained == 1;
}

bool tn_known_steps_read(const tn_call *call, tn_known_steps *out_steps) {
    uint32_t first = 0;
    out_steps->count = 0;
    while (first < call->step_count && call->steps[first]->port != 0)
        first++;
    if (call->step_count - first > TN_KNOWN_STEPS_LIMIT) return false;
    for (uint32_t i = first; i < call->step_count; i++) {
        const tn_step *step = call->steps[i];
        tn_known_step *known = &out_steps->items[i - first];
        memset(known, 0, sizeof(*known));
        known->kind = kind_of(step->facet);
        known->operand = UINT32_MAX;
        known->type = step->output ? step->output->type : (tn_type)TN_NONE;
        if (!known->kind || step->port != 0 ||
            !read_inputs(step, i == first ? TN_STEP_VALUE : i - 1, known))
            return false;
        const bool has_operand = known->operand != UINT32_MAX;
        if (known->kind != TN_KNOWN_EXPRESSION && has_operand != (known->kind <= TN_KNOWN_RESIDUAL))
            return false;
        read_what(step, known);
    }
    out_steps->count = call->step_count - first;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * descriptions */

bool tn_known_is(const char *name, const char *facet) {
    return strcmp(name, facet) == 0;
}

static const char *const functions[] = {
    [TN_ACTIVATION_RELU] = "relu",
    [TN_ACTIVATION_LEAKY_RELU] = "leaky_relu",
    [TN_ACTIVATION_CLIP] = "clip",
    [TN_ACTIVATION_SIGMOID] = "sigmoid",
    [TN_ACTIVATION_TANH] = "tanh",
    [TN_ACTIVATION_HARD_SIGMOID] = "hard_sigmoid",
    [TN_ACTIVATION_HARD_SWISH] = "hard_swish",
    [TN_ACTIVATION_GELU_ERF] = "gelu_erf",
    [TN_ACTIVATION_GELU_TANH] = "gelu_tanh",
    [TN_ACTIVATION_SWISH] = "swish",
    [TN_ACTIVATION_ELU] = "elu",
};

tn_status tn_known_activation(const char *name, uint32_t function, float alpha, float beta,
                              tn_facet *out_facet) {
    if (!tn_known_is(name, TN_FACET_ACTIVATION)) return TN_ERROR_UNSUPPORTED;
    out_facet->variant = functions[function];
    tn_facet_activation *activation = out_facet->what;
    activation->size = sizeof(*activation);
    activation->function = function;
    activation->alpha = alpha;
    activation->beta = beta;
    return TN_OK;
}

tn_status tn_known_axis(const char *name, const char *facet, int32_t axis, tn_facet *out_facet) {
    if (!tn_known_is(name, facet)) return TN_ERROR_UNSUPPORTED;
    tn_facet_axis *what = out_facet->what;
    what->size = sizeof(*what);
    what->axis = axis;
    return TN_OK;
}

tn_status tn_known_window_max(const char *name, const uint32_t *window, tn_facet *out_facet) {
    if (!tn_known_is(name, TN_FACET_WINDOW_MAX)) return TN_ERROR_UNSUPPORTED;
    tn_facet_window_max *what = out_facet->what;
    what->size = sizeof(*what);
    what->window[0] = window[0];
    what->window[1] = window[1];
    out_facet->flags = TN_FACET_RESHAPES;
    return TN_OK;
}

tn_status tn_known_plane_mean(const char *name, tn_facet *out_facet) {
    if (!tn_known_is(name, TN_FACET_PLANE_MEAN)) return TN_ERROR_UNSUPPORTED;
    *(uint32_t *)out_facet->what = sizeof(uint32_t);
    out_facet->flags = TN_FACET_RESHAPES;
    return TN_OK;
}
