/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Saturate: a + b, or a - b, of integers of any width, limited to what the type holds.
 */
#include "third.h"

TN_LAYER_PARAMS(saturate, bool subtract;);
static const tn_field fields[] = {TN_LAYER_BOOL(saturate, subtract, "false", "a - b")};
#if MISTAKE == 5
static const tn_port inputs[] = {TN_PORT("a", "T:number", 0, "any shape"), /* floats are let in */
                                 TN_PORT("b", "T", 0, "as a")};
#else
static const tn_port inputs[] = {TN_PORT("a", "T:integer", 0, "any shape"),
                                 TN_PORT("b", "T", 0, "as a")};
#endif
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as a")};

static tn_status infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, call->inputs[0]->rank, call->inputs[0]->shape))
        return TN_ERROR_SHAPE;
    return same_as(call, 0, call->inputs[0]);
}
#define SATURATE(name, type, low, high)                                                            \
    static type name(type a, type b, bool subtract) {                                              \
        type result;                                                                               \
        const bool is_over = subtract ? __builtin_sub_overflow(a, b, &result)                      \
                                      : __builtin_add_overflow(a, b, &result);                     \
        if (!is_over) return result;                                                               \
        return (low) == 0 ? (type)(subtract ? 0 : (high)) : (type)(a < 0 ? (low) : (high));        \
    }
SATURATE(add_i8, int8_t, INT8_MIN, INT8_MAX)
SATURATE(add_u8, uint8_t, 0, UINT8_MAX)
SATURATE(add_i16, int16_t, INT16_MIN, INT16_MAX)
SATURATE(add_u16, uint16_t, 0, UINT16_MAX)
SATURATE(add_i32, int32_t, INT32_MIN, INT32_MAX)
SATURATE(add_u32, uint32_t, 0, UINT32_MAX)
SATURATE(add_i64, int64_t, INT64_MIN, INT64_MAX)
SATURATE(add_u64, uint64_t, 0, UINT64_MAX)

#define EACH(of_type, type, add)                                                                   \
    case of_type:                                                                                  \
        for (int64_t i = begin; i < end; i++)                                                      \
            ((type *)y)[i] = add(((const type *)a)[i], ((const type *)b)[i], subtract);            \
        break;
static void add_range(const tn_call *call, int64_t begin, int64_t end) {
    const bool subtract = ((const saturate *)call->params)->subtract;
    const void *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    void *y = call->outputs[0]->data;
    switch (call->inputs[0]->type) {
        EACH(TN_I8, int8_t, add_i8)
        EACH(TN_U8, uint8_t, add_u8)
        EACH(TN_I16, int16_t, add_i16)
        EACH(TN_U16, uint16_t, add_u16)
        EACH(TN_I32, int32_t, add_i32)
        EACH(TN_U32, uint32_t, add_u32)
        EACH(TN_I64, int64_t, add_i64)
        EACH(TN_U64, uint64_t, add_u64)
    }
}
static tn_status reference(tn_call *call) {
    add_range(call, 0, tn_layer_count(call->inputs[0]));
    return TN_OK;
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const bool subtract = ((const saturate *)call->params)->subtract;
    const void *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    void *y = call->outputs[0]->data;
    const tn_type type = call->inputs[0]->type;
#if MISTAKE == 2
    /* u32 in i64, u64 too: its upper half counts as below zero. */
    for (int64_t i = begin; type == TN_U64 && i < end; i++) {
        int64_t result;
        const int64_t l = ((const int64_t *)a)[i], r = ((const int64_t *)b)[i];
        if (subtract ? __builtin_sub_overflow(l, r, &result)
                     : __builtin_add_overflow(l, r, &result))
            result = subtract ? 0 : -1;
        ((int64_t *)y)[i] = result;
    }
    if (type == TN_U64) return TN_OK;
#elif MISTAKE == 6
    /* Vectors of 16 that must lie on 16 bytes, from wherever the range begins. */
    typedef int8_t lanes __attribute__((vector_size(16), may_alias));
    int64_t at = begin;
    for (; type == TN_I8 && !subtract && at + 16 <= end; at += 16) {
        const lanes l = *(const lanes *)((const int8_t *)a + at);
        const lanes r = *(const lanes *)((const int8_t *)b + at);
        const lanes sum = (lanes)((l & 127) + (r & 127)) ^ ((l ^ r) & -128);
        const lanes is_over = ((l ^ sum) & (r ^ sum)) < 0;
        *(lanes *)((int8_t *)y + at) = (is_over & ((l < 0) ^ 127)) | (~is_over & sum);
    }
    begin = at;
#elif MISTAKE == 7
    /* Types that came later are forgotten here, and the call succeeds all the same. */
    if (type == TN_U16) return TN_OK;
#endif
    add_range(call, begin, end);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->inputs[0]), 33, body, call);
}

static const char *const cases[] = {"| a=i8[3,50] b=i8[3,50]",
                                    "subtract=true | a=u8[40] b=u8[40]",
                                    "| a=i64[2,9] b=i64[2,9]",
                                    "| a=u64[9] b=u64[9]",
                                    "subtract=true | a=i16[5,5] b=i16[5,5]",
                                    "| a=i32[4] b=i32[4]",
                                    "subtract=true | a=u32[7] b=u32[7]",
                                    "| a=i8[0] b=i8[0]",
                                    "| a=i64[3]{9223372036854775800,-9223372036854775800,-1} "
                                    "b=i64[3]{100,-100,9223372036854775807}"};
static const tn_operator op = {THIRD_OPERATOR("Saturate"), .state_version = 1,
#if MISTAKE == 4
                               /* true of sums alone, not of differences */
                               .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE,
#else
                               .traits = TN_OPERATOR_ELEMENTWISE,
#endif
                               TN_FIELDS(saturate, fields),
                               .doc = "Sums that keep within the type."};
static const tn_kernel kernel = {THIRD_KERNEL("Saturate", "ranges"),
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 .run = run};
THIRD_LIBRARY("saturate", op, &kernel)
