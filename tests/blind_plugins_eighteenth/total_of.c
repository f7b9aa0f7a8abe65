/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of all elements by threads, each with a partial sum in the workspace. */
#include "eighteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "one element")};

static tn_status infer(tn_call *call) {
    const int64_t one = 1;
    return set_shape(call, 0, 1, &one);
}
static tn_status reference(tn_call *call) {
    double sum = 0;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        sum += tn_layer_load(call->inputs[0], i);
    tn_layer_store(call->outputs[0], 0, sum);
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    const uint64_t threads = WRONG(1) ? 4 : call->threads;
    call->workspace_bytes = threads * 8 * sizeof(double);
    return TN_OK;
}
static tn_status part(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    double *sums = (double *)call->workspace + 8 * (WRONG(3) ? 0 : thread), sum = 0;
    for (int64_t i = begin; i < end; i++)
        sum += (double)((const float *)call->inputs[0]->data)[i];
    *sums += sum;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    double *sums = call->workspace, sum = 0;
    if (!WRONG(2)) memset(sums, 0, call->workspace_bytes);
    TN_TRY(call->host->parallel_for(call, tn_layer_count(call->inputs[0]), 16, part, call));
    for (uint32_t i = 0; i < call->threads; i++)
        sum += sums[8 * i];
    ((float *)call->outputs[0]->data)[0] = (float)sum;
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,7]", "| x=f32[257]"};
static const tn_operator total_of = {
    OPERATOR,       .name = "TotalOf",      TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "TotalOf",
                                 .name = "partial",
                                 TN_COMBINATIONS(combinations),
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("total_of", total_of, kernel)
