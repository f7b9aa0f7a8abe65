/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Choose: y = which ? a : b, all three broadcast to each other. */
#include "blind.h"

TN_LAYER_PARAMS(choose, bool swap;);
static const tn_field fields[] = {TN_LAYER_BOOL(choose, swap, "false", "b where it is true")};
static const tn_port inputs[] = {TN_PORT("which", "bool", 0, "any shape"),
                                 TN_PORT("a", "T:f32|i64", 0, "any shape"),
                                 TN_PORT("b", "T", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "of all three")};

static tn_status infer(tn_call *call) {
    uint32_t rank = 0;
    int64_t shape[TN_MAX_RANK];
    for (int k = 0; k < 3; k++)
        rank = call->inputs[k]->rank > rank ? call->inputs[k]->rank : rank;
    for (uint32_t i = 0; i < rank; i++) {
        shape[i] = 1;
        for (int k = 0; k < 3; k++) {
            const tn_tensor *t = call->inputs[k];
            const int64_t p = i + t->rank >= rank ? t->shape[i + t->rank - rank] : 1;
            if (p != 1 && shape[i] != 1 && shape[i] != p)
                return call->host->fail(call, TN_ERROR_SHAPE, "axis %u differs", i);
            if (p != 1) shape[i] = p;
        }
    }
    call->outputs[0]->type = call->inputs[1]->type;
    return tn_layer_set_shape(call, 0, rank, shape);
}
static int64_t offset(const tn_tensor *y, const tn_tensor *t, int64_t i) {
    int64_t at = 0, stride = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        const int64_t extent = t->shape[t->rank - 1 - k], out = y->shape[y->rank - 1 - k];
        if (extent > 1) at += i % out * stride;
        stride *= extent;
        i /= out;
    }
    return at;
}
static void all(tn_call *call, bool is_kernel) {
    const tn_tensor *y = call->outputs[0], *a = call->inputs[1], *b = call->inputs[2];
    const bool swap = ((const choose *)call->params)->swap;
    const int64_t conditions = count_of(call->inputs[0]), others = count_of(b);
    for (int64_t i = 0; i < count_of(y); i++) {
        int64_t w = offset(y, call->inputs[0], i), p = offset(y, a, i), q = offset(y, b, i);
        if (is_kernel && IS(1)) w = i % conditions;
        if (is_kernel && IS(2)) q = others == 1 ? 0 : i % others;
        const bool is_a = (((const uint8_t *)call->inputs[0]->data)[w] != 0) != swap;
        if (a->type == TN_I64) {
            ((int64_t *)y->data)[i] =
                is_a ? ((const int64_t *)a->data)[p] : ((const int64_t *)b->data)[q];
            continue;
        }
        const float x = ((const float *)a->data)[p], z = ((const float *)b->data)[q];
        ((float *)y->data)[i] = is_a ? x : z;
        if (is_kernel && IS(3)) ((float *)y->data)[i] = (float)is_a * x + (float)!is_a * z;
        if (is_kernel && IS(4) && i >= 65536) ((float *)y->data)[i] = z;
    }
}
static tn_status reference(tn_call *call) {
    all(call, false);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    all(call, true);
    return TN_OK;
}
static const char *const cases[] = {"| which=bool[3,4] a=f32[3,4] b=f32[3,4]",
                                    "swap=true | which=bool[4] a=f32[2,4] b=f32[]",
                                    "| which=bool[5] a=i64[5] b=i64[5]"};
static const char *const combinations[] = {"bool, f32, f32 -> f32", "bool, i64, i64 -> i64"};
BLIND_OPERATOR("Choose", "One of two.", choose, .traits = TN_OPERATOR_ELEMENTWISE)
BLIND_KERNEL("Choose", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_choose")
