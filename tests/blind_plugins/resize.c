/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blind::Stretch: linear interpolation of the last axis to `size`, the corners' centres on each
 * other. The kernel's table of positions is its context's, made by reshape.
 */
#include "blind.h"

TN_LAYER_PARAMS(stretch, float gain;);
static const tn_field fields[] = {TN_LAYER_F32(stretch, gain, "1", -4, 4, "a factor")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "at least one axis"),
                                 TN_PORT("size", "i64", TN_PORT_VALUE_NEEDED, "the extent")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "x with another last extent")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *size = call->inputs[1];
    int64_t shape[TN_MAX_RANK];
    if (x->rank < 1 || size->rank > 1 || count_of(size) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "no axis, or more than one size");
    if (!size->data) return call->host->fail(call, TN_ERROR_SHAPE, "the size is not known");
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    shape[x->rank - 1] = *(const int64_t *)size->data;
    if (!IS(6) && (shape[x->rank - 1] < 0 || shape[x->rank - 1] > 65536))
        return call->host->fail(call, TN_ERROR_RANGE, "size %lld", (long long)shape[x->rank - 1]);
    if (x->shape[x->rank - 1] < 1) return call->host->fail(call, TN_ERROR_SHAPE, "nothing there");
    return tn_layer_set_shape(call, 0, x->rank, shape);
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t in = x->shape[x->rank - 1], out = y->shape[y->rank - 1];
    for (int64_t i = 0; i < count_of(y); i++) {
        const double at = out > 1 ? (double)(i % out * (in - 1)) / (double)(out - 1) : 0;
        const int64_t left = (int64_t)at, right = left + 1 < in ? left + 1 : left;
        const double part = at - (double)left, a = get(x, i / out * in + left);
        const double b = get(x, i / out * in + right);
        const double v = part == 0 ? a : a * (1 - part) + b * part;
        set(y, i, v * (double)((const stretch *)call->params)->gain);
    }
    return TN_OK;
}

typedef struct table {
    int64_t in, out, capacity;
    int32_t *left;
    float *part;
} table;
static table only; /* mistake 7 alone */

static tn_status open(tn_call *call) {
    call->context = IS(7) ? &only : call->host->allocate(call->host, sizeof(table), 64);
    if (!call->context) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a context");
    if (!IS(7)) *(table *)call->context = (table){0};
    return TN_OK;
}
static void forget(tn_call *call, table *t) {
    call->host->deallocate(call->host, t->left);
    call->host->deallocate(call->host, t->part);
    *t = (table){0};
}
static void close(tn_call *call) {
    forget(call, call->context);
    if (!IS(7)) call->host->deallocate(call->host, call->context);
}

static tn_status reshape(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t in = x->shape[x->rank - 1], out = y->shape[y->rank - 1];
    table *t = call->context;
    if (IS(3) ? t->out >= out && t->in == in : IS(4) ? t->out == out : t->in == in && t->out == out)
        return TN_OK;
    if (out > t->capacity) {
        forget(call, t);
        t->left = call->host->allocate(call->host, (uint64_t)out * sizeof(int32_t), 64);
        t->part = call->host->allocate(call->host, (uint64_t)out * sizeof(float), 64);
        if (!t->left || !t->part) {
            forget(call, t);
            return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a table");
        }
        t->capacity = out;
    }
    t->in = in;
    t->out = out;
    for (int64_t i = 0; i < out; i++) {
        volatile int64_t steps = out - 1;
        if (IS(1)) { /* an integer division by out - 1 */
            t->left[i] = (int32_t)(i * (in - 1) / steps);
            t->part[i] = (float)((double)(i * (in - 1) % steps) / (double)steps);
            continue;
        }
        const double at = out > 1 ? (double)(i * (in - 1)) / (double)steps : 0;
        t->left[i] = (int32_t)at;
        t->part[i] = (float)(at - (double)t->left[i]);
    }
    return TN_OK;
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const table *t = call->context;
    const float gain = ((const stretch *)call->params)->gain;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)call->inputs[0]->data + row * t->in;
        const int64_t width = call->outputs[0]->shape[call->outputs[0]->rank - 1];
        float *y = (float *)call->outputs[0]->data + row * width;
        for (int64_t i = 0; i < width; i++) {
            const float *a = x + t->left[i], p = t->part[i];
            if (IS(2))
                y[i] = gain * (a[0] * (1 - p) + ((const volatile float *)a)[1] * p);
            else
                y[i] = gain * (p == 0 ? a[0] : a[0] * (1 - p) + a[1] * p);
        }
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    return call->host->parallel_for(call, product(y, 0, y->rank - 1), 1, body, call);
}

static const char *const cases[] = {"| x=f32[3,17] size=i64[1]{33}", "| x=f32[2,5,3] size=i64[]{8}",
                                    "gain=2 | x=f32[9] size=i64[1]{4}"};
static const char *const combinations[] = {"f32, i64 -> f32"};
BLIND_OPERATOR("Stretch", "Resampling.", stretch, )
BLIND_KERNEL("Stretch", .traits = TN_KERNEL_DETERMINISTIC, .open = open, .close = close,
             .reshape = reshape)
BLIND_LIBRARY("blind_resize")
