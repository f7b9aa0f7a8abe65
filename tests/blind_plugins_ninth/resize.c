/* SPDX-License-Identifier: Apache-2.0 */
/* Nearest: the last two axes of x in other sizes, which an input says; -1 keeps an extent. */
#include "ninth.h"

static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "N, C, height, width"),
    TN_PORT("size", "i64", TN_PORT_VALUE_NEEDED, "height and width; -1: as x")};
static const tn_port outputs[] = {
    TN_PORT("y", "f32", 0, "N, C, size: the element below its position")};

static tn_status infer(tn_call *call) {
    const int64_t *in = call->inputs[0]->shape, *size = call->inputs[1]->data;
    if (!TN_LAYER_FITS(call, 0, -1, -1, -1, -1) || !TN_LAYER_FITS(call, 1, 2))
        return TN_ERROR_SHAPE;
    int64_t out[2];
    for (int i = 0; i < 2; i++) {
        out[i] = size[i] == -1 ? in[2 + i] : size[i];
        if (out[i] < 0 || out[i] > 1 << 30)
            return call->host->fail(call, TN_ERROR_RANGE, "a size is negative or too large");
        if (!WRONG(3) && out[i] > 0 && in[2 + i] == 0)
            return call->host->fail(call, TN_ERROR_SHAPE, "x has no elements");
        if (in[2 + i] > 1 << 30) return call->host->fail(call, TN_ERROR_SHAPE, "x is too large");
    }
    return TN_LAYER_SET_SHAPE(call, 0, in[0], in[1], out[0], out[1]);
}

static double element(const tn_call *call, int64_t i) {
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    const int64_t y = i / out[3] % out[2] * in[2] / out[2], x = i % out[3] * in[3] / out[3];
    return tn_layer_load(call->inputs[0], (i / out[3] / out[2] * in[2] + y) * in[3] + x);
}
TN_LAYER_REFERENCE(element)

/* What a context keeps: from which column each column comes. */
typedef struct columns {
    int64_t in[2], out[2], capacity, *from;
    const int64_t *size;
} columns;
static tn_status open_context(tn_call *call) {
    columns *c = call->host->allocate(call->host, sizeof(columns), 64);
    if (!c) return TN_ERROR_MEMORY;
    memset(c, 0, sizeof(*c));
    c->in[1] = c->out[1] = -1;
    call->context = c;
    return TN_OK;
}
static void close_context(tn_call *call) {
    columns *c = call->context;
    call->host->deallocate(call->host, c->from);
    call->host->deallocate(call->host, c);
}

static tn_status reshape(tn_call *call) {
    columns *c = call->context;
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    c->size = call->inputs[1]->data;
    if (WRONG(1) ? c->out[1] == out[3] : c->in[1] == in[3] && c->out[1] == out[3]) return TN_OK;
    if (out[3] > c->capacity) {
        int64_t *memory = call->host->allocate(call->host, (uint64_t)out[3] * 8, 64);
        if (!memory) return TN_ERROR_MEMORY;
        call->host->deallocate(call->host, c->from);
        c->from = memory, c->capacity = out[3];
    }
    for (int64_t x = 0; x < out[3]; x++) {
        c->from[x] = x * in[3] / out[3];
        if (WRONG(5)) c->from[x] = (int64_t)((float)x * ((float)in[3] / (float)out[3]));
    }
    c->in[1] = in[3], c->out[1] = out[3];
    return TN_OK;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const columns *c = call->context;
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    const int64_t *size = WRONG(4) ? c->size : call->inputs[1]->data;
    int64_t height = out[2];
    if (WRONG(2) || WRONG(4)) height = size[0];
    if (WRONG(4) && height == -1) height = in[2];
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t plane = item / out[2], y = item % out[2] * in[2] / height;
        const float *from = (const float *)call->inputs[0]->data + (plane * in[2] + y) * in[3];
        float *to = (float *)call->outputs[0]->data + item * out[3];
        for (int64_t x = 0; x < out[3]; x++)
            to[x] = from[c->from[x]];
    }
    return TN_OK;
}
static int64_t count_rows(const tn_call *call) {
    return tn_layer_rows(call->outputs[0]);
}
TN_LAYER_RUN(rows, count_rows(call), 4)

static const char *const cases[] = {"| x=f32[1,2,4,4] size=i64[2]{8,8}",
                                    "| x=f32[2,1,5,7] size=i64[2]{3,10}"};
static const tn_operator nearest = {OPERATOR,
                                    .state_version = 1,
                                    .name = "Nearest",
                                    .traits = TN_OPERATOR_SELECTS,
                                    TN_NO_FIELDS,
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = reference,
                                    TN_CASES(cases)};
static const tn_kernel nearest_cpu = {KERNEL,
                                      .op = "Nearest",
                                      .name = "rows",
                                      .traits = TN_KERNEL_DETERMINISTIC,
                                      .open = open_context,
                                      .close = close_context,
                                      .reshape = reshape,
                                      .run = run};
LIBRARY("ninth_resize", nearest, nearest_cpu)
