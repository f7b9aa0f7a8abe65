/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of a build, in their order, and what they may rely on; see build_state.h. */
#include "base/hash.h"
#include "base/status.h"
#include "builder/build_state.h"
#include "builder/declared.h"

/* All that is computed from a tensor of which nothing is sure. */
static void note_readers(const tn_graph *graph, bool *is_unsure) {
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        bool reads_unsure = false;
        for (uint32_t i = 0; i < node->input_count; i++)
            reads_unsure |= node->inputs[i] != TN_NO_TENSOR && is_unsure[node->inputs[i]];
        for (uint32_t i = 0; reads_unsure && i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR) is_unsure[node->outputs[i]] = true;
    }
}

/* Tensors whose shapes are not what inference says, or may not be. */
static void note_unsure(const build_state *state, bool *is_unsure) {
    const tn_graph *graph = state->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->output_count; i++) {
            if (node->outputs[i] == TN_NO_TENSOR) continue;
            is_unsure[node->outputs[i]] = state->before.plan.is_after_run[n] ||
                                          tn_graph_output_is_sized(node, i) ||
                                          tn_graph_output_kind(node, i);
        }
    }
    for (size_t i = 0; i < graph->input_count; i++)
        if (!graph->tensors[graph->inputs[i]].has_shape ||
            (state->is_hull_refused && !tn_profile_is_fixed(&state->hull[i])))
            is_unsure[graph->inputs[i]] = true;
    if (state->is_hull_refused) note_readers(graph, is_unsure);
}

static tn_status start_passes(build_state *state) {
    tn_graph *graph = state->graph;
    bool *is_fixed = tn_arena_allocate(state->arena, graph->input_count + 1, sizeof(bool));
    bool *is_unsure = tn_arena_allocate(state->arena, graph->tensor_count + 1, sizeof(bool));
    if (!is_fixed || !is_unsure) return tn_fail_memory("a build");
    for (size_t i = 0; i < graph->input_count; i++)
        is_fixed[i] = tn_profile_is_fixed(&state->hull[i]);
    note_unsure(state, is_unsure);
    for (int point = 0; point < TN_POINTS; point++)
        state->passes.points[point] = state->before.points[point];
    state->passes.is_fixed_input = is_fixed;
    state->passes.is_unsure = is_unsure;
    state->passes.device = state->device.device;
    state->passes.without = state->options->without_rewrites;
    state->passes.without_count = state->options->without_rewrite_count;
    if (state->options->flags & (TN_BUILD_REFERENCE | TN_BUILD_NO_FUSION)) return TN_OK;
    state->passes.proof = &state->proof;
    return tn_extent_proof_init(&state->proof, graph, state->hull, &state->before, state->arena);
}

/* Where all sizes of a node turn out to be known, what comes behind is inferred once more, and may
 * be known then. */
static tn_status infer_exact(build_state *state) {
    enum { ROUNDS = 8 };
    bool is_any = true;
    for (int round = 0; round < ROUNDS; round++) {
        TN_TRY(tn_profile_mark_exact(&state->before, state->graph, state->arena, &is_any));
        if (!is_any) return TN_OK;
        tn_profile_shapes_deinit(&state->before);
        TN_TRY(tn_profile_shapes_init(&state->before, state->graph, state->hull, state->arena));
    }
    return TN_OK;
}

/* The range that holds all profiles may have shapes that none of them has and that the graph does
 * not take: then the passes rely on no shape that comes from an input that varies. */
static tn_status infer_before(build_state *state) {
    tn_error_copy before;
    TN_TRY(tn_pass_mark_value_steps(state->graph, state->arena));
    tn_error_save(&before);
    tn_status status =
        tn_profile_shapes_init(&state->before, state->graph, state->hull, state->arena);
    if (status == TN_OK) return infer_exact(state);
    if (status == TN_ERROR_MEMORY || state->sets.count == 1) return status;
    state->is_hull_refused = true;
    status = tn_profile_shapes_init(&state->before, state->graph,
                                    tn_profile_sets_at(&state->sets, 0), state->arena);
    if (status != TN_OK) return tn_error_at(status, "profile 0");
    tn_error_restore(&before);
    return TN_OK;
}

static bool is_fused_build(const build_state *state) {
    return !(state->options->flags & (TN_BUILD_REFERENCE | TN_BUILD_NO_FUSION));
}

/* What may show that a node is one of its bodies, which then are inlined: *out_is_inlined. */
static tn_status run_round(build_state *state, int round, bool *out_is_inlined) {
    tn_pass_context *passes = &state->passes;
    TN_TRY(tn_pass_drop_dead(passes)); /* what is dead need not even be inferred */
    TN_TRY(infer_before(state));
    TN_TRY(start_passes(state));
    if (round == 0) tn_declared_compare(state->given, &state->before, state->passes.is_unsure);
    if (!(state->options->flags & TN_BUILD_REFERENCE)) TN_TRY(tn_pass_drop_identities(passes));
    if (round == 0) TN_TRY(tn_build_tell_pass(state, 1));
    if (is_fused_build(state)) TN_TRY(tn_pass_rewrite_constants(passes));
    TN_TRY(tn_pass_fold_constants(passes));
    return tn_pass_inline_bodies(passes, out_is_inlined);
}

/* Whether a node reads what a replacement made, of which the passes know no shape. */
static bool has_unknown_tensors(const build_state *state) {
    const tn_graph *graph = state->graph;
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].input_count && !graph->nodes[n].is_dead; i++) {
            const tn_tensor_id id = graph->nodes[n].inputs[i];
            if (id != TN_NO_TENSOR && !graph->tensors[id].is_constant &&
                id >= state->before.points[1]->tensor_count)
                return true;
        }
    return false;
}

/* Where replacements made tensors, the network is inferred anew and may be rewritten further. Each
 * round makes it smaller; the bound is for rewrites that find ever more. */
static tn_status rewrite_all(build_state *state) {
    enum { ROUNDS = 4 };
    TN_TRY(tn_pass_rewrite(&state->passes));
    for (int round = 0; round < ROUNDS && has_unknown_tensors(state); round++) {
        tn_profile_shapes_deinit(&state->before);
        TN_TRY(tn_pass_drop_dead(&state->passes));
        TN_TRY(infer_before(state));
        TN_TRY(start_passes(state));
        TN_TRY(tn_pass_fold_constants(&state->passes));
        TN_TRY(tn_pass_rewrite(&state->passes));
    }
    return TN_OK;
}

/* A processor converts 16-bit floats to compute with them: it is done once, at the border. */
static tn_status widen(build_state *state) {
    tn_pass_context *passes = &state->passes;
    bool is_widened = false;
    if (state->options->flags & (TN_BUILD_REFERENCE | TN_BUILD_KEEP_HALF) ||
        state->device.device != tn_runtime_cpu(state->graph->runtime))
        return TN_OK;
    TN_TRY(tn_pass_widen(passes, &is_widened));
    if (!is_widened) return TN_OK;
    tn_profile_shapes_deinit(&state->before);
    TN_TRY(infer_before(state));
    TN_TRY(start_passes(state));
    TN_TRY(tn_pass_drop_identities(passes));
    return tn_pass_fold_constants(passes);
}

/* Below that many bytes a constant's hash costs less than a note of it. */
enum { NOTED_BYTES = 4096 };

/* What was hashed once is known to the passes, to what packs it, and to the plan. */
static tn_status note_constants(const build_state *state) {
    const tn_graph *graph = state->graph;
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].input_count && !graph->nodes[n].is_dead; i++) {
            const tn_tensor_id id = graph->nodes[n].inputs[i];
            tn_graph_tensor *tensor = id == TN_NO_TENSOR ? NULL : &graph->tensors[id];
            if (!tensor || !tensor->is_constant || tensor->note || tensor->bytes < NOTED_BYTES)
                continue;
            tn_constant_note *note = tn_arena_allocate(state->arena, 1, sizeof *note);
            if (!note) return tn_fail_memory("a build");
            note->kind = "constant";
            note->name = tensor->name;
            note->data = tensor->data;
            note->bytes = tensor->bytes;
            note->checksum = tn_hash(tensor->data, tensor->bytes);
            note->is_verified = true;
            tensor->note = note;
        }
    return TN_OK;
}

tn_status tn_build_run_passes(build_state *state) {
    tn_pass_context *passes = &state->passes;
    const bool is_fused = is_fused_build(state);
    bool is_inlined = true;
    passes->graph = state->graph;
    TN_TRY(tn_build_tell_pass(state, 0));
    TN_TRY(tn_graph_sort(state->graph));
    for (int round = 0; is_inlined; round++) {
        TN_TRY(run_round(state, round, &is_inlined));
        if (is_inlined) tn_profile_shapes_deinit(&state->before);
    }
    TN_TRY(widen(state));
    TN_TRY(tn_build_tell_pass(state, 2));
    if (is_fused) {
        TN_TRY(rewrite_all(state));
        TN_TRY(tn_pass_fold_affine(passes));
    }
    TN_TRY(note_constants(state));
    if (!(state->options->flags & TN_BUILD_REFERENCE)) TN_TRY(tn_pass_merge_equal(passes));
    return tn_pass_drop_dead(passes);
}
