/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LinearClassifier and LinearRegressor: scores = coefficients * x + intercepts, a row of
 * coefficients for each class or target. Where two classes have one row, its score is the second
 * one's.
 */
#include "ml/dot.h"
#include "ml/rows.h"

typedef struct linear_params {
    uint64_t present;
    tn_f32s coefficients, intercepts;
    tn_i64s classlabels_ints;
    tn_strings classlabels_strings;
    int64_t multi_class, targets;
    uint32_t post_transform;
} linear_params;

typedef struct linear {
    const linear_params *params;
    tn_labels labels;
    tn_label_writer writer;
    int64_t columns, scores; /* of the coefficients: their rows are `scores` */
    int64_t count;           /* of the output's scores */
    float *y;                /* may be null */
} linear;

static tn_status check_scores(tn_call *call, linear *l) {
    const uint64_t coefficients = l->params->coefficients.count;
    const uint64_t intercepts = l->params->intercepts.count;
    if (l->scores < 1 || (uint64_t)l->scores > coefficients ||
        coefficients % (uint64_t)l->scores != 0 ||
        coefficients / (uint64_t)l->scores != (uint64_t)l->columns)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "field 'coefficients' has %llu values: no %lld rows of %lld, the "
                                "columns of input 'X'",
                                (unsigned long long)coefficients, (long long)l->scores,
                                (long long)l->columns);
    if (intercepts == 0 || intercepts == (uint64_t)l->scores) return TN_OK;
    return call->host->fail(call, TN_ERROR_ARGUMENT,
                            "field 'intercepts' has %llu values for %lld scores",
                            (unsigned long long)intercepts, (long long)l->scores);
}

/* The score of each row of coefficients. */
static void compute_scores(const linear *l, const tn_ml_row *row) {
    const linear_params *p = l->params;
    for (int64_t k = 0; k < l->scores; k++) {
        row->scratch[k] = tn_ml_dot(row->x, p->coefficients.items + k * l->columns, l->columns);
        if (p->intercepts.count > 0) row->scratch[k] += (double)p->intercepts.items[k];
    }
}

static void write_scores(const linear *l, const tn_ml_row *row) {
    if (!l->y) return;
    tn_scores_transform(l->params->post_transform, l->count, row->scratch);
    for (int64_t k = 0; k < l->count; k++)
        l->y[row->index * l->count + k] = (float)row->scratch[k];
}

static tn_status linear_run(tn_call *call, linear *l, tn_ml_row_function function,
                            bool is_parallel) {
    tn_ml_rows rows;
    TN_TRY(tn_ml_rows_open(call, l->scores + 1, l->labels.count, is_parallel, &rows));
    tn_status status = TN_OK;
    if (l->labels.count > 0)
        status = tn_label_writer_init(call, &l->labels, rows.table, &l->writer);
    if (status == TN_OK)
        status = tn_ml_rows_run(&rows, (int64_t)l->params->coefficients.count, function, l);
    tn_ml_rows_close(&rows);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * LinearClassifier */

static tn_status read_classifier(tn_call *call, linear *out_linear) {
    linear l = {.params = call->params};
    int64_t rows = 0;
    TN_TRY(tn_labels_read(call, &l.params->classlabels_strings, &l.params->classlabels_ints,
                          "'classlabels_ints' and 'classlabels_strings'", &l.labels));
    TN_TRY(tn_rows_read(call, 0, &rows, &l.columns));
    const bool is_one = l.labels.count == 2 && l.params->coefficients.count == (uint64_t)l.columns;
    l.count = (int64_t)l.labels.count;
    l.scores = is_one ? 1 : l.count;
    const tn_tensor *z = tn_infer_output(call, 1);
    l.y = z ? z->data : NULL;
    *out_linear = l;
    return check_scores(call, out_linear);
}

static void classify(void *user, const tn_ml_row *row) {
    const linear *l = user;
    compute_scores(l, row);
    int64_t label = tn_scores_largest(l->scores, row->scratch);
    if (l->scores < l->count) {
        label = row->scratch[0] > 0;
        tn_scores_split(l->params->post_transform, true, row->scratch[0], row->scratch);
    }
    tn_label_write(&l->writer, row->index, label);
    write_scores(l, row);
}

static tn_status classifier_infer(tn_call *call) {
    linear l;
    TN_TRY(read_classifier(call, &l));
    return tn_labels_infer(call, &l.labels, l.count);
}

static tn_status classifier_reference(tn_call *call) {
    linear l;
    TN_TRY(read_classifier(call, &l));
    return linear_run(call, &l, classify, false);
}

static tn_status classifier_reshape(tn_call *call) {
    linear l;
    TN_TRY(read_classifier(call, &l));
    return tn_ml_rows_reshape(call, l.scores + 1, l.labels.count);
}

static tn_status classifier_run(tn_call *call) {
    linear l;
    TN_TRY(read_classifier(call, &l));
    return linear_run(call, &l, classify, true);
}

#define LIST(member, type, flags, doc)                                                             \
    TN_FIELD(linear_params, member, TN_FIELD_##type, flags, NULL, doc)
static const tn_field classifier_fields[] = {
    LIST(coefficients, F32S, TN_REQUIRED, "[scores, C], row by row"),
    LIST(intercepts, F32S, TN_OPTIONAL, "what is added to each score"),
    LIST(classlabels_ints, I64S, TN_OPTIONAL, "labels as numbers"),
    LIST(classlabels_strings, STRINGS, TN_OPTIONAL, "labels as texts"),
    TN_FIELD(linear_params, multi_class, TN_FIELD_I64, TN_OPTIONAL, "0",
             "how the coefficients were found, for people"),
    TN_SCORES_FIELD(linear_params),
};
static const tn_port classifier_inputs[] = {TN_PORT("X", TN_ML_NUMBERS, 0, "[N, C], or [C]")};
static const tn_port classifier_outputs[] = {
    TN_PORT("Y", "string|i64", 0, "[N], the label of each row"),
    TN_PORT("Z", "f32", 0, "[N, E], the scores of its classes"),
};
#define THREE "coefficients=[0.1,-0.2,0.3,0.4,0.5,-0.6] intercepts=[0.1,0.2,-0.3] "
#define ONE   "coefficients=[0.5,-0.25] intercepts=[0.125] "
static const char *const classifier_cases[] = {
    THREE "classlabels_ints=[5,6,7] | X=f32[6,2]",
    THREE "classlabels_strings=[a,b,c] post_transform=SOFTMAX | X=f64[6,2]",
    ONE "classlabels_ints=[5,6] | X=f32[4,2]{1,2,-1,0.5,0,0,3,-3}",
    ONE "classlabels_ints=[5,6] post_transform=LOGISTIC | X=i64[4,2]",
    ONE "classlabels_strings=[no,yes] post_transform=SOFTMAX_ZERO | X=i32[2]",
    "coefficients=[1,2,3,4] classlabels_ints=[0,1] | X=f32[700,2]",
    THREE "classlabels_ints=[5,6,7] | X=f32[0,2]",
    ("coefficients=[0.1,0.2,0.3] classlabels_ints=[9] post_transform=PROBIT | "
     "X=f32[2,3]{0,0,1,1,1,0}"),
};
TN_OPERATOR(classifier, TN_ML, "LinearClassifier", 1, "The class of each row by linear functions.",
            TN_FIELDS(linear_params, classifier_fields));

TN_ML_ROWS_KERNEL(classifier, "LinearClassifier", TN_COMBINATIONS(tn_ml_label_combinations));

/* ----------------------------------------------------------------------------------------------
 * LinearRegressor */

static tn_status read_regressor(tn_call *call, linear *out_linear) {
    const linear_params *params = call->params;
    int64_t rows = 0;
    *out_linear = (linear){.params = params,
                           .scores = params->targets,
                           .count = params->targets,
                           .y = call->outputs[0]->data};
    TN_TRY(tn_rows_read(call, 0, &rows, &out_linear->columns));
    return check_scores(call, out_linear);
}

static void regress(void *user, const tn_ml_row *row) {
    compute_scores(user, row);
    write_scores(user, row);
}

static tn_status regressor_infer(tn_call *call) {
    int64_t shape[2] = {0};
    linear l;
    TN_TRY(read_regressor(call, &l));
    TN_TRY(tn_rows_read(call, 0, &shape[0], &shape[1]));
    shape[1] = l.count;
    return tn_infer_set_shape(call, 0, 2, shape);
}

static tn_status regressor_reference(tn_call *call) {
    linear l;
    TN_TRY(read_regressor(call, &l));
    return linear_run(call, &l, regress, false);
}

static tn_status regressor_reshape(tn_call *call) {
    const linear_params *params = call->params;
    return tn_ml_rows_reshape(call, params->targets + 1, 0);
}

static tn_status regressor_run(tn_call *call) {
    linear l;
    TN_TRY(read_regressor(call, &l));
    return linear_run(call, &l, regress, true);
}

static const tn_field regressor_fields[] = {
    LIST(coefficients, F32S, TN_REQUIRED, "[targets, C], row by row"),
    LIST(intercepts, F32S, TN_OPTIONAL, "what is added to each target"),
    TN_FIELD_RANGE(linear_params, targets, TN_FIELD_I64, TN_OPTIONAL, "1", 1, 1 << 24,
                   "how many targets there are"),
    TN_SCORES_FIELD(linear_params),
};
static const tn_port regressor_inputs[] = {TN_PORT("X", TN_ML_NUMBERS, 0, "[N, C], or [C]")};
static const tn_port regressor_outputs[] = {TN_PORT("Y", "f32", 0, "[N, targets]")};
static const char *const regressor_cases[] = {
    "coefficients=[0.5,-0.25,3] intercepts=[0.125] | X=f32[4,3]",
    THREE "targets=3 | X=f64[5,2]",
    THREE "targets=3 post_transform=SOFTMAX | X=i64[5,2]",
    "coefficients=[0.5,-0.25,3] | X=i32[3]",
    "coefficients=[1,2,3,4] targets=2 | X=f32[900,2]",
};
TN_OPERATOR(regressor, TN_ML, "LinearRegressor", 1, "Linear functions of each row.",
            TN_FIELDS(linear_params, regressor_fields));

TN_ML_ROWS_KERNEL(regressor, "LinearRegressor", .combinations = NULL);

TN_LAYER(ml_linear, TN_OPERATORS(&classifier_1, &regressor_1),
         TN_KERNELS(&classifier_rows, &regressor_rows));
