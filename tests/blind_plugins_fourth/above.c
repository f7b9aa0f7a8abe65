/* SPDX-License-Identifier: Apache-2.0 */
/* Above: the elements above a threshold, and where they are. */
#include "fourth.h"

TN_LAYER_PARAMS(params, float threshold;);
static const tn_field fields[] = {
    TN_FIELD(params, threshold, TN_FIELD_F32, TN_OPTIONAL, "0", "what is not above it goes")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "n; not a number is above nothing")};
static const tn_port outputs[] = {
    TN_PORT("values", "f32", TN_PORT_SIZED_BY_RUN, "in the order of x"),
    TN_PORT("positions", "i64", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "of values in x")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1)) return TN_ERROR_SHAPE;
    for (uint32_t i = 0; i < 2; i++)
        if (fourth_output(call, i)) fourth_same(call, 0, i);
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const float threshold = ((const params *)call->params)->threshold;
    const float *x = call->inputs[0]->data;
    const tn_tensor *values = fourth_output(call, 0), *positions = fourth_output(call, 1);
    int64_t count = 0;
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++) {
        if (!(x[i] > threshold)) continue;
        if (values) ((float *)values->data)[count] = x[i];
        if (positions) ((int64_t *)positions->data)[count] = i;
        count++;
    }
    if (values) values->shape[0] = count;
    if (positions) positions->shape[0] = count;
    return TN_OK;
}

#if MISTAKE == 5
typedef struct job {
    tn_call *call;
    _Atomic int64_t count;
} job;
/* MISTAKE: in the order in which threads come by */
static tn_status append(void *user, int64_t begin, int64_t end, uint32_t thread) {
    job *j = user;
    const tn_call *call = j->call;
    const float threshold = ((const params *)call->params)->threshold;
    const float *x = call->inputs[0]->data;
    const tn_tensor *values = fourth_output(call, 0), *positions = fourth_output(call, 1);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        if (!(x[i] > threshold)) continue;
        const int64_t at = atomic_fetch_add(&j->count, 1);
        if (values) ((float *)values->data)[at] = x[i];
        if (positions) ((int64_t *)positions->data)[at] = i;
    }
    return TN_OK;
}
#endif

static tn_status run(tn_call *call) {
    const float threshold = ((const params *)call->params)->threshold;
    const float *x = call->inputs[0]->data;
    const int64_t extent = call->inputs[0]->shape[0];
    const tn_tensor *values = fourth_output(call, 0), *positions = fourth_output(call, 1);
    int64_t count = 0;
#if MISTAKE == 50
    /* Right: counts first, then writes from the end. */
    for (int64_t i = 0; i < extent; i++)
        count += x[i] > threshold;
    for (int64_t i = extent, at = count; i-- > 0;) {
        if (!(x[i] > threshold)) continue;
        at--;
        if (values) ((float *)values->data)[at] = x[i];
        if (positions) ((int64_t *)positions->data)[at] = i;
    }
#elif MISTAKE == 5
    job j = {.call = call};
    const tn_status status = call->host->parallel_for(call, extent, 4, append, &j);
    if (status != TN_OK) return status;
    count = j.count;
#else
    for (int64_t i = 0; i < extent; i++) {
#if MISTAKE == 3
        if (x[i] <= threshold) continue; /* MISTAKE: not a number is kept */
#elif MISTAKE == 6
        if (!(x[i] >= threshold)) continue; /* MISTAKE: the threshold is not above itself */
#else
        if (!(x[i] > threshold)) continue;
#endif
        if (values) ((float *)values->data)[count] = x[i];
#if MISTAKE == 2
        ((int64_t *)positions->data)[count] = i; /* MISTAKE: positions may not be wanted */
#elif MISTAKE == 4
        if (positions)
            ((int32_t *)positions->data)[count] = (int32_t)i; /* MISTAKE: positions are i64 */
#else
        if (positions) ((int64_t *)positions->data)[count] = i;
#endif
        count++;
    }
#endif
    if (values) values->shape[0] = count;
#if MISTAKE != 1 /* MISTAKE: the second output keeps the upper bound */
    if (positions) positions->shape[0] = count;
#endif
    return TN_OK;
}

static const char *const cases[] = {
    "| x=f32[20]",
    "threshold=0.5 | x=f32[5]{0.25,0.75,-1,3,0.5} | values=f32[2]{0.75,3} positions=i64[2]{1,3}",
    "threshold=-1e30 | x=f32[300]",
    "| x=f32[0]",
};
TN_LAYER_LIBRARY("above", "Fourth", "Above", "The elements above a threshold.", params,
                 "f32 -> f32, i64?", .run = run)
