/* SPDX-License-Identifier: Apache-2.0 */
/* The products of whole rows: y[n] = the sum of a[n,k] * b[k], in 64 bits, which wrap. */
#include "fourteenth.h"

static const tn_port inputs[] = {TN_PORT("a", "T:i32|u32", 0, "N, K"), TN_PORT("b", "T", 0, "K")};
static const tn_port outputs[] = {TN_PORT("y", "i64", 0, "N")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank != 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'a' has not two axes");
    if (!TN_LAYER_FITS(call, 1, call->inputs[0]->shape[1])) return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0]);
}
static uint64_t load(const tn_tensor *tensor, int64_t i) {
    return tensor->type == TN_U32 ? ((const uint32_t *)tensor->data)[i]
                                  : (uint64_t)((const int32_t *)tensor->data)[i];
}
static tn_status reference(tn_call *call) {
    const int64_t *shape = call->inputs[0]->shape;
    for (int64_t n = 0; n < shape[0]; n++) {
        uint64_t sum = 0;
        for (int64_t k = 0; k < shape[1]; k++)
            sum += load(call->inputs[0], n * shape[1] + k) * load(call->inputs[1], k);
        ((int64_t *)call->outputs[0]->data)[n] = (int64_t)sum;
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t *shape = call->inputs[0]->shape;
    const uint32_t *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    const bool is_signed = call->inputs[0]->type == TN_I32 || WRONG(2);
    int64_t *y = call->outputs[0]->data;
    for (int64_t n = 0; n < shape[0]; n++, a += shape[1]) {
        uint64_t sum = 0;
        double total = 0;
        for (int64_t k = 0; k < shape[1]; k++) {
            const int64_t u = is_signed ? (int64_t)(int32_t)a[k] : (int64_t)a[k];
            const int64_t v = is_signed ? (int64_t)(int32_t)b[k] : (int64_t)b[k];
            total += (double)u * (double)v;
            if (WRONG(3))
                sum += (uint64_t)(int64_t)(int32_t)(a[k] * b[k]);
            else if (WRONG(4))
                sum += (uint64_t)((int64_t)((float)u * (float)v));
            else
                sum += (uint64_t)u * (uint64_t)v;
        }
        y[n] = WRONG(1) ? (int64_t)total : (int64_t)sum;
    }
    return TN_OK;
}
static const char *const cases[] = {"| a=i32[3,5] b=i32[5]", "| a=u32[2,8] b=u32[8]",
                                    "| a=i32[4,0] b=i32[0]"};
static const tn_operator dots = {
    OPERATOR,       .name = "Dots",         .doc = "Sums of products of whole numbers.",
    TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"i32, i32 -> i64", "u32, u32 -> i64"};
static const tn_kernel dots_cpu = {KERNEL, .op = "Dots", TN_COMBINATIONS(combinations), .run = run};
LIBRARY("dots", dots, dots_cpu)
