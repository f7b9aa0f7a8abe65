/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching; see match.h. What remains to be matched is a list of goals (a term and a tensor) on the
 * C stack, so that a choice which turns out wrong anywhere later is taken back.
 */
#include "builder/rewrite/match.h"
#include "base/status.h"
#include "plugin/library.h"

#include <string.h>

enum { MOST_STEPS = 20000 };

typedef struct goal {
    const tn_term *term;
    tn_tensor_id tensor; /* TN_NO_TENSOR: absent */
    const struct goal *next;
} goal;

static bool solve(tn_matcher *m, const goal *goals);

/* ----------------------------------------------------------------------------------------------
 * what is taken back */

typedef struct mark {
    uint32_t bound_count, node_count;
    uint64_t is_done;
} mark;

static mark mark_of(const tn_matcher *m) {
    return (mark){m->bound_count, m->node_count, m->is_done};
}

static bool go_back(tn_matcher *m, mark before) {
    while (m->bound_count > before.bound_count)
        m->bindings[m->bound[--m->bound_count]] = (tn_match_binding){0};
    m->node_count = before.node_count;
    m->is_done = before.is_done;
    return false;
}

static void bind_name(tn_matcher *m, uint32_t name, tn_tensor_id tensor,
                      const tn_attribute *value) {
    m->bindings[name] = (tn_match_binding){true, tensor, value};
    m->bound[m->bound_count++] = name;
}

bool tn_matcher_bind_value(tn_matcher *m, uint32_t name, tn_tensor_id tensor,
                           const tn_attribute *value) {
    const tn_match_binding *there = &m->bindings[name];
    if (there->is_bound) return there->value && tn_attribute_is_near(there->value, value);
    bind_name(m, name, tensor, value);
    return true;
}

static bool note_node(tn_matcher *m, uint32_t node, bool may_stay) {
    for (uint32_t i = 0; i < m->node_count; i++)
        if (m->nodes[i] == node) return m->may_stay[i] == may_stay;
    if (m->node_count == TN_PATTERN_NODES) return false;
    m->may_stay[m->node_count] = may_stay;
    m->nodes[m->node_count++] = node;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

static bool is_operator(const tn_matcher *m, const tn_term *term, const tn_operator_entry *entry) {
    const char *domain = term->domain ? term->domain : m->entry->rewrite->domain;
    const bool is_own = entry->library == m->entry->library;
    if (strcmp(entry->op->name, term->op) != 0 ||
        (strcmp(entry->op->domain, domain) != 0 &&
         !(is_own && strcmp(entry->own_domain, domain) == 0)))
        return false;
    return entry->op->since_version >= term->lowest &&
           (term->highest == 0 || entry->op->since_version <= term->highest);
}

static bool bind_tensor(tn_matcher *m, uint32_t name, tn_tensor_id tensor) {
    const tn_match_binding *there = &m->bindings[name];
    if (!there->is_bound) {
        bind_name(m, name, tensor, NULL);
        return true;
    }
    if (there->tensor == tensor) return true;
    return there->tensor != TN_NO_TENSOR && tensor != TN_NO_TENSOR &&
           tn_matcher_is_same_constant(m, &m->graph->tensors[there->tensor],
                                       &m->graph->tensors[tensor]);
}

static bool bind_results(tn_matcher *m, const tn_statement *statement, const tn_graph_node *node) {
    for (uint32_t i = 0; i < statement->result_count; i++) {
        const tn_tensor_id made = i < node->output_count ? node->outputs[i] : TN_NO_TENSOR;
        if (statement->results[i] == TN_NO_NAME) continue;
        if (made == TN_NO_TENSOR || !bind_tensor(m, statement->results[i], made)) return false;
    }
    return true;
}

/* The node's inputs as goals before `next`. */
static bool solve_inputs(tn_matcher *m, const tn_term *term, const tn_graph_node *node,
                         bool is_swapped, const goal *next) {
    goal goals[TN_PATTERN_ARGUMENTS];
    for (uint32_t i = term->argument_count; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR) return false;
    for (uint32_t i = 0; i < term->argument_count; i++) {
        const uint32_t input = is_swapped && i < 2 ? 1 - i : i;
        goals[i].term = term->arguments[i];
        goals[i].tensor = input < node->input_count ? node->inputs[input] : TN_NO_TENSOR;
        goals[i].next = i + 1 < term->argument_count ? &goals[i + 1] : next;
    }
    return solve(m, term->argument_count > 0 ? goals : next);
}

static bool match_node(tn_matcher *m, const tn_term *term, const tn_statement *statement,
                       uint32_t index, const goal *next) {
    const tn_graph_node *node = &m->graph->nodes[index];
    const mark before = mark_of(m);
    if (term->kind == TN_TERM_CHOICE) {
        for (uint32_t i = 0; i < term->argument_count; i++)
            if (match_node(m, term->arguments[i], statement, index, next)) return true;
        return false;
    }
    if (node->is_dead || !is_operator(m, term, node->entry) ||
        !note_node(m, index, term->may_stay) || (statement && !bind_results(m, statement, node)) ||
        !tn_matcher_fields(m, term, node))
        return go_back(m, before);
    if (solve_inputs(m, term, node, false, next)) return true;
    const bool is_commutative = node->entry->op->traits & TN_OPERATOR_COMMUTATIVE;
    if (is_commutative && term->argument_count >= 2 && solve_inputs(m, term, node, true, next))
        return true;
    return go_back(m, before);
}

/* ----------------------------------------------------------------------------------------------
 * terms */

static bool match_statement(tn_matcher *m, uint32_t index, uint32_t node, const goal *next) {
    const mark before = mark_of(m);
    if (m->is_done >> index & 1) return false;
    m->is_done |= UINT64_C(1) << index;
    const tn_statement *statement = &m->pattern->statements[index];
    return match_node(m, statement->term, statement, node, next) || go_back(m, before);
}

/* A name: bound already, an inner value, or an input. */
static bool match_name(tn_matcher *m, const goal *g) {
    const tn_pattern_name *name = &m->pattern->names[g->term->name];
    const mark before = mark_of(m);
    if (g->tensor == TN_NO_TENSOR) {
        if (!g->term->is_optional || name->statement != TN_NO_STATEMENT) return false;
        return (bind_tensor(m, g->term->name, TN_NO_TENSOR) && solve(m, g->next)) ||
               go_back(m, before);
    }
    const tn_graph_tensor *tensor = &m->graph->tensors[g->tensor];
    if (!tn_matcher_meets(tensor, g->term->constraint)) return false;
    if (name->statement == TN_NO_STATEMENT || m->bindings[g->term->name].is_bound)
        return (bind_tensor(m, g->term->name, g->tensor) && solve(m, g->next)) ||
               go_back(m, before);
    if (tensor->producer == TN_NO_NODE) return false;
    const tn_graph_node *node = &m->graph->nodes[tensor->producer];
    if (name->result >= node->output_count || node->outputs[name->result] != g->tensor)
        return false;
    return match_statement(m, name->statement, tensor->producer, g->next);
}

static bool match_choice(tn_matcher *m, const goal *g) {
    for (uint32_t i = 0; i < g->term->argument_count; i++) {
        const goal one = {g->term->arguments[i], g->tensor, g->next};
        if (solve(m, &one)) return true;
    }
    return false;
}

static bool match_capture(tn_matcher *m, const goal *g) {
    const mark before = mark_of(m);
    return (g->tensor != TN_NO_TENSOR && tn_matcher_capture_constant(m, g->term, g->tensor) &&
            solve(m, g->next)) ||
           go_back(m, before);
}

/* The one result of a node. */
static bool match_inner(tn_matcher *m, const goal *g) {
    if (g->tensor == TN_NO_TENSOR) return false;
    const uint32_t producer = m->graph->tensors[g->tensor].producer;
    if (producer == TN_NO_NODE) return false;
    const tn_graph_node *node = &m->graph->nodes[producer];
    if (node->outputs[0] != g->tensor) return false;
    return match_node(m, g->term, NULL, producer, g->next);
}

/* ----------------------------------------------------------------------------------------------
 * the rest */

/* All goals are met: statements that stand on no node yet are looked for among all nodes. */
static bool solve_rest(tn_matcher *m) {
    uint32_t open = 0;
    while (open < m->pattern->statement_count && m->is_done >> open & 1)
        open++;
    if (open == m->pattern->statement_count)
        return tn_matcher_is_whole(m) && tn_matcher_ask_guard(m);
    for (uint32_t n = 0; n < m->graph->node_count && m->status == TN_OK; n++)
        if (match_statement(m, open, n, NULL)) return true;
    return false;
}

static bool solve(tn_matcher *m, const goal *g) {
    if (m->status != TN_OK || m->step_count++ >= MOST_STEPS) return false;
    if (!g) return solve_rest(m);
    switch (g->term->kind) {
    case TN_TERM_TENSOR:
        return match_name(m, g);
    case TN_TERM_ANY:
        return g->tensor != TN_NO_TENSOR && solve(m, g->next);
    case TN_TERM_ABSENT:
        return g->tensor == TN_NO_TENSOR && solve(m, g->next);
    case TN_TERM_NUMBERS:
        return g->tensor != TN_NO_TENSOR &&
               tn_matcher_is_constant(m, &m->graph->tensors[g->tensor], g->term) &&
               solve(m, g->next);
    case TN_TERM_CAPTURE:
        return match_capture(m, g);
    case TN_TERM_NODE:
        return match_inner(m, g);
    case TN_TERM_CHOICE:
        return match_choice(m, g);
    default:
        return false;
    }
}

static bool names(const tn_term *term, const char *op) {
    if (term->kind == TN_TERM_NODE) return strcmp(term->op, op) == 0;
    for (uint32_t i = 0; i < term->argument_count; i++)
        if (names(term->arguments[i], op)) return true;
    return false;
}

bool tn_matcher_may_stand(const tn_pattern *pattern, const tn_graph_node *node) {
    return names(pattern->statements[pattern->statement_count - 1].term, node->entry->op->name);
}

bool tn_matcher_find(tn_matcher *m, uint32_t root) {
    return match_statement(m, m->pattern->statement_count - 1, root, NULL);
}
