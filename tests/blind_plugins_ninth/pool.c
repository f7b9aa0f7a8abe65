/* SPDX-License-Identifier: Apache-2.0 */
/* MeanPool: means of windows of the last two axes, with padding of each side and dilation. */
#include "ninth.h"

TN_LAYER_PARAMS(pool, tn_i64s kernel, stride, pad, dilation; bool ceiling, count_padding;);
static const tn_field fields[] = {
    TN_LAYER_I64S(pool, kernel, "[2, 2]", 2, 1, 1000, "rows and columns of a window"),
    TN_LAYER_I64S(pool, stride, "[1, 1]", 2, 1, 1000, "step of the window: down, right"),
    TN_LAYER_I64S(pool, pad, "[0, 0, 0, 0]", 4, 0, 1000, "top, left, bottom, right"),
    TN_LAYER_I64S(pool, dilation, "[1, 1]", 2, 1, 1000, "distance of taps: down, right"),
    TN_LAYER_BOOL(pool, ceiling, "false", "a last window that is cut off counts, if it begins"),
    TN_LAYER_BOOL(pool, count_padding, "false", "taps in the padding count for the mean")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, height, width")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "N, C, windows; 0 where nothing counts")};

static tn_status infer(tn_call *call) {
    const pool *p = call->params;
    const int64_t *in = call->inputs[0]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1, -1, -1)) return TN_ERROR_SHAPE;
    int64_t out[2];
    for (int i = 0; i < 2; i++) {
        const int64_t s = p->stride.items[i], before = p->pad.items[i];
        const int64_t range = in[2 + i] + before + p->pad.items[2 + i] - 1 -
                              (p->kernel.items[i] - 1) * p->dilation.items[i];
        if (range < 0 || in[2 + i] < 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "the window is larger than the input");
        out[i] = range / s + 1;
        if (p->ceiling && range % s && out[i] * s < in[2 + i] + before) out[i]++;
    }
    return TN_LAYER_SET_SHAPE(call, 0, in[0], in[1], out[0], out[1]);
}

/* Taps of a window along one axis that lie in [low, high). */
static int64_t count_taps(int64_t begin, int64_t taps, int64_t gap, int64_t low, int64_t high) {
    int64_t count = 0;
    for (int64_t k = 0; k < taps; k++)
        count += begin + k * gap >= low && begin + k * gap < high;
    return count;
}

static double element(const tn_call *call, int64_t i) {
    const pool *p = call->params;
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    const int64_t *kernel = p->kernel.items, *gap = p->dilation.items, *pad = p->pad.items;
    const int64_t top = i / out[3] % out[2] * p->stride.items[0] - pad[0];
    const int64_t left = i % out[3] * p->stride.items[1] - pad[1];
    const int64_t plane = i / out[3] / out[2] * in[2];
    double sum = 0;
    for (int64_t k = 0; k < kernel[0] * kernel[1]; k++) {
        const int64_t y = top + k / kernel[1] * gap[0], x = left + k % kernel[1] * gap[1];
        if (y >= 0 && y < in[2] && x >= 0 && x < in[3])
            sum += tn_layer_load(call->inputs[0], (plane + y) * in[3] + x);
    }
    const int64_t around = p->count_padding;
    const int64_t count =
        count_taps(top, kernel[0], gap[0], around ? -pad[0] : 0, around ? in[2] + pad[2] : in[2]) *
        count_taps(left, kernel[1], gap[1], around ? -pad[1] : 0, around ? in[3] + pad[3] : in[3]);
    return count > 0 ? sum / (double)count : 0;
}
TN_LAYER_REFERENCE(element)

typedef struct job {
    int64_t kernel[2], stride[2], pad[4], gap[2];
    const int64_t *in, *out;
    bool count_padding;
} job;
static job read_job(const tn_call *call) {
    const pool *p = call->params;
    job j = {.in = call->inputs[0]->shape,
             .out = call->outputs[0]->shape,
             .count_padding = p->count_padding};
    for (int i = 0; i < 2; i++) {
        j.kernel[i] = p->kernel.items[i], j.stride[i] = p->stride.items[i];
        j.gap[i] = p->dilation.items[i];
        j.pad[i] = p->pad.items[i], j.pad[2 + i] = p->pad.items[2 + i];
    }
    if (WRONG(1)) { /* top, bottom, left, right, as some frameworks have it */
        j.pad[1] = p->pad.items[2], j.pad[2] = p->pad.items[1];
    }
    if (WRONG(2)) j.gap[1] = j.gap[0];
    if (WRONG(6)) j.stride[1] = j.stride[0];
    return j;
}

static float window(const job *j, const float *plane, int64_t top, int64_t left) {
    double sum = 0;
    for (int64_t a = 0; a < j->kernel[0]; a++) {
        const int64_t y = top + a * j->gap[0];
        if (y < 0 || y >= j->in[2]) continue;
        for (int64_t b = 0; b < j->kernel[1]; b++) {
            const int64_t x = left + b * j->gap[1];
            if (x >= 0 && x < j->in[3]) sum += (double)plane[y * j->in[3] + x];
        }
    }
    const int64_t around = j->count_padding;
    int64_t count = count_taps(top, j->kernel[0], j->gap[0], around ? -j->pad[0] : 0,
                               around ? j->in[2] + j->pad[2] : j->in[2]) *
                    count_taps(left, j->kernel[1], j->gap[1], around ? -j->pad[1] : 0,
                               around ? j->in[3] + j->pad[3] : j->in[3]);
    if (WRONG(3) && around) count = j->kernel[0] * j->kernel[1];
    return count > 0 ? (float)(sum / (double)count) : 0;
}

static tn_status planes(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const job j = read_job(call);
    int64_t height = j.out[2], width = j.out[3];
    if (WRONG(5) && ((const pool *)call->params)->ceiling)
        width =
            (j.in[3] + j.pad[1] + j.pad[3] - 1 - (j.kernel[1] - 1) * j.gap[1] + j.stride[1] - 1) /
                j.stride[1] +
            1;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const float *plane = (const float *)call->inputs[0]->data + item * j.in[2] * j.in[3];
        float *to = (float *)call->outputs[0]->data + item * j.out[2] * j.out[3];
        for (int64_t y = 0; y < height; y++)
            for (int64_t x = 0; x < width; x++) {
                const int64_t top = y * j.stride[0] - j.pad[0], left = x * j.stride[1] - j.pad[1];
                const int64_t below =
                    WRONG(4) ? top + j.kernel[0] : top + (j.kernel[0] - 1) * j.gap[0] + 1;
                const int64_t right =
                    WRONG(4) ? left + j.kernel[1] : left + (j.kernel[1] - 1) * j.gap[1] + 1;
                if ((WRONG(4) || MISTAKE == 50) && top >= 0 && left >= 0 && below <= j.in[2] &&
                    right <= j.in[3]) { /* nothing to be tested inside */
                    double sum = 0;
                    for (int64_t k = 0; k < j.kernel[0] * j.kernel[1]; k++)
                        sum += (double)plane[(top + k / j.kernel[1] * j.gap[0]) * j.in[3] + left +
                                             k % j.kernel[1] * j.gap[1]];
                    to[y * width + x] = (float)(sum / (double)(j.kernel[0] * j.kernel[1]));
                } else
                    to[y * width + x] = window(&j, plane, top, left);
            }
    }
    return TN_OK;
}
TN_LAYER_RUN(planes, call->outputs[0]->shape[0] * call->outputs[0]->shape[1], 1)

static const char *const cases[] = {
    "kernel=[2,2] stride=[2,2] pad=[1,1,1,1] | x=f32[1,2,5,5]", "kernel=[3,3] | x=f32[2,1,6,7]",
#if !WRONG(2) && !WRONG(4)
    "kernel=[2,3] dilation=[2,2] | x=f32[1,1,7,8]",
#endif
    "kernel=[2,2] stride=[2,2] ceiling=true | x=f32[1,1,5,4]",
    "kernel=[2,2] pad=[1,1,1,1] count_padding=true | x=f32[1,1,4,4]"};
TN_LAYER_LIBRARY("ninth_pool", "Ninth", "MeanPool", "Means of windows.", pool, "f32 -> f32",
                 .run = run)
