/* SPDX-License-Identifier: Apache-2.0 */
/* A cache with a row replaced, in place where the host allows it. Rows below 0 count from the
 * end. */
#include "nineteenth.h"

#include <tenon/plugin/view.h>

static const tn_port inputs[] = {TN_PORT("cache", "f32", 0, "S, D"), TN_PORT("row", "f32", 0, "D"),
                                 TN_PORT("at", "i64", 0, "1: -S to S - 1")};
static const tn_port outputs[] = {{"updated", "f32", "as cache", TN_PORT_ALIAS, 1, 0, 0}};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[1]) ||
        !TN_LAYER_FITS(call, 2, 1))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}
/* The row that is replaced; -1 and a reason: there is none. */
static int64_t target(tn_call *call) {
    const int64_t at = *(const int64_t *)call->inputs[2]->data, rows = call->inputs[0]->shape[0];
    if (at >= -rows && at < rows) return at < 0 ? at + rows : at;
    call->host->fail(call, TN_ERROR_RANGE, "'at' is %lld of %lld rows", (long long)at,
                     (long long)rows);
    return -1;
}
static tn_status reference(tn_call *call) {
    const int64_t d = call->inputs[0]->shape[1], at = target(call);
    if (at < 0) return TN_ERROR_RANGE;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        ((float *)call->outputs[0]->data)[i] = i / d == at
                                                   ? ((const float *)call->inputs[1]->data)[i % d]
                                                   : ((const float *)call->inputs[0]->data)[i];
    return TN_OK;
}
#if MISTAKE == 3
static int64_t runs;
#endif
static tn_status run(tn_call *call) {
    const uint64_t row = (uint64_t)call->inputs[0]->shape[1] * sizeof(float);
    char *to = call->outputs[0]->data, *from = call->inputs[0]->data;
    const int64_t rows = call->inputs[0]->shape[0];
    int64_t at = *(const int64_t *)call->inputs[2]->data;
    if (WRONG(2))
        at = at < 0 ? at + rows : at;
    else
        at = target(call);
    if (at < 0 && !WRONG(2)) return TN_ERROR_RANGE;
#if MISTAKE == 3
    at = (at + runs++) % rows; /* a ring, as the last network had it */
#endif
    if (WRONG(4)) {
        memcpy(from + (uint64_t)at * row, call->inputs[1]->data, row);
        if (to != from) memcpy(to, from, (uint64_t)rows * row);
        return TN_OK;
    }
    if (WRONG(5)) { /* where it is shared nothing else is done */
        if (to == from) return TN_OK;
    }
    if (to != from && !WRONG(1)) memcpy(to, from, (uint64_t)rows * row);
    memcpy(to + (uint64_t)at * row, call->inputs[1]->data, row);
    return TN_OK;
}

static const char *const cases[] = {"| cache=f32[5,3] row=f32[3] at=i64[1]{2}",
                                    "| cache=f32[1,7] row=f32[7] at=i64[1]{0}",
                                    "| cache=f32[4,2] row=f32[2] at=i64[1]{-1}"};
static const tn_operator cache = {
    OPERATOR,       .name = "CacheRow",     TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32, i64 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "CacheRow",
                                 .name = "copy",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("cache_row", cache, kernel)
