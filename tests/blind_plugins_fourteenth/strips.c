/* SPDX-License-Identifier: Apache-2.0 */
/* y = -x, of rows that may lie apart. */
#include "fourteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "at least two axes")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' has less than two axes");
    return infer_same(call);
}
static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        tn_layer_store(call->outputs[0], i, -tn_layer_load(call->inputs[0], i));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t rows = x->shape[0], row = product(x->shape, 1, x->rank);
    if (WRONG(3)) { /* as many bytes as there are */
        memcpy(y->data, x->data, y->bytes < x->bytes ? y->bytes : x->bytes);
        for (uint64_t i = 0; i < (y->bytes < x->bytes ? y->bytes : x->bytes) / 4; i++)
            ((float *)y->data)[i] = -((const float *)x->data)[i];
        return TN_OK;
    }
    for (int64_t r = 0; r < rows; r++) {
        const float *from = (const float *)x->data + r * x->strides[0];
        float *to = (float *)y->data + r * (WRONG(1) ? x->strides[0] : y->strides[0]);
        int64_t i = 0;
        for (; WRONG(2) && r + 1 < rows && i < row; i += 4) /* four at once, the last ones too */
            for (int64_t k = i; k < i + 4; k++)
                if (k < y->strides[0]) to[k] = k < row ? -from[k] : 0;
        for (; i < row; i++)
            to[i] = -from[i];
    }
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5]", "| x=f32[2,3,4,5]", "| x=f32[1,7]"};
static const tn_operator strips = {OPERATOR,       .name = "Strips",       .doc = "The negative.",
                                   TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
                                   .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32:strided -> f32:strided"};
static const tn_kernel strips_cpu = {KERNEL, .op = "Strips", TN_COMBINATIONS(combinations),
                                     .run = run};
LIBRARY("strips", strips, strips_cpu)
