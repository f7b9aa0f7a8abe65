/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lowering knows of tensors and nodes before it looks for kernels: types (also where shapes
 * are known at a run only), whether shapes can be relied on, who reads what, and the kernels of
 * each operator in the order of preference.
 */
#include "base/status.h"
#include "builder/lower/lower_facts.h"
#include "plugin/devices.h"
#include "program/kernel_fit.h"

#include <string.h>

static const tn_port_rule *input_rule(const tn_operator_entry *entry, uint32_t index) {
    uint32_t count = entry->op->input_count;
    return count == 0 ? NULL : &entry->inputs[index < count ? index : count - 1];
}

/* The type of an output as far as its port says it. */
static tn_type type_by_rule(const tn_lower_facts *facts, const tn_graph_node *node,
                            uint32_t output) {
    const tn_operator_entry *entry = node->entry;
    uint32_t count = entry->op->output_count;
    if (count == 0) return TN_NONE;
    const tn_port_rule *rule = &entry->outputs[output < count ? output : count - 1];
    for (tn_type type = TN_F64; type < TN_TYPE_COUNT; type++)
        if (rule->types == TN_TYPE_BIT(type)) return type;
    if (rule->variable == TN_NO_VARIABLE) return TN_NONE;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_port_rule *input = input_rule(entry, i);
        if (node->inputs[i] != TN_NO_TENSOR && input && input->variable == rule->variable)
            return facts->types[node->inputs[i]];
    }
    return TN_NONE;
}

static bool is_known(const tn_lowering *lowering, tn_tensor_id tensor) {
    for (int point = 0; point < TN_POINTS; point++)
        if (!lowering->points[point]->tensors[tensor].is_known) return false;
    return true;
}

/* What is guessed at one point may fail at another, and says nothing of ranks then. */
static bool has_rank(const tn_lowering *lowering, tn_tensor_id tensor, bool may_be_guess) {
    const tn_inferred_tensor *best = &lowering->points[TN_POINT_OPTIMUM]->tensors[tensor];
    if (best->is_rank_guess && !may_be_guess) return false;
    for (int point = 0; best->is_known && point < TN_POINTS; point++) {
        const tn_inferred_tensor *known = &lowering->points[point]->tensors[tensor];
        if (known->is_known && known->storage.shape.rank != best->storage.shape.rank) return false;
    }
    return best->is_known;
}

static void note_tensors(const tn_lowering *lowering, tn_lower_facts *facts) {
    const tn_graph *graph = lowering->graph;
    for (uint32_t t = 0; t < graph->tensor_count; t++) {
        const tn_graph_tensor *tensor = &graph->tensors[t];
        facts->reader[t] = TN_NO_NODE;
        if (lowering->points[1]->tensors[t].is_known) {
            facts->tensors[t] = &lowering->points[1]->tensors[t].storage.tensor;
            facts->types[t] = facts->tensors[t]->type;
        } else if (lowering->points[1]->tensors[t].is_described) {
            facts->types[t] = lowering->points[1]->tensors[t].storage.tensor.type;
        } else if (tensor->is_constant || tensor->is_input) {
            facts->types[t] = tensor->type;
        }
    }
}

static void note_node(const tn_lowering *lowering, uint32_t index, tn_lower_facts *facts) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const bool may_be_guess = tn_kernel_may_guess_ranks(node);
    bool is_shaped = !lowering->plan->is_after_run[index], is_ranked = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR) continue;
        facts->reader[node->inputs[i]] = index;
        is_shaped = is_shaped && is_known(lowering, node->inputs[i]);
        is_ranked = is_ranked && has_rank(lowering, node->inputs[i], may_be_guess);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        tn_tensor_id id = node->outputs[i];
        if (id == TN_NO_TENSOR) continue;
        is_shaped = is_shaped && is_known(lowering, id);
        is_ranked = is_ranked && has_rank(lowering, id, may_be_guess);
        if (facts->types[id] == TN_NONE) facts->types[id] = type_by_rule(facts, node, i);
    }
    facts->is_shaped[index] = is_shaped;
    facts->is_ranked[index] = is_ranked;
}

tn_status tn_lower_facts_find(tn_lowering *lowering) {
    const tn_graph *graph = lowering->graph;
    const size_t tensors = graph->tensor_count + 1, nodes = graph->node_count + 1;
    tn_arena *arena = lowering->arena;
    tn_lower_facts *facts = tn_arena_allocate(arena, 1, sizeof *facts);
    if (!facts) return tn_fail_memory("lowering a graph");
    facts->tensors = tn_arena_allocate(arena, tensors, sizeof *facts->tensors);
    facts->types = tn_arena_allocate(arena, tensors, sizeof *facts->types);
    facts->reader = tn_arena_allocate(arena, tensors, sizeof *facts->reader);
    facts->is_shaped = tn_arena_allocate(arena, nodes, sizeof *facts->is_shaped);
    facts->is_ranked = tn_arena_allocate(arena, nodes, sizeof *facts->is_ranked);
    if (!facts->tensors || !facts->types || !facts->reader || !facts->is_shaped ||
        !facts->is_ranked)
        return tn_fail_memory("lowering a graph");
    note_tensors(lowering, facts);
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n].is_dead) note_node(lowering, n, facts);
    lowering->facts = facts;
    return TN_OK;
}

bool tn_lower_is_view(const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR) return tn_graph_node_is_view(node);
    return false;
}

static uint32_t feature_count(const tn_kernel *kernel) {
    const char *features = kernel->requires_features;
    uint32_t count = features && *features ? 1 : 0;
    for (; features && *features; features++)
        count += *features == ',';
    return count;
}

/* Without timing: a kernel that another library adds to an operator is there to be used; then the
 * one that needs the more of the processor; then the order in the library's table. */
static bool is_preferred(const tn_kernel_entry *a, const tn_kernel_entry *b,
                         const tn_kernel_entry *first) {
    bool is_a_added = a->library != first->library, is_b_added = b->library != first->library;
    if (is_a_added != is_b_added) return is_a_added;
    return feature_count(a->kernel) > feature_count(b->kernel);
}

static void rank_kernels(tn_lower_kernels *kernels) {
    for (uint32_t i = 0; i < kernels->count; i++)
        for (uint32_t k = 0; k < i; k++) {
            bool is_better =
                is_preferred(kernels->entries[i], kernels->entries[k], kernels->entries[0]);
            kernels->ranks[is_better ? k : i]++;
        }
}

bool tn_lower_has_device(const tn_lowering *lowering) {
    return lowering->options->device && tn_device_is_remote(lowering->options->device);
}

tn_status tn_lower_kernels_of(tn_lowering *lowering, const tn_operator *op, bool is_device,
                              const tn_lower_kernels **out_kernels) {
    const char *kind = is_device ? lowering->options->device->kind : "cpu";
    tn_lower_kernels **end = &lowering->kernels;
    for (; *end; end = &(*end)->next) {
        if ((*end)->op != op || (*end)->is_device != is_device) continue;
        *out_kernels = *end;
        return TN_OK;
    }
    tn_lower_kernels *kernels = tn_arena_allocate(lowering->arena, 1, sizeof *kernels);
    if (!kernels) return tn_fail_memory("lowering a graph");
    *kernels = (tn_lower_kernels){.op = op, .is_device = is_device};
    TN_TRY(tn_registry_kernels(tn_runtime_registry(lowering->graph->runtime), op, kind,
                               &kernels->entries, &kernels->count));
    *end = kernels;
    kernels->ranks =
        tn_arena_allocate(lowering->arena, kernels->count + 1u, sizeof *kernels->ranks);
    if (!kernels->ranks) return tn_fail_memory("lowering a graph");
    rank_kernels(kernels);
    *out_kernels = kernels;
    return TN_OK;
}

void tn_lower_kernels_release(tn_lowering *lowering) {
    for (const tn_lower_kernels *kernels = lowering->kernels; kernels; kernels = kernels->next)
        tn_registry_free_kernels(tn_runtime_registry(lowering->graph->runtime), kernels->entries,
                                 kernels->count);
    lowering->kernels = NULL;
}

bool tn_lower_is_host_only(const tn_lowering *lowering, uint32_t index) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    if (tn_graph_node_has_kinds(node)) return true;
    for (uint32_t i = 0; i < node->input_count + node->output_count; i++) {
        const tn_tensor_id id =
            i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
        if (id == TN_NO_TENSOR) continue;
        if (lowering->facts->types[id] == TN_STRING) return true;
        if (i >= node->input_count && lowering->plan->is_run_value[id]) return true;
    }
    return false;
}
