/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of rows by one of three tactics: one after the other, by pairs in a workspace, by lanes. */
#include "nineteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, n")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "rows")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1)) return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0]);
}
static double element(const tn_call *call, int64_t i) {
    const int64_t n = call->inputs[0]->shape[1];
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += tn_layer_load(call->inputs[0], i * n + k);
    return sum;
}
TN_LAYER_REFERENCE(element)

static tn_status tactics(tn_call *call) {
    call->tactic_count = 3;
    if (WRONG(4)) call->tactic_count = (uint32_t)(call->inputs[0]->shape[1] / 8 + 1) % 4;
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    const uint64_t n = (uint64_t)call->inputs[0]->shape[1];
    call->workspace_bytes = 0;
    if (call->tactic == 1)
        call->workspace_bytes = (WRONG(3) ? n / 2 : n / 2 + n % 2) * sizeof(float) * call->threads;
    return TN_OK;
}
static float by_pairs(const float *x, int64_t n, float *half) {
    int64_t left = n / 2 + n % 2;
    for (int64_t i = 0; i < left; i++)
        half[i] = x[i] + (i + left < n ? x[i + left] : 0);
    while (left > 1) {
        const int64_t next = WRONG(1) ? left / 2 : left / 2 + left % 2;
        for (int64_t i = 0; i < next; i++)
            half[i] += i + next < left ? half[i + next] : 0;
        left = next;
    }
    return n > 0 ? half[0] : 0;
}
static float by_lanes(const float *x, int64_t n) {
    double lanes[4] = {0, 0, 0, 0};
    for (int64_t i = 0; i < n; i++)
        lanes[i % 4] += (double)x[i];
    return (float)((lanes[0] + lanes[1]) + (lanes[2] + (WRONG(5) ? 0 : lanes[3])));
}
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t n = call->inputs[0]->shape[1], width = n / 2 + n % 2;
    float *y = call->outputs[0]->data;
    for (int64_t r = begin; r < end; r++) {
        const float *x = (const float *)call->inputs[0]->data + r * n;
        double sum = 0;
        if (call->tactic == 1)
            y[r] = by_pairs(x, n, (float *)call->workspace + (int64_t)thread * width);
        else if (call->tactic == 2) {
            if (!WRONG(2)) y[r] = by_lanes(x, n);
        } else {
            for (int64_t i = 0; i < n; i++)
                sum += (double)x[i];
            y[r] = (float)sum;
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->inputs[0]->shape[0], 2)

static const char *const cases[] = {"| x=f32[3,16]", "| x=f32[9,64]",
#if MISTAKE != 1 && MISTAKE != 3
                                    "| x=f32[2,13]",
#endif
                                    "| x=f32[1,2]"};
static const tn_operator sums = {
    OPERATOR,       .name = "TacticSum",    TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "TacticSum",
                                 .name = "three",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .tactics = tactics,
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("tactic_sum", sums, kernel)
