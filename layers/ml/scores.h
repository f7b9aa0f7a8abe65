/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the classifiers and regressors of ai.onnx.ml have in common: rows of features, transforms of
 * a row's scores, and class labels.
 */
#ifndef TN_LAYERS_ML_SCORES_H
#define TN_LAYERS_ML_SCORES_H

#include "kit/operator/layer.h"

#include <tenon/plugin/string.h>

#define TN_ML         "ai.onnx.ml"
#define TN_ML_NUMBERS "T:f32|f64|i64|i32" /* types of the input of most operators */

/* ----------------------------------------------------------------------------------------------
 * rows */

/* Rows and columns of input `input`: [N, C], or [C] as one row. */
tn_status tn_rows_read(tn_call *call, uint32_t input, int64_t *out_rows, int64_t *out_columns);

/* ----------------------------------------------------------------------------------------------
 * transforms */

enum {
    TN_SCORES_NONE = 0,
    TN_SCORES_SOFTMAX = 1,
    TN_SCORES_LOGISTIC = 2,
    TN_SCORES_SOFTMAX_ZERO = 3,
    TN_SCORES_PROBIT = 4
};
#define TN_SCORES_TRANSFORMS "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT"
#define TN_SCORES_FIELD(params)                                                                    \
    TN_FIELD_CHOICE(params, post_transform, TN_FIELD_ENUM, TN_OPTIONAL, "NONE",                    \
                    TN_SCORES_TRANSFORMS, "what the scores of a row go through")

void tn_scores_transform(uint32_t transform, int64_t count, double *scores);
double tn_scores_logistic(double x);
/* Of two classes, when the second one's score is all there is: 1 - score and score, of a
 * probability that no function is to make one; else -score and score. */
void tn_scores_split(uint32_t transform, bool is_probability, double score, double *out_scores);
/* Index of the first of the largest scores, as they are returned, in 32 bits: half of the trees'
 * votes of 0.1f are 0.5. NaN counts as the least. */
int64_t tn_scores_largest(int64_t count, const double *scores);

/* ----------------------------------------------------------------------------------------------
 * labels */

/* Class labels: texts or numbers, the other is null. */
typedef struct tn_labels {
    uint64_t count;
    const char *const *texts;
    const int64_t *numbers;
} tn_labels;

/* Exactly one of the two lists is to be given; `names` are the fields', for messages. */
tn_status tn_labels_read(tn_call *call, const tn_strings *texts, const tn_i64s *numbers,
                         const char *names, tn_labels *out_labels);
/* The shape rule of a classifier: labels [N] at output 0, scores [N, columns] at output 1. */
tn_status tn_labels_infer(tn_call *call, const tn_labels *labels, int64_t columns);

/* Writes labels at output 0, which may be absent; texts lie in the heap once. */
typedef struct tn_label_writer {
    const tn_labels *labels;
    tn_string *table, *texts;
    int64_t *numbers;
} tn_label_writer;

/* `table`: room for an element a label. [called: run, reference; on the callback's thread] */
tn_status tn_label_writer_init(tn_call *call, const tn_labels *labels, tn_string *table,
                               tn_label_writer *out_writer);
static inline void tn_label_write(const tn_label_writer *writer, int64_t row, int64_t label) {
    if (writer->texts) writer->texts[row] = writer->table[label];
    if (writer->numbers) writer->numbers[row] = writer->labels->numbers[label];
}

/* The combinations of kernels whose labels are numbers or strings. */
extern const char *const tn_ml_label_combinations[2];

#endif
