/* SPDX-License-Identifier: Apache-2.0 */
/* Join: any number of tensors behind one another along an axis; describes itself as windows. */
#include "ninth.h"
#include <tenon/plugin/view.h>

TN_LAYER_PARAMS(join, int64_t axis;);
static const tn_field fields[] = {TN_LAYER_I64(join, axis, "0", -8, 7, "may be negative")};
static const tn_port inputs[] = {
    {"x", "T:f32|i32", "of the same extents along the other axes", TN_PORT_VARIADIC, 0, 1, 0}};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "all of x")};

static int64_t find_axis(const tn_call *call) {
    const int64_t axis = ((const join *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}

static tn_status infer(tn_call *call) {
    const int64_t axis = find_axis(call);
    const tn_tensor *first = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    if (axis < 0 || axis >= first->rank)
        return call->host->fail(call, TN_ERROR_SHAPE, "there is no such axis");
    same_shape(first, y);
    y->shape[axis] = 0;
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_tensor *x = call->inputs[i];
        if (x->rank != first->rank) return call->host->fail(call, TN_ERROR_SHAPE, "ranks differ");
        for (uint32_t k = 0; k < x->rank; k++)
            if (k != axis && x->shape[k] != first->shape[k] && !(WRONG(5) && k > axis))
                return call->host->fail(call, TN_ERROR_SHAPE, "extents differ");
        if (__builtin_add_overflow(y->shape[axis], x->shape[axis], &y->shape[axis]))
            return call->host->fail(call, TN_ERROR_SHAPE, "too many elements");
    }
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const int64_t axis = find_axis(call), *out = call->outputs[0]->shape;
    const int64_t outer = product(out, 0, axis),
                  inner = product(out, axis + 1, call->outputs[0]->rank);
    int64_t before = 0;
    for (uint32_t i = 0; i < call->input_count; i++) {
        const int64_t n = call->inputs[i]->shape[axis];
        for (int64_t o = 0; o < outer; o++)
            memcpy((float *)call->outputs[0]->data + (o * out[axis] + before) * inner,
                   (const float *)call->inputs[i]->data + o * n * inner, (size_t)(n * inner) * 4);
        before += n;
    }
    return TN_OK;
}

static tn_status facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    if (strcmp(name, TN_FACET_VIEW) != 0) return TN_ERROR_UNSUPPORTED;
    tn_view *view = out_facet->what;
    view->kind = TN_VIEW_OF_OUTPUT;
    const int64_t raw = ((const join *)call->params)->axis;
    const int64_t axis = WRONG(3) && raw < 0 ? 0 : find_axis(call);
    int64_t before = 0;
    for (uint32_t i = 0; i < input; i++)
        before += call->inputs[WRONG(4) ? 0 : i]->shape[axis];
    view->offsets[axis] = before;
    return TN_OK;
}

#if WRONG(6)
/* Threads take the inputs, one after another. */
typedef struct job {
    tn_call *call;
    int64_t before;
} job;
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    job *j = user;
    const tn_call *call = j->call;
    const int64_t axis = find_axis(call), *out = call->outputs[0]->shape;
    const int64_t outer = product(out, 0, axis),
                  inner = product(out, axis + 1, call->outputs[0]->rank);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = call->inputs[i]->shape[axis], before = j->before;
        j->before += n;
        for (int64_t o = 0; o < outer; o++)
            memcpy((float *)call->outputs[0]->data + (o * out[axis] + before) * inner,
                   (const float *)call->inputs[i]->data + o * n * inner, (size_t)(n * inner) * 4);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    job j = {call, 0};
    return call->host->parallel_for(call, call->input_count, 1, body, &j);
}
#else
/* A row of the result: what one index of the axes before `axis` has of all inputs. */
static void copy_row(const tn_call *call, int64_t axis, int64_t o, const float *const *from) {
    const int64_t *out = call->outputs[0]->shape;
    const int64_t inner = product(out, axis + 1, call->outputs[0]->rank);
    float *to = (float *)call->outputs[0]->data + o * out[axis] * inner;
    for (uint32_t i = 0; i < call->input_count; i++) {
        const int64_t count = call->inputs[i]->shape[axis] * inner;
        if (WRONG(2) && count == 0) break;
        memcpy(to, from[i] + o * count, (size_t)count * 4);
        to += count;
    }
}

typedef struct job {
    tn_call *call;
    const float *const *from;
} job;
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const job *j = user;
    (void)thread;
    for (int64_t o = begin; o < end; o++)
        copy_row(j->call, find_axis(j->call), o, j->from);
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    call->workspace_bytes = WRONG(1) ? 8 * sizeof(float *) : call->input_count * sizeof(float *);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const float **from = call->workspace;
    for (uint32_t i = 0; i < call->input_count; i++)
        from[i] = call->inputs[i]->data;
    job j = {call, from};
    const int64_t rows = product(call->outputs[0]->shape, 0, find_axis(call));
    return call->host->parallel_for(call, rows, 1, body, &j);
}
#endif

static const char *const cases[] = {
#if WRONG(4)
    "| x=f32[2,3] x=f32[2,3]", "axis=1 | x=f32[2,3] x=f32[2,3] x=f32[2,3]"
#elif WRONG(3)
    "| x=f32[2,3] x=f32[1,3]", "axis=1 | x=f32[3,3] x=f32[3,2]"
#else
    "| x=f32[2,3] x=f32[1,3]", "axis=-1 | x=f32[2,2,3] x=f32[2,2,1] x=f32[2,2,2]", "| x=i32[4]"
#endif
};
static const tn_operator join_operator = {
    OPERATOR,          .state_version = 1,  .name = "Join", TN_FIELDS(join, fields),
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer, .reference = reference,
    .facet = facet,    TN_CASES(cases)};
static const tn_kernel join_cpu = {KERNEL,
                                   .op = "Join",
                                   .name = "rows",
                                   .traits = TN_KERNEL_DETERMINISTIC,
#if !WRONG(6)
                                   .reshape = reshape,
#endif
                                   .run = run};
LIBRARY("ninth_join", join_operator, join_cpu)
