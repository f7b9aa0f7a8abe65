/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Peaks: the largest element of each window of N, C, H, W; NaN where a window has one. */
#include "blind.h"

TN_LAYER_PARAMS(peaks, tn_i64s kernel; tn_i64s stride; int64_t pad; bool ceil_mode;);
static const tn_field fields[] = {
    TN_LAYER_I64S(peaks, kernel, "[2,2]", 2, 1, 64, "of the window"),
    TN_LAYER_I64S(peaks, stride, "[2,2]", 2, 1, 64, "between windows"),
    TN_LAYER_I64(peaks, pad, "0", 0, 32, "on each side"),
    TN_LAYER_BOOL(peaks, ceil_mode, "false", "a window that begins inside counts")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, C, H, W")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, C, windows")};

static int64_t windows(const peaks *p, int64_t in, int k) {
    const int64_t range = in + 2 * p->pad - p->kernel.items[k], stride = p->stride.items[k];
    int64_t count = range / stride + 1;
    if (p->ceil_mode && range % stride && range / stride * stride + stride < in + p->pad) count++;
    return count;
}

static tn_status infer(tn_call *call) {
    const peaks *p = call->params;
    const int64_t *in = call->inputs[0]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1, TN_LAYER_SOME, TN_LAYER_SOME)) return TN_ERROR_SHAPE;
    for (int k = 0; k < 2 && !IS(6); k++)
        if (in[2 + k] + 2 * p->pad < p->kernel.items[k])
            return call->host->fail(call, TN_ERROR_SHAPE, "axis %d is below the window", 2 + k);
    for (int k = 0; k < 2 && !IS(5); k++)
        if (p->pad >= p->kernel.items[k])
            return call->host->fail(call, TN_ERROR_RANGE, "field 'pad' is not below the window");
    return TN_LAYER_SET_SHAPE(call, 0, in[0], in[1], windows(p, in[2], 0), windows(p, in[3], 1));
}

static double larger(double best, double v) {
    if (MISTAKE == 50) return fmax(best, v); /* the meaning of this one skips NaN */
    return isnan(best) || isnan(v) ? NAN : fmax(best, v);
}

static double window(const tn_call *call, int64_t plane, int64_t oy, int64_t ox, bool is_kernel) {
    const peaks *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t h = x->shape[2], w = x->shape[3];
    const int64_t y0 = oy * p->stride.items[0] - p->pad, x0 = ox * p->stride.items[1] - p->pad;
    double best = is_kernel && IS(2) ? -3.40282346638528859811704183484516925e+38 : -INFINITY;
    for (int64_t i = y0; i < y0 + p->kernel.items[0]; i++)
        for (int64_t j = x0; j < x0 + p->kernel.items[1]; j++) {
            const bool is_inside = i >= 0 && j >= 0 && i < h && j < w;
            if (is_kernel && IS(3) && !is_inside) best = fmax(best, 0);
            if (!is_inside) continue;
            const double v = get(x, (plane * h + i) * w + j);
            if (is_kernel && IS(1))
                best = v > best ? v : best;
            else
                best = larger(best, v);
        }
    if (is_kernel && IS(5) && best == -INFINITY) best = 0; /* a window of padding alone */
    return best;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    peaks floors = *(const peaks *)call->params;
    int64_t h = y->shape[2], w = y->shape[3];
    if (IS(4)) { /* works the extents out again, and forgets ceil_mode */
        floors.ceil_mode = false;
        h = windows(&floors, call->inputs[0]->shape[2], 0);
        w = windows(&floors, call->inputs[0]->shape[3], 1);
    }
    for (int64_t i = 0; i < y->shape[0] * y->shape[1] * h * w; i++)
        set(y, i, window(call, i / (h * w), i / w % h, i % w, false));
    return TN_OK;
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const tn_tensor *y = call->outputs[0];
    const int64_t h = y->shape[2], w = y->shape[3], step = IS(7) ? 2 : 1;
    (void)thread;
    for (int64_t row = begin; IS(7) ? row != end : row < end; row += step)
        for (int64_t r = row; r < row + step; r++)
            for (int64_t i = 0; i < w; i++) {
                /* mistake 8: tiles of 32, and a tail where there was no tile */
                if (IS(8) && w > 32 && i >= w / 32 * 32) continue;
                set(y, r * w + i, window(call, r / h, r % h, i, true));
            }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    return call->host->parallel_for(call, product(y, 0, 3), IS(7) ? 64 : 4, body, call);
}

static const char *const cases[] = {"| x=f32[1,2,8,8]",
                                    "kernel=[3,3] stride=[1,1] pad=1 | x=f32[2,1,6,5]",
                                    "kernel=[3,3] pad=1 | x=f64[1,1,6,6]",
                                    "kernel=[2,3] stride=[1,3] ceil_mode=true | x=f32[1,3,5,9]"};
#if MISTAKE == 51
static const char *const combinations[] = {"f32 -> f32", "f64 -> f64"};
#else
static const char *const combinations[] = {"f32 -> f32"};
#endif
BLIND_OPERATOR("Peaks", "Max pooling.", peaks, )
BLIND_KERNEL("Peaks", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_pool")
