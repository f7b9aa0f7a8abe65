/* SPDX-License-Identifier: Apache-2.0 */
/* A gated cell: h' = z h + (1 - z) tanh(W x + z h), z = sigmoid of the first half of W x. The
 * weights are packed in blocks of eight rows. */
#include "nineteenth.h"

enum { BLOCK = 8 };
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, I"), TN_PORT("h", "f32", 0, "N, H"),
                                 TN_PORT("w", "f32", 0, "2 H, I")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "N, H")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0], -1))
        return TN_ERROR_SHAPE;
    int64_t rows = 0;
    TN_TRY(multiply(call, 2, call->inputs[1]->shape[1], &rows));
    if (!TN_LAYER_FITS(call, 2, rows, call->inputs[0]->shape[1])) return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, 2, call->inputs[1]->shape);
}
static double dot(const tn_call *call, int64_t n, int64_t row) {
    const int64_t depth = call->inputs[0]->shape[1];
    double sum = 0;
    for (int64_t i = 0; i < depth; i++)
        sum += tn_layer_load(call->inputs[0], n * depth + i) *
               tn_layer_load(call->inputs[2], row * depth + i);
    return sum;
}
static double element(const tn_call *call, int64_t i) {
    const int64_t width = call->inputs[1]->shape[1], n = i / width, c = i % width;
    const double h = tn_layer_load(call->inputs[1], i), z = 1 / (1 + exp(-dot(call, n, c)));
    return z * h + (1 - z) * tanh(dot(call, n, width + c) + z * h);
}
TN_LAYER_REFERENCE(element)

typedef struct cell {
    const float *packed; /* blocks of BLOCK rows, each column after column */
    const float *raw;
} cell;
static int64_t blocks_of(const tn_tensor *w) {
    return WRONG(1) && w->shape[0] > BLOCK ? w->shape[0] / BLOCK
                                           : (w->shape[0] + BLOCK - 1) / BLOCK;
}
static tn_status fill(void *user, void *data, uint64_t bytes) {
    const tn_tensor *w = user;
    const int64_t depth = w->shape[1];
    float *to = data;
    if (!WRONG(2)) memset(data, 0, bytes); /* else it is as the host gave it */
    for (int64_t r = 0; r < w->shape[0]; r++)
        for (int64_t i = 0; i < depth; i++)
            to[(r / BLOCK * depth + i) * BLOCK + r % BLOCK] =
                ((const float *)w->data)[r * depth + i];
    return TN_OK;
}
static tn_status accepts(tn_call *call) {
    return call->inputs[2]->data ? TN_OK : TN_ERROR_UNSUPPORTED;
}
static tn_status prepare(tn_call *call) {
    const tn_tensor *w = call->inputs[2];
    cell *c = call->host->allocate(call->host, sizeof(*c), 64);
    if (!c) return TN_ERROR_MEMORY;
    c->raw = w->data;
    const tn_status status = call->host->packed(
        call, 2, "rows8", (uint64_t)(blocks_of(w) * BLOCK * w->shape[1]) * sizeof(float), fill,
        (void *)w, (const void **)&c->packed);
    if (status != TN_OK) {
        if (!WRONG(5)) call->host->deallocate(call->host, c);
        return status;
    }
    call->state = c;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
static float product(const cell *c, const float *x, int64_t depth, int64_t row) {
    float sum = 0;
    for (int64_t i = 0; i < depth; i++)
        sum += x[i] * (WRONG(4) ? c->raw[row * depth + i]
                                : c->packed[(row / BLOCK * depth + i) * BLOCK + row % BLOCK]);
    return sum;
}
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t depth = call->inputs[0]->shape[1], width = call->inputs[1]->shape[1];
    const cell *state = call->state;
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        const float *x = (const float *)call->inputs[0]->data + n * depth;
        float *h = (float *)call->inputs[1]->data + n * width;
        float *y = (float *)call->outputs[0]->data + n * width;
        for (int64_t c = 0; c < width; c++) {
            const float z = 1 / (1 + expf(-product(state, x, depth, c))), kept = z * h[c];
            if (WRONG(3)) h[c] = kept;
            y[c] = kept + (1 - z) * tanhf(product(state, x, depth, width + c) + kept);
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->inputs[0]->shape[0], 2)

static const char *const cases[] = {"| x=f32[3,5] h=f32[3,8] w=f32[16,5]",
                                    "| x=f32[2,7] h=f32[2,4] w=f32[8,7]",
#if MISTAKE != 1
                                    "| x=f32[1,3] h=f32[1,5] w=f32[10,3]",
#endif
                                    "| x=f32[5,9] h=f32[5,12] w=f32[24,9]"};
static const tn_operator gru = {
    OPERATOR,       .name = "GatedCell",    TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32, f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "GatedCell",
                                 .name = "packed",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .accepts = accepts,
                                 .prepare = prepare,
                                 .release = release,
                                 .run = run};
LIBRARY("gru_cell", gru, kernel)
