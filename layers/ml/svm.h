/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of support vector machines: what a row and a support vector have in common. */
#ifndef TN_LAYERS_ML_SVM_H
#define TN_LAYERS_ML_SVM_H

#include "ml/rows.h"

enum { TN_SVM_LINEAR = 0, TN_SVM_POLY = 1, TN_SVM_RBF = 2, TN_SVM_SIGMOID = 3 };
#define TN_SVM_KERNELS "LINEAR|POLY|RBF|SIGMOID"

typedef struct tn_svm_params {
    uint64_t present;
    uint32_t kernel_type, post_transform;
    tn_f32s kernel_params, coefficients, support_vectors, rho, prob_a, prob_b;
    tn_i64s vectors_per_class, classlabels_ints;
    tn_strings classlabels_strings;
    int64_t n_supports;
    bool one_class;
} tn_svm_params;

#define TN_SVM_LIST(member, type, doc)                                                             \
    TN_FIELD(tn_svm_params, member, TN_FIELD_##type, TN_OPTIONAL, NULL, doc)
#define TN_SVM_FIELDS                                                                              \
    TN_FIELD_CHOICE(tn_svm_params, kernel_type, TN_FIELD_ENUM, TN_OPTIONAL, "LINEAR",              \
                    TN_SVM_KERNELS, "how a row and a support vector are compared"),                \
        TN_FIELD_LIST(tn_svm_params, kernel_params, TN_FIELD_F32S, TN_OPTIONAL, NULL, 0, 3, 0, 0,  \
                      "gamma, coef0, degree; absent: 0"),                                          \
        TN_SVM_LIST(coefficients, F32S, "of each support vector, or of each feature"),             \
        TN_SVM_LIST(support_vectors, F32S, "[vectors, C], row by row"),                            \
        TN_SVM_LIST(rho, F32S, "what is added to the sums"), TN_SCORES_FIELD(tn_svm_params)

/* Of a field's list that must have so many values. */
tn_status tn_svm_check_count(tn_call *call, const char *name, uint64_t count, int64_t expected);
/* The kernel of a row and a vector of `columns` elements. */
double tn_svm_kernel(const tn_svm_params *params, const double *x, const float *vector,
                     int64_t columns);

/* The probabilities of `count` classes from those of each pair, r[i * count + j] of i against j:
 * Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling"
 * (2004), second method. `scratch`: count * (count + 1) doubles. */
void tn_svm_couple(int64_t count, const double *r, double *out_p, double *scratch);

#endif
