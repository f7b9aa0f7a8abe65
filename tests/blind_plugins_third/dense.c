/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Dense: the matrix product of x (..., K) and w (K, N), or (N, K) with `transposed`. The
 * kernel packs w in panels of 4 columns: once, where it is constant, else at each run into its
 * workspace; and it absorbs biases, scales, sums and three activations.
 */
#include "third.h"
#include "../support/steps.h"

TN_LAYER_PARAMS(dense, bool transposed;);
static const tn_field fields[] = {TN_LAYER_BOOL(dense, transposed, "false", "w is (N, K)")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "..., K"),
                                 TN_PORT("w", "T", 0, "K, N or N, K")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "..., N")};

typedef struct extents {
    int64_t rows, inner, columns;
} extents;
static extents extents_from(const tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    const bool transposed = ((const dense *)call->params)->transposed;
    return (extents){tn_layer_rows(x), w->shape[transposed ? 1 : 0], w->shape[transposed ? 0 : 1]};
}
static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    if (x->rank < 1 || w->rank != 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u, w %u; expected 1 or more, 2",
                                x->rank, w->rank);
    const bool transposed = ((const dense *)call->params)->transposed;
    if (x->shape[x->rank - 1] != w->shape[transposed ? 1 : 0])
        return call->host->fail(call, TN_ERROR_SHAPE, "x has %lld columns, w wants %lld",
                                (long long)x->shape[x->rank - 1],
                                (long long)w->shape[transposed ? 1 : 0]);
    same_as(call, 0, x);
    call->outputs[0]->shape[x->rank - 1] = w->shape[transposed ? 0 : 1];
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1], *y = call->outputs[0];
    const extents e = extents_from(call);
    const bool transposed = ((const dense *)call->params)->transposed;
    for (int64_t r = 0; r < e.rows; r++)
        for (int64_t n = 0; n < e.columns; n++) {
            double sum = 0;
            for (int64_t k = 0; k < e.inner; k++)
                sum += tn_layer_load(x, r * e.inner + k) *
                       tn_layer_load(w, transposed ? n * e.inner + k : k * e.columns + n);
            tn_layer_store(y, r * e.columns + n, sum);
        }
    return TN_OK;
}

/* Panels: K rows of 4 columns each, those past the end zero. */
static uint64_t packed_bytes(extents e) {
    return (uint64_t)((e.columns + 3) / 4 * 4 * e.inner) * sizeof(float);
}
static void pack(const float *w, extents e, bool transposed, float *to) {
    for (int64_t n = 0; n < (e.columns + 3) / 4 * 4; n++)
        for (int64_t k = 0; k < e.inner; k++)
            to[(n / 4 * e.inner + k) * 4 + n % 4] = n >= e.columns ? 0
                                                    : transposed   ? w[n * e.inner + k]
                                                                   : w[k * e.columns + n];
}
static tn_status fill(void *user, void *data, uint64_t bytes) {
    const tn_call *call = user;
    pack(call->inputs[1]->data, extents_from(call), ((const dense *)call->params)->transposed,
         data);
    return TN_OK;
}
typedef struct state {
    const float *panels; /* null: w is no constant */
    float *own;
} state;
static tn_status prepare(tn_call *call) {
    const extents e = extents_from(call);
    const bool transposed = ((const dense *)call->params)->transposed;
    state *s = call->host->allocate(call->host, sizeof(state), 64);
    if (!s) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a state");
    *s = (state){NULL, NULL};
#if MISTAKE == 4
    const char *key = "panels4"; /* the same for w and for w transposed */
#else
    const char *key = transposed ? "panels4 of N, K" : "panels4 of K, N";
#endif
    if (call->inputs[1]->data && packed_bytes(e) > 0) {
        const void *panels = NULL;
        const tn_status status =
            call->host->packed(call, 1, key, packed_bytes(e), fill, call, &panels);
        if (status != TN_OK) {
            call->host->deallocate(call->host, s);
            return status;
        }
        s->panels = panels;
    }
#if MISTAKE == 6
    if (!s->panels) s->own = call->host->allocate(call->host, packed_bytes(e) + 64, 64);
    if (!s->panels && !s->own) {
        call->host->deallocate(call->host, s);
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for panels");
    }
#endif
    call->state = s;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, ((state *)call->state)->own);
    call->host->deallocate(call->host, call->state);
}

static double activate(const seen_step *e, double x) {
    switch (e->activation) {
    case TN_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case TN_ACTIVATION_LEAKY_RELU:
#if MISTAKE == 2
        return x < 0 ? 0.01 * x : x; /* whatever alpha is */
#else
        return x < 0 ? (double)e->alpha * x : x;
#endif
    default: /* TN_ACTIVATION_CLIP */
        x = x < (double)e->alpha ? (double)e->alpha : x;
        return x > (double)e->beta ? (double)e->beta : x;
    }
}
static int64_t position_along(const tn_tensor *y, int64_t index, int32_t axis) {
    const uint32_t along = (uint32_t)(axis < 0 ? axis + (int32_t)y->rank : axis);
    return index / extents_of(y, along + 1, y->rank) % y->shape[along];
}
static double step(const tn_call *call, const seen_step *e, int64_t index, double x) {
    const tn_tensor *y = call->outputs[0];
    switch (e->kind) {
    case SEEN_BIAS:
        return x + tn_layer_load(call->operands[e->operand], position_along(y, index, e->axis));
    case SEEN_SCALE:
#if MISTAKE == 3
        /* Along the last axis, whichever is meant. */
        return x * tn_layer_load(call->operands[e->operand], index % y->shape[y->rank - 1]);
#else
        return x * tn_layer_load(call->operands[e->operand], position_along(y, index, e->axis));
#endif
    case SEEN_RESIDUAL:
        return x + tn_layer_load(call->operands[e->operand], index);
    default:
        return activate(e, x);
    }
}
static double finish(const tn_call *call, int64_t index, double x) {
#if MISTAKE == 1
    /* First all sums and factors, then all activations, in whatever order they stand. */
    for (uint32_t i = 0; i < call->step_count; i++)
        if (SEE_STEP(call, i)->kind != SEEN_ACTIVATION) x = step(call, SEE_STEP(call, i), index, x);
    for (uint32_t i = 0; i < call->step_count; i++)
        if (SEE_STEP(call, i)->kind == SEEN_ACTIVATION) x = step(call, SEE_STEP(call, i), index, x);
#else
    for (uint32_t i = 0; i < call->step_count; i++)
        x = step(call, SEE_STEP(call, i), index, x);
#endif
    return x;
}
static const float *panels_of(const tn_call *call) {
    const state *s = call->state;
    return s->panels ? s->panels : s->own ? s->own : call->workspace;
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const extents e = extents_from(call);
    const float *panels = panels_of(call);
    for (int64_t r = begin; r < end; r++) {
        const float *x = (const float *)call->inputs[0]->data + r * e.inner;
        for (int64_t n = 0; n < e.columns; n += 4) {
            const float *panel = panels + n * e.inner;
            double sums[4] = {0, 0, 0, 0};
            for (int64_t k = 0; k < e.inner; k++)
                for (int lane = 0; lane < 4; lane++)
                    sums[lane] += (double)x[k] * (double)panel[k * 4 + lane];
            for (int64_t lane = 0; lane < 4 && n + lane < e.columns; lane++) {
                const int64_t at = r * e.columns + n + lane;
                ((float *)call->outputs[0]->data)[at] = (float)finish(call, at, sums[lane]);
            }
        }
    }
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    const state *s = call->state;
    call->workspace_bytes = s->panels || s->own ? 0 : packed_bytes(extents_from(call));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const extents e = extents_from(call);
    const state *s = call->state;
#if MISTAKE == 5
    if (e.inner == 0 || e.rows == 0) return TN_OK; /* a sum of nothing is left as it was */
#endif
    if (!s->panels) /* MISTAKE 6: into the state, which all contexts share */
        pack(call->inputs[1]->data, e, ((const dense *)call->params)->transposed,
             s->own ? s->own : call->workspace);
    return call->host->parallel_for(call, e.rows, 4, body, call);
}

static const char *const cases[] = {
    "| x=f32[5,7] w=f32[7,6]", "transposed=true | x=f32[2,3,4] w=f32[5,4]",
    "| x=f32[8] w=f32[8,8]",   "transposed=true | x=f32[3,6] w=f32[6,6]",
    "| x=f64[2,3] w=f64[3,1]", "| x=f32[0,3] w=f32[3,2]",
    "| x=f32[4,1] w=f32[1,3]"};
static const tn_operator op = {THIRD_OPERATOR("Dense"), .state_version = 1,
                               TN_FIELDS(dense, fields), .doc = "A matrix product."};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel kernel = {
    THIRD_KERNEL("Dense", "panels"),
    .traits = TN_KERNEL_DETERMINISTIC,
    .absorbs = "tn.bias/1, tn.scale/1, tn.residual/1, tn.activation/1(relu|leaky_relu|clip)",
    TN_COMBINATIONS(combinations),
    .prepare = prepare,
    .release = release,
    .reshape = reshape,
    .run = run};
THIRD_LIBRARY("dense", op, &kernel)
