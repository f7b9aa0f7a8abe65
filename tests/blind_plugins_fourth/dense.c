/* SPDX-License-Identifier: Apache-2.0 */
/* Dense: rows of x times a matrix, whose columns are packed by four where it is constant. */
#include "fourth.h"
#include "../support/steps.h"

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "..., K"),
                                 TN_PORT("w", "T", 0, "K, M")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "..., M")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar");
    if (!TN_LAYER_FITS(call, 1, x->shape[x->rank - 1], -1)) return TN_ERROR_SHAPE;
    fourth_same(call, 0, 0);
    call->outputs[0]->shape[x->rank - 1] = call->inputs[1]->shape[1];
    return TN_OK;
}

static double element(const tn_call *call, int64_t i) {
    const int64_t depth = call->inputs[1]->shape[0], columns = call->inputs[1]->shape[1];
    double sum = 0;
    for (int64_t k = 0; k < depth; k++)
        sum += tn_layer_load(call->inputs[0], i / columns * depth + k) *
               tn_layer_load(call->inputs[1], k * columns + i % columns);
    return sum;
}
TN_LAYER_REFERENCE(element)

enum { TILE = 4 };
typedef struct state {
    const float *packed; /* tiles of K rows of TILE columns */
} state;

static tn_status fill(void *user, void *data, uint64_t bytes) {
    const tn_tensor *w = user;
    const int64_t depth = w->shape[0], columns = w->shape[1];
    float *to = data;
    (void)bytes;
    for (int64_t tile = 0; tile < columns; tile += TILE)
        for (int64_t k = 0; k < depth; k++)
            for (int64_t c = tile; c < tile + TILE; c++)
                *to++ = c < columns ? ((const float *)w->data)[k * columns + c] : 0;
    return TN_OK;
}
static void release(tn_call *call) {
#if MISTAKE != 7 /* MISTAKE: the state is never freed */
    free(call->state);
#endif
}
static tn_status prepare(tn_call *call) {
    const tn_tensor *w = call->inputs[1];
    state *made = calloc(1, sizeof(*made));
    if (!made) return TN_ERROR_MEMORY;
    if (w->data && tn_layer_count(w) > 0) {
        const uint64_t depth = (uint64_t)w->shape[0], columns = (uint64_t)w->shape[1];
#if MISTAKE == 8
        const uint64_t bytes = depth * columns * sizeof(float); /* MISTAKE: less than tiles need */
#else
        const uint64_t bytes = depth * ((columns + TILE - 1) / TILE * TILE) * sizeof(float);
#endif
        const void *packed = NULL;
        const tn_status status =
            call->host->packed(call, 1, "tiles4", bytes, fill, (void *)(uintptr_t)w, &packed);
        if (status != TN_OK) {
            free(made);
            return status;
        }
        made->packed = packed;
    }
    call->state = made;
    return TN_OK;
}

static float activate(const seen_step *e, float v) {
    switch (e->activation) {
    case TN_ACTIVATION_RELU:
        return v < 0 ? 0 : v;
    case TN_ACTIVATION_LEAKY_RELU:
#if MISTAKE == 3
        return v < 0 ? 0.01f * v : v; /* MISTAKE: alpha is the epilogue's */
#else
        return v < 0 ? e->alpha * v : v;
#endif
    case TN_ACTIVATION_CLIP:
#if MISTAKE == 4
        v = v < 0 ? 0 : v; /* MISTAKE: the lower bound is alpha */
#else
        v = v < e->alpha ? e->alpha : v;
#endif
        return v > e->beta ? e->beta : v;
    case TN_ACTIVATION_SIGMOID:
        return 1 / (1 + expf(-v));
    default:
        return tanhf(v);
    }
}

static float finish(const tn_call *call, float v, int64_t i) {
    const tn_tensor *y = call->outputs[0];
#if MISTAKE == 1
    for (int pass = 0; pass < 2; pass++) /* MISTAKE: activations come last, wherever they stood */
#endif
        for (uint32_t k = 0; k < call->step_count; k++) {
            const seen_step *e = SEE_STEP(call, k);
#if MISTAKE == 1
            if ((e->kind == SEEN_ACTIVATION) != pass) continue;
#endif
            if (e->kind == SEEN_ACTIVATION) {
                v = activate(e, v);
                continue;
            }
            const float *operand = call->operands[e->operand]->data;
            const uint32_t axis = (uint32_t)(e->axis < 0 ? e->axis + (int32_t)y->rank : e->axis);
#if MISTAKE == 2
            const int64_t c = i % y->shape[y->rank - 1]; /* MISTAKE: the axis is the epilogue's */
#else
        const int64_t c =
            e->kind == SEEN_RESIDUAL ? 0 : i / fourth_extent(y, axis + 1, y->rank) % y->shape[axis];
#endif
            if (e->kind == SEEN_BIAS) v += operand[c];
            if (e->kind == SEEN_SCALE) v *= operand[c];
#if MISTAKE == 6
            /* MISTAKE: the operand of an addition is no row */
            if (e->kind == SEEN_RESIDUAL) v += operand[i % y->shape[y->rank - 1]];
#else
        if (e->kind == SEEN_RESIDUAL) v += operand[i];
#endif
        }
    return v;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const state *s = call->state;
    const int64_t depth = call->inputs[1]->shape[0], columns = call->inputs[1]->shape[1];
    const float *w = call->inputs[1]->data;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)call->inputs[0]->data + row * depth;
        float *y = (float *)call->outputs[0]->data + row * columns;
#if MISTAKE == 5
        const int64_t last = columns / TILE * TILE; /* MISTAKE: the last columns are not written */
#else
        const int64_t last = columns;
#endif
        for (int64_t tile = 0; tile < last; tile += TILE) {
            double sum[TILE] = {0};
            for (int64_t k = 0; k < depth; k++)
                for (int64_t c = tile; c < tile + TILE && c < columns; c++)
                    sum[c - tile] +=
                        (double)x[k] * (double)(s->packed
                                                    ? s->packed[tile * depth + k * TILE + c - tile]
                                                    : w[k * columns + c]);
            for (int64_t c = tile; c < tile + TILE && c < columns; c++)
                y[c] = finish(call, (float)sum[c - tile], row * columns + c);
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, tn_layer_count(call->outputs[0]) ? tn_layer_rows(call->outputs[0]) : 0, 1)

static const char *const cases[] = {
    "| x=f32[3,8] w=f32[8,6]",
    "| x=f32[2,3,5] w=f32[5,4]",
    "| x=f64[1,2]{1,2} w=f64[2,2]{1,0,0,1} | y=f64[1,2]{1,2}",
    "| x=f32[16,64] w=f32[64,33]",
};
static const char *const combinations[] = {"f32, f32 -> f32"};
FOURTH_OPERATOR("Dense", "Rows times a matrix.", .state_version = 1, TN_NO_FIELDS)
FOURTH_KERNEL(
    the_kernel, "Dense", "tiles", .traits = TN_KERNEL_DETERMINISTIC,
    .absorbs =
        "tn.bias/1, tn.scale/1, tn.residual/1, tn.activation/1(relu|leaky_relu|clip|sigmoid|tanh)",
    TN_COMBINATIONS(combinations), .prepare = prepare, .release = release, .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("dense", "1.0", operators, kernels)
