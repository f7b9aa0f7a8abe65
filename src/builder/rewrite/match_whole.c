/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a match can be taken out of the graph as a whole: see match.h. */
#include "base/status.h"
#include "builder/rewrite/match.h"

static bool is_matched(const tn_matcher *m, uint32_t node) {
    for (uint32_t i = 0; i < m->node_count; i++)
        if (m->nodes[i] == node) return true;
    return false;
}

static bool is_output(const tn_matcher *m, tn_tensor_id tensor) {
    for (uint32_t i = 0; i < m->pattern->name_count; i++)
        if (m->pattern->names[i].is_output && m->bindings[i].is_bound &&
            m->bindings[i].tensor == tensor)
            return true;
    return false;
}

/* How often the matched nodes read it. */
static uint32_t count_reads(const tn_matcher *m, tn_tensor_id tensor) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < m->node_count; n++) {
        const tn_graph_node *node = &m->graph->nodes[m->nodes[n]];
        for (uint32_t i = 0; i < node->input_count; i++)
            count += node->inputs[i] == tensor;
    }
    return count;
}

static bool may_vanish(const tn_matcher *m, tn_tensor_id tensor) {
    const tn_graph_tensor *item = &m->graph->tensors[tensor];
    return !item->quantization && !tn_graph_is_output(m->graph, tensor) &&
           item->use_count == count_reads(m, tensor);
}

static bool is_made_inside(const tn_matcher *m, tn_tensor_id tensor) {
    const uint32_t producer = m->graph->tensors[tensor].producer;
    return producer != TN_NO_NODE && is_matched(m, producer);
}

/* Whether a matched node reads what a node outside computes from the pattern's outputs. The nodes
 * are sorted; `is_behind`, by tensor, gathers what such nodes compute. */
static bool depends_on_outputs(const tn_matcher *m, bool *is_behind) {
    for (uint32_t n = 0; n < m->graph->node_count; n++) {
        const tn_graph_node *node = &m->graph->nodes[n];
        const bool is_inside = is_matched(m, n);
        bool reads_behind = false;
        for (uint32_t i = 0; i < node->input_count && !node->is_dead; i++)
            reads_behind = reads_behind || (node->inputs[i] != TN_NO_TENSOR &&
                                            (is_behind[node->inputs[i]] ||
                                             (!is_inside && is_made_inside(m, node->inputs[i]))));
        if (is_inside && reads_behind) return true;
        for (uint32_t i = 0; i < node->output_count && reads_behind; i++)
            if (node->outputs[i] != TN_NO_TENSOR) is_behind[node->outputs[i]] = true;
    }
    return false;
}

/* The whole pattern becomes one point of the order of execution: nothing that it needs may come
 * after something that it makes. Only values that outlive it can be in between. */
static bool is_convex(const tn_matcher *m) {
    uint32_t outputs = 0;
    for (uint32_t i = 0; i < m->pattern->name_count; i++)
        outputs += m->pattern->names[i].is_output;
    if (outputs < 2) return true;
    bool *is_behind =
        tn_allocate_zero(m->graph->allocator, m->graph->tensor_count + 1, sizeof(bool));
    const bool is_right = is_behind && !depends_on_outputs(m, is_behind);
    tn_deallocate(m->graph->allocator, is_behind);
    return is_right;
}

/* Whether all results of a matched node but the pattern's outputs may vanish. */
static bool node_may_vanish(const tn_matcher *m, uint32_t index) {
    const tn_graph_node *node = &m->graph->nodes[m->nodes[index]];
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && !is_output(m, node->outputs[i]) &&
            !may_vanish(m, node->outputs[i]))
            return false;
    return true;
}

bool tn_matcher_stays(const tn_matcher *m, uint32_t index) {
    return m->may_stay[index] && !node_may_vanish(m, index);
}

/* Whether a node that stays reads a result of a matched node. */
static bool stays_behind_matched(const tn_matcher *m, uint32_t index) {
    const tn_graph_node *node = &m->graph->nodes[m->nodes[index]];
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && is_made_inside(m, node->inputs[i])) return true;
    return false;
}

bool tn_matcher_is_whole(const tn_matcher *m) {
    uint32_t removed = 0;
    for (uint32_t n = 0; n < m->node_count; n++) {
        const bool stays = tn_matcher_stays(m, n);
        if (stays ? stays_behind_matched(m, n) : !node_may_vanish(m, n)) return false;
        removed += !stays;
    }
    if (removed <= m->pattern->replacement_nodes) return false;
    for (uint32_t i = 0; i < m->pattern->name_count; i++)
        if (m->pattern->names[i].is_output && !m->bindings[i].is_bound) return false;
    return is_convex(m);
}
