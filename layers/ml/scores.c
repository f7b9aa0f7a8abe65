/* SPDX-License-Identifier: Apache-2.0 */
/* See scores.h. */
#include "ml/scores.h"

#include <math.h>

tn_status tn_rows_read(tn_call *call, uint32_t input, int64_t *out_rows, int64_t *out_columns) {
    TN_TRY(tn_infer_require_rank(call, input, 1, 2));
    const tn_tensor *x = call->inputs[input];
    *out_rows = x->rank == 2 ? x->shape[0] : 1;
    *out_columns = x->shape[x->rank - 1];
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * transforms */

double tn_scores_logistic(double x) {
    const double y = 1 / (1 + exp(-fabs(x)));
    return x < 0 ? 1 - y : y;
}

/* Winitzki's approximation of the inverse of erf, "A handy approximation for the error function
 * and its inverse" (2008), with the constant that ONNX's definition has; infinite at 1 and -1. */
static double inverse_erf(double x) {
    const double logarithm = log((1 - x) * (1 + x));
    const double a = 2 / (3.14159265358979323846 * 0.147) + 0.5 * logarithm;
    const double root = sqrt(sqrt(a * a - logarithm / 0.147) - a);
    return x < 0 ? -root : root;
}

/* SOFTMAX_ZERO leaves scores of zero at zero, but for their factor. */
static void softmax(int64_t count, double *scores, bool keeps_zero) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, scores[i]);
    for (int64_t i = 0; i < count; i++) {
        const bool is_zero = keeps_zero && fabs(scores[i]) <= 1e-7;
        scores[i] = is_zero ? scores[i] * exp(-largest) : exp(scores[i] - largest);
        sum += scores[i];
    }
    for (int64_t i = 0; i < count; i++)
        scores[i] = sum == 0 ? 0.5 : scores[i] / sum;
}

void tn_scores_transform(uint32_t transform, int64_t count, double *scores) {
    switch (transform) {
    case TN_SCORES_SOFTMAX:
        softmax(count, scores, false);
        break;
    case TN_SCORES_SOFTMAX_ZERO:
        softmax(count, scores, true);
        break;
    case TN_SCORES_LOGISTIC:
        for (int64_t i = 0; i < count; i++)
            scores[i] = tn_scores_logistic(scores[i]);
        break;
    case TN_SCORES_PROBIT:
        for (int64_t i = 0; i < count; i++)
            scores[i] = 1.41421356 * inverse_erf(2 * scores[i] - 1);
        break;
    default:
        break;
    }
}

void tn_scores_split(uint32_t transform, bool is_probability, double score, double *out_scores) {
    const bool is_kept = transform == TN_SCORES_NONE || transform == TN_SCORES_PROBIT;
    out_scores[0] = is_kept && is_probability ? 1 - score : -score;
    out_scores[1] = score;
}

int64_t tn_scores_largest(int64_t count, const double *scores) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if ((float)scores[i] > (float)scores[best] || (isnan(scores[best]) && !isnan(scores[i])))
            best = i;
    return best;
}

/* ----------------------------------------------------------------------------------------------
 * labels */

tn_status tn_labels_read(tn_call *call, const tn_strings *texts, const tn_i64s *numbers,
                         const char *names, tn_labels *out_labels) {
    if ((texts->count > 0) == (numbers->count > 0))
        return call->host->fail(call, TN_ERROR_ARGUMENT, "fields %s: expected one of them", names);
    *out_labels = texts->count > 0 ? (tn_labels){texts->count, texts->items, NULL}
                                   : (tn_labels){numbers->count, NULL, numbers->items};
    return TN_OK;
}

tn_status tn_labels_infer(tn_call *call, const tn_labels *labels, int64_t columns) {
    int64_t shape[2] = {0, columns};
    TN_TRY(tn_rows_read(call, 0, &shape[0], &(int64_t){0}));
    tn_infer_set_type(call, 0, labels->texts ? TN_STRING : TN_I64);
    TN_TRY(tn_infer_set_shape(call, 0, 1, shape));
    return tn_infer_set_shape(call, 1, 2, shape);
}

tn_status tn_label_writer_init(tn_call *call, const tn_labels *labels, tn_string *table,
                               tn_label_writer *out_writer) {
    tn_tensor *output = tn_infer_output(call, 0);
    *out_writer = (tn_label_writer){.labels = labels, .table = table};
    if (!output) return TN_OK;
    if (!labels->texts) {
        out_writer->numbers = output->data;
        return TN_OK;
    }
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    out_writer->texts = output->data;
    for (uint64_t i = 0; i < labels->count; i++) {
        table[i].bytes = strlen(labels->texts[i]);
        TN_TRY(strings->append(call, 0, labels->texts[i], table[i].bytes, &table[i].offset));
    }
    return TN_OK;
}

const char *const tn_ml_label_combinations[2] = {"f32|f64|i64|i32 -> i64, f32?",
                                                 "f32|f64|i64|i32 -> string, f32?"};
