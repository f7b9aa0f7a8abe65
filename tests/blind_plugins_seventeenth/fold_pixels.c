/* SPDX-License-Identifier: Apache-2.0 */
/* Squares of pixels become channels (space to depth), of any type, in two formats. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, int64_t block; uint32_t order;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, block, "2", 1, 64, "pixels down and across"),
    TN_FIELD_CHOICE(params, order, TN_FIELD_ENUM, TN_OPTIONAL, "pixels", "pixels|channels",
                    "what the slower index of the new channels is"),
};
static const tn_port inputs[] = {
    TN_PORT("x", "T:f32|f64|f16|i64|u8|bool", 0, "images, channels, height, width")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "images, more channels, fewer pixels")};
enum { PIXELS, CHANNELS };

static tn_status infer(tn_call *call) {
    const int64_t b = ((const params *)call->params)->block;
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY))
        return TN_ERROR_SHAPE;
    const int64_t *x = call->inputs[0]->shape;
    if (x[2] % b != 0 || x[3] % b != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "%lld by %lld pixels are no squares of %lld",
                                (long long)x[2], (long long)x[3], (long long)b);
    if (x[1] > (int64_t)1 << 40)
        return call->host->fail(call, TN_ERROR_SHAPE, "too many channels: %lld", (long long)x[1]);
    return TN_LAYER_SET_SHAPE(call, 0, x[0], x[1] * b * b, x[2] / b, x[3] / b);
}

static size_t width_of(tn_type type, bool is_kernel) {
    if (type == TN_F64 || type == TN_I64) return 8;
    if (type == TN_F32 || (is_kernel && WRONG(1) && type != TN_U8)) return 4;
    return type == TN_F16 ? 2 : 1;
}

/* Moves channel c of the result, of image n. */
static void channel(const tn_call *call, int64_t n, int64_t c, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t squares = p->block * p->block;
    const bool is_slow = p->order == PIXELS || (is_kernel && WRONG(2) && y->format == TN_NHWC);
    const int64_t from = is_slow ? c % x->shape[1] : c / squares;
    const int64_t pixel = is_slow ? c / x->shape[1] : c % squares;
    const size_t width = width_of(x->type, is_kernel);
    for (int64_t i = 0; i < y->shape[2]; i++)
        for (int64_t k = 0; k < y->shape[3]; k++) {
            const int64_t row = i * p->block + pixel / p->block;
            const int64_t column = k * p->block + pixel % p->block;
            memcpy((char *)y->data + (size_t)position(y, n, c, i * y->shape[3] + k) * width,
                   (const char *)x->data +
                       (size_t)position(x, n, from, row * x->shape[3] + column) * width,
                   width);
        }
}

static tn_status reference(tn_call *call) {
    const int64_t channels = call->outputs[0]->shape[1];
    for (int64_t i = 0; i < extent(call->outputs[0], 0, 2); i++)
        channel(call, i / channels, i % channels, false);
    return TN_OK;
}

static tn_status part(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t channels = call->outputs[0]->shape[1];
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        channel(call, i / channels, i % channels, true);
    return TN_OK;
}
TN_LAYER_RUN(part, extent(call->outputs[0], 0, 2), 1)

static const char *const cases[] = {"| x=f32[2,3,4,6]",        "order=channels | x=f32[1,2,6,4]",
                                    "block=3 | x=u8[1,2,3,6]", "| x=bool[2,2,2,4]",
                                    "| x=i64[1,1,4,2]",        "| x=f64[1,3,2,2]",
                                    "block=1 | x=f16[1,5,2,3]"};
static const tn_operator fold_pixels = {OPERATOR,
                                        .name = "FoldPixels",
                                        .traits = TN_OPERATOR_SELECTS,
                                        TN_FIELDS(params, fields),
                                        TN_INPUTS(inputs),
                                        TN_OUTPUTS(outputs),
                                        .infer = infer,
                                        .reference = reference,
                                        TN_CASES(cases)};
static const char *const combinations[] = {"* -> *", "f32:nhwc -> f32:nhwc"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "FoldPixels",
                                 .device = "cpu",
                                 .name = "moves",
                                 .traits =
                                     TN_KERNEL_DETERMINISTIC | (WRONG(3) ? TN_KERNEL_IN_PLACE : 0),
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("fold_pixels", fold_pixels, kernel)
