/* SPDX-License-Identifier: Apache-2.0 */
/* UFF::MaxPool: max pooling of fp32, fp16 and INT8 tensors that lie as N, C, H, W, as a library of
 * its own. Fields as TensorFlow has them: ksize and strides in data_format's order. */
#include "pool_plugin.h"

#include <math.h>

static const tn_field fields[] = {
    TN_FIELD(params, T, TN_FIELD_TYPE, 0, NULL, "the type that the network was trained in"),
    TN_FIELD_CHOICE(params, data_format, TN_FIELD_ENUM, 0, "NHWC", "NHWC|NCHW", "order of axes"),
    TN_FIELD_CHOICE(params, padding, TN_FIELD_ENUM, 0, "VALID", "VALID", "none is added"),
    TN_FIELD_LIST(params, ksize, TN_FIELD_I64S, TN_REQUIRED, NULL, 4, 4, 1, 9999, "window"),
    TN_FIELD_LIST(params, strides, TN_FIELD_I64S, TN_REQUIRED, NULL, 4, 4, 1, 9999, "steps")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f16", 0, "N, C, H, W")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, C and the pooled extents")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    if (x->rank != 4) return call->host->fail(call, TN_ERROR_SHAPE, "x must be N, C, H, W");
    call->outputs[0]->rank = 4;
    for (int i = 0; i < 4; i++) {
        const int at = p->data_format || i == 0 ? i : i == 1 ? 3 : i - 1;
        const int64_t size = p->ksize.items[at], step = p->strides.items[at];
        if (i < 2 ? size * step != 1 : x->shape[i] < size)
            return call->host->fail(call, TN_ERROR_SHAPE, "the window does not fit axis %d", i);
        y->shape[i] = (x->shape[i] - size) / step + 1;
    }
    return TN_OK;
}
typedef struct handle {
    int64_t height, width, down, right; /* the window's extents and steps */
    bool is_pairs;                      /* 2 x 2 elements, 2 apart; the reference does not use it */
} handle;
static tn_status open_handle(tn_call *call) {
    const params *p = call->params;
    const int64_t at = p->data_format ? 2 : 1, *k = p->ksize.items + at, *s = p->strides.items + at;
    const bool is_pairs = k[0] == 2 && k[1] == 2 && s[1] == 2 && !(call->flags & TN_CALL_REFERENCE);
    handle *window = call->context = call->host->allocate(call->host, sizeof(handle), 64);
    if (window) *window = (handle){k[0], k[1], s[0], s[1], is_pairs};
    return window ? TN_OK : call->host->fail(call, TN_ERROR_MEMORY, "no memory for a handle");
}
static void close_handle(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
#define MORE(a, b) ((a) < (b) ? (b) : (a))
#define HALF(x)    (int16_t)((x) ^ ((x) >> 15 & 0x7fff)) /* integers in its order, and back */
/* A row, and planes begin..end-1. Rows of pairs are rounded up to vectors; later rows mend that. */
#define POOL(type, key)                                                                            \
    static inline void row_##type(const type *restrict x, type *restrict y, int64_t n, int64_t in, \
                                  int64_t height, int64_t width, int64_t step) {                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type most = key(x[i * step]);                                                          \
            for (int64_t h = 0; h < height; h++)                                                   \
                for (int64_t w = 0; w < width; w++)                                                \
                    most = MORE(most, key(x[h * in + i * step + w]));                              \
            y[i] = key(most);                                                                      \
        }                                                                                          \
    }                                                                                              \
    static tn_status pool_##type(void *user, int64_t begin, int64_t end, uint32_t thread) {        \
        const tn_call *call = user;                                                                \
        const handle p = *(const handle *)call->context;                                           \
        const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape, n = out[3];    \
        const type *x = call->inputs[0]->data;                                                     \
        type *y = call->outputs[0]->data;                                                          \
        const int64_t lanes = 16 / (int64_t)sizeof(type), wide = (n + lanes - 1) / lanes * lanes;  \
        for (int64_t c = begin; thread < call->threads && c < end; c++)                            \
            for (int64_t r = 0; r < out[2]; r++) {                                                 \
                const type *from = x + (c * in[2] + r * p.down) * in[3];                           \
                type *to = y + (c * out[2] + r) * n;                                               \
                const int64_t left = ((end - c) * out[2] - r) * n;                                 \
                p.is_pairs ? row_##type(from, to, left < wide ? n : wide, in[3], 2, 2, 2)          \
                           : row_##type(from, to, n, in[3], p.height, p.width, p.right);           \
            }                                                                                      \
        return TN_OK;                                                                              \
    }
POOL(float, (float))
POOL(int16_t, HALF)
POOL(int8_t, (int8_t))
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const tn_body body[] = {[TN_F32] = pool_float, [TN_F16] = pool_int16_t, [TN_I8] = pool_int8_t};
    const float ratio = x->quantization ? tn_layer_scale(x) / tn_layer_scale(y) : 1;
    const int64_t planes = x->shape[0] * x->shape[1];
    const tn_status status = call->host->parallel_for(call, planes, 64, body[x->type], call);
    for (int8_t *q = y->data, *q_end = q + y->bytes; ratio != 1 && q < q_end; q++)
        *q = (int8_t)fmaxf(-128, fminf(127, rintf(ratio * *q)));
    return status;
}
static tn_status reference(tn_call *call) {
    const tn_status status = open_handle(call) == TN_OK ? run(call) : TN_ERROR_MEMORY;
    close_handle(call);
    return status;
}
static const char *const cases[] = {
    "ksize=[1,2,2,1] strides=[1,2,2,1] | x=f32[2,3,8,8]",
    "ksize=[1,2,2,1] strides=[1,2,2,1] | x=f16[1,5,9,6]",
    "ksize=[1,1,3,2] strides=[1,1,1,2] data_format=NCHW | x=f32[1,2,5,7]"};
#define OPERATOR                                                                                   \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1,                           \
    .traits = TN_OPERATOR_SELECTS, .domain = "UFF", .name = "MaxPool", TN_FIELDS(params, fields),  \
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer, .reference = reference,                \
    TN_CASES(cases)
#define KERNEL(text, types)                                                                        \
    .size = sizeof(tn_kernel), .revision = 1, .domain = "UFF", .op = "MaxPool", .device = "cpu",   \
    .name = text, .traits = TN_KERNEL_DETERMINISTIC, .combination_count = 1,                       \
    .combinations = (const char *const[]){types}, .open = open_handle, .close = close_handle,      \
    .run = run
static const tn_operator max_pool = {OPERATOR};
static const tn_kernel f32 = {KERNEL("f32", "f32 -> f32")}, f16 = {KERNEL("f16", "f16 -> f16")},
                       i8 = {KERNEL("i8", "qi8 -> qi8")};
static const tn_operator *const operators[] = {&max_pool};
static const tn_kernel *const kernels[] = {&f32, &f16, &i8 CUDA_KERNELS};
TN_LIBRARY("uff_pool", "1.0", operators, kernels)
