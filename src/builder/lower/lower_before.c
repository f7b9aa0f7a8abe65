/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains before an input: the nodes that lead to it, of which a kernel absorbs some, nearest first.
 * Their outputs have one reader each, so that nobody misses what is not written. The candidates
 * stay with the kernel's node; lower_problem.c states them to the choice at the first node of the
 * chain.
 */
#include "base/status.h"
#include "builder/lower/lower_chains.h"
#include "builder/lower/lower_facts.h"

static bool lists(const tn_kernel_entry *entry, uint32_t port) {
    for (uint32_t i = 0; i < entry->absorb_count; i++)
        if (entry->absorbs[i].port == port) return true;
    return false;
}

static bool may_have_chain(const tn_lowering *lowering, uint32_t index, uint32_t input) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_lower_options *options = lowering->options;
    return !options->no_fusion && !options->reference_only && node->output_count > 0 &&
           !lowering->plan->is_host_node[index] && !tn_lower_is_view(node) &&
           !(tn_graph_output_port(node->entry->op, 0)->flags & TN_PORT_SIZED_BY_RUN) &&
           !(tn_graph_input_port(node->entry->op, input)->flags &
             (TN_PORT_SHAPE_ONLY | TN_PORT_VALUE_NEEDED));
}

/* The node that makes a tensor for one reader, if it may be absorbed; what it chains is its first
 * input that is no constant. */
static uint32_t previous_link(const tn_lowering *lowering, tn_tensor_id made,
                              tn_tensor_id *out_chained) {
    const tn_graph *graph = lowering->graph;
    if (made == TN_NO_TENSOR || graph->tensors[made].use_count != 1) return TN_NO_NODE;
    const uint32_t producer = graph->tensors[made].producer;
    if (producer == TN_NO_NODE || !tn_lower_may_absorb(lowering, producer)) return TN_NO_NODE;
    const tn_graph_node *node = &graph->nodes[producer];
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR || graph->tensors[node->inputs[i]].is_constant)
            continue;
        *out_chained = node->inputs[i];
        return producer;
    }
    return TN_NO_NODE;
}

/* The links nearest an input, at most `length` and as many as the kernel has facets for, in the
 * order of execution at the end of `items`. */
static tn_status list_links(tn_lowering *lowering, const tn_kernel_entry *entry, tn_tensor_id read,
                            uint32_t length, tn_links *links, tn_link **items) {
    tn_link **first = items + TN_CHAIN_LIMIT;
    *links = (tn_links){.port = links->port};
    while (links->count < length) {
        tn_tensor_id chained = TN_NO_TENSOR;
        const uint32_t node = previous_link(lowering, read, &chained);
        tn_chain alone;
        if (node == TN_NO_NODE) break;
        TN_TRY(tn_lower_link_of(lowering, node, chained, first - 1));
        const tn_links one = {.count = 1,
                              .before_count = 1,
                              .port = links->port,
                              .stored = chained,
                              .items = first - 1};
        TN_TRY(tn_chain_init(&alone, lowering->arena, entry, &one));
        if (alone.count == 0) break;
        first--;
        links->count++;
        links->stored = read = chained;
    }
    links->before_count = links->count;
    links->items = first;
    return TN_OK;
}

tn_status tn_lower_before(tn_lowering *lowering, uint32_t index, const tn_kernel_entry *entry,
                          uint32_t input, uint32_t length, const tn_chain **out_chain) {
    tn_link *items[TN_CHAIN_LIMIT];
    tn_links links = {.port = input + 1};
    *out_chain = NULL;
    if (!lists(entry, input + 1) || !may_have_chain(lowering, index, input)) return TN_OK;
    const tn_tensor_id read = lowering->graph->nodes[index].inputs[input];
    /* what does not hold in all of the profile ends the chain */
    while (!*out_chain && length > 0) {
        TN_TRY(list_links(lowering, entry, read, length, &links, items));
        if (links.count == 0) return TN_OK;
        TN_TRY(tn_lower_chain(lowering, index, entry, &links, out_chain));
        length = links.count - 1;
    }
    if (*out_chain) tn_lower_note_before(lowering, *out_chain);
    return TN_OK;
}
