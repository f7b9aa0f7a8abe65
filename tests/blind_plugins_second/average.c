/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Average: the mean of two; of integers rounded down, without overflow. */
#include "second.h"

static const tn_port inputs[] = {
    TN_PORT("a", "T:f32|f16|bf16|i64|i32|u32|i16|u8|i8", 0, "any shape"),
    TN_PORT("b", "T", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as a")};

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    bool same = a->rank == b->rank;
    for (uint32_t i = 0; same && i < a->rank; i++)
        same = a->shape[i] == b->shape[i];
    if (!same) return call->host->fail(call, TN_ERROR_SHAPE, "a and b differ in shape");
    same_shape(call, 0, 0);
    return TN_OK;
}
static tn_status compute(tn_call *call, bool is_kernel) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    const tn_type type = y->type;
    for (int64_t i = 0, count = elements(a); i < count; i++) {
        if (is_float(type)) {
            if (is_kernel && IS(3) && type == TN_BF16) {
                const _Float16 *p = a->data, *q = b->data;
                ((_Float16 *)y->data)[i] = (_Float16)(((float)p[i] + (float)q[i]) / 2);
                continue;
            }
            if (is_kernel && IS(5) && type == TN_F16) {
                const _Float16 sum = (_Float16)(get(a, i) + get(b, i)); /* infinite above 65504 */
                set(y, i, (double)sum / 2);
                continue;
            }
            set(y, i, get(a, i) / 2 + get(b, i) / 2);
            continue;
        }
        const int64_t p = get_integer(a, i), q = get_integer(b, i);
        int64_t v = (p & q) + ((p ^ q) >> 1);
        if (is_kernel && IS(1) && type == TN_I32) v = (int32_t)((uint32_t)p + (uint32_t)q) >> 1;
        if (is_kernel && IS(2) && type == TN_U32) v = (uint32_t)((uint32_t)p + (uint32_t)q) >> 1;
        if (is_kernel && IS(4) && type == TN_I16) v = (p + q) / 2;
        set_integer(y, i, v);
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}
static const char *const cases[] = {
    "| a=f32[3,5] b=f32[3,5]",
    "| a=i32[2]{-3,4} b=i32[2]{-5,2}",
    "| a=bf16[3]{1,2,3} b=bf16[3]{1,2,3}",
    "| a=u32[7] b=u32[7]",
    "| a=i64[2]{9223372036854775807,-1} b=i64[2]{9223372036854775805,0}",
    "| a=i16[3]{2,4,6} b=i16[3]{2,4,8}",
    "| a=f16[4] b=f16[4]",
    "| a=u8[0] b=u8[0]"};
static const char *const combinations[] = {
    "f32|f16|bf16|i64|i32|u32|i16|u8|i8, f32|f16|bf16|i64|i32|u32|i16|u8|i8 -> "
    "f32|f16|bf16|i64|i32|u32|i16|u8|i8"};
OPERATOR("Average", "The mean of two.", TN_NO_FIELDS, .traits = TN_OPERATOR_ELEMENTWISE)
KERNEL("Average", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE)
LIBRARY("second_average")
