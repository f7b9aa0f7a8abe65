/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums along an axis, from either end, with or without the element itself. */
#include "fourteenth.h"

TN_LAYER_PARAMS(running_params, int64_t axis; bool exclusive; bool reverse;);
static const tn_field fields[] = {
    TN_LAYER_I64(running_params, axis, "0", -8, 7, "along which"),
    TN_LAYER_BOOL(running_params, exclusive, "false", "without the element itself"),
    TN_LAYER_BOOL(running_params, reverse, "false", "from the end")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|i32|i64", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const int64_t axis = ((const running_params *)call->params)->axis, rank = call->inputs[0]->rank;
    if (axis >= rank || axis < -rank)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is beyond the rank");
    return infer_same(call);
}
#define SUMS(name, type, sum_type)                                                                 \
    static void name(const type *x, type *y, int64_t n, int64_t step, bool exclusive,              \
                     bool reverse) {                                                               \
        sum_type sum = 0;                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const int64_t at = (reverse ? n - 1 - i : i) * step;                                   \
            const sum_type before = sum;                                                           \
            sum += (sum_type)x[at];                                                                \
            y[at] = (type)(exclusive ? before : sum);                                              \
        }                                                                                          \
    }
SUMS(sums_f32, float, double)
SUMS(sums_f64, double, double)
SUMS(sums_i32, uint32_t, uint32_t)
SUMS(sums_i64, uint64_t, uint64_t)
SUMS(loose_i64, int64_t, double)
SUMS(loose_i32, int32_t, float)
static void sums(const tn_call *call, bool is_kernel) {
    const running_params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t axis = p->axis < 0 ? p->axis + x->rank : p->axis, n = x->shape[axis];
    const int64_t outer = product(x->shape, 0, axis), inner = product(x->shape, axis + 1, x->rank);
    const bool reverse = p->reverse && !(is_kernel && WRONG(1) && p->exclusive);
    const uint64_t size = element_bytes(x->type);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            const uint64_t at = (uint64_t)(o * n * inner + i) * size;
            const void *from = (const char *)x->data + at;
            void *to = (char *)call->outputs[0]->data + at;
            const bool exclusive = p->exclusive && !(is_kernel && WRONG(3) && x->type == TN_I32);
            if (x->type == TN_F32)
                sums_f32(from, to, n, inner, exclusive, reverse);
            else if (x->type == TN_F64)
                sums_f64(from, to, n, inner, exclusive, reverse);
            else if (x->type == TN_I32)
                (is_kernel && WRONG(4) ? (void (*)(const uint32_t *, uint32_t *, int64_t, int64_t,
                                                   bool, bool))loose_i32
                                       : sums_i32)(from, to, n, inner, exclusive, reverse);
            else
                (is_kernel && WRONG(2) ? (void (*)(const uint64_t *, uint64_t *, int64_t, int64_t,
                                                   bool, bool))loose_i64
                                       : sums_i64)(from, to, n, inner, exclusive, reverse);
        }
}
static tn_status reference(tn_call *call) {
    sums(call, false);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    sums(call, true);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5]", "axis=1 exclusive=true | x=f32[2,4,3]",
                                    "axis=-1 reverse=true | x=i32[2,9]", "| x=i64[7]"};
static const tn_operator running = {OPERATOR,
                                    .name = "Running",
                                    .doc = "Running sums.",
                                    TN_FIELDS(running_params, fields),
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = reference,
                                    TN_CASES(cases)};
static const tn_kernel running_cpu = {KERNEL, .op = "Running", .run = run};
LIBRARY("running", running, running_cpu)
