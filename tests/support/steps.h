/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facets for test libraries, which include headers of plugins alone: a step as one flat struct,
 * read from a call, written into one, and described to the host.
 */
#ifndef TN_TESTS_SUPPORT_STEPS_H
#define TN_TESTS_SUPPORT_STEPS_H

#include <tenon/plugin/plane_mean.h>

#include <string.h>

enum {
    SEEN_BIAS = 1,
    SEEN_SCALE,
    SEEN_RESIDUAL,
    SEEN_ACTIVATION,
    SEEN_ROW,
    SEEN_EXPRESSION,
    SEEN_WINDOW_MAX,
    SEEN_SOFTMAX,
    SEEN_PLANE_MEAN,
    SEEN_KINDS
};

typedef struct seen_step {
    uint32_t kind; /* 0: another facet */
    uint32_t activation;
    int32_t axis;
    float alpha, beta;
    uint32_t operand; /* in the call's operands; of a description, the node's input */
    uint32_t input;   /* ROW, EXPRESSION: the operator's input where the value comes in */
    uint32_t window[2];
    const char *expression;
    tn_row_function row;
    const void *params;
    const tn_operator *op;
    bool has_operand; /* EXPRESSION */
} seen_step;

static inline const char *seen_facet(uint32_t kind) {
    static const char *const names[SEEN_KINDS] = {"",
                                                  TN_FACET_BIAS,
                                                  TN_FACET_SCALE,
                                                  TN_FACET_RESIDUAL,
                                                  TN_FACET_ACTIVATION,
                                                  TN_FACET_ROW,
                                                  TN_FACET_EXPRESSION,
                                                  TN_FACET_WINDOW_MAX,
                                                  TN_FACET_SOFTMAX,
                                                  TN_FACET_PLANE_MEAN};
    return names[kind];
}

static inline const char *seen_variant(uint32_t activation) {
    static const char *const names[] = {"",         "relu",      "leaky_relu",   "clip",
                                        "sigmoid",  "tanh",      "hard_sigmoid", "hard_swish",
                                        "gelu_erf", "gelu_tanh", "swish",        "elu"};
    return activation < TN_COUNT(names) ? names[activation] : "none";
}

static inline void seen_what(const void *what, seen_step *s) {
    if (s->kind == SEEN_BIAS || s->kind == SEEN_SCALE || s->kind == SEEN_SOFTMAX) {
        s->axis = ((const tn_facet_axis *)what)->axis;
    } else if (s->kind == SEEN_ACTIVATION) {
        const tn_facet_activation *activation = (const tn_facet_activation *)what;
        s->activation = activation->function;
        s->alpha = activation->alpha;
        s->beta = activation->beta;
    } else if (s->kind == SEEN_ROW || s->kind == SEEN_EXPRESSION) {
        const tn_facet_expression *expression = (const tn_facet_expression *)what;
        s->row = expression->row;
        s->params = expression->params;
        s->expression = expression->text;
        s->op = expression->op;
    } else if (s->kind == SEEN_WINDOW_MAX) {
        memcpy(s->window, ((const tn_facet_window_max *)what)->window, sizeof(s->window));
    }
}

static inline const seen_step *see_step(const tn_call *call, uint32_t index, seen_step *buffer) {
    const tn_step *step = call->steps[index];
    memset(buffer, 0, sizeof(*buffer));
    for (uint32_t kind = 1; kind < SEEN_KINDS; kind++)
        if (strcmp(step->facet, seen_facet(kind)) == 0) buffer->kind = kind;
    for (uint32_t i = 0; i < step->input_count; i++) {
        if (step->inputs[i] == TN_STEP_ABSENT) continue;
        if (step->inputs[i] & TN_STEP_OPERAND) {
            buffer->operand = step->inputs[i] & ~TN_STEP_OPERAND;
            buffer->has_operand = true;
        } else {
            buffer->input = i;
        }
    }
    seen_what(step->what, buffer);
    return buffer;
}
/* All of them, for kernels that look at them for each element. */
typedef struct seen_steps {
    uint32_t count;
    seen_step items[8];
} seen_steps;
static inline void see_steps(const tn_call *call, seen_steps *out_steps) {
    out_steps->count = call->step_count < 8 ? call->step_count : 8;
    for (uint32_t i = 0; i < out_steps->count; i++)
        see_step(call, i, &out_steps->items[i]);
}
#define SEE_STEP(call, index) see_step(call, index, &(seen_step){0})

/* What a public step points to. */
typedef struct seen_buffer {
    union {
        uint32_t size;
        tn_facet_axis axis;
        tn_facet_activation activation;
        tn_facet_expression expression;
        tn_facet_window_max windows;
    } what;
    uint32_t inputs[4];
} seen_buffer;

static inline void fill_what(const seen_step *s, void *buffer) {
    seen_buffer *r = (seen_buffer *)buffer;
    if (s->kind == SEEN_BIAS || s->kind == SEEN_SCALE || s->kind == SEEN_SOFTMAX) {
        r->what.axis.size = sizeof(r->what.axis);
        r->what.axis.axis = s->axis;
    } else if (s->kind == SEEN_RESIDUAL || s->kind == SEEN_PLANE_MEAN) {
        r->what.size = sizeof(r->what.size);
    } else if (s->kind == SEEN_ACTIVATION) {
        r->what.activation.size = sizeof(r->what.activation);
        r->what.activation.function = s->activation;
        r->what.activation.alpha = s->alpha;
        r->what.activation.beta = s->beta;
    } else if (s->kind == SEEN_ROW || s->kind == SEEN_EXPRESSION) {
        r->what.expression.row = s->row;
        r->what.expression.size = sizeof(r->what.expression);
        r->what.expression.text = s->expression;
        r->what.expression.op = s->op;
        r->what.expression.params = s->params;
    } else if (s->kind == SEEN_WINDOW_MAX) {
        r->what.windows.size = sizeof(r->what.windows);
        memcpy(r->what.windows.window, s->window, sizeof(s->window));
    }
}

/* Step `index` of a chain, in `buffer`. */
static inline void show_step(const seen_step *s, uint32_t index, const tn_tensor *output,
                             seen_buffer *buffer, tn_step *out_step) {
    const bool is_node = s->kind == SEEN_ROW || s->kind == SEEN_EXPRESSION;
    const bool has_operand = (s->kind >= SEEN_BIAS && s->kind <= SEEN_RESIDUAL) || s->has_operand;
    memset(buffer, 0, sizeof(*buffer));
    memset(out_step, 0, sizeof(*out_step));
    fill_what(s, buffer);
    for (uint32_t i = 0; i < 4; i++)
        buffer->inputs[i] = TN_STEP_ABSENT;
    const uint32_t at = is_node ? s->input : 0;
    buffer->inputs[at] = index == 0 ? TN_STEP_VALUE : index - 1;
    if (has_operand) buffer->inputs[at == 0 ? 1 : 0] = TN_STEP_OPERAND | s->operand;
    out_step->size = sizeof(*out_step);
    out_step->facet = s->kind < SEEN_KINDS ? seen_facet(s->kind) : "none/1";
    if (s->kind == SEEN_ACTIVATION) out_step->variant = seen_variant(s->activation);
    out_step->what = &buffer->what;
    out_step->input_count = at == 0 ? 1u + has_operand : at + 1;
    out_step->inputs = buffer->inputs;
    out_step->output = output;
}

typedef tn_status (*seen_describe)(tn_call *call, uint32_t input, seen_step *out_step);
typedef tn_status (*seen_affine)(tn_call *call, tn_affine *out_affine);
typedef tn_status (*seen_linear)(tn_call *call, tn_linear *out_linear);

/* Answers tn_operator.facet by up to three functions, any of them null. */
static inline tn_status answer_facet(tn_call *call, uint32_t input, const char *name,
                                     tn_facet *out_facet, seen_describe describe,
                                     seen_affine affine, seen_linear linear) {
    seen_step s;
    if (strcmp(name, TN_FACET_AFFINE) == 0)
        return affine ? affine(call, (tn_affine *)out_facet->what) : TN_ERROR_UNSUPPORTED;
    if (strcmp(name, TN_FACET_LINEAR) == 0)
        return linear ? linear(call, (tn_linear *)out_facet->what) : TN_ERROR_UNSUPPORTED;
    memset(&s, 0, sizeof(s));
    if (!describe) return TN_ERROR_UNSUPPORTED;
    const tn_status status = describe(call, input, &s);
    if (status != TN_OK) return status;
    if (strcmp(name, seen_facet(s.kind)) != 0) return TN_ERROR_UNSUPPORTED;
    fill_what(&s, out_facet->what);
    if (s.kind == SEEN_ACTIVATION) out_facet->variant = seen_variant(s.activation);
    if (s.kind == SEEN_WINDOW_MAX || s.kind == SEEN_PLANE_MEAN)
        out_facet->flags = TN_FACET_RESHAPES;
    if (s.kind >= SEEN_BIAS && s.kind <= SEEN_RESIDUAL) {
        out_facet->operand_count = 1;
        out_facet->operands[0].input = s.operand;
        out_facet->operands[0].form =
            s.kind == SEEN_RESIDUAL ? TN_OPERAND_WHOLE : TN_OPERAND_VECTOR;
        out_facet->operands[0].axis = s.axis;
    }
    return TN_OK;
}
#define DESCRIBES(function, describe, affine, linear)                                              \
    static tn_status function(tn_call *call, uint32_t input, const char *name,                     \
                              tn_facet *out_facet) {                                               \
        return answer_facet(call, input, name, out_facet, describe, affine, linear);               \
    }

#endif
