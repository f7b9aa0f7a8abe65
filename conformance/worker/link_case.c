/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of the registry as steps; see link_case.h. */
#include "link_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIANTS = 3, MOST_TEXT = 1000, MOST_ELEMENTS = 1 << 13 };

/* ----------------------------------------------------------------------------------------------
 * the case's text in other shapes */

/* An input of a case's text: "x=f32[2,3]{...}". */
typedef struct input_text {
    const char *begin, *extents, *values; /* values: behind the extents */
    size_t length;
    tn_shape shape;
} input_text;

/* False: there is no further one, or it cannot be read. */
static bool next_input(const char **inout_text, input_text *out) {
    const char *text = *inout_text + strspn(*inout_text, " ");
    *out = (input_text){.begin = text, .length = strcspn(text, " |")};
    *inout_text = text + out->length;
    const char *at = memchr(text, '[', out->length);
    if (!at) return false;
    out->extents = ++at;
    while (*at != ']') {
        char *end = NULL;
        const long long extent = strtoll(at, &end, 10);
        if (end == at || out->shape.rank == TN_MAX_RANK) return false;
        out->shape.extents[out->shape.rank++] = extent;
        at = end + (*end == ',');
    }
    out->values = at + 1;
    return true;
}

/* An extent like the chained input's becomes that of the new shape, counted from the last axis. */
static tn_shape broadcast_like(const tn_shape *own, const tn_shape *chained, const tn_shape *to) {
    tn_shape shape = *own;
    if (tn_shape_equal(own, chained)) return *to;
    for (uint32_t back = 1; back <= own->rank && back <= chained->rank && back <= to->rank; back++)
        if (own->extents[own->rank - back] == chained->extents[chained->rank - back])
            shape.extents[own->rank - back] =
                own->extents[own->rank - back] == 1 ? 1 : to->extents[to->rank - back];
    return shape;
}

/* The shape of an input beside a chained one of another shape: broadcast to it, or a vector along
 * its axis 1 or its last one. */
static tn_shape shape_beside(const tn_shape *own, const tn_shape *chained, const tn_shape *to,
                             int variant) {
    tn_shape shape = broadcast_like(own, chained, to);
    if (variant > 0 && own->rank == 1 && to->rank > 1)
        shape.extents[0] = to->extents[variant == 1 ? 1 : to->rank - 1];
    return shape;
}

/* Values in braces stay where the shape does. */
static void put_input(const input_text *input, const tn_shape *shape, char *text) {
    size_t at = strlen(text);
    const bool is_same = tn_shape_equal(shape, &input->shape);
    at += (size_t)snprintf(text + at, MOST_TEXT - at, " %.*s", (int)(input->extents - input->begin),
                           input->begin);
    for (uint32_t i = 0; i < shape->rank && at < MOST_TEXT; i++)
        at += (size_t)snprintf(text + at, MOST_TEXT - at, "%s%lld", i ? "," : "",
                               (long long)shape->extents[i]);
    if (at < MOST_TEXT)
        snprintf(text + at, MOST_TEXT - at, "]%.*s",
                 is_same ? (int)(input->begin + input->length - input->values) : 0, input->values);
}

/* The case's fields and inputs around a chained input of another shape; false: it has no such
 * input, or is too long. */
static bool make_text(const char *line, uint32_t chained, const tn_shape *to, int variant,
                      char *text) {
    const char *bar = strchr(line, '|'), *rest = bar + 1;
    input_text input, like;
    bool has_chained = false;
    if (!bar || bar - line >= MOST_TEXT / 2) return false;
    snprintf(text, MOST_TEXT, "%.*s|", (int)(bar - line), line);
    for (uint32_t i = 0; next_input(&rest, &input); i++) {
        has_chained = has_chained || i == chained;
        if (i == chained) like = input;
    }
    rest = bar + 1;
    for (uint32_t i = 0; has_chained && next_input(&rest, &input); i++) {
        size_t count = 0;
        const tn_shape shape =
            i == chained ? *to : shape_beside(&input.shape, &like.shape, to, variant);
        if (tn_shape_count(&shape, &count) != TN_OK || count > MOST_ELEMENTS) return false;
        put_input(&input, &shape, text);
    }
    return has_chained && strlen(text) + 1 < MOST_TEXT;
}

static bool make_node(tn_link_case *link, tn_runtime *runtime, const char *line, const tn_shape *to,
                      int variant) {
    const tn_case_options options = {.are_constant = link->chained == 0, .threads = 1};
    char text[MOST_TEXT];
    return make_text(line, link->chained, to, variant, text) &&
           tn_arena_create(tn_allocator_default(), &link->arena) == TN_OK &&
           (link->text = tn_arena_text(link->arena, text)) != NULL &&
           tn_case_read(link->arena, link->op, link->text, &link->c) == TN_OK &&
           link->chained < link->c.input_count && link->c.input_count <= TN_CHAIN_INPUTS &&
           tn_case_graph(runtime, link->op, &link->c, &options, &link->graph) == TN_OK &&
           tn_case_infer(link->graph, &link->c, link->arena, &link->plan, &link->inference) ==
               TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the description */

static const tn_graph_node *node_of(const tn_link_case *link) {
    return &link->graph->nodes[0];
}

/* The case's input that one of the node's is. */
static uint32_t case_input(const tn_link_case *link, uint32_t input) {
    const tn_graph *graph = link->graph;
    return (uint32_t)atoi(graph->tensors[node_of(link)->inputs[input]].name + 2);
}

/* The tensor's name is "in" and the number of the case's input. */
static tn_tensor_id chained_tensor(const tn_link_case *link) {
    const tn_graph_node *node = node_of(link);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && case_input(link, i) == link->chained)
            return node->inputs[i];
    return TN_NO_TENSOR;
}

static bool ask(tn_link_case *link) {
    const tn_graph *graph = link->graph;
    tn_arena *arena = link->arena;
    const tn_tensor **tensors = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof(*tensors));
    const tn_tensor_id chained = chained_tensor(link);
    if (!tensors || chained == TN_NO_TENSOR) return false;
    for (size_t i = 0; i < graph->tensor_count; i++)
        tensors[i] = &link->inference.tensors[i].storage.tensor;
    return tn_link_init(&link->link, arena, graph, 0, chained, tensors) == TN_OK &&
           tn_link_facet_of(&link->link, link->absorb->facet, &link->facet) == TN_OK &&
           link->facet != NULL && tn_absorb_has(link->absorb, link->facet->variant);
}

/* Whether a build would let a kernel have it: of one type, and operands that fit. */
static bool is_sound(tn_link_case *link, const tn_shape *to) {
    const tn_graph_node *node = node_of(link);
    const tn_tensor_storage *y = &link->inference.tensors[node->outputs[0]].storage;
    link->shape = y->shape;
    if (node->input_count > TN_CHAIN_INPUTS || y->tensor.type != link->type ||
        (link->absorb->port == 0 && link->c.inputs[link->chained].type != link->type))
        return false;
    for (uint32_t i = 0; i < link->facet->operand_count; i++) {
        const tn_facet_operand *operand = &link->facet->operands[i];
        const tn_case_input *input = &link->c.inputs[case_input(link, operand->input)];
        if (input->type != link->type || !tn_link_operand_fits(operand, &input->shape, &y->shape))
            return false;
    }
    return (link->facet->flags & TN_FACET_RESHAPES) ? y->shape.rank == to->rank
                                                    : tn_shape_equal(&y->shape, to);
}

bool tn_link_case_may_answer(const tn_operator *op, const char *facet) {
    if (!op->reference || op->input_count == 0 || op->output_count == 0 ||
        (op->traits & TN_OPERATOR_NO_FOLD))
        return false;
    return op->facet || (strcmp(facet, TN_FACET_ROW) == 0 && (op->row || op->expression)) ||
           (strcmp(facet, TN_FACET_EXPRESSION) == 0 && op->expression);
}

bool tn_link_case_create(tn_link_case *link, tn_runtime *runtime, const tn_operator *op,
                         const char *text, const tn_absorb *absorb, uint32_t chained, tn_type type,
                         const tn_shape *shape) {
    for (int variant = 0; variant < VARIANTS; variant++) {
        *link = (tn_link_case){.op = op, .absorb = absorb, .chained = chained, .type = type};
        if (make_node(link, runtime, text, shape, variant) && ask(link) && is_sound(link, shape))
            return true;
        tn_link_case_destroy(link);
    }
    return false;
}

void tn_link_case_destroy(tn_link_case *link) {
    tn_inference_deinit(&link->inference);
    tn_graph_destroy(link->graph);
    tn_arena_destroy(link->arena);
    *link = (tn_link_case){0};
}

/* ----------------------------------------------------------------------------------------------
 * the step */

/* A whole operand is stored as the output is, one that is broadcast as it is, or linear; before an
 * input all are linear. */
static void set_operand(const tn_link_case *link, const tn_facet_operand *operand,
                        const tn_probe_port *y, tn_probe_port *out_port) {
    const uint32_t index = case_input(link, operand->input);
    const tn_case_input *input = &link->c.inputs[index];
    const tn_graph *graph = link->graph;
    const bool is_whole = link->absorb->port == 0 && !tn_link_is_constant(operand) &&
                          tn_shape_equal(&input->shape, &y->shape);
    const bool is_constant = graph->tensors[node_of(link)->inputs[operand->input]].is_constant;
    *out_port = (tn_probe_port){.is_given = true,
                                .type = link->type,
                                .own_type = link->type,
                                .format = is_whole ? y->format : TN_LINEAR,
                                .shape = input->shape,
                                .own = input->data};
    out_port->is_constant = is_constant && out_port->format == TN_LINEAR;
}

tn_chain_step tn_link_case_step(const tn_link_case *link, uint32_t first, tn_probe *probe) {
    for (uint32_t i = 0; i < link->facet->operand_count; i++)
        set_operand(link, &link->facet->operands[i], &probe->outputs[0],
                    &probe->operands[first + i]);
    return (tn_chain_step){.kind = TN_CHAIN_OTHER,
                           .port = link->absorb->port,
                           .operand = first,
                           .facet = link->absorb->facet,
                           .described = link->facet,
                           .node_input = link->link.input,
                           .node_inputs = node_of(link)->input_count,
                           .output = &link->shape};
}

/* The call that the operator was asked by, with data. */
static bool run_reference(tn_link_case *link, const void *x, void *y) {
    tn_tensor tensors[TN_CHAIN_INPUTS + 1];
    const tn_tensor *inputs[TN_CHAIN_INPUTS] = {NULL};
    tn_call call = link->link.node_call.call;
    tn_tensor *output = &tensors[TN_CHAIN_INPUTS];
    for (uint32_t i = 0; i < call.input_count; i++) {
        if (!call.inputs[i]) continue;
        const uint32_t index = case_input(link, i);
        tensors[i] = *call.inputs[i];
        tensors[i].data =
            index == link->chained ? (void *)(uintptr_t)x : link->c.inputs[index].data;
        inputs[i] = &tensors[i];
    }
    *output = *call.outputs[0];
    output->data = y;
    call.inputs = inputs;
    call.outputs = &output;
    call.output_count = 1;
    call.flags = TN_CALL_REFERENCE;
    return link->op->reference(&call) == TN_OK;
}

void *tn_link_case_compute(tn_link_case *link, const void *x) {
    size_t bytes = 0;
    if (tn_format_bytes(TN_LINEAR, link->type, &link->shape, &bytes) != TN_OK) return NULL;
    void *y = malloc(bytes + 1);
    if (y && run_reference(link, x, y)) return y;
    free(y);
    return NULL;
}
