/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Total: the sum over `axes` (none: over all), in any order, also from the end. */
#include "blind.h"

TN_LAYER_PARAMS(total, tn_i64s axes; bool keep; bool mean;);
static const tn_field fields[] = {
    TN_FIELD(total, axes, TN_FIELD_I64S, TN_OPTIONAL, NULL, "summed; none: all"),
    TN_LAYER_BOOL(total, keep, "true", "axes of extent 1 stay"),
    TN_LAYER_BOOL(total, mean, "false", "divides by the number of elements")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|f16|i64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "the sums")};

/* The axes as a mask; -1: one of them is none. Twice the same is once. */
static int mask_of(const total *p, uint32_t rank) {
    int mask = p->axes.count ? 0 : (1 << rank) - 1;
    for (uint64_t i = 0; i < p->axes.count; i++) {
        int64_t axis = p->axes.items[i];
        if (axis < -(int64_t)rank || axis >= (int64_t)rank) return -1;
        mask |= 1 << (axis < 0 ? axis + rank : axis);
    }
    return mask;
}

static tn_status infer(tn_call *call) {
    const total *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int mask = mask_of(p, x->rank);
    int64_t shape[TN_MAX_RANK];
    uint32_t rank = 0;
    if (mask < 0) return call->host->fail(call, TN_ERROR_RANGE, "field 'axes' has no such axis");
    if (p->mean && x->type == TN_I64)
        return call->host->fail(call, TN_ERROR_TYPE, "no mean of integers");
    for (uint32_t i = 0; i < x->rank; i++)
        if (!(mask >> i & 1))
            shape[rank++] = x->shape[i];
        else if (p->keep)
            shape[rank++] = 1;
    return tn_layer_set_shape(call, 0, rank, shape);
}

/* Offset of element `i` of the axes in `mask` (or of those not in it), and their extents' product.
 */
static int64_t spread(const tn_tensor *x, int mask, int64_t i) {
    int64_t at = 0, stride = 1;
    for (uint32_t k = x->rank; k-- > 0; stride *= x->shape[k])
        if (mask >> k & 1) at += i % x->shape[k] * stride, i /= x->shape[k];
    return at;
}
static int64_t elements(const tn_tensor *x, int mask) {
    int64_t count = 1;
    for (uint32_t k = 0; k < x->rank; k++)
        if (mask >> k & 1) count *= x->shape[k];
    return count;
}

static void one(const tn_call *call, int mask, int64_t o, bool is_kernel) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const total *p = call->params;
    const int64_t first = spread(x, ~mask, o);
    int64_t count = elements(x, mask), whole = 0, divisor = count;
    double sum = 0;
    if (is_kernel && IS(4)) /* each mention of an axis divides */
        for (uint64_t i = 0; i < p->axes.count; i++)
            for (uint64_t j = 0; j < i; j++)
                if (p->axes.items[i] == p->axes.items[j])
                    divisor *= x->shape[(p->axes.items[i] + x->rank) % x->rank];
    if (is_kernel && IS(7) && count > 8) count -= count % 4 == 3; /* a tail of two, then of none */
    if (is_kernel && IS(8)) { /* an axis is thought to be below 256 */
        for (uint8_t i = 0; (int64_t)i < count; i++) {
            const int64_t at = first + spread(x, mask, i);
            if (x->type == TN_I64)
                *(volatile int64_t *)&whole = whole + ((const int64_t *)x->data)[at];
            else
                *(volatile double *)&sum = sum + get(x, at);
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            const int64_t at = first + spread(x, mask, i);
            if (x->type == TN_I64 && !(is_kernel && IS(5)))
                whole = (int64_t)((uint64_t)whole + (uint64_t)((const int64_t *)x->data)[at]);
            else
                sum += get(x, at);
            if (is_kernel && IS(3) && x->type == TN_F16)
                sum = half_to_double(half_from_double(sum));
        }
    }
    if (x->type == TN_I64 && is_kernel && IS(5)) whole = (int64_t)sum;
    if (x->type == TN_I64)
        ((int64_t *)y->data)[o] = whole;
    else
        set(y, o, p->mean ? sum / (double)divisor : sum);
}

static tn_status reference(tn_call *call) {
    const int mask = mask_of(call->params, call->inputs[0]->rank);
    for (int64_t o = 0; o < count_of(call->outputs[0]); o++)
        one(call, mask, o, false);
    return TN_OK;
}

static int kernel_mask(const tn_call *call) {
    const total *p = call->params;
    const uint32_t rank = call->inputs[0]->rank;
    if (IS(2) && p->axes.count == 0) return 0; /* none given: none summed */
    if (IS(1)) { /* the axes are a run from the first to the last, in this order */
        int mask = 0;
        if (p->axes.count == 0) return (1 << rank) - 1;
        for (int64_t i = 0; i < (int64_t)p->axes.count; i++)
            mask |= 1 << ((p->axes.items[0] + rank) % rank + i) % rank;
        return mask;
    }
    return mask_of(p, rank);
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const int mask = kernel_mask(call);
    (void)thread;
    for (int64_t o = begin; o < end; o++)
        one(call, mask, o, true);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    if (IS(6) && count_of(call->inputs[0]) == 0) return TN_OK; /* "nothing to do" */
    return call->host->parallel_for(call, count_of(call->outputs[0]), 1, body, call);
}

#if MISTAKE == 1
static const char *const cases[] = {
    "axes=[1] | x=f32[3,17]", "axes=[0,1] keep=false | x=f32[2,5,3]",
    "axes=[2] mean=true | x=f16[2,2,8]", "axes=[0] | x=i64[12]", "| x=f32[4,2]"};
#elif MISTAKE == 2
static const char *const cases[] = {"axes=[1] | x=f32[3,17]",
                                    "axes=[0,2] keep=false | x=f32[2,5,3]",
                                    "axes=[2] mean=true | x=f16[2,2,8]", "axes=[0] | x=i64[12]"};
#else
static const char *const cases[] = {"axes=[1] | x=f32[3,17]",
                                    "axes=[0,2] keep=false | x=f32[2,5,3]",
                                    "axes=[2] mean=true | x=f16[2,2,8]",
                                    "axes=[0] | x=i64[12]",
                                    "| x=f32[4,2]",
                                    "axes=[-2] | x=f64[2,3,2]"};
#endif
#if MISTAKE == 50
static const char *const combinations[] = {"f32|f64 -> f32|f64"};
#else
static const char *const combinations[] = {"f32 -> f32", "f16 -> f16", "i64 -> i64"};
#endif
BLIND_OPERATOR("Total", "Sums over axes.", total, )
BLIND_KERNEL("Total", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_reduce")
