/* SPDX-License-Identifier: Apache-2.0 */
/* Facets as numbers, and back; see chain_step.h. */
#include "chain_step.h"

#include <tenon/plugin/plane_mean.h>

#include <string.h>

static const char *const facets[TN_CHAIN_KINDS] = {[TN_CHAIN_BIAS] = TN_FACET_BIAS,
                                                   [TN_CHAIN_SCALE] = TN_FACET_SCALE,
                                                   [TN_CHAIN_RESIDUAL] = TN_FACET_RESIDUAL,
                                                   [TN_CHAIN_ACTIVATION] = TN_FACET_ACTIVATION,
                                                   [TN_CHAIN_WINDOW_MAX] = TN_FACET_WINDOW_MAX,
                                                   [TN_CHAIN_SOFTMAX] = TN_FACET_SOFTMAX,
                                                   [TN_CHAIN_PLANE_MEAN] = TN_FACET_PLANE_MEAN};
static const char *const variants[] = {NULL,       "relu",      "leaky_relu",   "clip",
                                       "sigmoid",  "tanh",      "hard_sigmoid", "hard_swish",
                                       "gelu_erf", "gelu_tanh", "swish",        "elu"};

const char *tn_chain_facet(uint32_t kind) {
    return kind < TN_CHAIN_KINDS ? facets[kind] : NULL;
}

const char *tn_chain_variant(uint32_t activation) {
    return activation < TN_COUNT(variants) ? variants[activation] : NULL;
}

bool tn_chain_has_operand(uint32_t kind) {
    return kind >= TN_CHAIN_BIAS && kind <= TN_CHAIN_RESIDUAL;
}

uint32_t tn_chain_operands(const tn_chain_step *step) {
    if (step->kind == TN_CHAIN_OTHER) return step->described->operand_count;
    return tn_chain_has_operand(step->kind);
}

/* Whether "@k " stands in front of a word: it is a facet before an input. */
static bool is_before(const char *text, const char *at) {
    while (at > text && at[-1] == ' ')
        at--;
    while (at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at > text && at[-1] == '@';
}

/* Whether a word stands in a text between characters that end one. */
static const char *find_word(const char *text, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        const bool begins = at == text || strchr(" ,(|", at[-1]);
        if (begins && !is_before(text, at) && (at[length] == 0 || strchr(" ,(|)", at[length])))
            return at + length;
    }
    return NULL;
}

bool tn_chain_lists(const char *absorbs, const char *facet, const char *variant) {
    char listed[1024];
    const char *at = absorbs ? find_word(absorbs, facet) : NULL;
    if (!at) return false;
    at += strspn(at, " ");
    if (!variant || *at != '(') return !variant && *at != '(';
    const size_t length = strcspn(at, ")");
    if (length >= sizeof(listed)) return false;
    memcpy(listed, at, length);
    listed[length] = 0;
    return find_word(listed, variant) != NULL;
}

bool tn_chain_is_listed(const char *absorbs, uint32_t kind, uint32_t activation) {
    return tn_chain_lists(absorbs, tn_chain_facet(kind),
                          kind == TN_CHAIN_ACTIVATION ? tn_chain_variant(activation) : NULL);
}

/* As the host lists them: the chained tensor and the operands, or parallel to the node's inputs. */
static void publish_described(const tn_chain_step *step, uint32_t chained, tn_chain_buffer *buffer,
                              tn_step *out_step) {
    const tn_facet *facet = step->described;
    const bool is_node = facet->flags & TN_FACET_NODE_INPUTS;
    out_step->facet = step->facet;
    out_step->variant = facet->variant;
    out_step->what = facet->what;
    out_step->input_count = is_node ? step->node_inputs : 1 + facet->operand_count;
    for (uint32_t i = 0; i < TN_CHAIN_INPUTS; i++)
        buffer->inputs[i] = TN_STEP_ABSENT;
    buffer->inputs[is_node ? step->node_input : 0] = chained;
    for (uint32_t i = 0; i < facet->operand_count; i++)
        buffer->inputs[is_node ? facet->operands[i].input : i + 1] =
            TN_STEP_OPERAND | (step->operand + i);
}

void tn_chain_publish(const tn_chain_step *step, uint32_t index, const tn_tensor *output,
                      tn_chain_buffer *buffer, tn_step *out_step) {
    memset(buffer, 0, sizeof(*buffer));
    if (step->kind == TN_CHAIN_ACTIVATION)
        buffer->what.activation = (tn_facet_activation){sizeof(tn_facet_activation),
                                                        step->activation, step->alpha, step->beta};
    else if (step->kind == TN_CHAIN_WINDOW_MAX)
        buffer->what.windows =
            (tn_facet_window_max){sizeof(tn_facet_window_max), {step->window[0], step->window[1]}};
    else if (step->kind == TN_CHAIN_RESIDUAL || step->kind == TN_CHAIN_PLANE_MEAN)
        buffer->what.size = sizeof(buffer->what.size);
    else
        buffer->what.axis = (tn_facet_axis){sizeof(tn_facet_axis), step->axis};
    buffer->inputs[0] = index == 0 ? TN_STEP_VALUE : index - 1;
    buffer->inputs[1] = TN_STEP_OPERAND | step->operand;
    *out_step = (tn_step){
        .size = sizeof(*out_step),
        .port = step->port,
        .facet = tn_chain_facet(step->kind),
        .variant = step->kind == TN_CHAIN_ACTIVATION ? tn_chain_variant(step->activation) : NULL,
        .what = &buffer->what,
        .input_count = 1u + tn_chain_has_operand(step->kind),
        .inputs = buffer->inputs,
        .output = output};
    if (step->kind == TN_CHAIN_OTHER) publish_described(step, buffer->inputs[0], buffer, out_step);
}

bool tn_chain_read(const tn_facet *facet, uint32_t kind, tn_chain_step *out_step) {
    *out_step = (tn_chain_step){.kind = kind};
    const uint32_t form = kind == TN_CHAIN_RESIDUAL ? TN_OPERAND_WHOLE : TN_OPERAND_VECTOR;
    if (facet->operand_count != tn_chain_has_operand(kind)) return false;
    if (facet->operand_count && facet->operands[0].form != form) return false;
    out_step->operand = facet->operands[0].input;
    if (kind == TN_CHAIN_ACTIVATION) {
        const tn_facet_activation *activation = facet->what;
        const char *variant = tn_chain_variant(activation->function);
        out_step->activation = activation->function;
        out_step->alpha = activation->alpha;
        out_step->beta = activation->beta;
        return variant && facet->variant && strcmp(variant, facet->variant) == 0;
    }
    if (facet->variant) return false;
    if (kind == TN_CHAIN_WINDOW_MAX)
        memcpy(out_step->window, ((const tn_facet_window_max *)facet->what)->window,
               sizeof(out_step->window));
    else if (kind != TN_CHAIN_RESIDUAL && kind != TN_CHAIN_PLANE_MEAN)
        out_step->axis = ((const tn_facet_axis *)facet->what)->axis;
    return kind != TN_CHAIN_BIAS && kind != TN_CHAIN_SCALE
               ? true
               : facet->operands[0].axis == out_step->axis;
}
