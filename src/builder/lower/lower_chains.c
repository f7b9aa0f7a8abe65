/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains: for each node, the nodes after it that could be computed by its kernel before it stores
 * its output, and for each kernel how many of them it absorbs, and as what.
 *
 * Every link has one output, which the next link alone reads; so a chain has one way in beside its
 * head's inputs (the operands) and one way out, and doing it at once, where its last node stands in
 * the order, can close no cycle.
 */
#include "base/status.h"
#include "builder/lower/lower_chains.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_pins.h"

#include <string.h>

/* A node as a link behind the tensor `chained`. */
typedef struct kept_link {
    tn_link link;
    tn_tensor_id chained;
    struct kept_link *next;
} kept_link;

/* By node. */
struct tn_lower_chains {
    tn_lower_run run;
    kept_link *links;
};

bool tn_lower_is_same_shape(const tn_lowering *lowering, tn_tensor_id a, tn_tensor_id b) {
    for (int point = 0; point < TN_POINTS; point++)
        if (!tn_shape_equal(&lowering->points[point]->tensors[a].storage.shape,
                            &lowering->points[point]->tensors[b].storage.shape))
            return false;
    return true;
}

bool tn_lower_may_absorb(const tn_lowering *lowering, uint32_t index) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const bool *is_unfused = lowering->options->is_unfused;
    return !(is_unfused && is_unfused[index]) && !lowering->plan->is_host_node[index] &&
           lowering->facts->is_shaped[index] && !tn_lower_is_view(node) &&
           tn_graph_node_has_one_output(node) &&
           !(tn_graph_output_port(node->entry->op, 0)->flags & TN_PORT_SIZED_BY_RUN) &&
           !tn_lower_pin_of(lowering, node->entry->op) && !tn_lower_node_pin_of(lowering, index);
}

/* The node that alone reads what `node` makes, if it may be absorbed at all. */
static uint32_t next_link(const tn_lowering *lowering, uint32_t node) {
    const tn_graph *graph = lowering->graph;
    tn_tensor_id made = graph->nodes[node].outputs[0];
    uint32_t reader = lowering->facts->reader[made];
    if (graph->tensors[made].use_count != 1 || reader == TN_NO_NODE) return TN_NO_NODE;
    return tn_lower_may_absorb(lowering, reader) ? reader : TN_NO_NODE;
}

static const tn_shape *shape_at(const tn_lowering *lowering, int point, tn_tensor_id tensor) {
    return &lowering->points[point]->tensors[tensor].storage.shape;
}

/* ----------------------------------------------------------------------------------------------
 * whether a step holds in all of the profile */

static bool fits_everywhere(const tn_lowering *lowering, const tn_facet_operand *form,
                            tn_tensor_id operand, tn_tensor_id output) {
    for (int point = 0; point < TN_POINTS; point++)
        if (!tn_link_operand_fits(form, shape_at(lowering, point, operand),
                                  shape_at(lowering, point, output)))
            return false;
    return true;
}

static bool are_operands_sound(const tn_lowering *lowering, const tn_facet *facet, uint32_t node) {
    const tn_graph_node *link = &lowering->graph->nodes[node];
    for (uint32_t i = 0; i < facet->operand_count; i++) {
        const tn_facet_operand *form = &facet->operands[i];
        const tn_tensor_id operand = link->inputs[form->input], output = link->outputs[0];
        if ((form->form == TN_OPERAND_WHOLE || form->form == TN_OPERAND_BROADCAST) &&
            lowering->facts->types[operand] != lowering->facts->types[output])
            return false;
        if (!fits_everywhere(lowering, form, operand, output)) return false;
    }
    return true;
}

/* Descriptors of a node's tensors at a point of the profile, by tensor. */
static const tn_tensor **tensors_at(const tn_lowering *lowering, uint32_t node, int point) {
    const tn_graph *graph = lowering->graph;
    const tn_graph_node *link = &graph->nodes[node];
    const tn_tensor **tensors =
        tn_arena_allocate(lowering->arena, graph->tensor_count + 1, sizeof *tensors);
    for (uint32_t i = 0; tensors && i < link->input_count + link->output_count; i++) {
        const tn_tensor_id id =
            i < link->input_count ? link->inputs[i] : link->outputs[i - link->input_count];
        if (id != TN_NO_TENSOR)
            tensors[id] = graph->tensors[id].is_constant
                              ? lowering->facts->tensors[id]
                              : &lowering->points[point]->tensors[id].storage.tensor;
    }
    return tensors;
}

/* A step that changes the shape is the same step everywhere. */
static tn_status is_same_everywhere(const tn_lowering *lowering, const char *name,
                                    const tn_facet *facet, uint32_t node, tn_tensor_id chained,
                                    bool *out_is_same) {
    *out_is_same = true;
    for (int point = 0; *out_is_same && point < TN_POINTS; point++) {
        tn_link *link = tn_arena_allocate(lowering->arena, 1, sizeof *link);
        const tn_tensor **tensors = tensors_at(lowering, node, point);
        const tn_facet *there = NULL;
        if (!link || !tensors) return tn_fail_memory("a chain");
        TN_TRY(tn_link_init(link, lowering->arena, lowering->graph, node, chained, tensors));
        TN_TRY(tn_link_facet_of(link, name, &there));
        *out_is_same = there && tn_link_is_alike(facet, there);
    }
    return TN_OK;
}

static tn_status is_sound(const tn_lowering *lowering, const tn_chain *chain, uint32_t step,
                          uint32_t node, tn_tensor_id chained, bool *out_is_sound) {
    const tn_facet *facet = chain->facets[step];
    *out_is_sound = are_operands_sound(lowering, facet, node);
    if (!*out_is_sound) return TN_OK;
    if (facet->flags & TN_FACET_RESHAPES)
        return is_same_everywhere(lowering, chain->steps[step]->facet, facet, node, chained,
                                  out_is_sound);
    *out_is_sound =
        tn_lower_is_same_shape(lowering, chained, lowering->graph->nodes[node].outputs[0]);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * chains */

const tn_lower_run *tn_lower_run_of(const tn_lowering *lowering, uint32_t node) {
    return &lowering->chains[node].run;
}

void tn_lower_note_before(tn_lowering *lowering, const tn_chain *chain) {
    for (uint32_t i = 0; i < chain->before_count; i++)
        lowering->chains[chain->nodes[i]].run.is_before = true;
}

tn_status tn_lower_link_of(tn_lowering *lowering, uint32_t node, tn_tensor_id chained,
                           tn_link **out_link) {
    kept_link *kept = lowering->chains[node].links;
    while (kept && kept->chained != chained)
        kept = kept->next;
    if (!kept) {
        kept = tn_arena_allocate(lowering->arena, 1, sizeof *kept);
        if (!kept) return tn_fail_memory("a chain");
        *kept = (kept_link){.chained = chained, .next = lowering->chains[node].links};
        TN_TRY(tn_link_init(&kept->link, lowering->arena, lowering->graph, node, chained,
                            (const tn_tensor *const *)lowering->facts->tensors));
        lowering->chains[node].links = kept;
    }
    *out_link = &kept->link;
    return TN_OK;
}

/* Behind those before an input: the nodes that may follow the kernel's. */
static tn_status add_after(tn_lowering *lowering, uint32_t index, tn_links *links,
                           tn_link **items) {
    const tn_lower_run *run = tn_lower_run_of(lowering, index);
    for (uint32_t i = 0; i < run->count; i++) {
        const uint32_t before = i == 0 ? index : run->nodes[i - 1];
        const tn_tensor_id chained = lowering->graph->nodes[before].outputs[0];
        TN_TRY(tn_lower_link_of(lowering, run->nodes[i], chained, &items[links->count]));
        links->count++;
    }
    return TN_OK;
}

/* The tensor that is chained at a step. */
static tn_tensor_id chained_at(const tn_lowering *lowering, const tn_chain *chain, uint32_t index,
                               uint32_t step) {
    if (step == 0 && chain->before_count > 0) return chain->stored;
    const uint32_t before = step == chain->before_count ? index : chain->nodes[step - 1];
    return lowering->graph->nodes[before].outputs[0];
}

tn_status tn_lower_chain(tn_lowering *lowering, uint32_t index, const tn_kernel_entry *entry,
                         const tn_links *before, const tn_chain **out_chain) {
    tn_lower_run *run = &lowering->chains[index].run;
    tn_link *items[2 * TN_CHAIN_LIMIT] = {NULL};
    tn_links links = before ? *before : (tn_links){.count = 0};
    bool holds = true;
    tn_chain *chain = tn_arena_allocate(lowering->arena, 1, sizeof *chain);
    if (!chain) return tn_fail_memory("a chain");
    if (before) memcpy(items, before->items, before->count * sizeof *items);
    links.items = items;
    TN_TRY(add_after(lowering, index, &links, items));
    TN_TRY(tn_chain_init(chain, lowering->arena, entry, &links));
    for (uint32_t i = 0; holds && i < chain->count; i++) {
        TN_TRY(is_sound(lowering, chain, i, chain->nodes[i], chained_at(lowering, chain, index, i),
                        &holds));
        if (!holds) chain->count = i;
    }
    *out_chain = chain->count < chain->before_count ? NULL : chain;
    if (*out_chain && chain->count - chain->before_count > run->absorbed_count)
        run->absorbed_count = chain->count - chain->before_count;
    return TN_OK;
}

tn_status tn_lower_chains_find(tn_lowering *lowering) {
    const tn_graph *graph = lowering->graph;
    lowering->chains =
        tn_arena_allocate(lowering->arena, graph->node_count + 1, sizeof *lowering->chains);
    if (!lowering->chains) return tn_fail_memory("lowering a graph");
    if (lowering->options->no_fusion || lowering->options->reference_only) return TN_OK;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        tn_lower_run *run = &lowering->chains[n].run;
        if (node->is_dead || lowering->plan->is_host_node[n] || !lowering->facts->is_shaped[n] ||
            tn_lower_is_view(node) || !tn_graph_node_has_one_output(node) ||
            (tn_graph_output_port(node->entry->op, 0)->flags & TN_PORT_SIZED_BY_RUN))
            continue;
        uint32_t next = next_link(lowering, n);
        while (next != TN_NO_NODE && run->count < TN_CHAIN_LIMIT) {
            run->nodes[run->count++] = next;
            next = next_link(lowering, next);
        }
    }
    return TN_OK;
}
