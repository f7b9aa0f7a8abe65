/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of TreeEnsemble (opset 5): nodes and leaves in lists of their own, which name each
 * other by index. See ensemble.h.
 */
#include "ml/lookup.h"
#include "ml/trees/tree_ensemble.h"

#include <math.h>

static tn_status check_count(tn_call *call, const char *name, uint64_t count, uint64_t expected,
                             bool is_optional) {
    if (count == expected || (is_optional && count == 0)) return TN_OK;
    return call->host->fail(call, TN_ERROR_ARGUMENT, "field '%s' has %llu values instead of %llu",
                            name, (unsigned long long)count, (unsigned long long)expected);
}

/* The values of a field that is a tensor or a list of numbers. */
static tn_status read_numbers(tn_call *call, const char *name, const tn_attribute *field,
                              tn_tree_numbers *out_numbers) {
    tn_ml_list list = {0};
    *out_numbers = (tn_tree_numbers){0, NULL, TN_F32};
    if (!field) return TN_OK;
    if (!tn_ml_list_of(field, &list) || list.type == TN_STRING)
        return call->host->fail(call, TN_ERROR_TYPE, "field '%s' holds no numbers", name);
    *out_numbers = (tn_tree_numbers){list.count, list.items, list.type};
    return TN_OK;
}

static tn_status check_counts(tn_call *call, const tn_tree_ensemble_params *p,
                              const tn_tree_numbers *splits, const tn_tree_numbers *modes) {
    const uint64_t count = p->nodes_featureids.count;
    if (count == 0 || count > TN_TREES_MOST_NODES / 3)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "field 'nodes_featureids' has %llu values",
                                (unsigned long long)count);
    TN_TRY(check_count(call, "nodes_modes", modes->count, count, false));
    TN_TRY(check_count(call, "nodes_splits", splits->count, count, false));
    TN_TRY(check_count(call, "nodes_truenodeids", p->nodes_truenodeids.count, count, false));
    TN_TRY(check_count(call, "nodes_falsenodeids", p->nodes_falsenodeids.count, count, false));
    TN_TRY(check_count(call, "nodes_trueleafs", p->nodes_trueleafs.count, count, false));
    TN_TRY(check_count(call, "nodes_falseleafs", p->nodes_falseleafs.count, count, false));
    return check_count(call, "nodes_missing_value_tracks_true",
                       p->nodes_missing_value_tracks_true.count, count, true);
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

/* A child is a node of the list, or a leaf, which gets a node of its own: number `slot`. */
static tn_status read_child(tn_call *call, const tn_tree_ensemble_params *p, const char *field,
                            int64_t child, bool is_leaf, uint64_t slot, tn_ensemble *ensemble,
                            uint32_t *out_child) {
    const uint64_t count = is_leaf ? p->leaf_targetids.count : p->nodes_featureids.count;
    if (child < 0 || (uint64_t)child >= count)
        return call->host->fail(call, TN_ERROR_RANGE, "field '%s': %lld is none of %llu %s", field,
                                (long long)child, (unsigned long long)count,
                                is_leaf ? "leaves" : "nodes");
    *out_child = is_leaf ? (uint32_t)slot : (uint32_t)child;
    if (is_leaf)
        ensemble->nodes[slot] = (tn_tree_node){
            .mode = TN_TREE_LEAF, .begin = (uint32_t)child, .end = (uint32_t)child + 1};
    return TN_OK;
}

static tn_status read_node(tn_call *call, const tn_tree_ensemble_params *p,
                           const tn_tree_numbers *modes, uint64_t index, tn_ensemble *ensemble) {
    const uint64_t count = p->nodes_featureids.count, slot = count + 2 * index;
    tn_tree_node *node = &ensemble->nodes[index];
    const int64_t mode = tn_element_load_i64(modes->items, modes->type, (int64_t)index);
    if (mode < TN_TREE_LEQ || mode > TN_TREE_MEMBER)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'nodes_modes': %lld of node %llu",
                                (long long)mode, (unsigned long long)index);
    node->mode = (uint8_t)mode;
    node->feature = p->nodes_featureids.items[index];
    node->nan_is_true = p->nodes_missing_value_tracks_true.count > 0 &&
                        p->nodes_missing_value_tracks_true.items[index] != 0;
    TN_TRY(read_child(call, p, ensemble->fields[0], p->nodes_truenodeids.items[index],
                      p->nodes_trueleafs.items[index] != 0, slot, ensemble, &node->on_true));
    return read_child(call, p, ensemble->fields[1], p->nodes_falsenodeids.items[index],
                      p->nodes_falseleafs.items[index] != 0, slot + 1, ensemble, &node->on_false);
}

/* The members of each membership test, in the order of nodes; a NaN ends those of a node. */
static tn_status read_members(tn_call *call, const tn_tree_ensemble_params *p,
                              tn_ensemble *ensemble) {
    tn_tree_numbers members;
    uint64_t at = 0;
    TN_TRY(read_numbers(call, "membership_values", p->membership_values, &members));
    if (members.count > UINT32_MAX)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'membership_values' is too long");
    TN_TRY(tn_ensemble_allocate(call, members.count, sizeof(*ensemble->members),
                                (void *)&ensemble->members));
    for (uint64_t i = 0; i < p->nodes_featureids.count; i++) {
        tn_tree_node *node = &ensemble->nodes[i];
        if (node->mode != TN_TREE_MEMBER) continue;
        node->begin = (uint32_t)ensemble->member_count;
        for (; at < members.count && !isnan(tn_tree_number(&members, at)); at++)
            ensemble->members[ensemble->member_count++] = tn_tree_number(&members, at);
        node->end = (uint32_t)ensemble->member_count;
        if (at++ >= members.count)
            return call->host->fail(call, TN_ERROR_ARGUMENT,
                                    "field 'membership_values' ends before the members of node "
                                    "%llu do",
                                    (unsigned long long)i);
    }
    if (at == members.count) return TN_OK;
    return call->host->fail(call, TN_ERROR_ARGUMENT,
                            "field 'membership_values' has members of more nodes than there are");
}

static tn_status read_nodes(tn_call *call, const tn_tree_ensemble_params *p,
                            const tn_tree_numbers *splits, const tn_tree_numbers *modes,
                            tn_ensemble *ensemble) {
    const uint64_t count = p->nodes_featureids.count;
    ensemble->node_count = 3 * count;
    TN_TRY(
        tn_ensemble_allocate(call, 3 * count, sizeof(*ensemble->nodes), (void *)&ensemble->nodes));
    for (uint64_t i = 0; i < count; i++) {
        TN_TRY(read_node(call, p, modes, i, ensemble));
        ensemble->nodes[i].threshold = tn_tree_number(splits, i);
    }
    return read_members(call, p, ensemble);
}

static tn_status read_roots(tn_call *call, const tn_tree_ensemble_params *p,
                            tn_ensemble *ensemble) {
    const tn_i64s *roots = &p->tree_roots;
    if (roots->count == 0)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "field 'tree_roots' is empty");
    TN_TRY(tn_ensemble_allocate(call, roots->count, sizeof(*ensemble->roots),
                                (void *)&ensemble->roots));
    for (uint64_t i = 0; i < roots->count; i++) {
        if (roots->items[i] < 0 || (uint64_t)roots->items[i] >= p->nodes_featureids.count)
            return call->host->fail(
                call, TN_ERROR_RANGE, "field 'tree_roots': %lld is none of %llu nodes",
                (long long)roots->items[i], (unsigned long long)p->nodes_featureids.count);
        ensemble->roots[i] = (uint32_t)roots->items[i];
    }
    ensemble->root_count = roots->count;
    return TN_OK;
}

/* A node with the same leaf on both sides stands for a tree that is a leaf; what it tests does not
 * matter, and is often not said. */
static void settle_leaves(tn_ensemble *ensemble, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        tn_tree_node *node = &ensemble->nodes[i];
        const tn_tree_node *a = &ensemble->nodes[node->on_true];
        const tn_tree_node *b = &ensemble->nodes[node->on_false];
        if (a->mode == TN_TREE_LEAF && b->mode == TN_TREE_LEAF && a->begin == b->begin) *node = *a;
    }
}

static tn_status read_leaves(tn_call *call, const tn_tree_ensemble_params *p,
                             tn_ensemble *ensemble) {
    tn_tree_numbers weights;
    TN_TRY(read_numbers(call, "leaf_weights", p->leaf_weights, &weights));
    TN_TRY(check_count(call, "leaf_targetids", p->leaf_targetids.count, weights.count, false));
    if (weights.count >= UINT32_MAX)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'leaf_weights' is too long");
    ensemble->weight_count = weights.count;
    TN_TRY(tn_ensemble_allocate(call, weights.count, sizeof(*ensemble->weights),
                                (void *)&ensemble->weights));
    for (uint64_t i = 0; i < weights.count; i++) {
        const int64_t target = p->leaf_targetids.items[i];
        if (target < 0 || target >= ensemble->target_count)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "field 'leaf_targetids': %lld is none of %lld targets",
                                    (long long)target, (long long)ensemble->target_count);
        ensemble->weights[i] = (tn_tree_weight){tn_tree_number(&weights, i), (uint32_t)target};
    }
    return TN_OK;
}

tn_status tn_ensemble_read_5(tn_call *call, const tn_tree_ensemble_params *params,
                             tn_ensemble *out_ensemble) {
    tn_tree_numbers splits, modes;
    *out_ensemble = (tn_ensemble){.fields = {"nodes_truenodeids", "nodes_falsenodeids"},
                                  .target_count = params->n_targets,
                                  .aggregate = params->aggregate_function};
    TN_TRY(read_numbers(call, "nodes_splits", params->nodes_splits, &splits));
    TN_TRY(read_numbers(call, "nodes_modes", params->nodes_modes, &modes));
    TN_TRY(check_counts(call, params, &splits, &modes));
    TN_TRY(read_leaves(call, params, out_ensemble));
    TN_TRY(read_nodes(call, params, &splits, &modes, out_ensemble));
    TN_TRY(read_roots(call, params, out_ensemble));
    settle_leaves(out_ensemble, params->nodes_featureids.count);
    return tn_ensemble_check(call, out_ensemble);
}
