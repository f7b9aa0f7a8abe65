/* SPDX-License-Identifier: Apache-2.0 */
/* See svm.h; and SVMRegressor: a sum over support vectors, or a linear function without them. */
#include "ml/svm.h"
#include "ml/dot.h"

#include <math.h>

tn_status tn_svm_check_count(tn_call *call, const char *name, uint64_t count, int64_t expected) {
    if (expected >= 0 && count == (uint64_t)expected) return TN_OK;
    return call->host->fail(call, TN_ERROR_ARGUMENT, "field '%s' has %llu values; expected %lld",
                            name, (unsigned long long)count, (long long)expected);
}

static double param(const tn_svm_params *params, uint64_t index) {
    return index < params->kernel_params.count ? (double)params->kernel_params.items[index] : 0;
}

double tn_svm_kernel(const tn_svm_params *params, const double *x, const float *vector,
                     int64_t columns) {
    const double gamma = param(params, 0), coef0 = param(params, 1);
    switch (params->kernel_type) {
    case TN_SVM_POLY:
        return pow(gamma * tn_ml_dot(x, vector, columns) + coef0, trunc(param(params, 2)));
    case TN_SVM_RBF:
        return exp(-gamma * tn_ml_distance(x, vector, columns));
    case TN_SVM_SIGMOID:
        return tanh(gamma * tn_ml_dot(x, vector, columns) + coef0);
    default:
        return tn_ml_dot(x, vector, columns);
    }
}

/* One step for each class; `change` of p[t] is spread over the sum, which stays 1. */
static void improve(int64_t count, const double *q, double *p, double *qp, double *inout_pqp) {
    double pqp = *inout_pqp;
    for (int64_t t = 0; t < count; t++) {
        const double change = (pqp - qp[t]) / q[t * count + t];
        p[t] += change;
        pqp = (pqp + change * (change * q[t * count + t] + 2 * qp[t])) /
              ((1 + change) * (1 + change));
        for (int64_t j = 0; j < count; j++) {
            qp[j] = (qp[j] + change * q[t * count + j]) / (1 + change);
            p[j] /= 1 + change;
        }
    }
    *inout_pqp = pqp;
}

void tn_svm_couple(int64_t count, const double *r, double *out_p, double *scratch) {
    const int64_t rounds = count > 100 ? count : 100;
    const double limit = 0.005 / (double)count;
    double *q = scratch, *qp = scratch + count * count;
    for (int64_t t = 0; t < count; t++) {
        out_p[t] = 1 / (double)count;
        q[t * count + t] = 0;
        for (int64_t j = 0; j < count; j++) {
            if (j == t) continue;
            q[t * count + t] += r[j * count + t] * r[j * count + t];
            q[t * count + j] = -r[j * count + t] * r[t * count + j];
        }
    }
    for (int64_t round = 0; round < rounds; round++) {
        double pqp = 0, error = 0;
        for (int64_t t = 0; t < count; t++) {
            qp[t] = 0;
            for (int64_t j = 0; j < count; j++)
                qp[t] += q[t * count + j] * out_p[j];
            pqp += out_p[t] * qp[t];
        }
        for (int64_t t = 0; t < count; t++)
            error = fmax(error, fabs(qp[t] - pqp));
        if (error < limit) break;
        improve(count, q, out_p, qp, &pqp);
    }
}

/* ----------------------------------------------------------------------------------------------
 * SVMRegressor */

typedef struct regressor {
    const tn_svm_params *params;
    float *y;
} regressor;

static tn_status check_regressor(tn_call *call) {
    const tn_svm_params *p = call->params;
    int64_t rows = 0, columns = 0, elements = 0;
    TN_TRY(tn_rows_read(call, 0, &rows, &columns));
    TN_TRY(tn_svm_check_count(call, "rho", p->rho.count, 1));
    if (p->n_supports == 0)
        return tn_svm_check_count(call, "coefficients", p->coefficients.count, columns);
    if (!tn_infer_multiply(p->n_supports, columns, &elements)) elements = -1;
    TN_TRY(tn_svm_check_count(call, "support_vectors", p->support_vectors.count, elements));
    return tn_svm_check_count(call, "coefficients", p->coefficients.count, p->n_supports);
}

static void regress(void *user, const tn_ml_row *row) {
    const regressor *r = user;
    const tn_svm_params *p = r->params;
    double sum = (double)p->rho.items[0];
    if (p->n_supports == 0) sum += tn_ml_dot(row->x, p->coefficients.items, row->columns);
    for (int64_t i = 0; i < p->n_supports; i++)
        sum += (double)p->coefficients.items[i] *
               tn_svm_kernel(p, row->x, p->support_vectors.items + i * row->columns, row->columns);
    if (p->one_class) sum = sum > 0 ? 1 : -1;
    tn_scores_transform(p->post_transform, 1, &sum);
    r->y[row->index] = (float)sum;
}

static tn_status regressor_infer(tn_call *call) {
    int64_t shape[2] = {0};
    TN_TRY(check_regressor(call));
    TN_TRY(tn_rows_read(call, 0, &shape[0], &shape[1]));
    shape[1] = 1;
    return tn_infer_set_shape(call, 0, 2, shape);
}

static tn_status compute(tn_call *call, bool is_parallel) {
    regressor r = {call->params, call->outputs[0]->data};
    tn_ml_rows rows;
    TN_TRY(check_regressor(call));
    TN_TRY(tn_ml_rows_open(call, 0, 0, is_parallel, &rows));
    const uint64_t work = r.params->support_vectors.count + r.params->coefficients.count;
    const tn_status status = tn_ml_rows_run(&rows, (int64_t)work, regress, &r);
    tn_ml_rows_close(&rows);
    return status;
}

TN_SERIAL_AND_PARALLEL(regressor, compute)

static tn_status regressor_reshape(tn_call *call) {
    return tn_ml_rows_reshape(call, 0, 0);
}

static const tn_field regressor_fields[] = {
    TN_SVM_FIELDS,
    TN_FIELD_RANGE(tn_svm_params, n_supports, TN_FIELD_I64, TN_OPTIONAL, "0", 0, 2147483647,
                   "how many support vectors there are; 0: a linear function"),
    TN_FIELD(tn_svm_params, one_class, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the result is 1 of what is above zero, else -1"),
};
static const tn_port regressor_inputs[] = {TN_PORT("X", TN_ML_NUMBERS, 0, "[N, C], or [C]")};
static const tn_port regressor_outputs[] = {TN_PORT("Y", "f32", 0, "[N, 1]")};
#define VECTORS                                                                                    \
    "n_supports=2 support_vectors=[0.1,0.2,-0.3,0.4] coefficients=[0.5,-0.75] rho=[0.1] "          \
    "kernel_params=[0.5,0.25,3] "
static const char *const regressor_cases[] = {
    VECTORS "kernel_type=RBF | X=f32[5,2]",
    VECTORS "kernel_type=POLY | X=f64[5,2]",
    VECTORS "kernel_type=SIGMOID | X=i64[5,2]",
    VECTORS "kernel_type=LINEAR one_class=1 | X=f32[5,2]",
    VECTORS "post_transform=LOGISTIC | X=i32[2]",
    "coefficients=[0.5,-0.75,1] rho=[0.1] | X=f32[400,3]",
};
TN_OPERATOR(regressor, TN_ML, "SVMRegressor", 1, "A number for each row by support vectors.",
            TN_FIELDS(tn_svm_params, regressor_fields));

TN_ML_ROWS_KERNEL(regressor, "SVMRegressor", .combinations = NULL);

TN_LAYER(ml_svm_regressor, TN_OPERATORS(&regressor_1), TN_KERNELS(&regressor_rows));
