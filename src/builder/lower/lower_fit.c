/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel has for a node, found once and kept: see lower_fit.h. */
#include "base/status.h"
#include "builder/lower/lower_fit.h"
#include "builder/lower/candidate_call.h"
#include "builder/lower/lower_facts.h"
#include "program/kernel_fit.h"

typedef struct kept_fit {
    tn_lower_fit fit;
    struct kept_fit *next;
} kept_fit;

/* By node. */
struct tn_lower_fits {
    kept_fit *first;
};

/* In the tensors' own types, linear, without a chain. */
static tn_status ask_combinations(tn_lowering *lowering, uint32_t index, tn_lower_fit *fit) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const size_t ports = (size_t)node->input_count + node->output_count;
    tn_storage *storages = tn_arena_allocate(lowering->arena, ports + 1, sizeof *storages);
    tn_candidate_call call;
    if (!storages) return tn_fail_memory("a kernel's combinations");
    const tn_candidate candidate = {.kind = TN_STEP_KERNEL,
                                    .entry = fit->entry,
                                    .kernel_params = fit->params,
                                    .inputs = storages,
                                    .outputs = storages + node->input_count};
    TN_TRY(tn_candidate_call_init(&call, lowering, index, &candidate, 1, lowering->arena));
    return tn_kernel_fit_combinations(lowering->arena, fit->entry, &call.call,
                                      &fit->combination_count, &fit->combinations);
}

static tn_status find_fit(tn_lowering *lowering, uint32_t index, tn_lower_fit *fit) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_kernel *kernel = fit->entry->kernel;
    TN_TRY(tn_kernel_fit_params(lowering->arena, fit->entry, node, &fit->params, &fit->is_fit));
    if (!fit->is_fit) {
        tn_runtime_log(lowering->graph->runtime, TN_LOG_DEBUG,
                       "kernel '%s' (library %s) is not for node '%s': %s", kernel->name,
                       fit->entry->library->name, node->name, tn_last_error()->message);
        return TN_OK;
    }
    fit->combination_count = fit->entry->combination_count;
    fit->combinations = fit->entry->combinations;
    const bool is_asked = kernel->combination &&
                          (lowering->facts->is_shaped[index] || lowering->facts->is_ranked[index]);
    return is_asked ? ask_combinations(lowering, index, fit) : TN_OK;
}

tn_status tn_lower_fit_of(tn_lowering *lowering, uint32_t index, const tn_kernel_entry *entry,
                          const tn_lower_fit **out_fit) {
    const size_t nodes = lowering->graph->node_count + 1;
    if (!lowering->fits)
        lowering->fits = tn_arena_allocate(lowering->arena, nodes, sizeof *lowering->fits);
    kept_fit *kept = lowering->fits ? lowering->fits[index].first : NULL;
    while (kept && kept->fit.entry != entry)
        kept = kept->next;
    if (!kept) {
        kept = tn_arena_allocate(lowering->arena, 1, sizeof *kept);
        if (!kept || !lowering->fits) return tn_fail_memory("a kernel's fit");
        *kept = (kept_fit){.fit.entry = entry, .next = lowering->fits[index].first};
        TN_TRY(find_fit(lowering, index, &kept->fit));
        lowering->fits[index].first = kept;
    }
    *out_fit = &kept->fit;
    return TN_OK;
}
