/* SPDX-License-Identifier: Apache-2.0 */
/* A leaky ReLU with a slope for each channel or one for all, in three formats and two types. */
#include "seventeenth.h"

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f16", 0, "images, channels, any others"),
                                 TN_PORT("slope", "T", 0, "channels, or 1")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    TN_TRY(require_rank(call, 0, 2));
    const tn_tensor *slope = call->inputs[1];
    const bool is_one = slope->rank == 1 && slope->shape[0] == 1;
    if (!is_one && !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[1])) return TN_ERROR_SHAPE;
    return infer_same(call);
}

static double leak(double x, double slope) {
    return x < 0 ? slope * x : x;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *slope = call->inputs[1];
    const int64_t inner = extent(x, 2, x->rank);
    for (int64_t i = 0; i < tn_layer_count(x); i++)
        real_store(call->outputs[0], i,
                   leak(real_load(x, i),
                        real_load(slope, slope->shape[0] == 1 ? 0 : i / inner % x->shape[1])));
    return TN_OK;
}

static double slope_at(const tn_call *call, int64_t c, int64_t at) {
    const tn_tensor *x = call->inputs[0], *slope = call->inputs[1];
    if (WRONG(1) && x->format == TN_NHWC) /* as if pixels of a channel were side by side */
        return real_load(slope,
                         slope->shape[0] == 1 ? 0 : at / (extent(x, 2, x->rank)) % x->shape[1]);
    if (slope->shape[0] == 1 && !WRONG(4)) return real_load(slope, 0);
    return c < x->shape[1] || WRONG(2) ? real_load(slope, c) : 0;
}

/* One image. Lanes behind the last channel stay 0. */
static tn_status images(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t channels = stored_channels(x), inner = extent(x, 2, x->rank);
    (void)thread;
    for (int64_t n = begin; n < end; n++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t i = 0; i < inner; i++) {
                const int64_t at = position(x, n, c, i);
                const double v = real_load(x, at), slope = slope_at(call, c, at);
                real_store(y, at, WRONG(3) ? fmax(v, 0) + slope * fmin(v, 0) : leak(v, slope));
            }
    return TN_OK;
}
TN_LAYER_RUN(images, call->inputs[0]->shape[0], 1)

static const char *const cases[] = {
    "| x=f32[2,3,4,5] slope=f32[3]",
    "| x=f32[2,11,3,2] slope=f32[11]",
    "| x=f16[3,5] slope=f16[5]",
    "| x=f32[2,8] slope=f32[8]",
};
static const tn_operator prelu = {
    OPERATOR,       .name = "Prelu",        TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32", "f16, f16 -> f16",
                                           "f32:nhwc, f32 -> f32:nhwc", "f32:c8, f32 -> f32:c8"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Prelu",
                                 .device = "cpu",
                                 .name = "images",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("prelu", prelu, kernel)
