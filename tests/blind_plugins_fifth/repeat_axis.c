/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::RepeatElements: each slice along an axis several times, one after the other, as
 * repeat_interleave of PyTorch does. How often is an input of one integer, which decides the shape.
 */
#include <string.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(repeat, int64_t axis;);
enum { X, TIMES };

static const tn_field fields[] = {
    TN_LAYER_I64(repeat, axis, "0", -8, 7, "which axis; from the end if negative")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|i64|u8", 0, "at least one axis"),
#if MISTAKE == 1
                                 TN_PORT("times", "i64", 0, "one integer, 0 or more")};
#elif MISTAKE == 3
                                 TN_PORT("times", "i64|i32", TN_PORT_VALUE_NEEDED,
                                         "one integer, 0 or more")};
#else
                                 TN_PORT("times", "i64", TN_PORT_VALUE_NEEDED,
                                         "one integer, 0 or more")};
#endif
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x, but for the axis")};

static uint32_t axis_of(const tn_call *call) {
    const int64_t axis = ((const repeat *)call->params)->axis;
    return (uint32_t)(axis < 0 ? axis + call->inputs[X]->rank : axis);
}

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[X], *times = call->inputs[TIMES];
    if (axis_of(call) >= x->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is not one of %u axes",
                                x->rank);
    if (tn_layer_count(times) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'times' must be one integer");
#if MISTAKE == 1
    const int64_t n = times->data ? *(const int64_t *)times->data : 1;
#else
    const int64_t n = *(const int64_t *)times->data;
#endif
#if MISTAKE != 2
    if (n < 0) return call->host->fail(call, TN_ERROR_RANGE, "input 'times' is %lld", (long long)n);
#endif
    int64_t shape[TN_MAX_RANK];
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
#if MISTAKE == 4
    shape[axis_of(call)] = (int64_t)((uint64_t)n * (uint64_t)shape[axis_of(call)]);
#else
    if (__builtin_mul_overflow(shape[axis_of(call)], n, &shape[axis_of(call)]))
        return call->host->fail(call, TN_ERROR_MEMORY, "%lld times is too much", (long long)n);
#endif
    return tn_layer_set_shape(call, 0, x->rank, shape);
}

static uint64_t bytes_of(tn_type type) {
    return type == TN_F64 || type == TN_I64 ? 8 : type == TN_F32 ? 4 : 1;
}
/* How x divides: `slices` of `bytes` each, all of them `times` in y. */
typedef struct plan {
    int64_t slices, times;
    uint64_t bytes;
} plan;
static plan make_plan(const tn_call *call) {
    const tn_tensor *x = call->inputs[X], *y = call->outputs[0];
    const uint32_t axis = axis_of(call);
    uint64_t slices = 1, bytes = bytes_of(x->type);
    for (uint32_t i = 0; i < x->rank; i++)
        *(i > axis ? &bytes : &slices) *= (uint64_t)x->shape[i];
    return (plan){tn_layer_count(y) ? (int64_t)slices : 0,
                  x->shape[axis] ? y->shape[axis] / x->shape[axis] : 0, bytes};
}

static tn_status reference(tn_call *call) {
    const plan p = make_plan(call);
    const char *from = call->inputs[X]->data;
    char *to = call->outputs[0]->data;
    for (int64_t slice = 0; slice < p.slices; slice++, from += p.bytes)
        for (int64_t i = 0; i < p.times; i++, to += p.bytes)
            memcpy(to, from, p.bytes);
    return TN_OK;
}

#if MISTAKE == 5
static tn_status prepare(tn_call *call) {
    plan *made = call->host->allocate(call->host, sizeof(plan), 64);
    if (!made) return TN_ERROR_MEMORY;
    *made = make_plan(call);
    call->state = made;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
#define PLAN(call) (*(const plan *)(call)->state)
#elif MISTAKE == 50 /* made anew for the shapes of each reshape */
static tn_status open_context(tn_call *call) {
    call->context = call->host->allocate(call->host, sizeof(plan), 64);
    return call->context ? TN_OK : TN_ERROR_MEMORY;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
static tn_status reshape(tn_call *call) {
    *(plan *)call->context = make_plan(call);
    return TN_OK;
}
#define PLAN(call) (*(const plan *)(call)->context)
#else
#define PLAN(call) make_plan(call)
#endif

/* Items are slices of x. */
static tn_status copy_slices(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const plan p = PLAN(call);
    const char *from = call->inputs[X]->data;
    char *to = call->outputs[0]->data;
    (void)thread;
    for (int64_t slice = begin; slice < end; slice++)
        for (int64_t i = 0; i < p.times; i++)
            memcpy(to + (uint64_t)(slice * p.times + i) * p.bytes, from + (uint64_t)slice * p.bytes,
                   p.bytes);
    return TN_OK;
}
TN_LAYER_RUN(copy_slices, PLAN(call).slices, 16)

static const char *const cases[] = {
    "| x=f32[2,3] times=i64[]{2}",
    "axis=-1 | x=i64[2,2]{1,2,3,4} times=i64[1]{3} | y=i64[2,6]{1,1,1,2,2,2,3,3,3,4,4,4}",
    "axis=1 | x=u8[2,3,5] times=i64[1]{4}", "| x=f64[4] times=i64[]{0}"};
#if MISTAKE == 3
#define COMBINATION "f32|f64|i64|u8, i64|i32 -> f32|f64|i64|u8"
#else
#define COMBINATION "f32|f64|i64|u8, i64 -> f32|f64|i64|u8"
#endif
TN_LAYER_LIBRARY("repeat_axis", "Fifth", "RepeatElements", "Slices, each several times.", repeat,
                 COMBINATION,
#if MISTAKE == 5
                 .prepare = prepare, .release = release,
#elif MISTAKE == 50
                 .open = open_context, .close = close_context, .reshape = reshape,
#endif
                 .run = run)
