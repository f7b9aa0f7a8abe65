/* SPDX-License-Identifier: Apache-2.0 */
/* Overlapping frames of a signal, each times a window, as spectrograms begin. */
#include "sixteenth.h"

enum { NONE, HANN };
TN_LAYER_PARAMS(params, int64_t length; int64_t hop; uint32_t window;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, length, "4", 1, 65536, "elements of a frame"),
    TN_LAYER_I64(params, hop, "2", 1, 65536, "from frame to frame"),
    TN_FIELD_CHOICE(params, window, TN_FIELD_ENUM, TN_OPTIONAL, "none", "none|hann",
                    "what a frame is multiplied by; hann: the periodic one"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, time")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "rows, frames, length")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY)) return TN_ERROR_SHAPE;
    const int64_t rest = call->inputs[0]->shape[1] - p->length;
    const int64_t frames = rest < 0 && !WRONG(1) ? 0 : rest / p->hop + 1;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], frames < 0 ? 0 : frames,
                              p->length);
}

static double weight(const params *p, int64_t i, bool is_kernel) {
    if (p->window == NONE) return 1;
    const double angle = 2 * 3.14159265358979323846 * (double)i;
    return 0.5 - 0.5 * cos(angle / (double)(is_kernel && WRONG(2) ? p->length - 1 : p->length));
}

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const int64_t frames = call->outputs[0]->shape[1], time = call->inputs[0]->shape[1];
    const int64_t frame = i / p->length % frames, row = i / p->length / frames;
    return tn_layer_load(call->inputs[0], row * time + frame * p->hop + i % p->length) *
           weight(p, i % p->length, false);
}
TN_LAYER_REFERENCE(element)

#if MISTAKE == 3
typedef struct state {
    double window[1024];
} state;
#else
typedef struct state {
    double window[1];
} state;
#endif

/* A state with the window at its end. */
static tn_status prepare(tn_call *call) {
    const params *p = call->params;
    const uint64_t more = WRONG(3) ? 0 : (uint64_t)p->length * sizeof(double);
    state *made = call->host->allocate(call->host, sizeof(state) + more, 64);
    if (!made) return TN_ERROR_MEMORY;
    for (int64_t i = 0; i < p->length; i++)
        made->window[i] = weight(p, i, true);
    call->state = made;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const double *window = ((const state *)call->state)->window;
    const int64_t frames = call->outputs[0]->shape[1], time = call->inputs[0]->shape[1];
    (void)thread;
    for (int64_t f = begin; f < end; f++) {
        const float *from =
            (const float *)call->inputs[0]->data + f / frames * time + f % frames * p->hop;
        float *to = (float *)call->outputs[0]->data + f * p->length;
        for (int64_t i = 0; i < p->length; i++)
            to[i] = (float)((double)from[i] * window[i]);
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->outputs[0]->shape[0] * call->outputs[0]->shape[1], 4)

static const char *const cases[] = {
    "| x=f32[2,11]",
    "length=6 hop=1 window=hann | x=f32[1,9]",
    "length=3 hop=5 window=hann | x=f32[3,14]",
};
TN_LAYER_LIBRARY("frames", "Sixteenth", "Frames", "Overlapping frames.", params, "f32 -> f32",
                 .prepare = prepare, .release = release, .run = run)
