/* SPDX-License-Identifier: Apache-2.0 */
/* What the readings of loops share; see loop.h. */
#include "importers/onnx/loop/loop.h"
#include "base/status.h"

#include <string.h>

bool tn_onnx_is_node(const tn_onnx_node *node, const char *op) {
    return node->op_type && strcmp(node->op_type, op) == 0 && !*tn_onnx_domain(node->domain);
}

/* The attribute with the body of a Loop; null: the node is none, or has none. */
static const tn_onnx_attribute *body_field(const tn_onnx_node *node) {
    if (!tn_onnx_is_node(node, "Loop")) return NULL;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g && node->attribute[i]->name &&
            strcmp(node->attribute[i]->name, "body") == 0)
            return node->attribute[i];
    return NULL;
}

const tn_onnx_graph *tn_onnx_loop_body(const tn_onnx_node *node) {
    const tn_onnx_attribute *field = body_field(node);
    return field ? field->g : NULL;
}

bool tn_onnx_loop_ports(const tn_onnx_node *node, const tn_onnx_graph *body, size_t *out_carried) {
    if (!body || body->n_input < TN_ONNX_BODY_CARRIED || body->n_input != node->n_input ||
        body->n_input > TN_ONNX_BODY_CARRIED + TN_BODY_MAX_PORTS ||
        body->n_output < body->n_input - 1)
        return false;
    *out_carried = body->n_input - TN_ONNX_BODY_CARRIED;
    return true;
}

bool tn_onnx_body_defines(const tn_onnx_graph *body, const char *name) {
    for (size_t i = 0; i < body->n_input; i++)
        if (tn_onnx_is_named(body->input[i]->name) && strcmp(body->input[i]->name, name) == 0)
            return true;
    for (size_t i = 0; i < body->n_initializer; i++)
        if (tn_onnx_is_named(body->initializer[i]->name) &&
            strcmp(body->initializer[i]->name, name) == 0)
            return true;
    for (size_t n = 0; n < body->n_node; n++)
        for (size_t i = 0; i < body->node[n]->n_output; i++)
            if (strcmp(body->node[n]->output[i], name) == 0) return true;
    return false;
}

const tn_onnx_node *tn_onnx_body_producer(const tn_onnx_graph *body, const char *name) {
    for (size_t n = 0; n < body->n_node; n++) {
        const tn_onnx_node *node = body->node[n];
        if (node->n_output == 1 && strcmp(node->output[0], name) == 0) return node;
    }
    return NULL;
}

const char *tn_onnx_body_origin(const tn_onnx_graph *body, const char *name) {
    for (size_t steps = 0; steps < body->n_node; steps++) { /* a circle is an error of others */
        const tn_onnx_node *node = tn_onnx_body_producer(body, name);
        if (!node || node->n_input != 1 || !tn_onnx_is_node(node, "Identity")) break;
        name = node->input[0];
    }
    return name;
}

tn_onnx_node *tn_onnx_make_identity(tn_onnx_reader *reader, char *input, char *output) {
    tn_onnx_node *made = tn_arena_allocate(reader->arena, 1, sizeof(*made));
    char **ports = tn_arena_allocate(reader->arena, 2, sizeof(*ports));
    static char op_type[] = "Identity";
    if (!made || !ports) return NULL;
    tenon__onnx__node_proto__init(made);
    ports[0] = input;
    ports[1] = output;
    made->op_type = op_type;
    made->n_input = made->n_output = 1;
    made->input = ports;
    made->output = ports + 1;
    return made;
}

tn_status tn_onnx_loop_copy(tn_onnx_reader *reader, const tn_onnx_node *node,
                            tn_onnx_loop_copies *out_made) {
    tn_arena *arena = reader->arena;
    const tn_onnx_attribute *attribute = body_field(node);
    const tn_onnx_graph *from = attribute->g;
    tn_onnx_node *own = tn_arena_copy(arena, node, sizeof(*node));
    tn_onnx_graph *body = tn_arena_copy(arena, from, sizeof(*from));
    tn_onnx_attribute *with = tn_arena_copy(arena, attribute, sizeof(*attribute));
    if (!own || !body || !with) return tn_fail_memory("a loop");
    own->attribute =
        tn_arena_copy(arena, node->attribute, node->n_attribute * sizeof(*node->attribute));
    own->input = tn_arena_copy(arena, node->input, node->n_input * sizeof(*node->input));
    own->output = tn_arena_copy(arena, node->output, node->n_output * sizeof(*node->output));
    body->input = tn_arena_copy(arena, from->input, from->n_input * sizeof(*from->input));
    body->output = tn_arena_copy(arena, from->output, from->n_output * sizeof(*from->output));
    body->node = tn_arena_allocate(arena, from->n_node + from->n_input + 1, sizeof(*body->node));
    if (!own->attribute || !own->input || (node->n_output > 0 && !own->output) || !body->input ||
        !body->output || !body->node)
        return tn_fail_memory("a loop");
    if (from->n_node > 0) memcpy(body->node, from->node, from->n_node * sizeof(*from->node));
    with->g = body;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i] == attribute) own->attribute[i] = with;
    *out_made = (tn_onnx_loop_copies){own, body};
    return TN_OK;
}
