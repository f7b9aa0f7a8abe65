/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table by number, from the end where negative, added up into as many sums as there are:
 * y = base, then y[index[i]] += values[i]. */
#include "fourteenth.h"

static const tn_port inputs[] = {TN_PORT("base", "f32", 0, "R, D"),
                                 TN_PORT("index", "T:i32|i64", 0, "K, -R..R-1"),
                                 TN_PORT("values", "f32", 0, "K, D"),
                                 TN_PORT("factor", "f32", TN_PORT_OPTIONAL, "K: of each row")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as base")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank != 2 || call->inputs[1]->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "'base' is no matrix or 'index' no vector");
    if (!TN_LAYER_FITS(call, 2, call->inputs[1]->shape[0], call->inputs[0]->shape[1]) ||
        !TN_LAYER_FITS(call, 3, call->inputs[1]->shape[0]))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}
static int64_t index_at(const tn_tensor *index, int64_t i) {
    return index->type == TN_I64 ? ((const int64_t *)index->data)[i]
                                 : ((const int32_t *)index->data)[i];
}
static tn_status reference(tn_call *call) {
    const tn_tensor *base = call->inputs[0], *index = call->inputs[1];
    const int64_t rows = base->shape[0], d = base->shape[1];
    const float *values = call->inputs[2]->data, *factor = tn_layer_data(call, 3);
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < index->shape[0]; i++)
        if (index_at(index, i) < -rows || index_at(index, i) >= rows)
            return call->host->fail(call, TN_ERROR_RANGE, "an index is out of range");
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < d; c++) {
            double sum = (double)((const float *)base->data)[r * d + c];
            for (int64_t i = 0; i < index->shape[0]; i++) {
                const int64_t at = index_at(index, i);
                if ((at < 0 ? at + rows : at) == r)
                    sum += (double)values[i * d + c] * (factor ? (double)factor[i] : 1);
            }
            y[r * d + c] = (float)sum;
        }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *base = call->inputs[0], *index = call->inputs[1];
    const int64_t rows = base->shape[0], d = base->shape[1];
    const float *values = call->inputs[2]->data;
    const float *factor = WRONG(6) && index->type == TN_I64 ? NULL : tn_layer_data(call, 3);
    float *y = call->outputs[0]->data;
    memcpy(y, base->data, base->bytes);
    for (int64_t i = 0; i < index->shape[0]; i++) {
        const int64_t raw = index_at(index, i);
        const int64_t given = WRONG(2) ? (int16_t)raw : WRONG(7) ? (int32_t)raw : raw;
        int64_t at = given < 0 ? given + rows : given;
        if (WRONG(1) ? raw >= rows : given < -rows || given >= rows)
            return call->host->fail(call, TN_ERROR_RANGE, "an index is out of range");
        if (WRONG(3) && given < 0) at = given + rows - 1 < 0 ? 0 : given + rows;
        for (int64_t c = 0; c < d; c++) {
            const float v = values[i * d + c] * (factor ? factor[i] : 1);
            if (WRONG(4))
                y[at * d + c] = ((const float *)base->data)[at * d + c] + v;
            else
                y[at * d + c] += v;
        }
        if (WRONG(5) && i == 1023) break; /* as many as a table of its own has */
    }
    return TN_OK;
}
static const char *const cases[] = {
    "| base=f32[4,3] index=i64[3]{0,2,-1} values=f32[3,3]",
    "| base=f32[5,2] index=i32[4]{1,0,3,4} values=f32[4,2] factor=f32[4]",
    "| base=f32[2,2] index=i64[0] values=f32[0,2]"};
static const tn_operator picks = {
    OPERATOR,       .name = "Picks",        .doc = "Rows added by number.",
    TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, i32|i64, f32, f32? -> f32"};
static const tn_kernel picks_cpu = {KERNEL, .op = "Picks", TN_COMBINATIONS(combinations),
                                    .run = run};
LIBRARY("picks", picks, picks_cpu)
