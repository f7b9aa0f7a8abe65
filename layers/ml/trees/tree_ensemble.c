/* SPDX-License-Identifier: Apache-2.0 */
/* TreeEnsemble: what TreeEnsembleRegressor computes, from lists of nodes and leaves. */
#include "ml/trees/tree_ensemble.h"
#include "ml/trees/forest.h"

typedef tn_tree_ensemble_params params;

typedef struct targets {
    const tn_tensor *y;
    uint32_t transform;
    int64_t count;
} targets;

static void finish(void *user, int64_t row, double *scores) {
    const targets *t = user;
    tn_scores_transform(t->transform, t->count, scores);
    tn_element_write_f64(t->y->data, t->y->type, row * t->count, t->count, scores);
}

static targets targets_of(const tn_call *call) {
    const params *p = call->params;
    return (targets){call->outputs[0], p->post_transform, p->n_targets};
}

static tn_status tree_ensemble_infer(tn_call *call) {
    const params *p = call->params;
    int64_t shape[2] = {0};
    TN_TRY(tn_rows_read(call, 0, &shape[0], &shape[1]));
    shape[1] = p->n_targets;
    return tn_infer_set_shape(call, 0, 2, shape);
}

static tn_status tree_ensemble_reference(tn_call *call) {
    tn_ensemble ensemble = {0};
    targets t = targets_of(call);
    tn_status status = tn_ensemble_read_5(call, call->params, &ensemble);
    if (status == TN_OK) status = tn_ensemble_rows(call, &ensemble, finish, &t);
    tn_ensemble_deinit(call, &ensemble);
    return status;
}

static tn_status tree_ensemble_prepare(tn_call *call) {
    tn_ensemble ensemble = {0};
    tn_status status = tn_ensemble_read_5(call, call->params, &ensemble);
    if (status == TN_OK) status = tn_forest_create(call, &ensemble);
    tn_ensemble_deinit(call, &ensemble);
    return status;
}

static tn_status tree_ensemble_reshape(tn_call *call) {
    return tn_forest_reshape(call, 0);
}

static tn_status tree_ensemble_run(tn_call *call) {
    targets t = targets_of(call);
    return tn_forest_run(call, finish, &t);
}

#define LIST(member, flags, doc) TN_FIELD(params, member, TN_FIELD_I64S, flags, NULL, doc)
#define ANY(member, flags, doc)  TN_FIELD(params, member, TN_FIELD_ANY, flags, NULL, doc)
static const tn_field tree_ensemble_fields[] = {
    LIST(tree_roots, TN_REQUIRED, "the first node of each tree"),
    LIST(nodes_featureids, TN_REQUIRED, "of each node: the feature that it tests"),
    ANY(nodes_splits, TN_REQUIRED, "its threshold"),
    ANY(nodes_modes, TN_REQUIRED,
        "bytes: 0 <=, 1 <, 2 >=, 3 >, 4 ==, 5 !=, 6 is one of its members"),
    LIST(nodes_truenodeids, TN_REQUIRED, "the node or leaf where the test is true"),
    LIST(nodes_falsenodeids, TN_REQUIRED, "the node or leaf where it is false"),
    LIST(nodes_trueleafs, TN_REQUIRED, "whether that is a leaf where it is true"),
    LIST(nodes_falseleafs, TN_REQUIRED, "the same where it is false"),
    LIST(nodes_missing_value_tracks_true, TN_OPTIONAL, "whether NaN goes where it is true"),
    ANY(nodes_hitrates, TN_OPTIONAL, "for people"),
    ANY(membership_values, TN_OPTIONAL,
        "the members of each node of mode 6, and a NaN behind them"),
    LIST(leaf_targetids, TN_REQUIRED, "of each leaf: its target"),
    ANY(leaf_weights, TN_REQUIRED, "its weight"),
    TN_FIELD_RANGE(params, n_targets, TN_FIELD_I64, TN_OPTIONAL, "1", 1, TN_TREES_MOST_TARGETS,
                   "how many targets there are"),
    TN_FIELD_CHOICE(params, aggregate_function, TN_FIELD_ENUM, TN_OPTIONAL, "SUM",
                    TN_TREES_AGGREGATES, "what becomes of the weights of a target"),
    TN_SCORES_FIELD(params),
};

static const tn_port tree_ensemble_inputs[] = {TN_PORT("X", "T:f32|f64|f16", 0, "[N, C], or [C]")};
static const tn_port tree_ensemble_outputs[] = {TN_PORT("Y", "T", 0, "[N, n_targets]")};

/* Two trees; the second tests membership, then on its false side a number. */
#define TREES                                                                                      \
    "tree_roots=[0,2] nodes_featureids=[0,1,2,0] nodes_splits=[0.5,-0.25,0,0.75] "                 \
    "nodes_modes=[0,3,6,1] nodes_truenodeids=[1,0,2,0] nodes_trueleafs=[0,1,1,1] "                 \
    "nodes_falsenodeids=[1,3,3,4] nodes_falseleafs=[1,1,0,1] membership_values=[1,0.25,nan] "      \
    "leaf_targetids=[0,1,0,1,0] leaf_weights=[0.5,-1,2,0.25,3] n_targets=2 "
#define X "| X=f32[4,3]{0.5,-0.25,1,0,1,0.25,2,0,3,nan,nan,nan}"
static const char *const tree_ensemble_cases[] = {
    TREES X,
    TREES "aggregate_function=AVERAGE " X,
    TREES "aggregate_function=MIN post_transform=LOGISTIC " X,
    TREES "aggregate_function=MAX nodes_missing_value_tracks_true=[1,0,1,0] " X,
    TREES "| X=f64[5,3]",
    TREES "| X=f16[3]",
    TREES "| X=f32[600,3]",
    "tree_roots=[0] nodes_featureids=[0] nodes_splits=[nan] nodes_modes=[0] nodes_truenodeids=[0] "
    "nodes_trueleafs=[1] nodes_falsenodeids=[0] nodes_falseleafs=[1] leaf_targetids=[0] "
    "leaf_weights=[2.5] | X=f32[2,1] | Y=f32[2,1]{2.5,2.5}",
};
TN_OPERATOR(tree_ensemble, TN_ML, "TreeEnsemble", 5,
            "Numbers for each row by trees whose leaves have weights.",
            TN_FIELDS(params, tree_ensemble_fields));

TN_FOREST_KERNEL(tree_ensemble, "TreeEnsemble", .combinations = NULL);

TN_LAYER(ml_tree_ensemble, TN_OPERATORS(&tree_ensemble_5), TN_KERNELS(&tree_ensemble_forest));
