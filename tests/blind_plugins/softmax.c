/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Softly: exp(x - max) / sum along `axis`, which may count from the end. */
#include "blind.h"

TN_LAYER_PARAMS(softly, int64_t axis;);
static const tn_field fields[] = {TN_LAYER_I64(softly, axis, "-1", -8, 7, "sums to one")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const int64_t axis = ((const softly *)call->params)->axis, rank = call->inputs[0]->rank;
    if (axis < -rank || axis >= rank)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is %lld of a rank of %lld",
                                (long long)axis, (long long)rank);
    return same_shape(call, 0, 0);
}

typedef struct rows {
    int64_t outer, count, inner;
} rows;
static rows split(const tn_call *call, int64_t axis) {
    const tn_tensor *x = call->inputs[0];
    return (rows){product(x, 0, (uint32_t)axis), x->shape[axis],
                  product(x, (uint32_t)axis + 1, x->rank)};
}

static tn_status reference(tn_call *call) {
    const int64_t given = ((const softly *)call->params)->axis;
    const rows r = split(call, given < 0 ? given + call->inputs[0]->rank : given);
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    for (int64_t o = 0; o < r.outer * r.inner; o++) {
        const int64_t at = o / r.inner * r.count * r.inner + o % r.inner;
        double most = -INFINITY, sum = 0;
        for (int64_t i = 0; i < r.count; i++)
            most = fmax(most, get(x, at + i * r.inner));
        for (int64_t i = 0; i < r.count; i++)
            sum += exp(get(x, at + i * r.inner) - most);
        for (int64_t i = 0; i < r.count; i++)
            set(y, at + i * r.inner, exp(get(x, at + i * r.inner) - most) / sum);
    }
    return TN_OK;
}

static void one_row(tn_call *call, const float *x, float *y, const rows *r, float *scratch) {
    float most = -INFINITY, sum = 0;
    if (IS(1)) most = 0;         /* no maximum is taken off */
    if (IS(2)) most = 0x1p-126f; /* FLT_MIN is not the least float */
    for (int64_t i = 0; i < r->count && !IS(1); i++)
        most = fmaxf(most, x[i * r->inner]);
    if (IS(52)) { /* in one pass: the sum is scaled when the maximum grows */
        double running = 0;
        float top = -INFINITY;
        for (int64_t i = 0; i < r->count; i++) {
            const float v = x[i * r->inner], before = top;
            if (v == -INFINITY) continue;
            if (!(v <= top)) top = v;
            if (top == before)
                running += (double)expf(v - top);
            else
                running = running * (before == -INFINITY ? 0 : (double)expf(before - top)) +
                          (double)expf(v - top);
        }
        sum = (float)running;
    }
    for (int64_t i = 0; i < r->count; i++) {
        scratch[i] = expf(x[i * r->inner] - most);
        if (IS(4) && isnan(scratch[i])) scratch[i] = 0; /* "robust" */
        if (!IS(52)) sum += scratch[i];
    }
    for (int64_t i = 0; i < r->count; i++)
        y[i * r->inner] = scratch[i] / sum;
    (void)call;
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const uint32_t rank = call->inputs[0]->rank;
    int64_t axis = ((const softly *)call->params)->axis;
    axis = IS(3) && axis < 0 ? (int64_t)rank - 1 : axis < 0 ? axis + rank : axis;
    const rows r = split(call, axis);
    float fixed[600];
    /* mistake 5: one scratch row for all threads; 6: rows of at most 600 */
    float *scratch =
        IS(6) ? fixed : (float *)call->workspace + (IS(5) ? 0 : (int64_t)thread * r.count);
    for (int64_t o = begin; o < end; o++) {
        const int64_t at = o / r.inner * r.count * r.inner + o % r.inner;
        one_row(call, (const float *)call->inputs[0]->data + at,
                (float *)call->outputs[0]->data + at, &r, scratch);
    }
    return TN_OK;
}
static int64_t row_count(const tn_call *call) {
    const uint32_t rank = call->inputs[0]->rank;
    int64_t axis = ((const softly *)call->params)->axis;
    axis = IS(3) && axis < 0 ? (int64_t)rank - 1 : axis < 0 ? axis + rank : axis;
    const rows r = split(call, axis);
    return r.outer * r.inner;
}
static tn_status run(tn_call *call) {
    const int64_t all = count_of(call->inputs[0]);
    int64_t grain = 1;
    if (IS(7)) { /* about 4096 elements at once, unless the axis is empty */
        const int64_t given = ((const softly *)call->params)->axis;
        volatile int64_t extent =
            call->inputs[0]->shape[given < 0 ? given + call->inputs[0]->rank : given];
        grain = 4096 / extent + 1;
    } else if (all == 0) {
        return TN_OK;
    }
    return call->host->parallel_for(call, row_count(call), grain, body, call);
}
static tn_status reshape(tn_call *call) {
    const int64_t given = ((const softly *)call->params)->axis;
    const int64_t axis = given < 0 ? given + call->inputs[0]->rank : given;
    const uint64_t bytes = (uint64_t)call->inputs[0]->shape[axis] * sizeof(float);
    call->workspace_bytes = bytes * call->threads;
    if (IS(3)) call->workspace_bytes = (uint64_t)count_of(call->inputs[0]) * 4 * call->threads;
    if (IS(51)) call->workspace_bytes += (uint64_t)48 << 20; /* much, and unused */
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,17]", "axis=1 | x=f32[2,5,3]", "axis=0 | x=f32[9]",
                                    "| x=f64[2,2,4]", "axis=0 | x=f32[6,4]"};
static const char *const combinations[] = {"f32 -> f32"};
BLIND_OPERATOR("Softly", "Softmax.", softly, )
BLIND_KERNEL("Softly", .traits = TN_KERNEL_DETERMINISTIC, .reshape = reshape)
BLIND_LIBRARY("blind_softmax")
