/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of TreeEnsembleClassifier and TreeEnsembleRegressor: parallel lists of nodes, which
 * name each other by the numbers of their tree and their own, and of weights, which name leaves so.
 * See ensemble.h.
 */
#include "ml/trees/ensemble.h"

#include <stdlib.h>

/* A node's name, and where it is. */
typedef struct node_key {
    int64_t tree, node;
    uint32_t index;
} node_key;

static int compare_keys(const void *left, const void *right) {
    const node_key *a = left, *b = right;
    if (a->tree != b->tree) return a->tree < b->tree ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

typedef struct node_index {
    node_key *keys; /* sorted */
    uint64_t count;
} node_index;

static const node_key *find(const node_index *index, int64_t tree, int64_t node) {
    const node_key wanted = {tree, node, 0};
    if (index->count == 0) return NULL;
    return bsearch(&wanted, index->keys, index->count, sizeof(wanted), compare_keys);
}

static tn_status make_index(tn_call *call, const tn_tree_params *fields, node_index *out_index) {
    bool is_sorted = true;
    out_index->count = fields->nodes_nodeids.count;
    TN_TRY(tn_ensemble_allocate(call, out_index->count, sizeof(*out_index->keys),
                                (void *)&out_index->keys));
    node_key *keys = out_index->keys;
    for (uint32_t i = 0; i < out_index->count; i++) {
        keys[i] = (node_key){fields->nodes_treeids.items[i], fields->nodes_nodeids.items[i], i};
        is_sorted = is_sorted && (i == 0 || compare_keys(&keys[i - 1], &keys[i]) < 0);
    }
    if (!is_sorted) qsort(keys, out_index->count, sizeof(*keys), compare_keys);
    for (uint64_t i = 1; i < out_index->count; i++)
        if (compare_keys(&keys[i - 1], &keys[i]) == 0)
            return call->host->fail(call, TN_ERROR_ARGUMENT,
                                    "field 'nodes_nodeids': tree %lld has node %lld twice",
                                    (long long)keys[i].tree, (long long)keys[i].node);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

static tn_status check_count(tn_call *call, const char *name, uint64_t count, uint64_t expected,
                             bool is_optional) {
    if (count == expected || (is_optional && count == 0)) return TN_OK;
    return call->host->fail(call, TN_ERROR_ARGUMENT, "field '%s' has %llu values for %llu nodes",
                            name, (unsigned long long)count, (unsigned long long)expected);
}

static tn_status check_counts(tn_call *call, const tn_tree_params *fields,
                              const tn_tree_numbers *values) {
    const uint64_t count = fields->nodes_nodeids.count;
    if (count == 0 || count > TN_TREES_MOST_NODES)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "field 'nodes_nodeids' has %llu values",
                                (unsigned long long)count);
    TN_TRY(check_count(call, "nodes_treeids", fields->nodes_treeids.count, count, false));
    TN_TRY(check_count(call, "nodes_featureids", fields->nodes_featureids.count, count, false));
    TN_TRY(check_count(call, "nodes_modes", fields->nodes_modes.count, count, false));
    TN_TRY(check_count(call, "nodes_values", values->count, count, false));
    TN_TRY(check_count(call, "nodes_truenodeids", fields->nodes_truenodeids.count, count, false));
    TN_TRY(check_count(call, "nodes_falsenodeids", fields->nodes_falsenodeids.count, count, false));
    TN_TRY(check_count(call, "nodes_hitrates", fields->nodes_hitrates.count, count, true));
    return check_count(call, "nodes_missing_value_tracks_true",
                       fields->nodes_missing_value_tracks_true.count, count, true);
}

static tn_status read_mode(tn_call *call, const tn_tree_params *fields, uint32_t index,
                           uint8_t *out_mode) {
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", NULL,         "LEAF"};
    const char *name = fields->nodes_modes.items[index];
    for (uint8_t mode = 0; mode < TN_COUNT(names); mode++) {
        if (!names[mode] || strcmp(name, names[mode]) != 0) continue;
        *out_mode = mode;
        return TN_OK;
    }
    return call->host->fail(call, TN_ERROR_ARGUMENT, "field 'nodes_modes': '%.60s' of node %u",
                            name, index);
}

static tn_status find_child(tn_call *call, const node_index *index, const tn_tree_params *fields,
                            uint32_t node, const tn_i64s *children, const char *field,
                            uint32_t *out_child) {
    const node_key *found = find(index, fields->nodes_treeids.items[node], children->items[node]);
    if (!found)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "field '%s': node %u of tree %lld leads to node %lld, which is not "
                                "there",
                                field, node, (long long)fields->nodes_treeids.items[node],
                                (long long)children->items[node]);
    *out_child = found->index;
    return TN_OK;
}

static tn_status read_nodes(tn_call *call, const node_index *index, const tn_tree_params *fields,
                            const tn_tree_numbers *values, tn_ensemble *ensemble) {
    ensemble->node_count = index->count;
    TN_TRY(tn_ensemble_allocate(call, index->count, sizeof(*ensemble->nodes),
                                (void *)&ensemble->nodes));
    for (uint32_t i = 0; i < index->count; i++) {
        tn_tree_node *node = &ensemble->nodes[i];
        TN_TRY(read_mode(call, fields, i, &node->mode));
        if (node->mode == TN_TREE_LEAF) continue;
        node->feature = fields->nodes_featureids.items[i];
        node->threshold = tn_tree_number(values, i);
        node->nan_is_true = fields->nodes_missing_value_tracks_true.count > 0 &&
                            fields->nodes_missing_value_tracks_true.items[i] != 0;
        TN_TRY(find_child(call, index, fields, i, &fields->nodes_truenodeids, ensemble->fields[0],
                          &node->on_true));
        TN_TRY(find_child(call, index, fields, i, &fields->nodes_falsenodeids, ensemble->fields[1],
                          &node->on_false));
    }
    return TN_OK;
}

static tn_status list_roots(tn_call *call, const node_index *index, const uint8_t *is_child,
                            tn_ensemble *ensemble) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < index->count; i++) {
        const node_key *key = &index->keys[i];
        if (!is_child[key->index]) {
            ensemble->roots[ensemble->root_count] = key->index;
            count++;
        }
        if (i + 1 < index->count && key[1].tree == key->tree) continue;
        if (count != 1)
            return call->host->fail(call, TN_ERROR_ARGUMENT,
                                    "field 'nodes_treeids': tree %lld has %llu roots",
                                    (long long)key->tree, (unsigned long long)count);
        ensemble->root_count++;
        count = 0;
    }
    return TN_OK;
}

/* The root of a tree is the one node that no node of the tree leads to. */
static tn_status find_roots(tn_call *call, const node_index *index, tn_ensemble *ensemble) {
    uint8_t *is_child = NULL;
    TN_TRY(tn_ensemble_allocate(call, index->count, sizeof(*ensemble->roots),
                                (void *)&ensemble->roots));
    TN_TRY(tn_ensemble_allocate(call, index->count, 1, (void *)&is_child));
    for (uint64_t i = 0; i < index->count; i++) {
        const tn_tree_node *node = &ensemble->nodes[i];
        if (node->mode != TN_TREE_LEAF) is_child[node->on_true] = is_child[node->on_false] = 1;
    }
    const tn_status status = list_roots(call, index, is_child, ensemble);
    call->host->deallocate(call->host, is_child);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * weights */

static tn_status check_weight_count(tn_call *call, const tn_tree_weight_fields *fields,
                                    const char *name, uint64_t count) {
    if (count == fields->ids.count && count <= UINT32_MAX) return TN_OK;
    return call->host->fail(call, TN_ERROR_ARGUMENT,
                            "field '%s_%s' has %llu values, field '%s_ids' has %llu",
                            fields->prefix, name, (unsigned long long)count, fields->prefix,
                            (unsigned long long)fields->ids.count);
}

/* The leaf that a weight belongs to. */
static tn_status find_leaf(tn_call *call, const node_index *index,
                           const tn_tree_weight_fields *fields, const tn_ensemble *ensemble,
                           uint64_t weight, tn_tree_node **out_leaf) {
    const node_key *found =
        find(index, fields->treeids.items[weight], fields->nodeids.items[weight]);
    if (!found || ensemble->nodes[found->index].mode != TN_TREE_LEAF)
        return call->host->fail(
            call, TN_ERROR_RANGE, "field '%s_nodeids': tree %lld has no leaf %lld", fields->prefix,
            (long long)fields->treeids.items[weight], (long long)fields->nodeids.items[weight]);
    if (fields->ids.items[weight] < 0 || fields->ids.items[weight] >= ensemble->target_count)
        return call->host->fail(call, TN_ERROR_RANGE, "field '%s_ids': %lld is none of %lld",
                                fields->prefix, (long long)fields->ids.items[weight],
                                (long long)ensemble->target_count);
    *out_leaf = &ensemble->nodes[found->index];
    return TN_OK;
}

/* The weights of a leaf beside each other, in the order of the list: counted, then put there. */
static tn_status place_weights(tn_call *call, const node_index *index,
                               const tn_tree_weight_fields *fields, const tn_tree_numbers *weights,
                               tn_ensemble *ensemble) {
    tn_tree_node *leaf = NULL;
    uint32_t begin = 0;
    for (uint64_t i = 0; i < weights->count; i++) {
        TN_TRY(find_leaf(call, index, fields, ensemble, i, &leaf));
        leaf->end++;
    }
    for (uint64_t i = 0; i < ensemble->node_count; i++) {
        tn_tree_node *node = &ensemble->nodes[i];
        const uint32_t count = node->end;
        node->begin = node->end = begin;
        begin += count;
    }
    for (uint64_t i = 0; i < weights->count; i++) {
        TN_TRY(find_leaf(call, index, fields, ensemble, i, &leaf));
        ensemble->weights[leaf->end++] =
            (tn_tree_weight){tn_tree_number(weights, i), (uint32_t)fields->ids.items[i]};
    }
    return TN_OK;
}

static tn_status read_weights(tn_call *call, const node_index *index,
                              const tn_tree_weight_fields *fields, tn_ensemble *ensemble) {
    tn_tree_numbers weights;
    const bool is_class = strcmp(fields->prefix, "class") == 0;
    TN_TRY(tn_tree_numbers_read(call, is_class ? "class_weights" : "target_weights",
                                &fields->weights, fields->weights_as_tensor, &weights));
    TN_TRY(check_weight_count(call, fields, "treeids", fields->treeids.count));
    TN_TRY(check_weight_count(call, fields, "nodeids", fields->nodeids.count));
    TN_TRY(check_weight_count(call, fields, "weights", weights.count));
    ensemble->weight_count = weights.count;
    TN_TRY(tn_ensemble_allocate(call, weights.count, sizeof(*ensemble->weights),
                                (void *)&ensemble->weights));
    return place_weights(call, index, fields, &weights, ensemble);
}

static tn_status read_indexed(tn_call *call, const tn_tree_params *fields,
                              const tn_tree_weight_fields *weights, const tn_tree_numbers *values,
                              node_index *index, tn_ensemble *ensemble) {
    TN_TRY(make_index(call, fields, index));
    TN_TRY(read_nodes(call, index, fields, values, ensemble));
    TN_TRY(find_roots(call, index, ensemble));
    TN_TRY(read_weights(call, index, weights, ensemble));
    return tn_ensemble_check(call, ensemble);
}

tn_status tn_ensemble_read_3(tn_call *call, const tn_tree_params *fields,
                             const tn_tree_weight_fields *weights, int64_t target_count,
                             tn_ensemble *out_ensemble) {
    tn_tree_numbers values;
    node_index index = {0};
    *out_ensemble = (tn_ensemble){.fields = {"nodes_truenodeids", "nodes_falsenodeids"},
                                  .target_count = target_count,
                                  .aggregate = TN_TREES_SUM};
    TN_TRY(tn_tree_numbers_read(call, "nodes_values", &fields->nodes_values,
                                fields->nodes_values_as_tensor, &values));
    TN_TRY(check_counts(call, fields, &values));
    const tn_status status = read_indexed(call, fields, weights, &values, &index, out_ensemble);
    call->host->deallocate(call->host, index.keys);
    return status;
}
