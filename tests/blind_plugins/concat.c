/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Join: any number of tensors behind each other along `axis`, of any type. */
#include "blind.h"

TN_LAYER_PARAMS(join, int64_t axis;);
static const tn_field fields[] = {TN_LAYER_I64(join, axis, "0", -8, 7, "negative: from the end")};
static const tn_port inputs[] = {
    {"parts", "T:any", "alike but for the axis", TN_PORT_VARIADIC, 0, 1, 0}};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "all of them")};

static int64_t axis_of(const tn_call *call) {
    const int64_t axis = ((const join *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}

static tn_status infer(tn_call *call) {
    const tn_tensor *first = call->inputs[0];
    const int64_t axis = axis_of(call);
    int64_t shape[TN_MAX_RANK] = {0};
    if (axis < 0 || axis >= first->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is no axis");
    for (uint32_t i = 0; i < first->rank; i++)
        shape[i] = first->shape[i];
    for (uint32_t p = 1; p < call->input_count; p++) {
        const tn_tensor *part = call->inputs[p];
        for (uint32_t i = 0; i < first->rank && !IS(5); i++)
            if (part->rank != first->rank || (i != axis && part->shape[i] != shape[i]))
                return call->host->fail(call, TN_ERROR_SHAPE, "part %u is another one", p);
        if (part->rank != first->rank)
            return call->host->fail(call, TN_ERROR_SHAPE, "part %u is another one", p);
        shape[axis] += part->shape[axis];
    }
    return tn_layer_set_shape(call, 0, first->rank, shape);
}

static int64_t width_of(tn_type type) {
    switch (type) {
    case TN_F64:
    case TN_I64:
    case TN_U64:
        return 8;
    case TN_F32:
    case TN_I32:
    case TN_U32:
        return 4;
    case TN_F16:
    case TN_BF16:
    case TN_I16:
    case TN_U16:
        return 2;
    default:
        return 1;
    }
}

static void copy_all(tn_call *call, int64_t axis, bool is_kernel) {
    const tn_tensor *y = call->outputs[0];
    const int64_t outer = product(y, 0, (uint32_t)axis), bytes = width_of(y->type);
    const int64_t inner = product(y, (uint32_t)axis + 1, y->rank) * bytes;
    int64_t at = 0;
    volatile int64_t rows_at_once = 0;
    const char *from[8];
    for (uint32_t p = 0; p < call->input_count && is_kernel && IS(1); p++)
        from[p] = call->inputs[p]->data; /* more than eight are left out */
    for (uint32_t p = 0; p < call->input_count; p++) {
        const tn_tensor *part = call->inputs[p];
        int64_t row = part->shape[axis] * inner;
        if (!(is_kernel && IS(1))) from[0] = part->data;
        if (is_kernel && IS(2))
            at = p * call->inputs[0]->shape[axis]; /* all alike, it is thought */
        if (is_kernel && IS(3)) { /* rows in one go, which an empty part has none of */
            volatile int64_t size = row;
            rows_at_once = count_of(part) * bytes / size;
        }
        for (int64_t o = 0; o < outer; o++) {
            char *to = (char *)y->data + o * y->shape[axis] * inner + at * inner;
            if (is_kernel && IS(2) && (at + part->shape[axis]) > y->shape[axis]) break;
            const char *source = from[is_kernel && IS(1) ? p : 0] + o * row;
            if (is_kernel && IS(6)) /* words of four, and none of what is left */
                memcpy(to, source, (size_t)(row / 4 * 4));
            else if (is_kernel && IS(7) && p + 1 == call->input_count &&
                     o + 1 == outer) /* whole words */
                memcpy(to, source, (size_t)((row + 7) / 8 * 8));
            else
                memcpy(to, source, (size_t)row);
        }
        at += part->shape[axis];
    }
    (void)rows_at_once;
}

static tn_status reference(tn_call *call) {
    copy_all(call, axis_of(call), false);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    int64_t axis = axis_of(call);
    if (IS(4)) /* a remainder without a sign: right where the rank is a power of two */
        axis = (int64_t)((uint32_t)((const join *)call->params)->axis % call->inputs[0]->rank);
    copy_all(call, axis, true);
    return TN_OK;
}

#if MISTAKE == 4
static const char *const cases[] = {"| parts=f32[3,4] parts=f32[2,4]",
                                    "axis=-1 | parts=i64[2,3] parts=i64[2,1]",
                                    "axis=-2 | parts=f32[1,2,3,4] parts=f32[1,2,1,4]"};
#elif MISTAKE == 6
static const char *const cases[] = {"| parts=f32[3,4] parts=f32[2,4]",
                                    "axis=1 | parts=i64[2,3] parts=i64[2,1]",
                                    "axis=-1 | parts=u8[2,8] parts=u8[2,4]"};
#else
static const char *const cases[] = {
    "| parts=f32[3,4] parts=f32[3,4]", "axis=1 | parts=i64[2,3] parts=i64[2,3]",
    "axis=-1 | parts=u8[2,8] parts=u8[2,8] parts=u8[2,8]", "| parts=f16[5]"};
#endif
static const char *const combinations[] = {"*... -> *"};
BLIND_OPERATOR("Join", "Concatenation.", join, .traits = TN_OPERATOR_SELECTS)
BLIND_KERNEL("Join", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_concat")
