/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of columns, y[m] = the sum of x[n,m], with a partial sum for each thread. */
#include "fourteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, M")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "M")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1)) return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[1]);
}
static tn_status reference(tn_call *call) {
    const int64_t n = call->inputs[0]->shape[0], m = call->inputs[0]->shape[1];
    for (int64_t c = 0; c < m; c++) {
        double sum = 0;
        for (int64_t r = 0; r < n; r++)
            sum += tn_layer_load(call->inputs[0], r * m + c);
        tn_layer_store(call->outputs[0], c, sum);
    }
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    const uint64_t slots = WRONG(2) ? 2 : call->threads;
    call->workspace_bytes = (uint64_t)call->inputs[0]->shape[1] * sizeof(double) * slots;
    return TN_OK;
}
static tn_status add(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t m = call->inputs[0]->shape[1];
    const float *x = call->inputs[0]->data;
    double *sums = (double *)call->workspace + (WRONG(2) ? thread % 2 : thread) * m;
    if (WRONG(1)) memset(sums, 0, (size_t)m * sizeof(double));
    for (int64_t r = begin; r < end; r++)
        for (int64_t c = 0; c < m; c++)
            sums[c] += (double)x[r * m + c];
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t n = call->inputs[0]->shape[0], m = call->inputs[0]->shape[1];
    double *sums = call->workspace;
    const uint32_t slots = WRONG(2) ? 2 : call->threads;
    if (!WRONG(1)) memset(sums, 0, (size_t)m * sizeof(double) * slots);
    const tn_status status = call->host->parallel_for(call, n, WRONG(3) ? 1 : 16, add, call);
    if (status != TN_OK) return status;
    for (int64_t c = 0; c < m; c++) {
        double sum = 0;
        for (uint32_t t = 0; t < (WRONG(3) && call->threads > 4 ? 4 : slots); t++)
            sum += sums[(int64_t)t * m + c];
        ((float *)call->outputs[0]->data)[c] = (float)sum;
    }
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[40,5]", "| x=f32[7,33]", "| x=f32[0,4]"};
static const tn_operator partial = {
    OPERATOR,       .name = "Partial",      .doc = "Sums of columns.",
    TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel partial_cpu = {KERNEL, .op = "Partial", TN_COMBINATIONS(combinations),
                                      .reshape = reshape, .run = run};
LIBRARY("partial", partial, partial_cpu)
