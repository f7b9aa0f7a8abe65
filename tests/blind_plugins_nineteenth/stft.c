/* SPDX-License-Identifier: Apache-2.0 */
/* Spectra of frames of a signal under a periodic Hann window, which is computed when a node is
 * prepared and kept in the plan. */
#include "nineteenth.h"

TN_LAYER_PARAMS(params, int64_t frame, hop;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, frame, "8", 1, 4096, "elements of a frame"),
    TN_LAYER_I64(params, hop, "4", 1, 1 << 20, "from one to the next")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "B, T")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "B, frames, frame / 2 + 1, 2")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (!TN_LAYER_FITS(call, 0, -1, -1)) return TN_ERROR_SHAPE;
    const int64_t *in = call->inputs[0]->shape;
    int64_t frames = in[1] < p->frame ? 0 : (in[1] - p->frame) / p->hop + 1, elements = 0;
    if (WRONG(1)) frames = in[1] / p->hop;
    TN_TRY(multiply(call, frames, p->frame / 2 + 1, &elements));
    TN_TRY(multiply(call, elements, 2, &elements));
    TN_TRY(multiply(call, elements, in[0], &elements));
    return TN_LAYER_SET_SHAPE(call, 0, in[0], frames, p->frame / 2 + 1, 2);
}
static double hann(int64_t i, int64_t n) {
    return n > 1 ? 0.5 - 0.5 * cos(2 * 3.14159265358979323846 * (double)i / (double)n) : 1;
}
static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const int64_t *out = call->outputs[0]->shape, t = call->inputs[0]->shape[1];
    const int64_t bin = i / 2 % out[2], f = i / 2 / out[2] % out[1], b = i / 2 / out[2] / out[1];
    double sum = 0;
    for (int64_t k = 0; k < p->frame; k++) {
        const double angle =
            -2 * 3.14159265358979323846 * (double)(k * bin % p->frame) / (double)p->frame;
        sum += tn_layer_load(call->inputs[0], b * t + f * p->hop + k) * hann(k, p->frame) *
               (i % 2 ? sin(angle) : cos(angle));
    }
    return sum;
}
TN_LAYER_REFERENCE(element)

#if MISTAKE == 4
static float the_window[4096];
#endif
static tn_status prepare(tn_call *call) {
    const int64_t frame = ((const params *)call->params)->frame;
#if MISTAKE == 4
    float *window = the_window;
#else
    float *window = malloc((size_t)frame * sizeof(*window));
    if (!window) return TN_ERROR_MEMORY;
#endif
    for (int64_t i = 0; i < frame; i++)
        window[i] = WRONG(3) ? (float)(0.5 - 0.5 * cos(2 * 3.14159265358979323846 * (double)i /
                                                       (double)(frame > 2 ? frame : frame - 1)))
                             : (float)hann(i, frame);
    call->state = window;
    return TN_OK;
}
static void release(tn_call *call) {
#if MISTAKE != 4
    free(call->state);
#endif
}
static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const uint64_t bytes = (uint64_t)((const params *)call->params)->frame * sizeof(float);
    if (data && *inout_bytes < bytes)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "%llu bytes are too few",
                                (unsigned long long)*inout_bytes);
    if (data) memcpy(data, call->state, bytes);
    *inout_bytes = bytes;
    return TN_OK;
}
static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    const uint64_t expected = (uint64_t)((const params *)call->params)->frame * sizeof(float);
    if (WRONG(5) ? bytes % sizeof(float) != 0 : bytes != expected)
        return call->host->fail(call, TN_ERROR_FORMAT, "the window has %llu bytes, expected %llu",
                                (unsigned long long)bytes, (unsigned long long)expected);
    TN_TRY(prepare(call));
    memcpy(call->state, data, bytes);
    return TN_OK;
}
static tn_status frames(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const int64_t *out = call->outputs[0]->shape, t = call->inputs[0]->shape[1];
    const float *window = call->state;
    double *part = (double *)call->workspace + (int64_t)thread * p->frame;
    for (int64_t item = begin; item < end; item++) {
        const int64_t b = item / out[1], f = item % out[1];
        const float *x = (const float *)call->inputs[0]->data + b * t + f * p->hop;
        float *y = (float *)call->outputs[0]->data + item * out[2] * 2;
        for (int64_t k = 0; k < p->frame; k++)
            part[k] = (double)x[k] * (double)window[k];
        for (int64_t i = 0; i < out[2] * 2; i++) {
            double sum = 0;
            for (int64_t k = 0; k < p->frame; k++) {
                const double angle = -2 * 3.14159265358979323846 *
                                     (double)(k * (i / 2) % p->frame) / (double)p->frame;
                sum += part[k] * (i % 2 ? sin(angle) : cos(angle));
            }
            y[i] = (float)sum;
        }
    }
    return TN_OK;
}
TN_LAYER_WORKSPACE((uint64_t)((const params *)call->params)->frame * sizeof(double) *
                   (WRONG(2) && call->threads > 1 ? call->threads - 1 : call->threads))
TN_LAYER_RUN(frames, call->outputs[0]->shape[0] * call->outputs[0]->shape[1], 1)

static const char *const cases[] = {"| x=f32[2,32]", "frame=16 hop=16 | x=f32[1,64]",
                                    "frame=5 hop=3 | x=f32[3,15]"};
static const tn_operator stft = {OPERATOR,
                                 .name = "Spectra",
                                 TN_FIELDS(params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = reference,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Spectra",
                                 .name = "window",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .prepare = prepare,
                                 .release = release,
                                 .reshape = reshape,
                                 .run = run,
                                 .save = save,
                                 .load = load};
LIBRARY("stft", stft, kernel)
