/* SPDX-License-Identifier: Apache-2.0 */
/* Any number of tensors joined along axis 1, whose rows may lie apart. */
#include "nineteenth.h"

static const tn_port inputs[] = {{"x", "f32", "N, C, ...", TN_PORT_VARIADIC, 0, 1, 0}};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "N, all C, ...")};

static tn_status infer(tn_call *call) {
    const tn_tensor *first = call->inputs[0];
    int64_t sum = 0;
    if (first->rank < 2) return call->host->fail(call, TN_ERROR_SHAPE, "'x' has no axis 1");
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_tensor *x = call->inputs[i];
        for (uint32_t k = 0; k < first->rank; k++)
            if (x->rank != first->rank || (k != 1 && x->shape[k] != first->shape[k] && !WRONG(4)))
                return call->host->fail(call, TN_ERROR_SHAPE, "tensor %u does not fit the first",
                                        i);
        if (__builtin_add_overflow(sum, x->shape[1], &sum))
            return call->host->fail(call, TN_ERROR_SHAPE, "too many channels");
    }
    infer_same(call);
    call->outputs[0]->shape[1] = sum;
    return TN_OK;
}
static int64_t inner_of(const tn_tensor *x) {
    int64_t inner = 1;
    for (uint32_t i = 2; i < x->rank; i++)
        inner *= x->shape[i];
    return inner;
}
static tn_status reference(tn_call *call) {
    const int64_t inner = inner_of(call->outputs[0]), all = call->outputs[0]->shape[1] * inner;
    for (int64_t n = 0; n < call->outputs[0]->shape[0]; n++) {
        float *to = (float *)call->outputs[0]->data + n * all;
        for (uint32_t i = 0; i < call->input_count; i++) {
            const int64_t row = call->inputs[i]->shape[1] * inner;
            for (int64_t k = 0; k < row; k++)
                *to++ = ((const float *)call->inputs[i]->data)[n * row + k];
        }
    }
    return TN_OK;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *y = call->outputs[0];
    const int64_t inner = inner_of(y);
    const tn_tensor *few[8];
    (void)thread;
    for (uint32_t i = 0; WRONG(3) && i < call->input_count; i++)
        few[i] = call->inputs[i];
    for (int64_t n = begin; n < end; n++) {
        float *to = (float *)y->data + n * (WRONG(2) ? y->shape[1] * inner : y->strides[0]);
        for (uint32_t i = 0; i < call->input_count; i++) {
            const tn_tensor *x = WRONG(3) ? few[i] : call->inputs[i];
            const int64_t row = x->shape[1] * inner, pitch = WRONG(1) ? row : x->strides[0];
            memcpy(to, (const float *)x->data + n * pitch, (size_t)row * sizeof(float));
            to += row;
        }
        for (int64_t k = y->shape[1] * inner; WRONG(5) && k < y->strides[0]; k++)
            *to++ = 0; /* as it was with rows in whole vectors */
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->outputs[0]->shape[0], 2)

static const char *const cases[] = {"| x=f32[3,2,5] x=f32[3,4,5]", "| x=f32[4,7]",
                                    "| x=f32[2,1] x=f32[2,8] x=f32[2,3]"};
static const tn_operator join = {
    OPERATOR,       .name = "JoinRows",     TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32:strided... -> f32:strided"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "JoinRows",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("join_rows", join, kernel)
