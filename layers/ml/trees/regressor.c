/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TreeEnsembleRegressor: of each target the sum, mean, least or largest of the weights that a row's
 * leaves have, and a base value. A transform is applied to any number of targets.
 */
#include "ml/trees/forest.h"

typedef struct targets {
    tn_tree_numbers base;
    uint32_t transform;
    int64_t count;
    float *y;
} targets;

static tn_status read_targets(tn_call *call, targets *out_targets) {
    const tn_tree_params *params = call->params;
    *out_targets = (targets){.transform = params->post_transform,
                             .count = params->n_targets,
                             .y = call->outputs[0]->data};
    TN_TRY(tn_tree_numbers_read(call, "base_values", &params->base_values,
                                params->base_values_as_tensor, &out_targets->base));
    if (out_targets->base.count == 0 || out_targets->base.count == (uint64_t)params->n_targets)
        return TN_OK;
    return call->host->fail(
        call, TN_ERROR_ARGUMENT, "field 'base_values' has %llu values, field 'n_targets' is %lld",
        (unsigned long long)out_targets->base.count, (long long)params->n_targets);
}

static void finish(void *user, int64_t row, double *scores) {
    const targets *t = user;
    for (uint64_t i = 0; i < t->base.count; i++)
        scores[i] += tn_tree_number(&t->base, i);
    tn_scores_transform(t->transform, t->count, scores);
    for (int64_t i = 0; i < t->count; i++)
        t->y[row * t->count + i] = (float)scores[i];
}

static tn_status read_ensemble(tn_call *call, tn_ensemble *out_ensemble) {
    const tn_tree_params *params = call->params;
    const tn_tree_weight_fields weights = {.prefix = "target",
                                           .treeids = params->target_treeids,
                                           .nodeids = params->target_nodeids,
                                           .ids = params->target_ids,
                                           .weights = params->target_weights,
                                           .weights_as_tensor = params->target_weights_as_tensor};
    TN_TRY(tn_ensemble_read_3(call, params, &weights, params->n_targets, out_ensemble));
    out_ensemble->aggregate = params->aggregate_function;
    return TN_OK;
}

static tn_status regressor_infer(tn_call *call) {
    targets t;
    int64_t shape[2] = {0};
    TN_TRY(read_targets(call, &t));
    TN_TRY(tn_rows_read(call, 0, &shape[0], &shape[1]));
    shape[1] = t.count;
    return tn_infer_set_shape(call, 0, 2, shape);
}

static tn_status regressor_reference(tn_call *call) {
    tn_ensemble ensemble = {0};
    targets t;
    tn_status status = read_ensemble(call, &ensemble);
    if (status == TN_OK) status = read_targets(call, &t);
    if (status == TN_OK) status = tn_ensemble_rows(call, &ensemble, finish, &t);
    tn_ensemble_deinit(call, &ensemble);
    return status;
}

static tn_status regressor_prepare(tn_call *call) {
    tn_ensemble ensemble = {0};
    tn_status status = read_ensemble(call, &ensemble);
    if (status == TN_OK) status = tn_forest_create(call, &ensemble);
    tn_ensemble_deinit(call, &ensemble);
    return status;
}

static tn_status regressor_reshape(tn_call *call) {
    return tn_forest_reshape(call, 0);
}

static tn_status regressor_run(tn_call *call) {
    targets t;
    TN_TRY(read_targets(call, &t));
    return tn_forest_run(call, finish, &t);
}

#define TARGET_FIELDS                                                                              \
    TN_TREE_NODE_FIELDS, TN_TREE_LIST(target_treeids, I64S, "of each weight: its leaf's tree"),    \
        TN_TREE_LIST(target_nodeids, I64S, "its leaf"),                                            \
        TN_TREE_LIST(target_ids, I64S, "its target"),                                              \
        TN_TREE_LIST(target_weights, F32S, "the weight"),                                          \
        TN_FIELD_RANGE(tn_tree_params, n_targets, TN_FIELD_I64, TN_OPTIONAL, "1", 1,               \
                       TN_TREES_MOST_TARGETS, "how many targets there are"),                       \
        TN_FIELD_CHOICE(tn_tree_params, aggregate_function, TN_FIELD_ENUM, TN_OPTIONAL, "SUM",     \
                        TN_TREES_AGGREGATES, "what becomes of the weights of a target")
static const tn_field regressor_1_fields[] = {TARGET_FIELDS};
static const tn_field regressor_3_fields[] = {
    TARGET_FIELDS, TN_TREE_TENSOR_FIELDS,
    TN_TREE_LIST(target_weights_as_tensor, TENSOR, "weights in another type")};

static const tn_port regressor_inputs[] = {TN_PORT("X", TN_ML_NUMBERS, 0, "[N, C], or [C]")};
static const tn_port regressor_outputs[] = {TN_PORT("Y", "f32", 0, "[N, n_targets]")};

/* Two trees of depth 2 and 1. */
#define TREES                                                                                      \
    "nodes_treeids=[0,0,0,0,0,1,1,1] nodes_nodeids=[0,1,2,3,4,0,1,2] "                             \
    "nodes_featureids=[0,1,0,0,0,2,0,0] nodes_values=[0.1,-0.2,0,0,0,0.3,0,0] "                    \
    "nodes_modes=[BRANCH_LEQ,BRANCH_LT,LEAF,LEAF,LEAF,BRANCH_GTE,LEAF,LEAF] "                      \
    "nodes_truenodeids=[1,3,0,0,0,1,0,0] nodes_falsenodeids=[2,4,0,0,0,2,0,0] "                    \
    "target_treeids=[0,0,0,1,1,1] target_nodeids=[2,3,4,1,2,2] "                                   \
    "target_weights=[0.5,-0.25,1,0.5,-1,2] "
#define ONE TREES "target_ids=[0,0,0,0,0,0] "
#define TWO TREES "n_targets=2 target_ids=[0,1,0,1,0,1] "
#define X   " | X=f32[4,3]{0.1,-0.2,0.3,0,1,2,1,2,0,-1,nan,nan}"
static const char *const regressor_1_cases[] = {
    ONE X,
    TWO X,
    TWO "aggregate_function=AVERAGE base_values=[1,-2]" X,
    TWO "aggregate_function=MIN" X,
    TWO "aggregate_function=MAX base_values=[1,-2]" X,
    ONE "nodes_missing_value_tracks_true=[1,0,0,0,0,1,0,0]" X,
    ONE "post_transform=LOGISTIC" X,
    TWO "post_transform=SOFTMAX | X=f64[3,4]",
    TWO " | X=i64[1000,3]",
    TWO " | X=f32[1000,3]",
    ONE " | X=i32[3]",
    ONE " | X=f32[0,3]",
};
static const char *const regressor_3_cases[] = {ONE X, TWO " | X=f64[5,3]"};

#define REGRESSOR(version)                                                                         \
    TN_OPERATOR_VERSION(regressor, TN_ML, "TreeEnsembleRegressor", version,                        \
                        "Numbers for each row by trees whose leaves have weights.",                \
                        TN_FIELDS(tn_tree_params, regressor_##version##_fields),                   \
                        TN_INPUTS(regressor_inputs), TN_OUTPUTS(regressor_outputs),                \
                        TN_CASES(regressor_##version##_cases))
REGRESSOR(1);
REGRESSOR(3);

TN_FOREST_KERNEL(regressor, "TreeEnsembleRegressor", .combinations = NULL);

TN_LAYER(ml_tree_regressor, TN_OPERATORS(&regressor_1, &regressor_3),
         TN_KERNELS(&regressor_forest));
