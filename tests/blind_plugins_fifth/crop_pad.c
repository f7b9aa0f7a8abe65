/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::CropPad: puts elements before and after each axis, or takes them away where the number is
 * negative. What is put there is a constant, the nearest element (edge), or the image again and
 * again, mirrored at its outer elements, which are not repeated (reflect).
 */
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

enum { CONSTANT, EDGE, REFLECT }; /* of mode */
typedef struct crop_pad {
    uint64_t present;
    tn_i64s before, after;
    uint32_t mode;
    float value;
} crop_pad;

static const tn_field fields[] = {
    TN_FIELD_LIST(crop_pad, before, TN_FIELD_I64S, TN_REQUIRED, NULL, 1, TN_MAX_RANK, -1e12, 1e12,
                  "elements before each axis"),
    TN_FIELD_LIST(crop_pad, after, TN_FIELD_I64S, TN_REQUIRED, NULL, 1, TN_MAX_RANK, -1e12, 1e12,
                  "elements after each axis"),
    TN_FIELD_CHOICE(crop_pad, mode, TN_FIELD_ENUM, TN_OPTIONAL, "constant",
#if MISTAKE == 1
                    "constant|reflect|edge",
#else
                    "constant|edge|reflect",
#endif
                    "what they are"),
    TN_FIELD(crop_pad, value, TN_FIELD_F32, TN_OPTIONAL, "0", "the constant")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "before + x + after on each axis")};

static tn_status infer(tn_call *call) {
    const crop_pad *p = call->params;
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK];
    bool is_empty = false;
#if MISTAKE != 5
    if (p->before.count != x->rank || p->after.count != x->rank)
        return call->host->fail(call, TN_ERROR_SHAPE, "%llu and %llu numbers for %u axes",
                                (unsigned long long)p->before.count,
                                (unsigned long long)p->after.count, x->rank);
#endif
    for (uint32_t i = 0; i < x->rank; i++) {
        const int64_t more = p->before.items[i] + p->after.items[i];
        if (__builtin_add_overflow(x->shape[i], more, &shape[i]) || shape[i] < 0)
            return call->host->fail(call, TN_ERROR_SHAPE, "axis %u of %lld elements gets %lld", i,
                                    (long long)x->shape[i], (long long)more);
        is_empty |= x->shape[i] == 0 && shape[i] > 0;
    }
    if (is_empty && p->mode != CONSTANT)
        return call->host->fail(call, TN_ERROR_SHAPE, "there is no element to repeat");
    return tn_layer_set_shape(call, 0, x->rank, shape);
}

/* Which element of an axis of n stands at position `at`, counted from the first; -1: the constant.
 */
static int64_t position(uint32_t mode, int64_t at, int64_t n) {
    if (at >= 0 && at < n) return at;
    if (mode == CONSTANT) return -1;
    if (mode == EDGE || n == 1) return at < 0 ? 0 : n - 1;
    const int64_t period = 2 * (n - 1), phase = (at % period + period) % period;
    return phase < n ? phase : period - phase;
}

static double element(const tn_call *call, int64_t i) {
    const crop_pad *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    int64_t step = 1, at = 0;
    for (uint32_t axis = x->rank; axis-- > 0;) {
        const int64_t n = x->shape[axis];
        const int64_t found = position(p->mode, i % y->shape[axis] - p->before.items[axis], n);
        if (found < 0) return (double)p->value;
        at += found * step;
        step *= n;
        i /= y->shape[axis];
    }
    return tn_layer_load(x, at);
}
TN_LAYER_REFERENCE(element)

static int64_t position_here(uint32_t mode, int64_t at, int64_t n) {
#if MISTAKE == 2
    if (mode == REFLECT && (at < 0 || at >= n)) {
        const int64_t period = 2 * (n - 1), phase = (at % period + period) % period;
        return phase < n ? phase : period - phase;
    }
#elif MISTAKE == 3
    if (mode == REFLECT) return at < 0 ? -at : at < n ? at : 2 * (n - 1) - at;
#endif
    return position(mode, at, n);
}

/* Items are rows of y. */
static tn_status fill_rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const crop_pad *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint32_t last = x->rank - 1;
    const int64_t width = y->shape[last], n = x->shape[last], before = p->before.items[last];
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        float *to = (float *)y->data + item * width;
        int64_t row = item, step = n, at = 0;
        for (uint32_t axis = last; at >= 0 && axis-- > 0;) {
            const int64_t found = position_here(
                p->mode, row % y->shape[axis] - p->before.items[axis], x->shape[axis]);
            at = found < 0 ? -1 : at + found * step;
            step *= x->shape[axis];
            row /= y->shape[axis];
        }
        for (int64_t i = 0; i < width; i++) {
            const int64_t found = at < 0 ? -1 : position_here(p->mode, i - before, n);
            to[i] = found < 0 ? p->value : ((const float *)x->data)[at + found];
        }
    }
    return TN_OK;
}
static int64_t rows_of(const tn_call *call) {
    return call->outputs[0]->bytes ? tn_layer_rows(call->outputs[0]) : 0;
}
static tn_status fill_rows_body(void *call, int64_t begin, int64_t end, uint32_t thread) {
    return fill_rows(call, begin, end, thread);
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, rows_of(call), 16, fill_rows_body, call);
}

static const char *const cases[] = {
    "before=[1,0,2] after=[0,1,-1] value=0.5 | x=f32[2,3,4] | y=f32[3,4,5]",
    "before=[2] after=[1] mode=edge | x=f32[3]{1,2,3} | y=f32[6]{1,1,1,2,3,3}",
    "before=[0,2] after=[1,1] mode=reflect | x=f32[3,4]",
    "before=[-1,1] after=[0,-2] | x=f64[4,5]"};
static const tn_operator crop_pad_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
#if MISTAKE == 4
    .traits = TN_OPERATOR_SELECTS,
#endif
    .domain = "Fifth",
    .name = "CropPad",
    .doc = "Elements put around a tensor, or taken away.",
    TN_FIELDS(crop_pad, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(cases),
};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel crop_pad_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "CropPad",
    .device = "cpu",
    .name = "rows",
    .traits = TN_KERNEL_DETERMINISTIC,
    TN_COMBINATIONS(combinations),
    .run = run,
};
static const tn_operator *const operators[] = {&crop_pad_operator};
static const tn_kernel *const kernels[] = {&crop_pad_cpu};
TN_LIBRARY("crop_pad", "1.0", operators, kernels)
