/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of T rows with new ones at a position: what was there stays. */
#include "fourteenth.h"

static const tn_port inputs[] = {TN_PORT("cache", "f32", 0, "T, D"),
                                 TN_PORT("rows", "f32", 0, "R, D"),
                                 TN_PORT("position", "i64", 0, "of the first row, a scalar")};
static const tn_port outputs[] = {{"grown", "f32", "T, D", TN_PORT_ALIAS, 1, 0, 0}};

static tn_status infer(tn_call *call) {
    const int64_t *shape = call->inputs[0]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, -1, shape[1]) ||
        !tn_layer_fits(call, 2, 0, NULL))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}
static bool is_inside(const tn_call *call) {
    const int64_t at = *(const int64_t *)call->inputs[2]->data;
    return at >= 0 && call->inputs[1]->shape[0] <= call->inputs[0]->shape[0] &&
           at <= call->inputs[0]->shape[0] - call->inputs[1]->shape[0];
}
static tn_status reference(tn_call *call) {
    const int64_t at = *(const int64_t *)call->inputs[2]->data, d = call->inputs[0]->shape[1];
    if (!is_inside(call))
        return call->host->fail(call, TN_ERROR_RANGE, "the rows are not inside of the cache");
    memcpy(call->outputs[0]->data, call->inputs[0]->data, call->inputs[0]->bytes);
    memcpy((float *)call->outputs[0]->data + at * d, call->inputs[1]->data, call->inputs[1]->bytes);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t at = *(const int64_t *)call->inputs[2]->data, d = call->inputs[0]->shape[1];
    float *y = call->outputs[0]->data;
    const bool is_fine = WRONG(3)   ? at < call->inputs[0]->shape[0] && at >= 0
                         : WRONG(4) ? at <= call->inputs[0]->shape[0] - call->inputs[1]->shape[0]
                                    : is_inside(call);
    if (!is_fine) return call->host->fail(call, TN_ERROR_RANGE, "the rows are not inside");
    if (y != call->inputs[0]->data && !WRONG(1))
        memcpy(y, call->inputs[0]->data,
               WRONG(2) ? (size_t)(at * d) * sizeof(float) : call->inputs[0]->bytes);
    memcpy(y + at * d, call->inputs[1]->data, call->inputs[1]->bytes);
    return TN_OK;
}
static const char *const cases[] = {"| cache=f32[8,3] rows=f32[2,3] position=i64[]{6}",
                                    "| cache=f32[5,4] rows=f32[1,4] position=i64[]{2}",
                                    "| cache=f32[4,1] rows=f32[4,1] position=i64[]{0}"};
static const tn_operator append = {
    OPERATOR,       .name = "Append",       .doc = "A cache with rows more.",
    TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32, i64 -> f32"};
static const tn_kernel append_cpu = {KERNEL, .op = "Append", TN_COMBINATIONS(combinations),
                                     .run = run};
LIBRARY("append", append, append_cpu)
