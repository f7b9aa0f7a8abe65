/* SPDX-License-Identifier: Apache-2.0 */
/* Slopes: x where it is not below 0, else x times the channel's slope, plus the channel's shift;
 * for blocks of eight channels, or with the channels last. */
#include "ninth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, any axes"),
                                 TN_PORT("slopes", "f32", 0, "C"),
                                 TN_PORT("shifts", "f32", TN_PORT_OPTIONAL, "C; or zeros")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 2) return call->host->fail(call, TN_ERROR_SHAPE, "x has no channels");
    if (!TN_LAYER_FITS(call, 1, x->shape[1]) || !TN_LAYER_FITS(call, 2, x->shape[1]))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0], *shifts = tn_layer_input(call, 2);
    const int64_t c = i / product(x->shape, 2, x->rank) % x->shape[1];
    const double v = tn_layer_load(x, i);
    return (v < 0 ? v * tn_layer_load(call->inputs[1], c) : v) +
           (shifts ? tn_layer_load(shifts, c) : 0);
}
TN_LAYER_REFERENCE(element)

static float compute(float x, float slope, float shift) {
    return (x < 0 ? x * slope : x) + shift;
}

/* Blocks of eight channels: N, ceil(C / 8), positions, 8. */
static tn_status blocks(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0];
    const float *slopes = call->inputs[1]->data, *shifts = tn_layer_data(call, 2);
    const int64_t channels = x->shape[1], count = (channels + 7) / 8;
    const int64_t positions =
        WRONG(5) && x->rank != 4 ? x->shape[x->rank - 1] : product(x->shape, 2, x->rank);
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t block = item % count, n = item / count;
        int64_t at = item * positions * 8;
        if (WRONG(2)) at = n * channels * positions + block * positions * 8;
        const float *from = (const float *)x->data + at;
        float *to = (float *)call->outputs[0]->data + at, slope[8], shift[8];
        for (int64_t k = 0; k < 8; k++) {
            const bool is_there = WRONG(1) || block * 8 + k < channels;
            slope[k] = is_there ? slopes[block * 8 + k] : 0;
            shift[k] = is_there && shifts ? shifts[block * 8 + k] : 0;
        }
        for (int64_t position = 0; position < positions; position++)
            for (int64_t k = 0; k < 8; k++)
                to[position * 8 + k] = block * 8 + k < channels
                                           ? compute(from[position * 8 + k], slope[k], shift[k])
                                           : 0;
    }
    return TN_OK;
}

/* Channels last: N, positions, C. */
static tn_status pixels(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0];
    const float *slopes = call->inputs[1]->data, *shifts = tn_layer_data(call, 2);
    const int64_t channels = WRONG(3) ? x->shape[x->rank - 1] : x->shape[1];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t c = i % channels;
        ((float *)call->outputs[0]->data)[i] =
            compute(((const float *)x->data)[i], slopes[c], shifts ? shifts[c] : 0);
    }
    return TN_OK;
}

static tn_status choose(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    return call->inputs[0]->format == TN_NHWC ? pixels(call, begin, end, thread)
                                              : blocks(call, begin, end, thread);
}
static int64_t count_items(const tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->format == TN_NHWC) return tn_layer_count(x);
    return x->shape[0] * (WRONG(4) ? (x->shape[1] + 1) / 8 : (x->shape[1] + 7) / 8);
}
TN_LAYER_RUN(choose, count_items(call), 1)

static const char *const cases[] = {
#if WRONG(2)
    "| x=f32[1,5,3,3] slopes=f32[5]", "| x=f32[1,16,2,3] slopes=f32[16] shifts=f32[16]"
#elif WRONG(3)
    "| x=f32[1,4,4,4] slopes=f32[4]", "| x=f32[2,3,3,3] slopes=f32[3] shifts=f32[3]"
#elif WRONG(4)
    "| x=f32[1,8,3,3] slopes=f32[8]", "| x=f32[2,15,2,3] slopes=f32[15] shifts=f32[15]"
#else
    "| x=f32[1,8,3,3] slopes=f32[8]", "| x=f32[2,11,2,3] slopes=f32[11] shifts=f32[11]"
#endif
};
static const char *const combinations[] = {
#if MISTAKE == 50
    "f32:nhwc, f32, f32? -> f32:nhwc"
#else
    "f32:c8, f32, f32? -> f32:c8", "f32:nhwc, f32, f32? -> f32:nhwc"
#endif
};
static const tn_operator slopes_operator = {
    OPERATOR,       .state_version = 1,     .name = "Slopes",
    TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const tn_kernel slopes_cpu = {KERNEL,
                                     .op = "Slopes",
                                     .name = "blocks",
                                     .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                     TN_COMBINATIONS(combinations),
                                     .run = run};
LIBRARY("ninth_blocked", slopes_operator, slopes_cpu)
