/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates: for each node, every kernel, combination, length of chain and tactic that fits it at
 * all points of the profile. The operator's reference stands in where no kernel does, and where
 * shapes are known at a run only, kernels are taken that need no shapes in `prepare`, or that have
 * the trait ANY_SHAPE.
 */
#include "base/status.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/candidate_call.h"
#include "builder/lower/lower_chains.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_fit.h"
#include "builder/lower/lower_pins.h"
#include "builder/lower/lower_storages.h"
#include "program/kernel_fit.h"

#include <tenon/builder.h>

#include <string.h>

enum { TACTIC_LIMIT = 64 };

static tn_status add_candidate(tn_lowering *lowering, uint32_t index,
                               const tn_candidate *candidate) {
    tn_lower_node *node = &lowering->nodes[index];
    if (!tn_lower_node_pin_takes(lowering, index, candidate)) return TN_OK;
    if (node->candidate_count == node->candidate_capacity) {
        size_t capacity = node->candidate_capacity ? node->candidate_capacity * 2 : 4;
        tn_candidate *grown = tn_arena_allocate(lowering->arena, capacity, sizeof *grown);
        if (!grown) return tn_fail_memory("the candidates of a node");
        if (node->candidate_count > 0)
            memcpy(grown, node->candidates, node->candidate_count * sizeof *grown);
        node->candidates = grown;
        node->candidate_capacity = capacity;
    }
    node->candidates[node->candidate_count++] = *candidate;
    return TN_OK;
}

/* A candidate with everything linear and in its own type. */
static tn_status start_candidate(tn_lowering *lowering, uint32_t index, uint32_t kind,
                                 const tn_candidate *like, tn_candidate *out_candidate,
                                 tn_storage **out_storages) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const size_t operands = like ? tn_lower_operand_count(like) : 0;
    size_t count = (size_t)node->input_count + node->output_count + operands;
    tn_storage *storages = tn_arena_allocate(lowering->arena, count + 1, sizeof *storages);
    if (!storages) return tn_fail_memory("the candidates of a node");
    *out_candidate = (tn_candidate){.kind = kind,
                                    .chain_count = like ? like->chain_count : 0,
                                    .chain = like ? like->chain : NULL,
                                    .inputs = storages,
                                    .outputs = storages + node->input_count,
                                    .operands = storages + node->input_count + node->output_count};
    if (out_storages) *out_storages = storages;
    return TN_OK;
}

/* On a device a launch costs more than one tactic wins over another: of chains that are shorter
 * than they could be, which are there for when a longer one fails, the first tactic is enough. */
static bool has_one_tactic(const tn_candidate *candidate) {
    return tn_lower_is_on_device(candidate) && candidate->chain &&
           candidate->chain_count < candidate->chain->count;
}

static tn_status accepts(tn_lowering *lowering, uint32_t index, const tn_candidate *candidate,
                         const tn_tactic_costs *costs, bool *out_answer, uint32_t *out_tactics) {
    const tn_kernel *kernel = candidate->entry->kernel;
    tn_arena *arena = NULL;
    tn_status status = TN_OK;
    *out_answer = true;
    *out_tactics = 1;
    if (!kernel->accepts && !kernel->tactics) return TN_OK;
    TN_TRY(tn_arena_create(lowering->graph->allocator, &arena));
    for (int i = 0; *out_answer && i < 3; i++) {
        int point = (i + 1) % 3; /* the optimum first */
        tn_candidate_call call;
        if (i > 0 && lowering->points[point] == lowering->points[1]) continue;
        if (i > 0 && !lowering->facts->is_shaped[index]) continue;
        TN_GO(tn_candidate_call_init(&call, lowering, index, candidate, point, arena));
        if (kernel->accepts)
            *out_answer = tn_call_ask(&call.call, kernel->accepts, "accepts") == TN_OK;
        if (!*out_answer || i > 0 || !kernel->tactics || has_one_tactic(candidate)) continue;
        call.call.tactic_count = 1;
        call.scope.costs = costs;
        TN_GO(tn_call_invoke(&call.call, kernel->tactics, "tactics"));
        *out_tactics = call.call.tactic_count;
    }
    if (*out_tactics == 0) *out_tactics = 1;
    if (*out_tactics > TACTIC_LIMIT) *out_tactics = TACTIC_LIMIT;
done:
    tn_arena_destroy(arena);
    return status;
}

/* Of a kernel for any shape; others that ask are not offered where shapes are not known. */
static bool needs_a_question(const tn_kernel *kernel) {
    return kernel->accepts || kernel->tactics;
}

static tn_status add_storages(tn_lowering *lowering, uint32_t index,
                              const tn_candidate *candidate) {
    bool is_accepted = true;
    uint32_t tactics = 1;
    tn_candidate each = *candidate;
    tn_cost said[TACTIC_LIMIT] = {{0}};
    const tn_tactic_costs costs = {TACTIC_LIMIT, said};
    if (tn_lower_is_outdone(lowering, index, candidate)) return TN_OK;
    if (lowering->facts->is_shaped[index] || needs_a_question(candidate->entry->kernel))
        TN_TRY(accepts(lowering, index, candidate, &costs, &is_accepted, &tactics));
    for (uint32_t tactic = 0; is_accepted && tactic < tactics; tactic++) {
        each.tactic = tactic;
        each.said = said[tactic];
        TN_TRY(add_candidate(lowering, index, &each));
    }
    return TN_OK;
}

/* In the tensors' own types as far as the combination leaves it open, then in the lower type, then
 * in the second. */
static tn_status add_combination(tn_lowering *lowering, uint32_t index, const tn_candidate *like,
                                 const tn_combination *combination) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const size_t ports = (size_t)node->input_count + node->output_count;
    const tn_type wanted[] = {TN_NONE, lowering->precision->lower_type,
                              lowering->precision->second_type};
    tn_storage *before[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        tn_candidate candidate;
        tn_storage *storages = NULL;
        bool fits = false;
        if (i > 0 && wanted[i] == TN_NONE) continue;
        if (i > 0 && !tn_lower_is_allowed(lowering, index, like)) break;
        TN_TRY(start_candidate(lowering, index, TN_STEP_KERNEL, like, &candidate, &storages));
        candidate.entry = like->entry;
        candidate.kernel_params = like->kernel_params;
        candidate.rank = like->rank;
        TN_TRY(
            tn_lower_ports(lowering, index, &candidate, combination, wanted[i], storages, &fits));
        for (int k = 0; k < i && fits; k++)
            fits = !before[k] || memcmp(before[k], storages, ports * sizeof *storages) != 0;
        if (!fits) continue;
        before[i] = storages;
        TN_TRY(add_storages(lowering, index, &candidate));
    }
    return TN_OK;
}

static bool has_all_types(const tn_lowering *lowering, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && lowering->facts->types[node->inputs[i]] == TN_NONE)
            return false;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && lowering->facts->types[node->outputs[i]] == TN_NONE)
            return false;
    return true;
}

static bool allows_tf32(const tn_lowering *lowering, uint32_t index) {
    const bool *is_kept = lowering->options->is_kept;
    return lowering->options->precision != TN_PRECISION_F32 && !(is_kept && is_kept[index]);
}

/* A kernel with the first `length` steps of its chain. */
static tn_status add_length(tn_lowering *lowering, uint32_t index, const tn_candidate *like,
                            const tn_lower_fit *fit, uint32_t length) {
    const tn_node_pin *pin = tn_lower_node_pin_of(lowering, index);
    tn_candidate each = *like;
    each.chain_count = length;
    for (uint32_t c = 0; c < fit->combination_count; c++)
        if (tn_lower_node_pin_combines(pin, &fit->combinations[c]))
            TN_TRY(add_combination(lowering, index, &each, &fit->combinations[c]));
    return TN_OK;
}

/* With the nodes before an input: the longest chain there with all that follows the kernel, and
 * chains there alone. */
static tn_status add_before(tn_lowering *lowering, uint32_t index, const tn_candidate *like,
                            const tn_lower_fit *fit, uint32_t input) {
    const tn_chain *longest = NULL;
    TN_TRY(tn_lower_before(lowering, index, like->entry, input, TN_CHAIN_LIMIT, &longest));
    for (uint32_t length = longest ? longest->before_count : 0; length > 0; length--) {
        tn_candidate each = *like;
        each.chain = longest;
        if (length > TN_CHAIN_SHORT && length < longest->before_count) continue;
        if (length < longest->before_count)
            TN_TRY(tn_lower_before(lowering, index, like->entry, input, length, &each.chain));
        if (!each.chain) continue;
        if (length == longest->before_count && longest->count > length)
            TN_TRY(add_length(lowering, index, &each, fit, longest->count));
        TN_TRY(add_length(lowering, index, &each, fit, length));
    }
    return TN_OK;
}

/* No candidate came of a longer chain: the next that is weighed is the longest. */
static tn_status cut_chain(tn_lowering *lowering, uint32_t length, tn_candidate *candidate) {
    tn_chain *cut = tn_arena_copy(lowering->arena, candidate->chain, sizeof *cut);
    if (cut) cut->count = length < TN_CHAIN_SHORT ? length : TN_CHAIN_SHORT;
    candidate->chain = cut;
    return cut ? TN_OK : tn_fail_memory("a chain");
}

static tn_status add_kernel(tn_lowering *lowering, uint32_t index, const tn_kernel_entry *entry,
                            uint32_t rank) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_kernel *kernel = entry->kernel;
    const bool is_shaped = lowering->facts->is_shaped[index];
    if (!has_all_types(lowering, node)) return TN_OK;
    if (strcmp(kernel->device, "cpu") != 0 && tn_lower_is_host_only(lowering, index)) return TN_OK;
    if ((kernel->traits & TN_KERNEL_TF32) && !allows_tf32(lowering, index)) return TN_OK;
    if (!is_shaped && !tn_kernel_takes_open(kernel, lowering->facts->is_ranked[index]))
        return TN_OK;
    const tn_lower_fit *fit = NULL;
    TN_TRY(tn_lower_fit_of(lowering, index, entry, &fit));
    if (!fit->is_fit) return TN_OK;
    tn_candidate like = {.entry = entry, .kernel_params = fit->params, .rank = rank};
    for (uint32_t i = 0; is_shaped && i < node->input_count; i++)
        TN_TRY(add_before(lowering, index, &like, fit, i));
    if (is_shaped) TN_TRY(tn_lower_chain(lowering, index, entry, NULL, &like.chain));
    const uint32_t longest = like.chain ? like.chain->count : 0;
    for (uint32_t length = longest + 1; length-- > 0;) {
        const size_t count = lowering->nodes[index].candidate_count;
        if (length > TN_CHAIN_SHORT && length < longest) continue;
        TN_TRY(add_length(lowering, index, &like, fit, length));
        if (length > 0 && lowering->nodes[index].candidate_count == count)
            TN_TRY(cut_chain(lowering, length - 1, &like));
    }
    return TN_OK;
}

/* Whether some candidate does the node alone: the choice may need one. */
static bool has_single(const tn_lower_node *node) {
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].chain_count == 0) return true;
    return false;
}

/* The same in the tensors' own types: the lower one is never the only candidate, unless it is
 * pinned. */
static bool has_plain_single(const tn_lowering *lowering, uint32_t index) {
    const tn_lower_node *node = &lowering->nodes[index];
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].chain_count == 0 &&
            !tn_lower_is_lowered(lowering, index, &node->candidates[i]))
            return true;
    return false;
}

static tn_status add_fitting(tn_lowering *lowering, uint32_t index, bool is_device,
                             const tn_lower_pin *pin) {
    const tn_lower_kernels *kernels = NULL;
    TN_TRY(tn_lower_kernels_of(lowering, lowering->graph->nodes[index].entry->op, is_device,
                               &kernels));
    for (uint32_t i = 0; i < kernels->count; i++)
        if (tn_lower_pin_fits(pin, kernels->entries[i]))
            TN_TRY(add_kernel(lowering, index, kernels->entries[i], kernels->ranks[i]));
    return TN_OK;
}

static tn_status add_pinned(tn_lowering *lowering, uint32_t index, const tn_lower_pin *pin) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    if (strcmp(pin->kernel, "reference") == 0) return TN_OK;
    if (tn_lower_has_device(lowering)) TN_TRY(add_fitting(lowering, index, true, pin));
    TN_TRY(add_fitting(lowering, index, false, pin));
    if (!has_single(&lowering->nodes[index]))
        tn_runtime_log(lowering->graph->runtime, TN_LOG_WARNING,
                       "the pinned kernel '%s' does not take node '%s' (%s)", pin->kernel,
                       node->name, node->entry->op->name);
    return TN_OK;
}

static tn_status add_kernels(tn_lowering *lowering, uint32_t index, bool is_device,
                             bool is_fallback) {
    const tn_lower_kernels *kernels = NULL;
    TN_TRY(tn_lower_kernels_of(lowering, lowering->graph->nodes[index].entry->op, is_device,
                               &kernels));
    for (uint32_t i = 0; i < kernels->count; i++)
        if (((kernels->entries[i]->kernel->traits & TN_KERNEL_FALLBACK) != 0) == is_fallback)
            TN_TRY(add_kernel(lowering, index, kernels->entries[i], kernels->ranks[i]));
    return TN_OK;
}

static tn_status add_reference(tn_lowering *lowering, uint32_t index, bool is_host) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    tn_candidate candidate;
    if (!node->entry->op->reference) {
        if (has_single(&lowering->nodes[index])) return TN_OK;
        tn_fail(TN_ERROR_UNSUPPORTED,
                "no kernel takes this node with its types and shapes, and the operator has no "
                "reference");
        return tn_error_in(TN_ERROR_UNSUPPORTED, .node = node->name, .op = node->entry->op->name);
    }
    TN_TRY(start_candidate(lowering, index, TN_STEP_KERNEL, NULL, &candidate, NULL));
    candidate.is_host = is_host;
    return add_candidate(lowering, index, &candidate);
}

/* A view with both ends in one storage; in the lower type, where both may be stored so. */
static tn_status add_view(tn_lowering *lowering, uint32_t index, tn_storage storage) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    tn_candidate view;
    tn_storage *storages = NULL;
    TN_TRY(start_candidate(lowering, index, TN_STEP_VIEW, NULL, &view, &storages));
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == TN_NO_TENSOR) continue;
        uint32_t input = tn_graph_output_port(node->entry->op, i)->alias - 1;
        if (storage.type != TN_NONE &&
            (!tn_lower_may_be(lowering, node->outputs[i], storage.type) ||
             !tn_lower_may_be(lowering, node->inputs[input], storage.type)))
            return TN_OK;
        storages[input] = storages[node->input_count + i] = storage;
    }
    return tn_lower_note_storage(lowering, storage) ? add_candidate(lowering, index, &view) : TN_OK;
}

/* In the tensors' own types and in the lower ones, in the host's memory and in the device's. */
static tn_status add_views(tn_lowering *lowering, uint32_t index) {
    tn_storage storage = {TN_NONE, TN_LINEAR, TN_SPACE_HOST};
    if (lowering->plan->is_host_node[index]) {
        tn_candidate view;
        TN_TRY(start_candidate(lowering, index, TN_STEP_KERNEL, NULL, &view, NULL));
        view.is_host = true;
        return add_candidate(lowering, index, &view);
    }
    const bool may_be_there =
        tn_lower_has_device(lowering) && !tn_lower_is_host_only(lowering, index);
    const uint32_t spaces = may_be_there ? 2 : 1;
    for (; storage.space < spaces; storage.space++) {
        storage.type = TN_NONE;
        TN_TRY(add_view(lowering, index, storage));
        if (!tn_lower_is_allowed(lowering, index, NULL)) continue;
        storage.type = lowering->precision->lower_type;
        TN_TRY(add_view(lowering, index, storage));
        storage.type = lowering->precision->second_type;
        if (storage.type != TN_NONE) TN_TRY(add_view(lowering, index, storage));
    }
    return TN_OK;
}

/* By its own pin: of all kernels, those of a device before the processor's where any takes it. */
static tn_status add_node_pinned(tn_lowering *lowering, uint32_t index, const tn_node_pin *pin) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    bool is_kernel_known = false;
    if (tn_lower_is_view(node) || lowering->plan->is_host_node[index])
        return tn_error_in(tn_fail(TN_ERROR_UNSUPPORTED,
                                   "it is pinned, but no kernel does it: operator %s %s",
                                   node->entry->op->name,
                                   tn_lower_is_view(node) ? "gives the same elements another shape"
                                                          : "is done while shapes are inferred"),
                           .node = node->name);
    if (pin->kernel && strcmp(pin->kernel, "reference") == 0)
        return add_reference(lowering, index, false);
    for (int is_device = tn_lower_has_device(lowering); is_device >= 0; is_device--) {
        const tn_lower_kernels *kernels = NULL;
        TN_TRY(tn_lower_kernels_of(lowering, node->entry->op, is_device, &kernels));
        for (uint32_t i = 0; i < kernels->count; i++) {
            if (!tn_lower_node_pin_fits(pin, kernels->entries[i])) continue;
            is_kernel_known = true;
            TN_TRY(add_kernel(lowering, index, kernels->entries[i], kernels->ranks[i]));
        }
        if (has_single(&lowering->nodes[index])) return TN_OK;
    }
    if (!pin->kernel && pin->type == TN_F32) TN_TRY(add_reference(lowering, index, false));
    return has_single(&lowering->nodes[index])
               ? TN_OK
               : tn_lower_node_pin_fail(lowering, index, is_kernel_known);
}

static tn_status add_all(tn_lowering *lowering, uint32_t index) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_node_pin *own = tn_lower_node_pin_of(lowering, index);
    if (own) return add_node_pinned(lowering, index, own);
    if (tn_lower_is_view(node)) return add_views(lowering, index);
    if (lowering->plan->is_host_node[index]) return add_reference(lowering, index, true);
    if (lowering->options->reference_only) return add_reference(lowering, index, false);
    const tn_lower_pin *pin = tn_lower_pin_of(lowering, node->entry->op);
    if (pin) TN_TRY(add_pinned(lowering, index, pin));
    if (pin && strcmp(pin->kernel, "reference") == 0) return add_reference(lowering, index, false);
    if (pin && has_single(&lowering->nodes[index])) return TN_OK;
    /* What the device has no kernel for runs on the processor. */
    for (int is_device = tn_lower_has_device(lowering); is_device >= 0; is_device--)
        for (int is_fallback = 0; is_fallback < 2; is_fallback++) {
            TN_TRY(add_kernels(lowering, index, is_device, is_fallback));
            if (has_plain_single(lowering, index)) return TN_OK;
        }
    return add_reference(lowering, index, false);
}

tn_status tn_lower_candidates_find(tn_lowering *lowering) {
    const size_t count = lowering->graph->node_count;
    lowering->nodes = tn_arena_allocate(lowering->arena, count + 1, sizeof *lowering->nodes);
    if (!lowering->nodes) return tn_fail_memory("lowering a graph");
    for (uint32_t n = 0; n < count; n++) {
        TN_TRY(tn_progress_tell(lowering->options->progress, "lower", n, count));
        if (!lowering->graph->nodes[n].is_dead) TN_TRY(add_all(lowering, n));
    }
    return tn_progress_tell(lowering->options->progress, "lower", count, count);
}
