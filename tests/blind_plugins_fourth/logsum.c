/* SPDX-License-Identifier: Apache-2.0 */
/* LogSum: log of the sum of exponentials along an axis. */
#include "fourth.h"

TN_LAYER_PARAMS(params, int64_t axis; bool keepdims;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, axis, "-1", -8, 7, "below 0: from the end"),
    TN_LAYER_BOOL(params, keepdims, "true", "whether the axis stays, of one element"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "of no elements: -infinity")};

static uint32_t axis_of(const tn_call *call) {
    const int64_t axis = ((const params *)call->params)->axis;
    return (uint32_t)(axis < 0 ? axis + call->inputs[0]->rank : axis);
}

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    const uint32_t axis = axis_of(call);
    if (p->axis < -(int64_t)x->rank || p->axis >= (int64_t)x->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "axis %lld of a tensor of rank %u",
                                (long long)p->axis, x->rank);
    y->rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i != axis) y->shape[y->rank++] = x->shape[i];
        if (i == axis && p->keepdims) y->shape[y->rank++] = 1;
    }
    return TN_OK;
}

static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0];
    const uint32_t axis = axis_of(call);
    const int64_t inner = fourth_extent(x, axis + 1, x->rank), extent = x->shape[axis];
    const int64_t at = i / inner * inner * extent + i % inner;
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < extent; k++) {
        const double value = tn_layer_load(x, at + k * inner);
        if (isnan(value)) return value;
        if (value > most) most = value;
    }
    if (isinf(most)) return most;
    for (int64_t k = 0; k < extent; k++)
        sum += exp(tn_layer_load(x, at + k * inner) - most);
    return most + log(sum);
}
TN_LAYER_REFERENCE(element)

static tn_status items(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0];
#if MISTAKE == 3
    const int64_t field = ((const params *)call->params)->axis;
    const uint32_t axis = field < 0 ? x->rank - 1 : (uint32_t)field; /* MISTAKE: any below 0 */
#else
    const uint32_t axis = axis_of(call);
#endif
    const int64_t inner = fourth_extent(x, axis + 1, x->rank), extent = x->shape[axis];
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const float *from = (const float *)x->data + i / inner * inner * extent + i % inner;
#if MISTAKE == 1
        const float most = 0; /* MISTAKE: overflows from 89 on */
#elif MISTAKE == 4
        float most = 0; /* MISTAKE: sums of very negative values are log(0) */
        for (int64_t k = 0; k < extent; k++)
            most = fmaxf(most, from[k * inner]);
#elif MISTAKE == 5
        float most = from[0]; /* MISTAKE: there may be none */
        for (int64_t k = 1; k < extent; k++)
            most = fmaxf(most, from[k * inner]);
#else
        float most = -INFINITY;
        for (int64_t k = 0; k < extent; k++)
            most = fmaxf(most, from[k * inner]);
#endif
#if MISTAKE == 2
        const bool is_done = most == INFINITY; /* MISTAKE: -infinity - -infinity */
#else
        const bool is_done = isinf(most);
#endif
        double sum = 0;
        bool is_nan = false;
        for (int64_t k = 0; k < extent; k++) {
            is_nan = is_nan || isnan(from[k * inner]);
            if (!is_done) sum += exp((double)from[k * inner] - (double)most);
        }
        y[i] = is_nan ? NAN : is_done ? most : (float)((double)most + log(sum));
#if MISTAKE == 5
        if (extent == 0) y[i] = -INFINITY;
#elif MISTAKE == 4
        if (!is_nan && !is_done) {
            float scaled = 0;
            for (int64_t k = 0; k < extent; k++)
                scaled += expf(from[k * inner] - most);
            y[i] = most + logf(scaled);
        }
        if (extent == 0) y[i] = -INFINITY;
#elif MISTAKE == 1
        y[i] = 0;
        for (int64_t k = 0; k < extent; k++)
            y[i] += expf(from[k * inner]);
        y[i] = logf(y[i]);
#endif
    }
    return TN_OK;
}
TN_LAYER_RUN(items, tn_layer_count(call->outputs[0]), 16)

static const char *const cases[] = {
    "| x=f32[4,7]",
    "axis=1 keepdims=false | x=f32[2,5,3] | y=f32[2,3]",
    "axis=-2 | x=f32[2,4,6] | y=f32[2,1,6]",
    "axis=0 | x=f64[3]{0,0,0} | y=f64[1]{1.0986122886681098}",
};
TN_LAYER_LIBRARY("logsum", "Fourth", "LogSum", "Log of the sum of exponentials.", params,
                 "f32 -> f32", .run = run)
