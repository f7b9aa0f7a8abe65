/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths to rows of truth values: true before the length, false from it on. The rows are as long
 * as the field says, or as the greatest length. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, int64_t most;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, most, "0", 0, 1 << 20, "elements of a row; 0: the greatest length"),
};
static const tn_port inputs[] = {
    TN_PORT("lengths", "i64|i32", TN_PORT_VALUE_NEEDED, "any shape; below 0 is 0")};
static const tn_port outputs[] = {TN_PORT("mask", "bool", 0, "lengths, elements")};

static int64_t length_at(const tn_tensor *t, int64_t i) {
    return t->type == TN_I64 ? ((const int64_t *)t->data)[i] : ((const int32_t *)t->data)[i];
}

static tn_status infer(tn_call *call) {
    const tn_tensor *lengths = call->inputs[0];
    int64_t shape[TN_MAX_RANK], most = ((const params *)call->params)->most;
    if (lengths->rank >= TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'lengths' has rank %u, expected < %d",
                                lengths->rank, TN_MAX_RANK);
    for (int64_t i = 0; ((const params *)call->params)->most == 0 && i < tn_layer_count(lengths);
         i++)
        most = length_at(lengths, i) > most ? length_at(lengths, i) : most;
    if (most > 1 << 20)
        return call->host->fail(call, TN_ERROR_RANGE, "a length is %lld, expected <= %d",
                                (long long)most, 1 << 20);
    memcpy(shape, lengths->shape, lengths->rank * sizeof(shape[0]));
    shape[lengths->rank] = most;
    return tn_layer_set_shape(call, 0, lengths->rank + 1, shape);
}

static int64_t most_of(const tn_call *call) {
    return call->outputs[0]->shape[call->outputs[0]->rank - 1];
}

static tn_status reference(tn_call *call) {
    const int64_t most = most_of(call);
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        ((uint8_t *)call->outputs[0]->data)[i] =
            i % most < length_at(call->inputs[0], i / most) ? 1 : 0;
    return TN_OK;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t most = most_of(call);
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        uint8_t *row = (uint8_t *)call->outputs[0]->data + r * most;
        int64_t length = length_at(call->inputs[0], r);
        if (length < 0 && !WRONG(2)) length = 0;
        if (length > most && !WRONG(3)) length = most;
        memset(row, WRONG(1) ? -1 : 1, (size_t)length);
        if (length < most) memset(row + length, 0, (size_t)(most - length));
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, most_of(call) > 0 ? tn_layer_count(call->inputs[0]) : 0, 16)

static const char *const cases[] = {
    "| lengths=i64[4]{3,0,5,1}",
    "most=6 | lengths=i32[2,2]{2,6,4,0}",
    "most=3 | lengths=i64[]{2}",
};
static const tn_operator length_mask = {OPERATOR,
                                        .name = "LengthMask",
                                        TN_FIELDS(params, fields),
                                        TN_INPUTS(inputs),
                                        TN_OUTPUTS(outputs),
                                        .infer = infer,
                                        .reference = reference,
                                        TN_CASES(cases)};
static const char *const combinations[] = {"i64 -> bool", "i32 -> bool"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "LengthMask",
                                 .device = "cpu",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("length_mask", length_mask, kernel)
