/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TreeEnsembleClassifier: the leaves' weights are summed by class, the largest sum says the label.
 * With two classes of which all weights are one's, the sum is that of the second class: a
 * probability where no weight is negative, otherwise a margin around zero.
 */
#include "ml/trees/forest.h"

#define LABELS "'classlabels_int64s' and 'classlabels_strings'"

/* What becomes of a row's sums. */
typedef struct classes {
    tn_labels labels;
    tn_tree_numbers base;
    uint32_t transform;
    int64_t only; /* the one class that has weights, where two are told apart so; else -1 */
    bool is_probability;
    tn_label_writer writer;
    float *scores; /* null: nobody asked for them */
} classes;

static tn_tree_weight_fields weight_fields(const tn_tree_params *params) {
    return (tn_tree_weight_fields){.prefix = "class",
                                   .treeids = params->class_treeids,
                                   .nodeids = params->class_nodeids,
                                   .ids = params->class_ids,
                                   .weights = params->class_weights,
                                   .weights_as_tensor = params->class_weights_as_tensor};
}

static tn_status read_classes(tn_call *call, classes *out_classes) {
    const tn_tree_params *params = call->params;
    *out_classes = (classes){.transform = params->post_transform, .only = -1};
    TN_TRY(tn_labels_read(call, &params->classlabels_strings, &params->classlabels_int64s, LABELS,
                          &out_classes->labels));
    TN_TRY(tn_tree_numbers_read(call, "base_values", &params->base_values,
                                params->base_values_as_tensor, &out_classes->base));
    const uint64_t count = out_classes->labels.count, bases = out_classes->base.count;
    if (count > TN_TREES_MOST_TARGETS)
        return call->host->fail(call, TN_ERROR_RANGE, "there are too many class labels");
    if (bases == 0 || bases == count || (bases == 1 && count == 2)) return TN_OK;
    return call->host->fail(call, TN_ERROR_ARGUMENT,
                            "field 'base_values' has %llu values for %llu classes",
                            (unsigned long long)bases, (unsigned long long)count);
}

/* Whether all weights are one class's, and none is negative. */
static tn_status find_only(tn_call *call, classes *c) {
    const tn_tree_params *params = call->params;
    const tn_i64s *ids = &params->class_ids;
    tn_tree_numbers weights;
    bool is_one = c->labels.count == 2 && ids->count > 0;
    TN_TRY(tn_tree_numbers_read(call, "class_weights", &params->class_weights,
                                params->class_weights_as_tensor, &weights));
    for (uint64_t i = 1; is_one && i < ids->count; i++)
        is_one = ids->items[i] == ids->items[0];
    c->only = is_one ? ids->items[0] : -1;
    c->is_probability = is_one;
    for (uint64_t i = 0; is_one && i < weights.count; i++)
        c->is_probability &= !(tn_tree_number(&weights, i) < 0);
    if (is_one || c->base.count != 1) return TN_OK;
    return call->host->fail(call, TN_ERROR_ARGUMENT,
                            "field 'base_values' has 1 value for 2 classes that have weights");
}

/* The sum of the one class that has weights stands for both. */
static void split(const classes *c, double *scores) {
    double sum = scores[c->only];
    if (c->base.count > 0) sum += tn_tree_number(&c->base, c->base.count - 1);
    tn_scores_split(c->transform, c->is_probability, sum, scores);
}

static void finish(void *user, int64_t row, double *scores) {
    const classes *c = user;
    const int64_t count = (int64_t)c->labels.count;
    if (c->only >= 0)
        split(c, scores);
    else
        for (uint64_t i = 0; i < c->base.count; i++)
            scores[i] += tn_tree_number(&c->base, i);
    tn_label_write(&c->writer, row, tn_scores_largest(count, scores));
    if (!c->scores) return;
    tn_scores_transform(c->transform, count, scores);
    for (int64_t i = 0; i < count; i++)
        c->scores[row * count + i] = (float)scores[i];
}

static tn_status open_classes(tn_call *call, tn_string *table, classes *out_classes) {
    const tn_tensor *scores = tn_infer_output(call, 1);
    out_classes->scores = scores ? scores->data : NULL;
    return tn_label_writer_init(call, &out_classes->labels, table, &out_classes->writer);
}

static tn_status read_ensemble(tn_call *call, classes *c, tn_ensemble *out_ensemble) {
    const tn_tree_params *params = call->params;
    const tn_tree_weight_fields weights = weight_fields(params);
    *out_ensemble = (tn_ensemble){0};
    TN_TRY(read_classes(call, c));
    TN_TRY(tn_ensemble_read_3(call, params, &weights, (int64_t)c->labels.count, out_ensemble));
    return find_only(call, c);
}

/* ----------------------------------------------------------------------------------------------
 * the operator */

static tn_status classifier_infer(tn_call *call) {
    classes c;
    TN_TRY(read_classes(call, &c));
    return tn_labels_infer(call, &c.labels, (int64_t)c.labels.count);
}

static tn_status classifier_reference(tn_call *call) {
    tn_ensemble ensemble;
    tn_string *table = NULL;
    classes c;
    tn_status status = read_ensemble(call, &c, &ensemble);
    if (status == TN_OK)
        status = tn_ensemble_allocate(call, (uint64_t)ensemble.target_count, sizeof(*table),
                                      (void *)&table);
    if (status == TN_OK) status = open_classes(call, table, &c);
    if (status == TN_OK) status = tn_ensemble_rows(call, &ensemble, finish, &c);
    call->host->deallocate(call->host, table);
    tn_ensemble_deinit(call, &ensemble);
    return status;
}

static tn_status classifier_prepare(tn_call *call) {
    tn_ensemble ensemble;
    classes c;
    tn_status status = read_ensemble(call, &c, &ensemble);
    if (status == TN_OK) status = tn_forest_create(call, &ensemble);
    if (status == TN_OK) {
        tn_forest *forest = call->state;
        forest->only = c.only;
        forest->is_probability = c.is_probability;
    }
    tn_ensemble_deinit(call, &ensemble);
    return status;
}

static tn_status classifier_reshape(tn_call *call) {
    const tn_forest *forest = call->state;
    return tn_forest_reshape(call, (uint64_t)forest->target_count * sizeof(tn_string));
}

static tn_status classifier_run(tn_call *call) {
    const tn_forest *forest = call->state;
    classes c;
    TN_TRY(read_classes(call, &c));
    c.only = forest->only;
    c.is_probability = forest->is_probability;
    TN_TRY(open_classes(call, tn_forest_workspace(call), &c));
    return tn_forest_run(call, finish, &c);
}

#define CLASS_FIELDS                                                                               \
    TN_TREE_NODE_FIELDS, TN_TREE_LIST(class_treeids, I64S, "of each weight: its leaf's tree"),     \
        TN_TREE_LIST(class_nodeids, I64S, "its leaf"),                                             \
        TN_TREE_LIST(class_ids, I64S, "its class, by index"),                                      \
        TN_TREE_LIST(class_weights, F32S, "the weight"),                                           \
        TN_TREE_LIST(classlabels_int64s, I64S, "labels as numbers"),                               \
        TN_TREE_LIST(classlabels_strings, STRINGS, "labels as texts")
static const tn_field classifier_1_fields[] = {CLASS_FIELDS};
static const tn_field classifier_3_fields[] = {
    CLASS_FIELDS, TN_TREE_TENSOR_FIELDS,
    TN_TREE_LIST(class_weights_as_tensor, TENSOR, "weights in another type")};

static const tn_port classifier_inputs[] = {TN_PORT("X", TN_ML_NUMBERS, 0, "[N, C], or [C]")};
static const tn_port classifier_outputs[] = {
    TN_PORT("Y", "string|i64", 0, "[N], the label of each row"),
    TN_PORT("Z", "f32", 0, "[N, E], the scores of its classes"),
};

/* Two trees of depth 2 and 1. */
#define NODES(modes)                                                                               \
    "nodes_treeids=[0,0,0,0,0,1,1,1] nodes_nodeids=[0,1,2,3,4,0,1,2] "                             \
    "nodes_featureids=[0,1,0,0,0,2,0,0] nodes_values=[0.1,-0.2,0,0,0,0.3,0,0] nodes_modes=[" modes \
    "] nodes_truenodeids=[1,3,0,0,0,1,0,0] nodes_falsenodeids=[2,4,0,0,0,2,0,0] "
#define LEAVES "LEAF,LEAF,LEAF"
#define THREE                                                                                      \
    "class_treeids=[0,0,0,1,1] class_nodeids=[2,3,4,1,2] class_ids=[0,1,2,1,0] "                   \
    "class_weights=[0.5,0.25,1,0.5,-1] "
#define ONE   "class_treeids=[0,0,0,1,1] class_nodeids=[2,3,4,1,2] class_ids=[0,0,0,0,0] "
#define LEQ   NODES("BRANCH_LEQ,BRANCH_LEQ," LEAVES ",BRANCH_LEQ,LEAF,LEAF")
#define MIXED NODES("BRANCH_LT,BRANCH_GTE," LEAVES ",BRANCH_GT,LEAF,LEAF")
#define EQUAL NODES("BRANCH_EQ,BRANCH_NEQ," LEAVES ",BRANCH_GT,LEAF,LEAF")
#define X     " | X=f32[4,3]{0.1,-0.2,0.3,0,1,2,1,2,0,-1,nan,nan}"
static const char *const classifier_1_cases[] = {
    LEQ THREE "classlabels_int64s=[7,8,9]" X,
    MIXED THREE "classlabels_strings=[a,bc,a] post_transform=SOFTMAX" X,
    EQUAL THREE "classlabels_int64s=[0,1,2] base_values=[0.1,0.2,0.3]" X,
    MIXED THREE "classlabels_int64s=[0,1,2] nodes_missing_value_tracks_true=[1,1,0,0,0,1,0,0]" X,
    LEQ ONE "class_weights=[0.5,0.25,1,0.5,-1] classlabels_int64s=[0,1] post_transform=LOGISTIC" X,
    LEQ ONE "class_weights=[0.5,0.25,0.1,0.5,0.25] classlabels_strings=[no,yes]" X,
    LEQ ONE "class_weights=[0.5,0.25,1,0.5,-1] classlabels_int64s=[3,4] base_values=[0.5]" X,
    LEQ THREE "classlabels_int64s=[7,8,9] post_transform=SOFTMAX_ZERO | X=i64[3,4]",
    LEQ THREE "classlabels_int64s=[7,8,9] | X=f64[1000,3]",
    LEQ THREE "classlabels_int64s=[7,8,9] | X=f32[1000,3]",
    LEQ THREE "classlabels_strings=[x,y,z] | X=i32[3]",
    LEQ THREE "classlabels_strings=[x,y,z] | X=f32[0,3]",
};
static const char *const classifier_3_cases[] = {
    LEQ THREE "classlabels_int64s=[7,8,9]" X,
    MIXED THREE "classlabels_strings=[a,b,c] post_transform=LOGISTIC | X=f64[5,3]",
};

#define CLASSIFIER(version)                                                                        \
    TN_OPERATOR_VERSION(classifier, TN_ML, "TreeEnsembleClassifier", version,                      \
                        "The class of each row by trees whose leaves have weights.",               \
                        TN_FIELDS(tn_tree_params, classifier_##version##_fields),                  \
                        TN_INPUTS(classifier_inputs), TN_OUTPUTS(classifier_outputs),              \
                        TN_CASES(classifier_##version##_cases))
CLASSIFIER(1);
CLASSIFIER(3);

TN_FOREST_KERNEL(classifier, "TreeEnsembleClassifier", TN_COMBINATIONS(tn_ml_label_combinations));

TN_LAYER(ml_tree_classifier, TN_OPERATORS(&classifier_1, &classifier_3),
         TN_KERNELS(&classifier_forest));
