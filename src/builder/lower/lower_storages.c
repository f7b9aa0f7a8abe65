/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tensors may be stored in the lower type that the build's precision allows, and with which
 * scale. Tensors that hold the same numbers (views, and operators that only select elements) have
 * one scale, so that their kernels copy bits. Which storages kernels ask for is lower_ports.c's
 * matter.
 */
#include "base/status.h"
#include "builder/lower/lower_storages.h"
#include "builder/choose/choose.h"
#include "builder/lower/candidate.h"
#include "builder/lower/lower_facts.h"
#include "program/calibration_table.h"

#include <tenon/builder.h>

struct tn_lower_storages {
    tn_storage items[TN_CHOOSE_STORAGE_LIMIT]; /* by number; 0: own type, linear */
    uint32_t count;
};

static bool is_same(tn_storage a, tn_storage b) {
    return a.type == b.type && a.format == b.format && a.space == b.space;
}

bool tn_lower_note_storage(tn_lowering *lowering, tn_storage storage) {
    struct tn_lower_storages *storages = lowering->storages;
    for (uint32_t i = 0; i < storages->count; i++)
        if (is_same(storages->items[i], storage)) return true;
    if (storages->count == TN_CHOOSE_STORAGE_LIMIT) return false;
    storages->items[storages->count++] = storage;
    return true;
}

uint32_t tn_lower_storage_number(const tn_lowering *lowering, tn_storage storage) {
    for (uint32_t i = 0; i < lowering->storages->count; i++)
        if (is_same(lowering->storages->items[i], storage)) return i;
    return 0; /* never: candidates note their storages */
}

tn_storage tn_lower_storage_at(const tn_lowering *lowering, uint32_t number) {
    return lowering->storages->items[number];
}

uint32_t tn_lower_storage_count(const tn_lowering *lowering) {
    return lowering->storages->count;
}

tn_type tn_lower_type(const tn_lowering *lowering, tn_tensor_id tensor, tn_storage storage) {
    return storage.type == TN_NONE ? lowering->facts->types[tensor] : storage.type;
}

const tn_quantization *tn_lower_quantization(const tn_lowering *lowering, tn_tensor_id tensor,
                                             tn_storage storage) {
    if (storage.type == TN_I8) return &lowering->precision->quantizations[tensor];
    return storage.type == TN_NONE ? lowering->graph->tensors[tensor].quantization : NULL;
}

bool tn_lower_is_allowed(const tn_lowering *lowering, uint32_t node,
                         const tn_candidate *candidate) {
    const bool *is_kept = lowering->options->is_kept;
    if (lowering->precision->lower_type == TN_NONE || !lowering->facts->is_shaped[node])
        return false;
    if (is_kept && is_kept[node]) return false;
    for (uint32_t i = 0; is_kept && candidate && i < candidate->chain_count; i++)
        if (is_kept[candidate->chain->nodes[i]]) return false;
    return true;
}

static tn_type lower_type_of(uint32_t precision) {
    switch (precision) {
    case TN_PRECISION_BF16:
        return TN_BF16;
    case TN_PRECISION_F16:
        return TN_F16;
    case TN_PRECISION_I8:
        return TN_I8;
    default:
        return TN_NONE;
    }
}

/* Whether kernels decide how it is stored: floats made in a run or provided by the caller, of a
 * shape that is known. */
static bool is_eligible(const tn_lowering *lowering, tn_tensor_id id) {
    const tn_graph_tensor *tensor = &lowering->graph->tensors[id];
    if (lowering->facts->types[id] != TN_F32 || tensor->is_constant || tensor->quantization ||
        lowering->plan->is_run_value[id])
        return false;
    for (int point = 0; point < TN_POINTS; point++)
        if (!lowering->points[point]->tensors[id].is_known) return false;
    if (tensor->is_input) return true;
    if (tensor->producer == TN_NO_NODE || lowering->plan->is_host_node[tensor->producer] ||
        !lowering->facts->is_shaped[tensor->producer])
        return false;
    const tn_graph_node *node = &lowering->graph->nodes[tensor->producer];
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] == id &&
            (tn_graph_output_port(node->entry->op, i)->flags & TN_PORT_SIZED_BY_RUN))
            return false;
    return true;
}

/* --- one scale for the same numbers --- */

typedef struct scale_groups {
    const tn_lowering *lowering;
    tn_lower_precision *precision;
    const bool *is_eligible;
    uint32_t *parent; /* by tensor: the path to its group's root */
    bool *is_copy;    /* by tensor: its elements are another's */
    float *source;    /* by root: the largest scale of a tensor that is no copy */
    float *largest;   /* by root: the largest scale of all */
    bool *is_open;    /* by root: some tensor that is no copy has no scale */
} scale_groups;

static uint32_t root_of(const scale_groups *groups, uint32_t tensor) {
    while (groups->parent[tensor] != tensor) {
        groups->parent[tensor] = groups->parent[groups->parent[tensor]];
        tensor = groups->parent[tensor];
    }
    return tensor;
}

static void tie(const scale_groups *groups, tn_tensor_id from, tn_tensor_id to) {
    if (from == TN_NO_TENSOR || to == TN_NO_TENSOR || !groups->is_eligible[from] ||
        !groups->is_eligible[to])
        return;
    groups->is_copy[to] = true;
    groups->parent[root_of(groups, to)] = root_of(groups, from);
}

static void tie_node(const scale_groups *groups, const tn_graph_node *node) {
    const tn_operator *op = node->entry->op;
    if (tn_lower_is_view(node)) {
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR)
                tie(groups, node->inputs[tn_graph_output_port(op, i)->alias - 1], node->outputs[i]);
    } else if ((op->traits & TN_OPERATOR_SELECTS) && node->output_count > 0) {
        for (uint32_t o = 0; o < node->output_count; o++) {
            if (tn_graph_output_port(op, o) != tn_graph_output_port(op, 0)) break;
            for (uint32_t i = 0; i < node->input_count; i++)
                if (tn_graph_input_port(op, i) == tn_graph_input_port(op, 0))
                    tie(groups, node->inputs[i], node->outputs[o]);
        }
    }
}

static float largest(float a, float b) {
    return a > b ? a : b;
}

/* The scale nearer to who makes the numbers wins; of several makers, the one that clips none of
 * them. A maker without a scale has that of what is made of it. */
static void settle_scales(const scale_groups *groups) {
    const tn_lowering *lowering = groups->lowering;
    tn_lower_precision *precision = groups->precision;
    const float *scales = lowering->options->scales;
    size_t count = lowering->graph->tensor_count;
    for (uint32_t t = 0; t < count; t++) {
        uint32_t root = root_of(groups, t);
        float scale = scales && groups->is_eligible[t] ? scales[t] : 0;
        bool is_found = tn_calibration_table_is_scale(scale);
        if (!groups->is_eligible[t]) continue;
        if (is_found) groups->largest[root] = largest(groups->largest[root], scale);
        if (groups->is_copy[t]) continue;
        if (is_found) groups->source[root] = largest(groups->source[root], scale);
        groups->is_open[root] = groups->is_open[root] || !is_found;
    }
    for (uint32_t t = 0; t < count; t++)
        if (groups->is_open[t]) groups->source[t] = groups->largest[t];
    for (uint32_t t = 0; t < count; t++) {
        if (!groups->is_eligible[t]) continue;
        uint32_t root = root_of(groups, t);
        precision->may_lower[t] = groups->source[root] > 0;
        precision->lacks_scale[t] = !precision->may_lower[t];
        precision->quantizations[t] = (tn_quantization){.size = sizeof(tn_quantization),
                                                        .scale_type = TN_F32,
                                                        .count = 1,
                                                        .scales = &groups->source[root]};
    }
}

static tn_status find_scales(const tn_lowering *lowering, tn_lower_precision *precision,
                             const bool *is_eligible) {
    const tn_graph *graph = lowering->graph;
    size_t count = graph->tensor_count + 1;
    scale_groups groups = {
        .lowering = lowering, .precision = precision, .is_eligible = is_eligible};
    groups.parent = tn_arena_allocate(lowering->arena, count, sizeof *groups.parent);
    groups.is_copy = tn_arena_allocate(lowering->arena, count, sizeof *groups.is_copy);
    groups.source = tn_arena_allocate(lowering->arena, count, sizeof *groups.source);
    groups.largest = tn_arena_allocate(lowering->arena, count, sizeof *groups.largest);
    groups.is_open = tn_arena_allocate(lowering->arena, count, sizeof *groups.is_open);
    if (!groups.parent || !groups.is_copy || !groups.source || !groups.largest || !groups.is_open)
        return tn_fail_memory("lowering a graph");
    for (uint32_t t = 0; t < graph->tensor_count; t++)
        groups.parent[t] = t;
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n].is_dead) tie_node(&groups, &graph->nodes[n]);
    settle_scales(&groups);
    return TN_OK;
}

static tn_status find_precision(const tn_lowering *lowering, tn_lower_precision *precision) {
    const tn_lower_options *options = lowering->options;
    const size_t count = lowering->graph->tensor_count + 1;
    tn_arena *arena = lowering->arena;
    precision->lower_type = options->reference_only ? TN_NONE : lower_type_of(options->precision);
    precision->may_lower = tn_arena_allocate(arena, count, sizeof(bool));
    precision->lacks_scale = tn_arena_allocate(arena, count, sizeof(bool));
    precision->may_second = tn_arena_allocate(arena, count, sizeof(bool));
    precision->quantizations = tn_arena_allocate(arena, count, sizeof *precision->quantizations);
    bool *eligible = tn_arena_allocate(arena, count, sizeof(bool));
    if (!precision->may_lower || !precision->lacks_scale || !precision->may_second ||
        !precision->quantizations || !eligible)
        return tn_fail_memory("lowering a graph");
    if (precision->lower_type == TN_NONE) return TN_OK;
    for (uint32_t t = 0; t < lowering->graph->tensor_count; t++)
        eligible[t] = is_eligible(lowering, t);
    if (precision->lower_type == TN_I8) {
        precision->second_type = lower_type_of(options->second_precision);
        precision->may_second = eligible;
        return find_scales(lowering, precision, eligible);
    }
    precision->may_lower = eligible;
    return TN_OK;
}

tn_status tn_lower_storages_find(tn_lowering *lowering) {
    tn_lower_precision *precision = tn_arena_allocate(lowering->arena, 1, sizeof *precision);
    lowering->storages = tn_arena_allocate(lowering->arena, 1, sizeof *lowering->storages);
    if (!precision || !lowering->storages) return tn_fail_memory("lowering a graph");
    lowering->storages->items[lowering->storages->count++] =
        (tn_storage){TN_NONE, TN_LINEAR, TN_SPACE_HOST};
    TN_TRY(find_precision(lowering, precision));
    lowering->precision = precision;
    return TN_OK;
}
