/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix, or several, times a vector: by rows, or by columns with a row of sums for each thread.
 */
#include "fifteenth.h"

static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any axes, rows, columns"),
                                 TN_PORT("x", "f32", 0, "columns")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "any axes, rows")};

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0];
    if (a->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "a has rank %u, expected 2 or more", a->rank);
    if (!TN_LAYER_FITS(call, 1, a->shape[a->rank - 1])) return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, a->rank - 1, a->shape);
}

static double element(const tn_call *call, int64_t i) {
    const int64_t columns = call->inputs[1]->shape[0];
    double sum = 0;
    for (int64_t k = 0; k < columns; k++)
        sum += tn_layer_load(call->inputs[0], i * columns + k) * tn_layer_load(call->inputs[1], k);
    return sum;
}
TN_LAYER_REFERENCE(element)

static tn_status tactics(tn_call *call) {
    call->tactic_count = 2;
    return TN_OK;
}

static tn_status reshape(tn_call *call) {
    const int64_t rows = tn_layer_count(call->outputs[0]);
    call->workspace_bytes =
        call->tactic == 1 ? (uint64_t)rows * (WRONG(3) ? 1 : call->threads) * 8 : 0;
    return TN_OK;
}

typedef struct job {
    const tn_call *call;
    int64_t rows, columns;
    double *sums;
} job;

static tn_status by_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const job *j = user;
    const float *a = j->call->inputs[0]->data, *x = j->call->inputs[1]->data;
    for (int64_t r = begin; r < end; r++) {
        double sum[4] = {0, 0, 0, 0};
        int64_t k = 0;
        for (; k + 4 <= j->columns; k += 4)
            for (int64_t lane = 0; lane < 4; lane++)
                sum[lane] += (double)a[r * j->columns + k + lane] * (double)x[k + lane];
        for (; k < j->columns && !WRONG(1); k++)
            sum[0] += (double)a[r * j->columns + k] * (double)x[k];
        ((float *)j->call->outputs[0]->data)[r] = (float)(sum[0] + sum[1] + sum[2] + sum[3]);
    }
    return TN_OK;
}

static tn_status by_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const job *j = user;
    const float *a = j->call->inputs[0]->data, *x = j->call->inputs[1]->data;
    double *sums = j->sums + thread * j->rows;
    for (int64_t k = begin; k < end; k++)
        for (int64_t r = 0; r < j->rows; r++)
            sums[r] = WRONG(7) ? (double)((float)sums[r] + a[r * j->columns + k] * x[k])
                               : sums[r] + (double)a[r * j->columns + k] * (double)x[k];
    return TN_OK;
}

static tn_status run(tn_call *call) {
    job j = {call, tn_layer_count(call->outputs[0]), call->inputs[1]->shape[0], call->workspace};
    if (WRONG(2)) j.rows = call->inputs[0]->shape[call->inputs[0]->rank - 2];
    if (call->tactic == 0) return call->host->parallel_for(call, j.rows, 8, by_rows, &j);
    const uint32_t threads = call->threads;
    memset(j.sums, 0, (size_t)(j.rows * (WRONG(4) ? 1 : threads)) * 8);
    TN_TRY(call->host->parallel_for(call, j.columns, 8, by_columns, &j));
    for (int64_t r = 0; r < j.rows; r++) {
        double sum = 0;
        for (uint32_t t = 0; t < threads; t++)
            sum += j.sums[t * j.rows + r];
        ((float *)call->outputs[0]->data)[r] = (float)sum;
    }
    return TN_OK;
}

static tn_status timing_key(tn_call *call, char *text, uint32_t bytes) {
    snprintf(text, bytes, "%u", call->threads);
    return TN_OK;
}

static const char *const cases[] = {"| a=f32[5,24] x=f32[24]", "| a=f32[2,3,33] x=f32[33]",
                                    "| a=f32[64,4] x=f32[4]"};
static const tn_operator mat_vec = {
    OPERATOR,       .name = "MatVec",       TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {WRONG(5) ? "float32, float32 -> float32"
                                                    : "f32, f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "MatVec",
                                 .name = "two_variants",
                                 .minimum_version = WRONG(6) ? 2 : 0,
                                 .maximum_version = WRONG(6) ? 2 : 0,
                                 .traits = WRONG(7) ? TN_KERNEL_DETERMINISTIC : 0,
                                 TN_COMBINATIONS(combinations),
                                 .tactics = tactics,
                                 .reshape = reshape,
                                 .run = run,
                                 .timing_key = timing_key};
LIBRARY("mat_vec", mat_vec, kernel)
