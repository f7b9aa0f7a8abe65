/* SPDX-License-Identifier: Apache-2.0 */
/* Best: where the greatest element of each row is. */
#include "fourth.h"

TN_LAYER_PARAMS(params, bool last;);
static const tn_field fields[] = {
    TN_LAYER_BOOL(params, last, "false", "of equals the last one, not the first")};
static const tn_port inputs[] = {TN_PORT("x", "f32|f64|i64|u8", 0, "..., n: at least one")};
static const tn_port outputs[] = {
    TN_PORT("position", "i64", 0, "...; what is not a number counts for nothing; none: 0")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar");
    if (x->shape[x->rank - 1] < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' has rows of no elements");
    return tn_layer_set_shape(call, 0, x->rank - 1, x->shape);
}

/* Whether element `a` is above `b`. */
static bool is_above(const tn_tensor *x, int64_t a, int64_t b) {
    if (x->type == TN_I64) return ((const int64_t *)x->data)[a] > ((const int64_t *)x->data)[b];
    return tn_layer_load(x, a) > tn_layer_load(x, b);
}
static tn_status reference(tn_call *call) {
    const bool last = ((const params *)call->params)->last;
    const tn_tensor *x = call->inputs[0];
    const int64_t extent = x->shape[x->rank - 1];
    for (int64_t row = 0; row < tn_layer_count(call->outputs[0]); row++) {
        int64_t best = -1;
        for (int64_t i = row * extent; i < (row + 1) * extent; i++) {
            if (x->type != TN_I64 && isnan(tn_layer_load(x, i))) continue;
            if (best < 0 || is_above(x, i, best) || (last && !is_above(x, best, i))) best = i;
        }
        ((int64_t *)call->outputs[0]->data)[row] = best < 0 ? 0 : best - row * extent;
    }
    return TN_OK;
}

#define SEARCH(type)                                                                               \
    do {                                                                                           \
        const type *from = (const type *)x->data + row * extent;                                   \
        for (int64_t i = 0; i < extent; i++) {                                                     \
            if (from[i] != from[i]) continue;                                                      \
            if (best < 0 || from[i] > from[best] || (last && from[i] == from[best])) best = i;     \
        }                                                                                          \
    } while (0)

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
#if MISTAKE == 1
    const bool last = true; /* MISTAKE: of equals always the last one */
#else
    const bool last = ((const params *)call->params)->last;
#endif
    const tn_tensor *x = call->inputs[0];
    const int64_t extent = x->shape[x->rank - 1];
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        int64_t best = -1;
        if (x->type == TN_F32) {
#if MISTAKE == 2
            /* MISTAKE: nothing is above a first element that is not a number */
            const float *from = (const float *)x->data + row * extent;
            best = 0;
            for (int64_t i = 1; i < extent; i++)
                if (from[i] > from[best] || (last && from[i] == from[best])) best = i;
#elif MISTAKE == 3
            /* MISTAKE: rows of numbers below 0 have a best one, too */
            const float *from = (const float *)x->data + row * extent;
            float most = 0;
            for (int64_t i = 0; i < extent; i++)
                if (from[i] > most || (last && from[i] == most)) most = from[i], best = i;
#else
            SEARCH(float);
#endif
        } else if (x->type == TN_F64) {
            SEARCH(double);
        } else if (x->type == TN_I64) {
#if MISTAKE == 4
            /* MISTAKE: numbers that differ in their low bits are equal as doubles */
            const int64_t *from = (const int64_t *)x->data + row * extent;
            for (int64_t i = 0; i < extent; i++)
                if (best < 0 || (double)from[i] > (double)from[best] ||
                    (last && (double)from[i] == (double)from[best]))
                    best = i;
#else
            SEARCH(int64_t);
#endif
        } else {
#if MISTAKE == 5
            SEARCH(int8_t); /* MISTAKE: u8 has no sign */
#else
            SEARCH(uint8_t);
#endif
        }
        ((int64_t *)call->outputs[0]->data)[row] = best < 0 ? 0 : best;
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, tn_layer_count(call->outputs[0]), 8)

static const char *const cases[] = {
    "| x=f32[6,3] | position=i64[6]",
    "last=true | x=u8[3,40]",
    "| x=i64[2,3,4]",
    "last=true | x=f64[4]{1,3,3,2} | position=i64[]{2}",
};
FOURTH_OPERATOR("Best", "Where the greatest element of each row is.", .state_version = 1,
                TN_FIELDS(params, fields))
FOURTH_KERNEL(the_kernel, "Best", "rows", .traits = TN_KERNEL_DETERMINISTIC, .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("best", "1.0", operators, kernels)
