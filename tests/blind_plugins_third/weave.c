/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Weave: any number of tensors one behind the other along `axis`, with `gap` positions of
 * zeros between two. Where each begins is found at reshape and kept in the context.
 */
#include "third.h"

TN_LAYER_PARAMS(weave, int64_t axis, gap;);
static const tn_field fields[] = {
    TN_LAYER_I64(weave, axis, "0", -TN_MAX_RANK, TN_MAX_RANK - 1, "below 0: from the last"),
    TN_LAYER_I64(weave, gap, "0", 0, 1000, "positions of zeros between two tensors")};
static const tn_port inputs[] = {
    {"parts", "T:any", "alike but for the axis", TN_PORT_VARIADIC, 0, 1, 0}};
static const tn_port outputs[] = {TN_PORT("whole", "T", 0, "all of them")};

static int64_t axis_of(const tn_call *call) {
    const int64_t axis = ((const weave *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}
static tn_status infer(tn_call *call) {
    const tn_tensor *first = call->inputs[0];
    const int64_t axis = axis_of(call), gap = ((const weave *)call->params)->gap;
    int64_t sum = 0;
    if (axis < 0 || axis >= first->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "the parts have no such axis");
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_tensor *x = call->inputs[i];
        bool fits = x->rank == first->rank;
        for (uint32_t k = 0; fits && k < x->rank; k++)
#if MISTAKE == 3
            /* Extents behind the axis may differ, and are read as if they did not. */
            if (k < axis) fits = x->shape[k] == first->shape[k];
#else
            if (k != axis) fits = x->shape[k] == first->shape[k];
#endif
        if (!fits) return call->host->fail(call, TN_ERROR_SHAPE, "part %u has another shape", i);
        if (__builtin_add_overflow(sum, x->shape[axis] + (i ? gap : 0), &sum))
            return call->host->fail(call, TN_ERROR_SHAPE, "the parts are too long together");
    }
    same_as(call, 0, first);
    call->outputs[0]->shape[axis] = sum;
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    const uint32_t axis = (uint32_t)axis_of(call);
    const int64_t gap = ((const weave *)call->params)->gap;
    const int64_t inner = extents_of(y, axis + 1, y->rank) * width_of(y->type);
    const int64_t outer = extents_of(y, 0, axis);
    char *to = y->data;
    for (int64_t o = 0; o < outer; o++)
        for (uint32_t i = 0; i < call->input_count; i++) {
            const int64_t bytes = call->inputs[i]->shape[axis] * inner;
            for (int64_t b = 0; i && b < gap * inner; b++)
                *to++ = 0;
            for (int64_t b = 0; b < bytes; b++)
                *to++ = ((const char *)call->inputs[i]->data)[o * bytes + b];
        }
    return TN_OK;
}

/* Where each part begins in a slice of the output, in bytes. */
typedef struct plan {
    int64_t *starts;
    uint32_t capacity;
} plan;
static tn_status make_plan(tn_call *call, void **out) {
    *out = call->host->allocate(call->host, sizeof(plan), 64);
    if (!*out) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a plan");
    *(plan *)*out = (plan){NULL, 0};
    return TN_OK;
}
static void free_plan(tn_call *call, plan *p) {
    call->host->deallocate(call->host, p->starts);
    call->host->deallocate(call->host, p);
}
#if MISTAKE == 2
/* In the state, which all contexts share: the last one to reshape decides for all. */
#define PLAN(call) ((plan *)(call)->state)
static tn_status prepare(tn_call *call) {
    return make_plan(call, &call->state);
}
static void release(tn_call *call) {
    free_plan(call, call->state);
}
#else
#define PLAN(call) ((plan *)(call)->context)
static tn_status open(tn_call *call) {
    return make_plan(call, &call->context);
}
static void close(tn_call *call) {
    free_plan(call, call->context);
}
#endif
static tn_status reshape(tn_call *call) {
    plan *p = PLAN(call);
    const tn_tensor *y = call->outputs[0];
    const uint32_t axis = (uint32_t)axis_of(call);
    const int64_t inner = extents_of(y, axis + 1, y->rank) * width_of(y->type);
    if (p->capacity < call->input_count) {
        call->host->deallocate(call->host, p->starts);
        p->capacity = 0;
        p->starts = call->host->allocate(call->host, call->input_count * sizeof(int64_t), 64);
        if (!p->starts) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for starts");
        p->capacity = call->input_count;
    }
    int64_t at = 0;
    for (uint32_t i = 0; i < call->input_count; i++) {
        p->starts[i] = at;
        at += (call->inputs[i]->shape[axis] + ((const weave *)call->params)->gap) * inner;
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const plan *p = PLAN(call);
    const tn_tensor *y = call->outputs[0];
    const uint32_t axis = (uint32_t)axis_of(call);
    const int64_t inner = extents_of(y, axis + 1, y->rank) * width_of(y->type);
    const int64_t outer = extents_of(y, 0, axis), slice = y->shape[axis] * inner;
    const int64_t gap = ((const weave *)call->params)->gap * inner;
    uint32_t count = call->input_count;
#if MISTAKE == 1
    if (count > 8) count = 8; /* the ninth part and all behind it are forgotten */
#endif
    for (int64_t o = 0; o < outer; o++)
        for (uint32_t i = 0; i < count; i++) {
            const int64_t bytes = call->inputs[i]->shape[axis] * inner;
            char *to = (char *)y->data + o * slice + p->starts[i];
            if (i) memset(to - gap, 0, (size_t)gap);
            memcpy(to, (const char *)call->inputs[i]->data + o * bytes, (size_t)bytes);
        }
    return TN_OK;
}

static const char *const cases[] = {
    "| parts=f32[2,3] parts=f32[4,3]", "axis=-1 | parts=i8[2,3] parts=i8[2,1] parts=i8[2,5]",
    "axis=1 gap=2 | parts=f64[3,2,2] parts=f64[3,1,2]", "| parts=bool[4]",
    "axis=-2 | parts=u16[2,0,3] parts=u16[2,2,3]"};
static const tn_operator op = {
    THIRD_OPERATOR("Weave"), .state_version = 1,
#if MISTAKE == 4
    .traits = TN_OPERATOR_SELECTS, /* the zeros of a gap are none of the inputs' */
#endif
    TN_FIELDS(weave, fields), .doc = "Tensors one behind the other."};
static const tn_kernel kernel = {THIRD_KERNEL("Weave", "slices"),
                                 .traits = TN_KERNEL_DETERMINISTIC,
#if MISTAKE == 2
                                 .prepare = prepare,
                                 .release = release,
#else
                                 .open = open,
                                 .close = close,
#endif
                                 .reshape = reshape,
                                 .run = run};
THIRD_LIBRARY("weave", op, &kernel)
