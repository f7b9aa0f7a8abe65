/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an ensemble is one of trees, and its definition; see ensemble.h. */
#include "ml/trees/ensemble.h"

#include <math.h>

tn_status tn_ensemble_allocate(tn_call *call, uint64_t count, size_t bytes, void *out_table) {
    uint64_t total;
    void *table = NULL;
    if (!__builtin_mul_overflow(count + 1, bytes, &total))
        table = call->host->allocate(call->host, total, 64);
    if (!table)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %llu nodes or weights",
                                (unsigned long long)count);
    memset(table, 0, (size_t)total);
    memcpy(out_table, &table, sizeof(table));
    return TN_OK;
}

void tn_ensemble_deinit(tn_call *call, tn_ensemble *ensemble) {
    call->host->deallocate(call->host, ensemble->nodes);
    call->host->deallocate(call->host, ensemble->roots);
    call->host->deallocate(call->host, ensemble->weights);
    call->host->deallocate(call->host, ensemble->members);
}

tn_status tn_tree_numbers_read(tn_call *call, const char *name, const tn_f32s *list,
                               const tn_tensor *tensor, tn_tree_numbers *out_numbers) {
    *out_numbers = (tn_tree_numbers){list->count, list->items, TN_F32};
    if (!tensor) return TN_OK;
    if (list->count > 0)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "both field '%s' and field '%s_as_tensor' are given", name, name);
    if (!tn_element_is_real(tensor->type))
        return call->host->fail(call, TN_ERROR_TYPE,
                                "field '%s_as_tensor' holds no floating-point numbers", name);
    *out_numbers =
        (tn_tree_numbers){(uint64_t)tn_element_count(tensor), tensor->data, tensor->type};
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * trees */

static tn_status check_node(tn_call *call, tn_ensemble *ensemble, uint64_t index) {
    const tn_tree_node *node = &ensemble->nodes[index];
    if (node->mode == TN_TREE_LEAF) return TN_OK;
    if (node->mode != TN_TREE_MEMBER && isnan(node->threshold))
        return call->host->fail(call, TN_ERROR_ARGUMENT, "the threshold of node %llu is NaN",
                                (unsigned long long)index);
    if (node->feature < 0 || node->feature == INT64_MAX)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "field 'nodes_featureids': %lld of node %llu is no feature",
                                (long long)node->feature, (unsigned long long)index);
    if (node->feature >= ensemble->feature_count) ensemble->feature_count = node->feature + 1;
    ensemble->are_thresholds_floats &=
        node->mode == TN_TREE_MEMBER || (double)(float)node->threshold == node->threshold;
    return TN_OK;
}

/* Puts a child on the stack. Each node goes there once, so that the stack's size is known and no
 * cycle is followed. */
static tn_status push(tn_call *call, const tn_ensemble *ensemble, uint64_t from, uint32_t child,
                      const char *field, uint8_t *seen, uint32_t *stack, uint64_t *count) {
    if (child >= ensemble->node_count)
        return call->host->fail(call, TN_ERROR_RANGE, "field '%s': %u of node %llu is no node",
                                field, child, (unsigned long long)from);
    if (seen[child])
        return call->host->fail(
            call, TN_ERROR_ARGUMENT,
            "field '%s': node %u is reached twice, the second time from node %llu", field, child,
            (unsigned long long)from);
    seen[child] = 1;
    stack[(*count)++] = child;
    return TN_OK;
}

static tn_status visit(tn_call *call, tn_ensemble *ensemble, uint8_t *seen, uint32_t *stack) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < ensemble->root_count; i++) {
        TN_TRY(push(call, ensemble, i, ensemble->roots[i], "tree_roots", seen, stack, &count));
        while (count > 0) {
            const uint32_t at = stack[--count];
            const tn_tree_node *node = &ensemble->nodes[at];
            TN_TRY(check_node(call, ensemble, at));
            if (node->mode == TN_TREE_LEAF) continue;
            TN_TRY(
                push(call, ensemble, at, node->on_true, ensemble->fields[0], seen, stack, &count));
            TN_TRY(
                push(call, ensemble, at, node->on_false, ensemble->fields[1], seen, stack, &count));
        }
    }
    return TN_OK;
}

tn_status tn_ensemble_check(tn_call *call, tn_ensemble *ensemble) {
    uint8_t *seen = NULL;
    uint32_t *stack = NULL;
    ensemble->are_thresholds_floats = true;
    tn_status status =
        tn_ensemble_allocate(call, ensemble->node_count, sizeof(*seen), (void *)&seen);
    if (status == TN_OK)
        status = tn_ensemble_allocate(call, ensemble->node_count, sizeof(*stack), (void *)&stack);
    if (status == TN_OK) status = visit(call, ensemble, seen, stack);
    for (uint64_t i = 0; status == TN_OK && i < ensemble->member_count; i++)
        ensemble->are_thresholds_floats &=
            (double)(float)ensemble->members[i] == ensemble->members[i];
    call->host->deallocate(call->host, stack);
    call->host->deallocate(call->host, seen);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * the definition */

static bool is_member(const tn_ensemble *ensemble, const tn_tree_node *node, double x) {
    for (uint32_t i = node->begin; i < node->end; i++)
        if (ensemble->members[i] == x) return true;
    return false;
}

static bool test(const tn_ensemble *ensemble, const tn_tree_node *node, double x) {
    switch (node->mode) {
    case TN_TREE_LEQ:
        return x <= node->threshold;
    case TN_TREE_LT:
        return x < node->threshold;
    case TN_TREE_GTE:
        return x >= node->threshold;
    case TN_TREE_GT:
        return x > node->threshold;
    case TN_TREE_EQ:
        return x == node->threshold;
    case TN_TREE_NEQ:
        return x != node->threshold;
    default:
        return is_member(ensemble, node, x);
    }
}

const tn_tree_node *tn_ensemble_leaf(const tn_ensemble *ensemble, uint32_t root,
                                     const double *row) {
    const tn_tree_node *node = &ensemble->nodes[root];
    while (node->mode != TN_TREE_LEAF) {
        const double x = row[node->feature];
        const bool is_true = test(ensemble, node, x) || (node->nan_is_true && isnan(x));
        node = &ensemble->nodes[is_true ? node->on_true : node->on_false];
    }
    return node;
}

static double join(uint32_t aggregate, bool is_first, double sum, double weight) {
    if (is_first || aggregate == TN_TREES_SUM || aggregate == TN_TREES_AVERAGE) return sum + weight;
    return aggregate == TN_TREES_MIN ? fmin(sum, weight) : fmax(sum, weight);
}

static void evaluate(const tn_ensemble *ensemble, const double *row, double *scores,
                     uint8_t *found) {
    memset(scores, 0, (size_t)ensemble->target_count * sizeof(*scores));
    memset(found, 0, (size_t)ensemble->target_count);
    for (uint64_t i = 0; i < ensemble->root_count; i++) {
        const tn_tree_node *leaf = tn_ensemble_leaf(ensemble, ensemble->roots[i], row);
        for (uint32_t k = leaf->begin; k < leaf->end; k++) {
            const tn_tree_weight *weight = &ensemble->weights[k];
            scores[weight->target] = join(ensemble->aggregate, !found[weight->target],
                                          scores[weight->target], weight->weight);
            found[weight->target] = 1;
        }
    }
    if (ensemble->aggregate != TN_TREES_AVERAGE) return;
    for (int64_t k = 0; k < ensemble->target_count; k++)
        scores[k] /= (double)ensemble->root_count;
}

static tn_status check_columns(tn_call *call, const tn_ensemble *ensemble, int64_t columns) {
    if (ensemble->feature_count <= columns) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input 'X' has %lld columns, field 'nodes_featureids' names feature "
                            "%lld",
                            (long long)columns, (long long)ensemble->feature_count - 1);
}

tn_status tn_ensemble_rows(tn_call *call, const tn_ensemble *ensemble, tn_ensemble_finish finish,
                           void *user) {
    const tn_tensor *x = call->inputs[0];
    int64_t rows = 0, columns = 0;
    double *row = NULL, *scores = NULL;
    uint8_t *found = NULL;
    TN_TRY(tn_rows_read(call, 0, &rows, &columns));
    TN_TRY(check_columns(call, ensemble, columns));
    const uint64_t targets = (uint64_t)ensemble->target_count;
    tn_status status = tn_ensemble_allocate(call, (uint64_t)columns, sizeof(*row), (void *)&row);
    if (status == TN_OK)
        status = tn_ensemble_allocate(call, targets, sizeof(*scores), (void *)&scores);
    if (status == TN_OK)
        status = tn_ensemble_allocate(call, targets, sizeof(*found), (void *)&found);
    for (int64_t i = 0; i < rows && status == TN_OK; i++) {
        tn_element_read_f64(x->data, x->type, i * columns, 1, columns, row);
        evaluate(ensemble, row, scores, found);
        finish(user, i, scores);
    }
    call->host->deallocate(call->host, found);
    call->host->deallocate(call->host, scores);
    call->host->deallocate(call->host, row);
    return status;
}
