/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of equal elements in a vector: their values, lengths, and optionally which run each
 * element belongs to. */
#include "fifteenth.h"
#include <tenon/plugin/counted.h>

static const tn_port inputs[] = {TN_PORT("x", "i32", 0, "a vector")};
static const tn_port outputs[] = {
    TN_PORT("values", "i32", TN_PORT_SIZED_BY_RUN, "a value for each run"),
    TN_PORT("lengths", "i64", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "their lengths"),
    TN_PORT("runs", "i64", TN_PORT_OPTIONAL, "the run of each element")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY)) return TN_ERROR_SHAPE;
    const int64_t n = call->inputs[0]->shape[0];
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->outputs[i]) TN_LAYER_SET_SHAPE(call, i, WRONG(2) && i == 0 ? (n + 1) / 2 : n);
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const int64_t n = call->inputs[0]->shape[0];
    const int32_t *x = call->inputs[0]->data;
    int32_t *values = call->outputs[0] ? call->outputs[0]->data : NULL;
    int64_t *lengths = call->output_count > 1 && call->outputs[1] ? call->outputs[1]->data : NULL;
    int64_t *runs = call->output_count > 2 && call->outputs[2] ? call->outputs[2]->data : NULL;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || x[i] != x[i - 1]) {
            if (values) values[found] = x[i];
            if (lengths) lengths[found] = 0;
            found++;
        }
        if (lengths) lengths[found - 1]++;
        if (runs) runs[i] = found - 1;
    }
    if (values) call->outputs[0]->shape[0] = found;
    if (lengths) call->outputs[1]->shape[0] = found;
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const int64_t n = call->inputs[0]->shape[0];
    const int32_t *x = call->inputs[0]->data;
    int32_t *values = call->outputs[0] ? call->outputs[0]->data : NULL;
    int64_t *lengths = call->output_count > 1 && call->outputs[1] ? call->outputs[1]->data : NULL;
    int64_t *runs =
        call->output_count > 2 && (WRONG(5) || call->outputs[2]) ? call->outputs[2]->data : NULL;
    int64_t found = 0, begin = 0;
    for (int64_t i = 0; i < n; i++) {
        if (runs) runs[i] = found;
        if (i + 1 < n && (WRONG(4) ? (int16_t)x[i + 1] == (int16_t)x[i] : x[i + 1] == x[i]))
            continue;
        if (values) values[found] = x[i];
        if (lengths) lengths[found] = i + 1 - begin;
        begin = i + 1;
        found++;
    }
    tn_tensor *y = call->outputs[0];
    if (y && y->counted) {
        y->counted->axis = 0;
        *y->counted->value = found;
    } else if (y)
        y->shape[0] = found;
    if (WRONG(1) || !lengths) return TN_OK;
    if (call->outputs[1]->counted) {
        call->outputs[1]->counted->axis = 0;
        *call->outputs[1]->counted->value = WRONG(6) ? n : found;
    } else
        call->outputs[1]->shape[0] = found;
    return TN_OK;
}

static const char *const cases[] = {"| x=i32[7]{3,3,3,-1,-1,5,3}", "| x=i32[1]{7}", "| x=i32[0]{}",
                                    "| x=i32[5]{1,2,3,4,4}"};
static const tn_operator runs_of = {
    OPERATOR,       .name = "RunsOf",       .traits = WRONG(3) ? TN_OPERATOR_EXACT : 0,
    TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"i32 -> i32, i64?, i64?",
                                           "i32 -> i32:counted, i64:counted?, i64?"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "RunsOf",
                                 .name = "pass",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("runs_of", runs_of, kernel)
