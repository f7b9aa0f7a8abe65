/* SPDX-License-Identifier: Apache-2.0 */
/* Bent: a line through given points, and beyond them; its fields are in their second version. */
#include "fourth.h"

TN_LAYER_PARAMS(params, tn_f32s positions, heights; uint32_t outside; float at, to;);
enum { HOLD = 0, ZERO = 1 };
static const tn_field fields[] = {
    TN_FIELD_LIST(params, positions, TN_FIELD_F32S, TN_OPTIONAL, "[0,1]", 1, 64, -1e6, 1e6,
                  "ascending"),
    TN_FIELD_LIST(params, heights, TN_FIELD_F32S, TN_OPTIONAL, "[0,1]", 1, 64, -1e6, 1e6,
                  "of the positions"),
    TN_FIELD_CHOICE(params, outside, TN_FIELD_ENUM, TN_OPTIONAL, "hold", "hold|zero",
                    "beyond the positions"),
    TN_LAYER_F32(params, at, "0", -1e6, 1e6, "added to x"),
    TN_LAYER_F32(params, to, "1", -1e6, 1e6, "factor of y"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
#if MISTAKE != 1 /* MISTAKE: two lists are taken to be of one length */
    if (p->positions.count != p->heights.count)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "%llu positions but %llu heights",
                                (unsigned long long)p->positions.count,
                                (unsigned long long)p->heights.count);
#endif
    for (uint64_t i = 1; i < p->positions.count; i++)
        if (!(p->positions.items[i - 1] < p->positions.items[i]))
#if MISTAKE == 2
            return TN_ERROR_RANGE; /* MISTAKE: no reason */
#else
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "field 'positions' does not ascend at %llu",
                                    (unsigned long long)i);
#endif
    return fourth_same(call, 0, 0);
}

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const float *positions = p->positions.items, *heights = p->heights.items;
    const double x = tn_layer_load(call->inputs[0], i) + (double)p->at;
    const uint64_t last = p->positions.count - 1;
    if (isnan(x)) return x;
    if (x < (double)positions[0])
        return p->outside == ZERO ? 0 : (double)heights[0] * (double)p->to;
    if (x >= (double)positions[last])
        return p->outside == ZERO && x > (double)positions[last]
                   ? 0
                   : (double)heights[last] * (double)p->to;
    uint64_t k = 0;
    while (x >= (double)positions[k + 1])
        k++;
    const double part =
        (x - (double)positions[k]) / ((double)positions[k + 1] - (double)positions[k]);
    return ((double)heights[k] + part * ((double)heights[k + 1] - (double)heights[k])) *
           (double)p->to;
}
TN_LAYER_REFERENCE(element)

/* The number of positions not above x. */
static int64_t find(const float *positions, int64_t count, double x) {
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if ((double)positions[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
static tn_status items(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const float *heights = p->heights.items, *positions = p->positions.items;
    const int64_t count = (int64_t)p->positions.count;
    const double to = (double)p->to;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const double x = (double)((const float *)call->inputs[0]->data)[i] + (double)p->at;
        const int64_t k = find(positions, count, x);
        double y;
        if (k == 0 && !isnan(x))
            y = p->outside == ZERO ? 0 : (double)heights[0] * to;
        else if (isnan(x))
#if MISTAKE == 3
            y = (double)heights[0] * to; /* MISTAKE: NaN is swallowed */
#else
            y = x;
#endif
#if MISTAKE == 4
        else if (k == count) /* MISTAKE: beyond the last place, too, the field decides */
            y = (double)heights[count - 1] * to;
#else
        else if (k == count)
            y = p->outside == ZERO && x > (double)positions[count - 1]
                    ? 0
                    : (double)heights[count - 1] * to;
#endif
        else
            y = ((double)heights[k - 1] + (x - (double)positions[k - 1]) /
                                              ((double)positions[k] - (double)positions[k - 1]) *
                                              ((double)heights[k] - (double)heights[k - 1])) *
                to;
        ((float *)call->outputs[0]->data)[i] = (float)y;
    }
    return TN_OK;
}
TN_LAYER_RUN(items, tn_layer_count(call->outputs[0]), 256)

/* Version 1 had a line from 0, 0 to 1, 1, and its `gain` is called `to` now. */
static tn_status upgrade(tn_call *call, uint32_t from) {
    params *made = call->new_params;
#if MISTAKE == 5
    if (from != 1) return TN_ERROR_UNSUPPORTED; /* MISTAKE: no reason */
#else
    if (from != 1)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "fields of version %u", from);
#endif
    for (uint64_t i = 0; i < call->saved_count; i++) {
#if MISTAKE == 6
        /* MISTAKE: a field may be of another type, or not the one that is looked for */
        made->to *= (float)strtod(call->saved[i]->s, NULL);
#else
        const tn_attribute *saved = call->saved[i];
        if (saved->name && strcmp(saved->name, "gain") == 0 && saved->type == TN_FIELD_F64)
            made->to = (float)saved->f;
        if (saved->name && strcmp(saved->name, "gain") == 0 && saved->type == TN_FIELD_F32)
            made->to = (float)saved->f;
#endif
    }
#if MISTAKE == 7
    /* MISTAKE: gone when this returns */
    const float line[] = {0, 1};
    made->positions = made->heights = (tn_f32s){2, line};
#endif
    return TN_OK;
}

static const char *const cases[] = {
    "| x=f32[3,5]",
    "positions=[-1,0,2] heights=[1,0,4] outside=zero | x=f32[60]",
    "positions=[0] heights=[3] at=0.5 to=2 | x=f64[4]",
    "positions=[0,1] heights=[0,10] | x=f32[4]{-1,0.5,0.25,7} | y=f32[4]{0,5,2.5,10}",
};
static const char *const combinations[] = {"f32 -> f32"};
FOURTH_OPERATOR("Bent", "A line through given points.", .state_version = 2, .upgrade = upgrade,
                TN_FIELDS(params, fields))
FOURTH_KERNEL(the_kernel, "Bent", "search", .traits = TN_KERNEL_DETERMINISTIC,
              TN_COMBINATIONS(combinations), .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("bent", "1.0", operators, kernels)
