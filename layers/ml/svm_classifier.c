/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SVMClassifier. With support vectors each pair of classes has a sum, which is a vote for one of
 * them, and probabilities where 'prob_a' and 'prob_b' say so; without, each class has a linear
 * function.
 */
#include "ml/dot.h"
#include "ml/svm.h"

#include <math.h>

typedef struct machine {
    const tn_svm_params *params;
    tn_labels labels;
    tn_label_writer writer;
    int64_t vectors, pairs; /* pairs of classes */
    int64_t sums;           /* what a row's label is found by */
    int64_t count;          /* of the output's scores */
    float *z;               /* may be null */
} machine;

static bool has_probabilities(const machine *m) {
    return m->vectors > 0 && m->params->prob_a.count > 0;
}

static tn_status count_vectors(tn_call *call, machine *m) {
    const tn_i64s *counts = &m->params->vectors_per_class;
    for (uint64_t i = 0; i < counts->count; i++)
        if (counts->items[i] < 0 || !tn_infer_add(m->vectors, counts->items[i], &m->vectors))
            return call->host->fail(call, TN_ERROR_RANGE, "field 'vectors_per_class': %lld",
                                    (long long)counts->items[i]);
    if (m->vectors == 0) return TN_OK;
    return tn_svm_check_count(call, "vectors_per_class", counts->count, (int64_t)m->labels.count);
}

static tn_status check_lists(tn_call *call, const machine *m, int64_t columns) {
    const tn_svm_params *p = m->params;
    const int64_t classes = (int64_t)m->labels.count;
    int64_t elements = 0, coefficients = 0;
    if (m->vectors == 0) {
        if (!tn_infer_multiply(classes, columns, &coefficients)) coefficients = -1;
        if (p->rho.count == 0) return tn_svm_check_count(call, "rho", 0, 1);
        return tn_svm_check_count(call, "coefficients", p->coefficients.count, coefficients);
    }
    if (!tn_infer_multiply(m->vectors, columns, &elements)) elements = -1;
    if (!tn_infer_multiply(m->vectors, classes - 1, &coefficients)) coefficients = -1;
    TN_TRY(tn_svm_check_count(call, "support_vectors", p->support_vectors.count, elements));
    TN_TRY(tn_svm_check_count(call, "coefficients", p->coefficients.count, coefficients));
    TN_TRY(tn_svm_check_count(call, "rho", p->rho.count, m->pairs));
    if (p->prob_a.count > 0 || p->prob_b.count > 0) {
        TN_TRY(tn_svm_check_count(call, "prob_a", p->prob_a.count, m->pairs));
        TN_TRY(tn_svm_check_count(call, "prob_b", p->prob_b.count, m->pairs));
    }
    return TN_OK;
}

static tn_status read_machine(tn_call *call, machine *out_machine) {
    machine m = {.params = call->params};
    int64_t rows = 0, columns = 0;
    const tn_tensor *z = tn_infer_output(call, 1);
    TN_TRY(tn_rows_read(call, 0, &rows, &columns));
    TN_TRY(tn_labels_read(call, &m.params->classlabels_strings, &m.params->classlabels_ints,
                          "'classlabels_ints' and 'classlabels_strings'", &m.labels));
    const int64_t classes = (int64_t)m.labels.count;
    if (classes > 65536)
        return call->host->fail(call, TN_ERROR_RANGE, "there are %lld class labels",
                                (long long)classes);
    TN_TRY(count_vectors(call, &m));
    m.pairs = classes * (classes - 1) / 2;
    TN_TRY(check_lists(call, &m, columns));
    m.sums = m.vectors > 0 ? m.pairs : classes;
    m.count = has_probabilities(&m) ? classes : m.vectors > 0 && classes == 2 ? 2 : m.sums;
    m.z = z ? z->data : NULL;
    *out_machine = m;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * a row */

/* The sum of a pair: coefficients are [classes - 1, vectors], those of class i against class j > i
 * in row j - 1, and those of j in row i. */
static double sum_pair(const machine *m, int64_t i, int64_t j, int64_t first_i, int64_t first_j,
                       const double *kernels) {
    const tn_svm_params *p = m->params;
    const float *of_i = p->coefficients.items + (j - 1) * m->vectors + first_i;
    const float *of_j = p->coefficients.items + i * m->vectors + first_j;
    return tn_ml_dot(kernels + first_i, of_i, p->vectors_per_class.items[i]) +
           tn_ml_dot(kernels + first_j, of_j, p->vectors_per_class.items[j]);
}

/* The sums of all pairs, and the class with the most votes. */
static int64_t vote(const machine *m, const tn_ml_row *row, double *sums, double *kernels,
                    double *votes) {
    const tn_svm_params *p = m->params;
    const int64_t classes = (int64_t)m->labels.count;
    int64_t pair = 0, first_i = 0;
    for (int64_t v = 0; v < m->vectors; v++)
        kernels[v] =
            tn_svm_kernel(p, row->x, p->support_vectors.items + v * row->columns, row->columns);
    memset(votes, 0, (size_t)classes * sizeof(*votes));
    for (int64_t i = 0; i < classes; first_i += p->vectors_per_class.items[i++]) {
        int64_t first_j = first_i + p->vectors_per_class.items[i];
        for (int64_t j = i + 1; j < classes; first_j += p->vectors_per_class.items[j++]) {
            sums[pair] = (double)p->rho.items[pair] + sum_pair(m, i, j, first_i, first_j, kernels);
            votes[sums[pair] > 0 ? i : j] += 1;
            pair++;
        }
    }
    return tn_scores_largest(classes, votes);
}

/* Probabilities of all classes in place of the sums. */
static void estimate(const machine *m, double *sums, double *scratch) {
    const tn_svm_params *p = m->params;
    const int64_t classes = (int64_t)m->labels.count;
    double *r = scratch, *probabilities = r + classes * classes;
    int64_t pair = 0;
    for (int64_t i = 0; i < classes; i++) {
        r[i * classes + i] = 0;
        for (int64_t j = i + 1; j < classes; j++, pair++) {
            const double x =
                sums[pair] * (double)p->prob_a.items[pair] + (double)p->prob_b.items[pair];
            const double y = fmin(fmax(1 - tn_scores_logistic(x), 1e-7), 1 - 1e-7);
            r[i * classes + j] = y;
            r[j * classes + i] = 1 - y;
        }
    }
    tn_svm_couple(classes, r, probabilities, probabilities + classes);
    memcpy(sums, probabilities, (size_t)classes * sizeof(*sums));
}

static int64_t apply_linear(const machine *m, const tn_ml_row *row, double *sums) {
    const tn_svm_params *p = m->params;
    for (int64_t k = 0; k < m->sums; k++)
        sums[k] = tn_ml_dot(row->x, p->coefficients.items + k * row->columns, row->columns) +
                  (double)p->rho.items[0];
    return tn_scores_largest(m->sums, sums);
}

/* scratch: sums or scores, kernels, votes, and what probabilities take. */
static int64_t scores_count(const machine *m) {
    return (m->sums > m->count ? m->sums : m->count) + 1;
}

static int64_t scratch_count(const machine *m) {
    const int64_t classes = (int64_t)m->labels.count;
    const int64_t coupling = has_probabilities(m) ? 2 * classes * (classes + 1) : 0;
    return scores_count(m) + m->vectors + classes + coupling;
}

static void classify(void *user, const tn_ml_row *row) {
    const machine *m = user;
    double *sums = row->scratch, *kernels = sums + scores_count(m), *votes = kernels + m->vectors;
    const int64_t label =
        m->vectors > 0 ? vote(m, row, sums, kernels, votes) : apply_linear(m, row, sums);
    tn_label_write(&m->writer, row->index, label);
    if (!m->z) return;
    if (has_probabilities(m))
        estimate(m, sums, votes + m->labels.count);
    else if (m->sums < m->count)
        tn_scores_split(m->params->post_transform, false, sums[0], sums);
    tn_scores_transform(m->params->post_transform, m->count, sums);
    for (int64_t k = 0; k < m->count; k++)
        m->z[row->index * m->count + k] = (float)sums[k];
}

/* ----------------------------------------------------------------------------------------------
 * the operator */

static tn_status classifier_infer(tn_call *call) {
    machine m;
    TN_TRY(read_machine(call, &m));
    return tn_labels_infer(call, &m.labels, m.count);
}

static tn_status compute(tn_call *call, bool is_parallel) {
    machine m;
    tn_ml_rows rows;
    TN_TRY(read_machine(call, &m));
    TN_TRY(tn_ml_rows_open(call, scratch_count(&m), m.labels.count, is_parallel, &rows));
    const uint64_t work = m.params->support_vectors.count + m.params->coefficients.count;
    tn_status status = tn_label_writer_init(call, &m.labels, rows.table, &m.writer);
    if (status == TN_OK) status = tn_ml_rows_run(&rows, (int64_t)work, classify, &m);
    tn_ml_rows_close(&rows);
    return status;
}

TN_SERIAL_AND_PARALLEL(classifier, compute)

static tn_status classifier_reshape(tn_call *call) {
    machine m;
    TN_TRY(read_machine(call, &m));
    return tn_ml_rows_reshape(call, scratch_count(&m), m.labels.count);
}

static const tn_field classifier_fields[] = {
    TN_SVM_FIELDS,
    TN_SVM_LIST(prob_a, F32S, "of each pair of classes: the slope of its probability"),
    TN_SVM_LIST(prob_b, F32S, "its shift"),
    TN_SVM_LIST(vectors_per_class, I64S, "how many support vectors each class has; none: linear"),
    TN_SVM_LIST(classlabels_ints, I64S, "labels as numbers"),
    TN_SVM_LIST(classlabels_strings, STRINGS, "labels as texts"),
};
static const tn_port classifier_inputs[] = {TN_PORT("X", TN_ML_NUMBERS, 0, "[N, C], or [C]")};
static const tn_port classifier_outputs[] = {
    TN_PORT("Y", "string|i64", 0, "[N], the label of each row"),
    TN_PORT("Z", "f32", 0,
            "[N, E], the probabilities of classes or the sums of pairs; of two classes the sum "
            "with both signs"),
};
#define TWO                                                                                        \
    "support_vectors=[0.1,0.2,-0.3,0.4,0.5,-0.6] coefficients=[0.5,-0.75,0.25] rho=[0.1] "         \
    "vectors_per_class=[2,1] kernel_params=[0.5,0.25,3] "
#define THREE                                                                                      \
    "support_vectors=[0.1,0.2,-0.3,0.4,0.5,-0.6,1,-1] rho=[0.1,-0.2,0.05] "                        \
    "coefficients=[0.5,-0.75,0.25,1,-0.5,0.4,0.3,-0.2] vectors_per_class=[2,1,1] "                 \
    "kernel_params=[0.5,0.25,2] classlabels_ints=[3,1,2] "
static const char *const classifier_cases[] = {
    TWO "kernel_type=RBF classlabels_ints=[5,6] | X=f32[6,2]",
    TWO "kernel_type=POLY classlabels_strings=[a,b] post_transform=LOGISTIC | X=f64[6,2]",
    TWO "kernel_type=RBF classlabels_ints=[5,6] prob_a=[-1.5] prob_b=[0.1] | X=f32[6,2]",
    THREE "kernel_type=SIGMOID | X=f32[6,2]",
    THREE "kernel_type=RBF prob_a=[-1.5,-1,-2] prob_b=[0.1,0,-0.1] | X=i64[300,2]",
    THREE "kernel_type=LINEAR | X=i32[2]",
    "coefficients=[0.1,-0.2,0.3,0.4] rho=[0.1] classlabels_ints=[0,1] | X=f32[6,2]",
    ("coefficients=[0.1,-0.2,0.3,0.4,0.1,0.7] rho=[0.1] classlabels_strings=[a,b,c] "
     "post_transform=SOFTMAX | X=f32[0,2]"),
};
TN_OPERATOR(classifier, TN_ML, "SVMClassifier", 1, "The class of each row by support vectors.",
            TN_FIELDS(tn_svm_params, classifier_fields));

TN_ML_ROWS_KERNEL(classifier, "SVMClassifier", TN_COMBINATIONS(tn_ml_label_combinations));

TN_LAYER(ml_svm_classifier, TN_OPERATORS(&classifier_1), TN_KERNELS(&classifier_rows));
