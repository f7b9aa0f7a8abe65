/* SPDX-License-Identifier: Apache-2.0 */
/* Means of as many parts of each axis as are asked for, which may overlap, as PyTorch has them; in
 * the order of the channels as well. */
#include "nineteenth.h"

TN_LAYER_PARAMS(params, tn_i64s size;);
static const tn_field fields[] = {TN_LAYER_I64S(params, size, "[2, 2]", 2, 1, 4096, "parts")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, height, width")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "N, C, and the parts")};

static tn_status infer(tn_call *call) {
    const int64_t *size = ((const params *)call->params)->size.items, *in = call->inputs[0]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1, TN_LAYER_SOME, TN_LAYER_SOME)) return TN_ERROR_SHAPE;
    int64_t elements = 0;
    TN_TRY(multiply(call, in[0], in[1], &elements));
    TN_TRY(multiply(call, elements, size[0] * size[1] * 4, &elements));
    return TN_LAYER_SET_SHAPE(call, 0, in[0], in[1], size[0], size[1]);
}
static void part_of(int64_t i, int64_t in, int64_t out, int64_t *begin, int64_t *end) {
    *begin = i * in / out;
    *end = ((i + 1) * in + out - 1) / out;
}
static double element(const tn_call *call, int64_t i) {
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    const int64_t plane = i / out[3] / out[2];
    int64_t top, bottom, left, right;
    double sum = 0;
    part_of(i / out[3] % out[2], in[2], out[2], &top, &bottom);
    part_of(i % out[3], in[3], out[3], &left, &right);
    for (int64_t y = top; y < bottom; y++)
        for (int64_t x = left; x < right; x++)
            sum += tn_layer_load(call->inputs[0], (plane * in[2] + y) * in[3] + x);
    return sum / (double)((bottom - top) * (right - left));
}
TN_LAYER_REFERENCE(element)

static void part_as_written(int64_t i, int64_t in, int64_t out, int64_t *begin, int64_t *end) {
    if (WRONG(1)) {
        const float step = (float)in / (float)out;
        *begin = (int64_t)floorf((float)i * step);
        *end = (int64_t)ceilf((float)(i + 1) * step);
    } else if (WRONG(2)) {
        *begin = i * in / out;
        *end = (i + 1) * in / out;
    } else
        part_of(i, in, out, begin, end);
}
/* Items are outputs of all channels; the strides tell both orders. */
static tn_status parts(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *a = call->inputs[0], *b = call->outputs[0];
    const int64_t *in = a->shape, *out = b->shape, *from = a->strides, *to = b->strides;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t n = item / out[3] / out[2], row = item / out[3] % out[2];
        int64_t top, bottom, left, right;
        part_as_written(row, in[2], out[2], &top, &bottom);
        part_as_written(item % out[3], in[3], out[3], &left, &right);
        for (int64_t c = 0; c < in[1]; c++) {
            const int64_t channel = WRONG(3) ? c * in[2] * in[3] : c * from[1];
            float sum = 0;
            for (int64_t y = top; y < bottom; y++)
                for (int64_t x = left; x < right; x++)
                    sum +=
                        ((const float *)a->data)[n * from[0] + channel + y * from[2] + x * from[3]];
            ((float *)b->data)[n * to[0] + c * to[1] + row * to[2] + item % out[3] * to[3]] =
                sum / (float)((bottom - top) * (right - left));
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(parts,
             call->outputs[0]->shape[0] * call->outputs[0]->shape[2] * call->outputs[0]->shape[3],
             4)

static const char *const cases[] = {
#if MISTAKE != 2
    "size=[3,2] | x=f32[2,3,7,5] | y=f32[2,3,3,2]",
#endif
    "| x=f32[1,4,6,8]", "size=[1,1] | x=f32[2,5,3,3]"};
static const tn_operator pool = {OPERATOR,
                                 .name = "AdaptivePool",
                                 TN_FIELDS(params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = reference,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32", "f32:nhwc -> f32:nhwc"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "AdaptivePool",
                                 .name = "parts",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("adaptive_pool", pool, kernel)
