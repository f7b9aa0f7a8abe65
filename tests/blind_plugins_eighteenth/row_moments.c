/* SPDX-License-Identifier: Apache-2.0 */
/* Mean and variance of each row, as two outputs of which either may be left out. */
#include "eighteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more")};
static const tn_port outputs[] = {
    TN_PORT("mean", "f32", TN_PORT_OPTIONAL, "x without its last axis"),
    TN_PORT("variance", "f32", TN_PORT_OPTIONAL, "the same")};

static tn_status infer(tn_call *call) {
    TN_TRY(require_rank(call, 0, 1));
    for (uint32_t i = 0; i < 2; i++)
        TN_TRY(set_shape(call, i, call->inputs[0]->rank - 1, call->inputs[0]->shape));
    return TN_OK;
}
static int64_t length_of(const tn_call *call) {
    return call->inputs[0]->shape[call->inputs[0]->rank - 1];
}
static int64_t rows_of(const tn_call *call) {
    return extent(call->inputs[0], 0, call->inputs[0]->rank - 1);
}

static void moments(const float *x, int64_t n, double *mean, double *variance) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i];
    *mean = n > 0 ? sum / (double)n : 0;
    for (int64_t i = 0; i < n; i++)
        squares += ((double)x[i] - *mean) * ((double)x[i] - *mean);
    *variance = n > 0 ? squares / (double)n : 0;
}
static void store(const tn_call *call, int64_t row, double mean, double variance) {
    if (output(call, 0) || WRONG(3)) ((float *)output(call, 0)->data)[row] = (float)mean;
    if (output(call, 1)) ((float *)output(call, 1)->data)[row] = (float)variance;
}
static tn_status reference(tn_call *call) {
    for (int64_t row = 0; row < rows_of(call); row++) {
        double mean, variance;
        moments((const float *)call->inputs[0]->data + row * length_of(call), length_of(call),
                &mean, &variance);
        if (output(call, 0)) ((float *)output(call, 0)->data)[row] = (float)mean;
        if (output(call, 1)) ((float *)output(call, 1)->data)[row] = (float)variance;
    }
    return TN_OK;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t n = length_of(call);
    double shift = 0;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)call->inputs[0]->data + row * n;
        double mean, variance;
        moments(x, n, &mean, &variance);
        if (WRONG(1) && n > 0) { /* in one pass */
            float sum = 0, squares = 0;
            for (int64_t i = 0; i < n; i++) {
                sum += x[i];
                squares += x[i] * x[i];
            }
            mean = (double)(sum / (float)n);
            variance = (double)(squares / (float)n - sum / (float)n * (sum / (float)n));
        }
        if (WRONG(2) && n > 0) { /* less the first element of the range's first row */
            if (row == begin) shift = (double)x[0];
            double squares = 0;
            for (int64_t i = 0; i < n; i++)
                squares += ((double)x[i] - shift) * ((double)x[i] - shift);
            variance = squares / (double)n - (mean - shift) * (mean - shift) * (row == begin);
        }
        store(call, row, mean, variance);
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, rows_of(call), 2)

static const char *const cases[] = {"| x=f32[3,7]", "| x=f32[2,4,16]", "| x=f32[9]"};
static const tn_operator row_moments = {
    OPERATOR,       .name = "RowMoments",   TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32, f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "RowMoments",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("row_moments", row_moments, kernel)
