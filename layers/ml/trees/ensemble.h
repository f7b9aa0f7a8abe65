/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree ensembles: what the operators' fields describe, checked and with indices in place of
 * identifiers. read_3.c reads the fields of TreeEnsembleClassifier and TreeEnsembleRegressor,
 * read_5.c those of TreeEnsemble; check.c finds the trees. The reference evaluates this form;
 * forest.h has the kernels' own.
 */
#ifndef TN_LAYERS_ML_TREES_ENSEMBLE_H
#define TN_LAYERS_ML_TREES_ENSEMBLE_H

#include "kit/operator/layer.h"
#include "ml/scores.h"

/* ONNX's numbers of the modes of TreeEnsemble; the names of the older operators are LEAF and
 * BRANCH_LEQ and so on. */
enum {
    TN_TREE_LEQ = 0,
    TN_TREE_LT = 1,
    TN_TREE_GTE = 2,
    TN_TREE_GT = 3,
    TN_TREE_EQ = 4,
    TN_TREE_NEQ = 5,
    TN_TREE_MEMBER = 6,
    TN_TREE_LEAF = 7
};

enum { TN_TREES_AVERAGE = 0, TN_TREES_SUM = 1, TN_TREES_MIN = 2, TN_TREES_MAX = 3 };
#define TN_TREES_AGGREGATES "AVERAGE=0|SUM=1|MIN=2|MAX=3"

#define TN_TREES_MOST_TARGETS (1 << 24)
#define TN_TREES_MOST_NODES   (1 << 30) /* so that indices fit 32 bits */

typedef struct tn_tree_node {
    double threshold;
    int64_t feature;
    uint32_t on_true, on_false; /* nodes */
    uint32_t begin, end;        /* of a leaf's weights, or of a membership test's members */
    uint8_t mode;
    bool nan_is_true;
} tn_tree_node;

typedef struct tn_tree_weight {
    double weight;
    uint32_t target;
} tn_tree_weight;

typedef struct tn_ensemble {
    tn_tree_node *nodes;
    uint32_t *roots;
    tn_tree_weight *weights;
    double *members;
    const char *fields[2]; /* that say the true and the false child, for messages */
    uint64_t node_count, root_count, weight_count, member_count;
    int64_t target_count;
    uint64_t reached_count; /* of nodes, from the roots on */
    int64_t feature_count;  /* one more than the highest feature that is tested */
    uint32_t aggregate;
    bool are_thresholds_floats; /* exactly */
} tn_ensemble;

/* The fields of TreeEnsembleClassifier and TreeEnsembleRegressor, each of which has some. */
typedef struct tn_tree_params {
    uint64_t present;
    uint32_t aggregate_function, post_transform;
    int64_t n_targets;
    tn_i64s nodes_treeids, nodes_nodeids, nodes_featureids, nodes_truenodeids, nodes_falsenodeids,
        nodes_missing_value_tracks_true, class_treeids, class_nodeids, class_ids, target_treeids,
        target_nodeids, target_ids, classlabels_int64s;
    tn_strings nodes_modes, classlabels_strings;
    tn_f32s nodes_values, nodes_hitrates, class_weights, target_weights, base_values;
    const tn_tensor *nodes_values_as_tensor, *nodes_hitrates_as_tensor, *class_weights_as_tensor,
        *target_weights_as_tensor, *base_values_as_tensor;
} tn_tree_params;

#define TN_TREE_LIST(member, type, doc)                                                            \
    TN_FIELD(tn_tree_params, member, TN_FIELD_##type, TN_OPTIONAL, NULL, doc)
/* Those that describe nodes. */
#define TN_TREE_NODE_FIELDS                                                                        \
    TN_TREE_LIST(nodes_treeids, I64S, "of each node: its tree"),                                   \
        TN_TREE_LIST(nodes_nodeids, I64S, "its number in the tree"),                               \
        TN_TREE_LIST(nodes_featureids, I64S, "the feature that it tests"),                         \
        TN_TREE_LIST(nodes_modes, STRINGS, "BRANCH_LEQ, LT, GTE, GT, EQ or NEQ, or LEAF"),         \
        TN_TREE_LIST(nodes_values, F32S, "its threshold"),                                         \
        TN_TREE_LIST(nodes_truenodeids, I64S, "the node where the test is true"),                  \
        TN_TREE_LIST(nodes_falsenodeids, I64S, "the node where it is false"),                      \
        TN_TREE_LIST(nodes_missing_value_tracks_true, I64S, "whether NaN goes where it is true"),  \
        TN_TREE_LIST(nodes_hitrates, F32S, "for people"),                                          \
        TN_TREE_LIST(base_values, F32S, "what is added to the scores"),                            \
        TN_SCORES_FIELD(tn_tree_params)
/* From opset 3 on. */
#define TN_TREE_TENSOR_FIELDS                                                                      \
    TN_TREE_LIST(nodes_values_as_tensor, TENSOR, "thresholds in another type"),                    \
        TN_TREE_LIST(nodes_hitrates_as_tensor, TENSOR, "for people"),                              \
        TN_TREE_LIST(base_values_as_tensor, TENSOR, "base values in another type")

/* The fields that describe weights; `prefix` is "class" or "target". */
typedef struct tn_tree_weight_fields {
    const char *prefix;
    tn_i64s treeids, nodeids, ids;
    tn_f32s weights;
    const tn_tensor *weights_as_tensor;
} tn_tree_weight_fields;

/* Of a list of floats or a tensor of floating-point values that stands for it. */
typedef struct tn_tree_numbers {
    uint64_t count;
    const void *items;
    tn_type type;
} tn_tree_numbers;

/* Both empty: none. Both given, or a tensor of integers: an error that names the field. */
tn_status tn_tree_numbers_read(tn_call *call, const char *name, const tn_f32s *list,
                               const tn_tensor *tensor, tn_tree_numbers *out_numbers);
static inline double tn_tree_number(const tn_tree_numbers *numbers, uint64_t index) {
    return tn_element_load_f64(numbers->items, numbers->type, (int64_t)index);
}

/* Fills `out_ensemble` but for aggregate; freed by tn_ensemble_deinit, also after an error. Errors
 * name the field. */
tn_status tn_ensemble_read_3(tn_call *call, const tn_tree_params *fields,
                             const tn_tree_weight_fields *weights, int64_t target_count,
                             tn_ensemble *out_ensemble);
void tn_ensemble_deinit(tn_call *call, tn_ensemble *ensemble);

/* Zeroed memory for a table of the ensemble. TN_ERROR_MEMORY. */
tn_status tn_ensemble_allocate(tn_call *call, uint64_t count, size_t bytes, void *out_table);

/* Whether all from the roots on are trees: no node is reached twice. Finds feature_count and
 * whether thresholds are what they can be. */
tn_status tn_ensemble_check(tn_call *call, tn_ensemble *ensemble);

/* The leaf that a row reaches in a tree: the definition. */
const tn_tree_node *tn_ensemble_leaf(const tn_ensemble *ensemble, uint32_t root, const double *row);
/* Takes the scores of a row, which may be changed, and has room for one more of them. */
typedef void (*tn_ensemble_finish)(void *user, int64_t row, double *scores);
/* Of each row of input 0 what all trees say: the sum, mean, least or largest weight of each target;
 * 0 where no leaf has one. [called: reference] */
tn_status tn_ensemble_rows(tn_call *call, const tn_ensemble *ensemble, tn_ensemble_finish finish,
                           void *user);

#endif
