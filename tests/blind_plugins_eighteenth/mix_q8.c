/* SPDX-License-Identifier: Apache-2.0 */
/* The mean of two tensors, in floats and in bytes that stand for floats. */
#include "eighteenth.h"

static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                 TN_PORT("b", "f32", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as a")};

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    if (a->rank != b->rank || memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "inputs 'a' and 'b' have other shapes");
    return infer_same(call);
}
static double element(const tn_call *call, int64_t i) {
    return 0.5 * (tn_layer_load(call->inputs[0], i) + tn_layer_load(call->inputs[1], i));
}
TN_LAYER_REFERENCE(element)

static double real_of(const tn_tensor *t, int64_t i, int32_t zero) {
    return (double)(((const uint8_t *)t->data)[i] - zero) * (double)tn_layer_scale(t);
}
static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        if (y->type == TN_F32) {
            ((float *)y->data)[i] =
                0.5f * (((const float *)a->data)[i] + ((const float *)b->data)[i]);
            continue;
        }
        const double v =
            0.5 * (real_of(a, i, tn_layer_zero_point(a)) +
                   real_of(b, i, WRONG(1) ? tn_layer_zero_point(a) : tn_layer_zero_point(b)));
        const double q = v / (double)tn_layer_scale(WRONG(4) ? a : y);
        double r = (WRONG(2) ? round(q) : nearbyint(q)) + tn_layer_zero_point(y);
        r = r < (WRONG(3) ? 1 : 0) ? (WRONG(3) ? 1 : 0) : r > 255 ? 255 : r;
        ((uint8_t *)y->data)[i] = (uint8_t)r;
    }
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->outputs[0]), 32)

static const char *const cases[] = {"| a=f32[3,7] b=f32[3,7]", "| a=f32[65] b=f32[65]"};
static const tn_operator mix = {
    OPERATOR,       .name = "MixQ8",        TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32", "qu8, qu8 -> qu8"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "MixQ8",
                                 .name = "bytes",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("mix_q8", mix, kernel)
