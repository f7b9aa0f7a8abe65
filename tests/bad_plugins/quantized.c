/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Leaky, y = x below 0 ? slope * x : x, on 8-bit values with scales and on 16-bit floats; and
 * the mistakes that are made with stored types. */
#include "mistake.h"

#include <math.h>
#include <string.h>

typedef struct leaky_params {
    uint64_t present;
    float slope;
} leaky_params;
static const tn_field fields[] = {
    TN_FIELD(leaky_params, slope, TN_FIELD_F32, 0, "0.25", "factor of negative values")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static float leaky(const tn_call *call, float x) {
    return x < 0 ? ((const leaky_params *)call->params)->slope * x : x;
}
static tn_status reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = (float)(x[i] < 0 ? (double)((const leaky_params *)call->params)->slope * (double)x[i]
                                : (double)x[i]);
    return TN_OK;
}

/* Bytes, with a scale on each side. */
static int8_t store(float steps) {
    if (WITH(wraps)) return (int8_t)(int)rintf(steps);
    if (WITH(wraps_in_16_bits)) steps = (float)(int16_t)(int)rintf(steps);
    if (WITH(rounds_half_away)) steps = roundf(steps);
    if (WITH(truncates)) steps = truncf(steps);
    if (WITH(saturates_at_128)) return (int8_t)(int)fminf(128, fmaxf(-128, rintf(steps)));
    return (int8_t)fminf(127, fmaxf(-128, rintf(steps)));
}
static tn_status run_bytes(tn_call *call) {
    const int8_t *x = call->inputs[0]->data;
    int8_t *y = call->outputs[0]->data;
    const float in = *(const float *)call->inputs[0]->quantization->scales;
    float out = *(const float *)call->outputs[0]->quantization->scales;
    if (WITH(one_scale)) out = in;
    if (WITH(inverse_scale)) out = 1 / out;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = store(leaky(call, (float)x[i] * (WITH(forgets_scale) ? 1 / 127.0f : in)) / out);
    return TN_OK;
}

/* Upper halves of floats. */
static float widen(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}
static uint16_t narrow(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
static tn_status run_halves(tn_call *call) {
    const uint16_t *x = call->inputs[0]->data;
    uint16_t *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = WITH(bits_as_numbers) ? (uint16_t)leaky(call, (float)x[i])
                                     : narrow(leaky(call, widen(x[i])));
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[6,80]", "slope=0.5 | x=f32[1,2,64]"};
static const tn_operator leaky_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .traits = TN_OPERATOR_ELEMENTWISE,
                                           .domain = "Bad",
                                           .name = "Leaky",
                                           TN_FIELDS(leaky_params, fields),
                                           TN_INPUTS(inputs),
                                           TN_OUTPUTS(outputs),
                                           .infer = infer_same,
                                           .reference = reference,
                                           TN_CASES(cases)};
#define KERNEL(kernel_name, combinations_of_it, run_of_it)                                         \
    {                                                                                              \
        .size = sizeof(tn_kernel), .revision = 1, .domain = "Bad", .op = "Leaky", .device = "cpu", \
        .name = kernel_name, .traits = TN_KERNEL_DETERMINISTIC,                                    \
        TN_COMBINATIONS(combinations_of_it), .run = run_of_it                                      \
    }
static const char *const of_bytes[] = {"qi8 -> qi8"}, *const of_halves[] = {"bf16 -> bf16"};
static const tn_kernel bytes = KERNEL("bytes", of_bytes, run_bytes),
                       halves = KERNEL("halves", of_halves, run_halves);
static const tn_operator *const operators[] = {&leaky_operator};
static const tn_kernel *const kernels[] = {&bytes, &halves};
TN_LIBRARY("bad_leaky", "1", operators, kernels)
