/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A forest as the kernels traverse it. All nodes lie in one array, tree by tree, level by level,
 * and the two children of a node beside each other, so that a step is one comparison and one
 * addition, without a branch:
 *
 *     at = node.first + (x[node.feature] <= node.threshold)
 *
 * A leaf leads to itself: its threshold is NaN. So several rows, or several trees, take their steps
 * side by side for as many steps as the tree has levels, and the processor has independent loads to
 * wait for. All modes are reduced to this comparison; pack.c says how. Nodes with 32-bit thresholds
 * serve rows of 32-bit floats, those with 64 bits all others; each takes half a cache line with its
 * sibling, or three quarters of one.
 */
#ifndef TN_LAYERS_ML_TREES_FOREST_H
#define TN_LAYERS_ML_TREES_FOREST_H

#include "ml/trees/ensemble.h"

/* What a step is to look at: x <= threshold; and at NaN that is true; and at other comparisons. */
enum { TN_FOREST_PLAIN = 0, TN_FOREST_NAN = 1, TN_FOREST_ANY = 2 };

/* tn_forest_node.word of an inner node: its comparison, TN_FOREST_NAN_IS_TRUE, and from bit
 * TN_FOREST_MEMBERS on the first of its members, of which a NaN is the last. Of a leaf: its number.
 */
enum { TN_FOREST_LEQ = 0, TN_FOREST_EQ = 1, TN_FOREST_MEMBER = 2 };
#define TN_FOREST_COMPARISON  3u
#define TN_FOREST_NAN_IS_TRUE 4u
#define TN_FOREST_MEMBERS     3u

typedef struct tn_forest_node32 {
    float threshold;
    uint32_t feature, first, word;
} tn_forest_node32;

typedef struct tn_forest_node64 {
    double threshold;
    uint32_t feature, first, word, reserved;
} tn_forest_node64;

typedef struct tn_forest_tree {
    uint32_t root, depth; /* the most steps to a leaf */
} tn_forest_tree;

/* A kernel's state. */
typedef struct tn_forest {
    tn_forest_node32 *nodes32; /* one of the two */
    tn_forest_node64 *nodes64;
    tn_forest_tree *trees;
    double *members;
    /* Weights: of leaf k the target_count values from k * target_count on, as floats where all of
     * them are; or those from begins[k] to begins[k + 1], with their targets. */
    float *values32;
    double *values64;
    tn_tree_weight *weights;
    uint32_t *begins;
    uint64_t tree_count, node_count, leaf_count;
    int64_t target_count, feature_count;
    uint32_t aggregate, variant;
    int64_t only; /* what classifier.c found of the weights */
    bool is_probability;
} tn_forest;

/* `prepare`: packs an ensemble for the node's input type; call->state is the forest. */
tn_status tn_forest_create(tn_call *call, const tn_ensemble *ensemble);
/* `release`. */
void tn_forest_destroy(tn_call *call);
/* `reshape`: what a thread needs; `more_bytes` are the caller's, at the workspace's end. */
tn_status tn_forest_reshape(tn_call *call, uint64_t more_bytes);
/* The caller's part of the workspace. [called: run] */
void *tn_forest_workspace(tn_call *call);

/* Computes all rows on the engine's threads. [called: run] */
tn_status tn_forest_run(tn_call *call, tn_ensemble_finish finish, void *user);

/* Defines PREFIX_forest, the kernel of PREFIX_prepare, PREFIX_reshape and PREFIX_run. */
#define TN_FOREST_KERNEL(prefix, operator_name, ...)                                               \
    TN_CPU_KERNEL_OF(prefix##_forest, TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE, TN_ML,        \
                     operator_name, "forest",                                                      \
                     "Trees packed level by level; rows or trees side by side, on all threads.",   \
                     .prepare = prefix##_prepare, .release = tn_forest_destroy,                    \
                     .reshape = prefix##_reshape, .run = prefix##_run, __VA_ARGS__)

/* Rows of elements, `stride` apart. */
typedef struct tn_forest_rows {
    const void *x; /* floats or doubles, as the nodes are */
    int64_t stride, count;
} tn_forest_rows;

/* Writes the leaves' positions that rows reach in a tree. */
void tn_forest_traverse_rows(const tn_forest *forest, const tn_forest_tree *tree,
                             const tn_forest_rows *rows, uint32_t *out_leaves);
/* Those that one row reaches in the trees begin..end-1. */
void tn_forest_traverse_trees(const tn_forest *forest, uint64_t begin, uint64_t end,
                              const void *row, uint32_t *out_leaves);

#endif
