/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Loop hands from iteration to iteration and its body returns as it came: tf2onnx carries
 * weights so, which would be copied in each iteration and be constants for nobody. The body reads
 * the tensor around the loop instead, and behind the loop it is the same tensor.
 */
#include "base/status.h"
#include "importers/onnx/loop/loop.h"

#include <string.h>

static bool is_invariant(const tn_onnx_node *node, const tn_onnx_graph *body, size_t index) {
    const tn_onnx_value_info *given = body->input[TN_ONNX_BODY_CARRIED + index];
    const char *outer = node->input[TN_ONNX_LOOP_CARRIED + index],
               *made = body->output[TN_ONNX_BODY_CARRIED_OUT + index]->name;
    return tn_onnx_is_named(outer) && tn_onnx_is_named(given->name) && tn_onnx_is_named(made) &&
           !(given->type && given->type->optional_type) &&
           strcmp(tn_onnx_body_origin(body, made), given->name) == 0 &&
           !tn_onnx_body_defines(body, outer);
}

/* Inputs that stay, and the others' names in the body for what they are around it. */
static tn_status leave_inputs(tn_onnx_reader *reader, const tn_onnx_node *node,
                              const tn_onnx_graph *body, const bool *is_kept,
                              const tn_onnx_loop_copies *to) {
    to->node->n_input = to->body->n_input = to->body->n_node = 0;
    for (size_t i = 0; i < node->n_input; i++) {
        if (i < TN_ONNX_LOOP_CARRIED || is_kept[i - TN_ONNX_LOOP_CARRIED]) {
            to->node->input[to->node->n_input++] = node->input[i];
            to->body->input[to->body->n_input++] = body->input[i];
            continue;
        }
        tn_onnx_node *inner = tn_onnx_make_identity(reader, node->input[i], body->input[i]->name);
        if (!inner) return tn_fail_memory("a loop");
        to->body->node[to->body->n_node++] = inner;
    }
    if (body->n_node > 0)
        memcpy(to->body->node + to->body->n_node, body->node, body->n_node * sizeof(*body->node));
    to->body->n_node += body->n_node;
    return TN_OK;
}

/* Outputs that stay, and nodes behind the loop for the names of the others. */
static tn_status leave_outputs(tn_onnx_reader *reader, const tn_onnx_node *node, size_t carried,
                               const bool *is_kept, const tn_onnx_loop_copies *to,
                               size_t *out_count, tn_onnx_node **behind) {
    to->node->n_output = 0;
    for (size_t i = 0; i < node->n_output; i++) {
        if (i >= carried || is_kept[i]) {
            to->node->output[to->node->n_output++] = node->output[i];
            continue;
        }
        if (!tn_onnx_is_named(node->output[i])) continue;
        behind[*out_count] =
            tn_onnx_make_identity(reader, node->input[TN_ONNX_LOOP_CARRIED + i], node->output[i]);
        if (!behind[(*out_count)++]) return tn_fail_memory("a loop");
    }
    return TN_OK;
}

static void leave_results(const tn_onnx_graph *body, size_t carried, const bool *is_kept,
                          const tn_onnx_loop_copies *to) {
    to->body->n_output = 0;
    for (size_t i = 0; i < body->n_output; i++)
        if (i < TN_ONNX_BODY_CARRIED_OUT || i - TN_ONNX_BODY_CARRIED_OUT >= carried ||
            is_kept[i - TN_ONNX_BODY_CARRIED_OUT])
            to->body->output[to->body->n_output++] = body->output[i];
}

/* A loop has an output. */
static bool has_result(const tn_onnx_node *node, size_t carried, const bool *is_kept) {
    for (size_t i = 0; i < node->n_output; i++)
        if ((i >= carried || is_kept[i]) && tn_onnx_is_named(node->output[i])) return true;
    return false;
}

tn_status tn_onnx_loop_invariants(tn_onnx_reader *reader, const tn_onnx_node *node,
                                  const tn_onnx_node **out_node, size_t *out_count,
                                  tn_onnx_node ***out_behind) {
    const tn_onnx_graph *body = tn_onnx_loop_body(node);
    bool is_kept[TN_BODY_MAX_PORTS];
    size_t carried = 0, dropped = 0;
    tn_onnx_loop_copies made;
    *out_node = node;
    *out_count = 0;
    if (!tn_onnx_loop_ports(node, body, &carried)) return TN_OK;
    for (size_t i = 0; i < carried; i++)
        dropped += !(is_kept[i] = !is_invariant(node, body, i));
    if (dropped == 0 || !has_result(node, carried, is_kept)) return TN_OK;
    TN_TRY(tn_onnx_loop_copy(reader, node, &made));
    *out_behind = tn_arena_allocate(reader->arena, dropped, sizeof(**out_behind));
    if (!*out_behind) return tn_fail_memory("a loop");
    TN_TRY(leave_inputs(reader, node, body, is_kept, &made));
    leave_results(body, carried, is_kept, &made);
    TN_TRY(leave_outputs(reader, node, carried, is_kept, &made, out_count, *out_behind));
    *out_node = made.node;
    return TN_OK;
}
