/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes stay in 32-bit floats, and the scales of tensors, by the names that the caller's
 * graph has; see build_state.h. */
#include "base/status.h"
#include "base/text.h"
#include "builder/build_state.h"
#include "builder/pins/node_pins.h"

#include <string.h>

/* Names are those of the caller's graph: the passes may have removed some nodes. */
tn_status tn_build_check_kept(const tn_graph *graph, const tn_builder_options *options) {
    for (uint32_t k = 0; k < options->keep_count; k++) {
        bool is_found = false;
        tn_nearest nearest;
        if (!options->keep[k])
            return tn_fail(TN_ERROR_ARGUMENT, "the name of a node to keep is null");
        tn_nearest_init(&nearest, options->keep[k]);
        for (size_t n = 0; n < graph->node_count && !is_found; n++) {
            is_found = strcmp(graph->nodes[n].name, options->keep[k]) == 0;
            tn_nearest_offer(&nearest, graph->nodes[n].name);
        }
        if (!is_found)
            return tn_error_mend_nearest(
                tn_fail(TN_ERROR_NOT_FOUND, "there is no node '%s' to be kept in 32-bit floats",
                        options->keep[k]),
                "; ", nearest.best);
    }
    return TN_OK;
}

static bool is_named_to_keep(const tn_builder_options *options, const char *node) {
    for (uint32_t k = 0; k < options->keep_count; k++)
        if (strcmp(node, options->keep[k]) == 0) return true;
    return false;
}

/* Who makes what a node of the caller's graph made; where nobody does, since the passes have made
 * one node of several, the nodes that read it are followed instead. */
static void follow_kept(const build_state *state, const tn_graph_node *node, bool *is_followed) {
    const tn_graph *given = state->given;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_tensor_id made = node->outputs[i];
        if (made == TN_NO_TENSOR || state->graph->tensors[made].is_constant) continue;
        const tn_tensor_id now = tn_pass_stand_in(&state->passes, made);
        const uint32_t maker = state->graph->tensors[now].producer;
        if (maker != TN_NO_NODE) {
            state->is_kept[maker] = true;
            continue;
        }
        for (size_t n = 0; n < given->node_count; n++)
            for (uint32_t k = 0; k < given->nodes[n].input_count; k++)
                is_followed[n] = is_followed[n] || given->nodes[n].inputs[k] == made;
    }
}

static tn_status mark_kept(const build_state *state) {
    const tn_graph *given = state->given;
    const size_t count = given->node_count;
    bool *is_followed = tn_arena_allocate(state->arena, count + 1, sizeof(bool));
    bool *is_done = tn_arena_allocate(state->arena, count + 1, sizeof(bool));
    if (!is_followed || !is_done) return tn_fail_memory("a build");
    for (size_t n = 0; n < count && state->options->keep_count > 0; n++)
        is_followed[n] = is_named_to_keep(state->options, given->nodes[n].name);
    for (size_t n = 0; n < count;) {
        const bool is_new = is_followed[n] && !is_done[n];
        if (is_new) {
            is_done[n] = true;
            follow_kept(state, &given->nodes[n], is_followed);
        }
        n = is_new ? 0 : n + 1;
    }
    return TN_OK;
}

/* A tensor's scale, by its own name, by that of the output that it is, or by that of a tensor whose
 * layer it replaced. */
static void read_scales(const build_state *state) {
    const tn_graph *graph = state->graph;
    const tn_calibration *table = state->options->calibration;
    for (size_t i = 0; i < graph->output_count; i++)
        tn_calibration_find(table, graph->output_names[i], &state->scales[graph->outputs[i]]);
    for (size_t t = 0; t < graph->tensor_count; t++)
        tn_calibration_find(table, graph->tensors[t].name, &state->scales[t]);
    for (size_t t = 0; t < graph->tensor_count; t++) {
        const tn_tensor_id now = tn_pass_stand_in(&state->passes, (tn_tensor_id)t);
        if (state->scales[now] == 0) state->scales[now] = state->scales[t];
    }
}

tn_status tn_build_storages(build_state *state) {
    const tn_graph *graph = state->graph;
    state->is_kept = tn_arena_allocate(state->arena, graph->node_count + 1, sizeof(bool));
    state->scales = tn_arena_allocate(state->arena, graph->tensor_count + 1, sizeof(float));
    if (!state->is_kept || !state->scales) return tn_fail_memory("a build");
    TN_TRY(mark_kept(state));
    TN_TRY(tn_node_pins_make(state->given, graph, &state->passes, state->options, state->arena,
                             &state->node_pins));
    for (size_t n = 0; n < graph->node_count; n++)
        if (state->node_pins[n].type != TN_NONE)
            state->is_kept[n] = state->node_pins[n].type == TN_F32;
    read_scales(state);
    return TN_OK;
}
