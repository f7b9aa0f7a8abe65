/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that are read otherwise than they are written.
 *
 * What a Loop hands from iteration to iteration and its body returns as it came: tf2onnx carries
 * weights so, which would be copied in each iteration and be constants for nobody. The body reads
 * the tensor around the loop instead, and behind the loop it is the same tensor.
 *
 * Loops that begin with an optional and go on with a value: ONNX lets a body return a tensor or a
 * sequence for what it was given as an optional. The value is put into one at the body's end, and
 * taken out of it behind the loop.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <tenon/plugin/body.h>
#include <tenon/plugin/sequence.h>

#include <string.h>

/* The attribute with the body of a Loop; null: the node is none, or has none. */
static const Tenon__Onnx__AttributeProto *body_field(const tn_onnx_node *node) {
    if (strcmp(node->op_type, "Loop") != 0 || *tn_onnx_domain(node->domain)) return NULL;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g && node->attribute[i]->name &&
            strcmp(node->attribute[i]->name, "body") == 0)
            return node->attribute[i];
    return NULL;
}

static const tn_onnx_graph *body_of(const tn_onnx_node *node) {
    const Tenon__Onnx__AttributeProto *field = body_field(node);
    return field ? field->g : NULL;
}

/* ----------------------------------------------------------------------------------------------
 * what does not change */

enum { LOOP_CARRIED_INPUT = 2, BODY_CARRIED_INPUT = 2, BODY_CARRIED_OUTPUT = 1 };

/* How many tensors a loop carries; 0 also where its ports make no sense, which others say. */
static size_t carried_of(const tn_onnx_node *node, const tn_onnx_graph *body) {
    return body && body->n_input > BODY_CARRIED_INPUT && body->n_input == node->n_input &&
                   body->n_input <= BODY_CARRIED_INPUT + TN_BODY_MAX_PORTS &&
                   body->n_output >= body->n_input - 1
               ? body->n_input - BODY_CARRIED_INPUT
               : 0;
}

static bool is_named(const char *name) {
    return name && *name;
}

/* Whether a name of the graph around the body is another tensor in it. */
static bool is_hidden(const tn_onnx_graph *body, const char *name) {
    for (size_t i = 0; i < body->n_input; i++)
        if (is_named(body->input[i]->name) && strcmp(body->input[i]->name, name) == 0) return true;
    for (size_t i = 0; i < body->n_initializer; i++)
        if (is_named(body->initializer[i]->name) && strcmp(body->initializer[i]->name, name) == 0)
            return true;
    for (size_t n = 0; n < body->n_node; n++)
        for (size_t i = 0; i < body->node[n]->n_output; i++)
            if (strcmp(body->node[n]->output[i], name) == 0) return true;
    return false;
}

/* What an Identity of the body gives the name to; the name itself where none does. */
static const char *behind_identity(const tn_onnx_graph *body, const char *name) {
    for (size_t n = 0; n < body->n_node; n++) {
        const tn_onnx_node *node = body->node[n];
        if (node->n_output == 1 && node->n_input == 1 && strcmp(node->output[0], name) == 0)
            return node->op_type && strcmp(node->op_type, "Identity") == 0 &&
                           !*tn_onnx_domain(node->domain)
                       ? node->input[0]
                       : name;
    }
    return name;
}

static bool is_invariant(const tn_onnx_node *node, const tn_onnx_graph *body, size_t index) {
    const tn_onnx_value_info *given = body->input[BODY_CARRIED_INPUT + index];
    const char *outer = node->input[LOOP_CARRIED_INPUT + index],
               *made = body->output[BODY_CARRIED_OUTPUT + index]->name;
    return is_named(outer) && is_named(given->name) && is_named(made) &&
           !(given->type && given->type->optional_type) &&
           strcmp(behind_identity(body, made), given->name) == 0 && !is_hidden(body, outer);
}

static tn_onnx_node *make_identity(tn_onnx_reader *reader, char *input, char *output) {
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

/* Copies that may be changed: of the node, its attributes, the body and their lists. */
typedef struct copies {
    tn_onnx_node *node;
    tn_onnx_graph *body;
} copies;

static tn_status copy_loop(tn_onnx_reader *reader, const tn_onnx_node *node,
                           const Tenon__Onnx__AttributeProto *attribute, copies *out_made) {
    tn_arena *arena = reader->arena;
    const tn_onnx_graph *from = attribute->g;
    tn_onnx_node *own = tn_arena_copy(arena, node, sizeof(*node));
    tn_onnx_graph *body = tn_arena_copy(arena, from, sizeof(*from));
    Tenon__Onnx__AttributeProto *with = tn_arena_copy(arena, attribute, sizeof(*attribute));
    if (!own || !body || !with) return tn_fail_memory("a loop");
    own->attribute =
        tn_arena_copy(arena, node->attribute, node->n_attribute * sizeof(*node->attribute));
    own->input = tn_arena_copy(arena, node->input, node->n_input * sizeof(*node->input));
    own->output = tn_arena_copy(arena, node->output, node->n_output * sizeof(*node->output));
    body->input = tn_arena_copy(arena, from->input, from->n_input * sizeof(*from->input));
    body->output = tn_arena_copy(arena, from->output, from->n_output * sizeof(*from->output));
    body->node = tn_arena_allocate(arena, from->n_node + from->n_input, sizeof(*body->node));
    if (!own->attribute || !own->input || (node->n_output > 0 && !own->output) || !body->input ||
        !body->output || !body->node)
        return tn_fail_memory("a loop");
    with->g = body;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i] == attribute) own->attribute[i] = with;
    own->n_input = own->n_output = 0;
    body->n_input = body->n_output = body->n_node = 0;
    *out_made = (copies){own, body};
    return TN_OK;
}

/* Inputs that stay, and the others' names in the body for what they are around it. */
static tn_status copy_inputs(tn_onnx_reader *reader, const tn_onnx_node *node,
                             const tn_onnx_graph *body, const bool *is_kept, const copies *to) {
    for (size_t i = 0; i < node->n_input; i++) {
        if (i < LOOP_CARRIED_INPUT || is_kept[i - LOOP_CARRIED_INPUT]) {
            to->node->input[to->node->n_input++] = node->input[i];
            to->body->input[to->body->n_input++] = body->input[i];
            continue;
        }
        tn_onnx_node *inner = make_identity(reader, node->input[i], body->input[i]->name);
        if (!inner) return tn_fail_memory("a loop");
        to->body->node[to->body->n_node++] = inner;
    }
    memcpy(to->body->node + to->body->n_node, body->node, body->n_node * sizeof(*body->node));
    to->body->n_node += body->n_node;
    return TN_OK;
}

/* Outputs that stay, and nodes behind the loop for the names of the others. */
static tn_status copy_outputs(tn_onnx_reader *reader, const tn_onnx_node *node, size_t carried,
                              const bool *is_kept, const copies *to, size_t *out_count,
                              tn_onnx_node **behind) {
    for (size_t i = 0; i < node->n_output; i++) {
        if (i >= carried || is_kept[i]) {
            to->node->output[to->node->n_output++] = node->output[i];
            continue;
        }
        if (!is_named(node->output[i])) continue;
        behind[*out_count] =
            make_identity(reader, node->input[LOOP_CARRIED_INPUT + i], node->output[i]);
        if (!behind[(*out_count)++]) return tn_fail_memory("a loop");
    }
    return TN_OK;
}

static void copy_results(const tn_onnx_graph *body, size_t carried, const bool *is_kept,
                         const copies *to) {
    for (size_t i = 0; i < body->n_output; i++)
        if (i < BODY_CARRIED_OUTPUT || i - BODY_CARRIED_OUTPUT >= carried ||
            is_kept[i - BODY_CARRIED_OUTPUT])
            to->body->output[to->body->n_output++] = body->output[i];
}

/* A loop has an output. */
static bool has_result(const tn_onnx_node *node, size_t carried, const bool *is_kept) {
    for (size_t i = 0; i < node->n_output; i++)
        if ((i >= carried || is_kept[i]) && is_named(node->output[i])) return true;
    return false;
}

tn_status tn_onnx_loop_invariants(tn_onnx_reader *reader, const tn_onnx_node *node,
                                  const tn_onnx_node **out_node, size_t *out_count,
                                  tn_onnx_node ***out_behind) {
    const tn_onnx_graph *body = body_of(node);
    const size_t carried = carried_of(node, body);
    bool is_kept[TN_BODY_MAX_PORTS];
    size_t dropped = 0;
    copies made;
    *out_node = node;
    *out_count = 0;
    for (size_t i = 0; i < carried; i++)
        dropped += !(is_kept[i] = !is_invariant(node, body, i));
    if (dropped == 0 || !has_result(node, carried, is_kept)) return TN_OK;
    TN_TRY(copy_loop(reader, node, body_field(node), &made));
    *out_behind = tn_arena_allocate(reader->arena, dropped, sizeof(**out_behind));
    if (!*out_behind) return tn_fail_memory("a loop");
    TN_TRY(copy_inputs(reader, node, body, is_kept, &made));
    copy_results(body, carried, is_kept, &made);
    TN_TRY(copy_outputs(reader, node, carried, is_kept, &made, out_count, *out_behind));
    *out_node = made.node;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * optionals */

/* The operators that make and open an optional of what output `index` of a graph is declared as. */
typedef struct optional_operators {
    const char *domain, *put, *get;
    uint32_t version;
} optional_operators;

static bool find_operators(const tn_onnx_graph *graph, size_t index,
                           optional_operators *out_operators) {
    if (index == 0 || index + 1 >= graph->n_input || index >= graph->n_output) return false;
    const Tenon__Onnx__TypeProto *given = graph->input[index + 1]->type;
    const Tenon__Onnx__TypeProto *made = graph->output[index]->type;
    if (!given || !made || !given->optional_type) return false;
    if (made->sequence_type)
        *out_operators =
            (optional_operators){"Tenon", "OptionalSequence", "OptionalGetSequence", 1};
    else if (made->tensor_type)
        *out_operators = (optional_operators){"", "Optional", "OptionalGetElement", 15};
    else
        return false;
    return true;
}

static tn_status add_unary(tn_onnx_reader *reader, const optional_operators *operators,
                           const char *op_name, const char *name, tn_import_tensor input,
                           tn_import_tensor output) {
    const tn_operator *op;
    TN_TRY(reader->import->services->find_operator(reader->import, operators->domain, op_name,
                                                   operators->version, &op));
    return tn_import_add_node(reader->graph, name, op, 0, NULL, 1, &input, 1, &output);
}

/* A tensor that the file has no name for. */
static tn_status add_tensor(tn_onnx_reader *reader, const char *name,
                            tn_import_tensor *out_tensor) {
    const char *own = tn_import_free_name(reader->graph, name);
    if (!own) return tn_fail_memory("a tensor's name");
    return tn_import_add_tensor(reader->graph, own, out_tensor);
}

tn_status tn_onnx_optional_put(tn_onnx_reader *reader, const tn_onnx_graph *graph, size_t index,
                               tn_import_tensor *inout_tensor) {
    optional_operators operators;
    tn_import_tensor made;
    if (!find_operators(graph, index, &operators)) return TN_OK;
    TN_TRY(add_tensor(reader, graph->output[index]->name, &made));
    TN_TRY(add_unary(reader, &operators, operators.put, graph->output[index]->name, *inout_tensor,
                     made));
    *inout_tensor = made;
    return TN_OK;
}

tn_status tn_onnx_optional_outputs(tn_onnx_reader *reader, const tn_onnx_node *node, uint32_t count,
                                   const tn_import_tensor *outputs,
                                   const tn_import_tensor **out_made) {
    const tn_onnx_graph *body = body_of(node);
    optional_operators operators;
    tn_import_tensor *made = NULL;
    *out_made = outputs;
    for (uint32_t i = 0; body && i < count; i++) {
        if (outputs[i] == TN_IMPORT_NO_TENSOR || !find_operators(body, i + 1, &operators)) continue;
        if (!made) made = tn_arena_copy(reader->arena, outputs, count * sizeof(*made));
        if (!made) return tn_fail_memory("a node");
        TN_TRY(add_tensor(reader, node->output[i], &made[i]));
        *out_made = made;
    }
    return TN_OK;
}

tn_status tn_onnx_optional_get(tn_onnx_reader *reader, const tn_onnx_node *node, const char *name,
                               uint32_t count, const tn_import_tensor *outputs,
                               const tn_import_tensor *made) {
    const tn_onnx_graph *body = body_of(node);
    optional_operators operators;
    for (uint32_t i = 0; i < count && made != outputs; i++) {
        if (made[i] == outputs[i] || !find_operators(body, i + 1, &operators)) continue;
        TN_TRY(add_unary(reader, &operators, operators.get, name, made[i], outputs[i]));
    }
    return TN_OK;
}
