/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an ensemble to a forest; see forest.h. Comparisons become x <= threshold: x < t is x <= the
 * number before t, x > t and x >= t are the opposites with children exchanged, so that NaN goes to
 * the other side, too. x != t is the opposite of x == t, which stays, as membership does.
 */
#include "kit/operator/kernel_memory.h"
#include "ml/trees/forest.h"

#include <math.h>

/* A node's comparison, and its children: [1] is where it is true. */
typedef struct step {
    double threshold;
    uint32_t children[2], word;
} step;

/* The number before t of the nodes' type; NaN, so that nothing is below, where there is none. */
static double before(const tn_forest *forest, double t) {
    if (t == -INFINITY) return (double)NAN;
    return forest->nodes32 ? (double)nextafterf((float)t, -INFINITY) : nextafter(t, -INFINITY);
}

static step describe(const tn_forest *forest, const tn_tree_node *node) {
    const bool is_opposite =
        node->mode == TN_TREE_GT || node->mode == TN_TREE_GTE || node->mode == TN_TREE_NEQ;
    const bool is_before = node->mode == TN_TREE_LT || node->mode == TN_TREE_GTE;
    bool nan_is_true = is_opposite ? !node->nan_is_true : node->nan_is_true;
    step found = {.threshold = is_before ? before(forest, node->threshold) : node->threshold,
                  .children = {is_opposite ? node->on_true : node->on_false,
                               is_opposite ? node->on_false : node->on_true}};
    if (node->mode == TN_TREE_EQ) found.word = TN_FOREST_EQ;
    if (node->mode == TN_TREE_NEQ) {
        found.word = TN_FOREST_EQ;
        nan_is_true = false; /* NaN differs from all numbers */
    }
    if (node->mode == TN_TREE_MEMBER) found.word = TN_FOREST_MEMBER;
    if (nan_is_true) found.word |= TN_FOREST_NAN_IS_TRUE;
    return found;
}

static void set_node(const tn_forest *forest, uint32_t at, double threshold, uint32_t feature,
                     uint32_t first, uint32_t word) {
    if (forest->nodes32)
        forest->nodes32[at] = (tn_forest_node32){(float)threshold, feature, first, word};
    else
        forest->nodes64[at] = (tn_forest_node64){threshold, feature, first, word, 0};
}

/* ----------------------------------------------------------------------------------------------
 * leaves */

static void add_leaf(tn_forest *forest, const tn_ensemble *ensemble, const tn_tree_node *leaf) {
    const uint64_t number = forest->leaf_count++;
    const int64_t targets = forest->target_count;
    for (uint32_t i = leaf->begin; i < leaf->end; i++) {
        const tn_tree_weight *weight = &ensemble->weights[i];
        const int64_t at = (int64_t)number * targets + weight->target;
        if (forest->values32)
            forest->values32[at] += (float)weight->weight;
        else if (forest->values64)
            forest->values64[at] += weight->weight;
        else
            forest->weights[forest->begins[number + 1]++] = *weight;
    }
    if (forest->begins) forest->begins[number + 2] = forest->begins[number + 1];
}

/* Of all leaves; several may have the same weights. */
static void count_leaves(const tn_ensemble *ensemble, uint64_t *out_leaves, uint64_t *out_weights) {
    *out_leaves = *out_weights = 0;
    for (uint64_t i = 0; i < ensemble->node_count; i++) {
        const tn_tree_node *node = &ensemble->nodes[i];
        if (node->mode != TN_TREE_LEAF) continue;
        *out_leaves += 1;
        *out_weights += node->end - node->begin;
    }
}

/* No leaf has two weights of a target, and all are floats: so that a sum is none of two. */
static bool are_single_floats(const tn_ensemble *ensemble) {
    for (uint64_t i = 0; i < ensemble->node_count; i++) {
        const tn_tree_node *leaf = &ensemble->nodes[i];
        for (uint32_t k = leaf->begin; leaf->mode == TN_TREE_LEAF && k < leaf->end; k++) {
            const tn_tree_weight *weight = &ensemble->weights[k];
            if ((double)(float)weight->weight != weight->weight ||
                (k > leaf->begin && weight->target <= weight[-1].target))
                return false;
        }
    }
    return true;
}

/* A row of all targets for each leaf where it is not much larger than the weights are. */
static tn_status allocate_leaves(tn_call *call, tn_forest *forest, const tn_ensemble *ensemble) {
    const uint64_t targets = (uint64_t)ensemble->target_count;
    uint64_t leaves, weights;
    count_leaves(ensemble, &leaves, &weights);
    const bool is_sum =
        ensemble->aggregate == TN_TREES_SUM || ensemble->aggregate == TN_TREES_AVERAGE;
    if (is_sum && leaves * targets <= 2 * weights + 1024)
        return are_single_floats(ensemble)
                   ? tn_ensemble_allocate(call, leaves * targets, sizeof(float),
                                          (void *)&forest->values32)
                   : tn_ensemble_allocate(call, leaves * targets, sizeof(double),
                                          (void *)&forest->values64);
    TN_TRY(
        tn_ensemble_allocate(call, leaves + 2, sizeof(*forest->begins), (void *)&forest->begins));
    return tn_ensemble_allocate(call, weights, sizeof(*forest->weights), (void *)&forest->weights);
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

/* `sources`, parallel to the forest's nodes, is the queue of a breadth-first traversal. */
static void pack_tree(tn_forest *forest, const tn_ensemble *ensemble, uint32_t root,
                      const uint32_t *member_begins, uint32_t *sources, tn_forest_tree *tree) {
    uint64_t at = forest->node_count, end = at + 1, level_end = end;
    *tree = (tn_forest_tree){.root = (uint32_t)at};
    sources[at] = root;
    end++; /* pairs begin at even positions */
    for (; at < end; at += at == tree->root ? 2 : 1) {
        const tn_tree_node *node = &ensemble->nodes[sources[at]];
        if (at >= level_end) {
            level_end = end;
            tree->depth++;
        }
        if (node->mode == TN_TREE_LEAF) {
            set_node(forest, (uint32_t)at, (double)NAN, 0, (uint32_t)at,
                     (uint32_t)forest->leaf_count);
            add_leaf(forest, ensemble, node);
            continue;
        }
        step found = describe(forest, node);
        if (node->mode == TN_TREE_MEMBER)
            found.word |= member_begins[sources[at]] << TN_FOREST_MEMBERS;
        if (found.word & TN_FOREST_COMPARISON)
            forest->variant = TN_FOREST_ANY;
        else if (found.word && forest->variant == TN_FOREST_PLAIN)
            forest->variant = TN_FOREST_NAN;
        set_node(forest, (uint32_t)at, found.threshold, (uint32_t)node->feature, (uint32_t)end,
                 found.word);
        sources[end++] = found.children[0];
        sources[end++] = found.children[1];
    }
    forest->node_count = end;
}

/* Members in the forest's order, a NaN behind those of each node. */
static tn_status pack_members(tn_call *call, tn_forest *forest, const tn_ensemble *ensemble,
                              uint32_t *member_begins) {
    uint32_t at = 0;
    TN_TRY(tn_ensemble_allocate(call, ensemble->member_count + ensemble->node_count,
                                sizeof(*forest->members), (void *)&forest->members));
    for (uint64_t i = 0; i < ensemble->node_count; i++) {
        const tn_tree_node *node = &ensemble->nodes[i];
        if (node->mode != TN_TREE_MEMBER) continue;
        if (at >= UINT32_MAX >> TN_FOREST_MEMBERS)
            return call->host->fail(call, TN_ERROR_RANGE, "field 'membership_values' is too long");
        member_begins[i] = at;
        for (uint32_t k = node->begin; k < node->end; k++)
            forest->members[at++] = ensemble->members[k];
        forest->members[at++] = (double)NAN;
    }
    return TN_OK;
}

static tn_status pack(tn_call *call, tn_forest *forest, const tn_ensemble *ensemble,
                      uint32_t *sources, uint32_t *member_begins) {
    if (ensemble->member_count > 0) TN_TRY(pack_members(call, forest, ensemble, member_begins));
    TN_TRY(allocate_leaves(call, forest, ensemble));
    for (uint64_t i = 0; i < ensemble->root_count; i++)
        pack_tree(forest, ensemble, ensemble->roots[i], member_begins, sources, &forest->trees[i]);
    return TN_OK;
}

static tn_status create(tn_call *call, tn_forest *forest, const tn_ensemble *ensemble) {
    const uint64_t node_count = ensemble->node_count + ensemble->root_count;
    const tn_type type = call->inputs[0]->type;
    const bool is_float = (type == TN_F32 || type == TN_F16) && ensemble->are_thresholds_floats;
    uint32_t *sources = NULL, *member_begins = NULL;
    if (node_count > UINT32_MAX)
        return call->host->fail(call, TN_ERROR_RANGE, "there are too many nodes");
    tn_status status = is_float ? tn_ensemble_allocate(call, node_count, sizeof(*forest->nodes32),
                                                       (void *)&forest->nodes32)
                                : tn_ensemble_allocate(call, node_count, sizeof(*forest->nodes64),
                                                       (void *)&forest->nodes64);
    if (status == TN_OK)
        status = tn_ensemble_allocate(call, ensemble->root_count, sizeof(*forest->trees),
                                      (void *)&forest->trees);
    if (status == TN_OK)
        status = tn_ensemble_allocate(call, node_count, sizeof(*sources), (void *)&sources);
    if (status == TN_OK)
        status = tn_ensemble_allocate(call, ensemble->node_count, sizeof(*member_begins),
                                      (void *)&member_begins);
    if (status == TN_OK) status = pack(call, forest, ensemble, sources, member_begins);
    call->host->deallocate(call->host, member_begins);
    call->host->deallocate(call->host, sources);
    return status;
}

static void free_tables(const tn_call *call, tn_forest *forest) {
    void *const tables[] = {forest->nodes32,  forest->nodes64,  forest->trees,   forest->members,
                            forest->values32, forest->values64, forest->weights, forest->begins};
    for (size_t i = 0; i < TN_COUNT(tables); i++)
        call->host->deallocate(call->host, tables[i]);
}

tn_status tn_forest_create(tn_call *call, const tn_ensemble *ensemble) {
    TN_TRY(tn_kernel_state_create(call, sizeof(tn_forest)));
    tn_forest *forest = call->state;
    forest->tree_count = ensemble->root_count;
    forest->target_count = ensemble->target_count;
    forest->feature_count = ensemble->feature_count;
    forest->aggregate = ensemble->aggregate;
    const tn_status status = create(call, forest, ensemble);
    if (status != TN_OK) free_tables(call, forest);
    return tn_kernel_state_finish(call, status);
}

void tn_forest_destroy(tn_call *call) {
    free_tables(call, call->state);
    tn_kernel_state_destroy(call);
}
