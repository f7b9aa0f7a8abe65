/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bound::Products, y = x * w by the rows of both, with kernels that read 32-bit floats, round both
 * factors and store something narrower: as tf32 into 8 bits, and as bf16 into the same. What the
 * suite's bounds say of such kernels is tried with it; LOST_BITS more than a right one loses.
 */
#include <math.h>
#include <string.h>
#include <tenon/plugin.h>

#ifndef LOST_BITS
#define LOST_BITS 0
#endif

enum { TF32_BITS = 10 - LOST_BITS, BF16_BITS = 7 - LOST_BITS };

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows of the result, numbers to add up"),
                                 TN_PORT("w", "f32", 0, "columns of the result, the same")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "rows, columns")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    if (x->rank != 2 || w->rank != 2 || x->shape[1] != w->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "x and w are matrices of equal rows");
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = x->shape[0];
    call->outputs[0]->shape[1] = w->shape[0];
    return TN_OK;
}

/* So many bits behind the first one, to nearest. */
static double keep_bits(double value, int bits) {
    int exponent;
    const double mantissa = frexp(value, &exponent), scale = exp2(bits + 1);
    return ldexp(rint(mantissa * scale) / scale, exponent);
}

/* Element `i` of the result; 52 bits: all that there are. */
static double multiply(const tn_call *call, int64_t i, int bits) {
    const int64_t columns = call->outputs[0]->shape[1], depth = call->inputs[0]->shape[1];
    const float *x = (const float *)call->inputs[0]->data + i / columns * depth;
    const float *w = (const float *)call->inputs[1]->data + i % columns * depth;
    double sum = 0;
    for (int64_t k = 0; k < depth; k++)
        sum += keep_bits((double)x[k], bits) * keep_bits((double)w[k], bits);
    return sum;
}

static int64_t count_of(const tn_call *call) {
    return call->outputs[0]->shape[0] * call->outputs[0]->shape[1];
}

static tn_status reference(tn_call *call) {
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < count_of(call); i++)
        y[i] = (float)multiply(call, i, 52);
    return TN_OK;
}

static tn_status run_bytes(tn_call *call) {
    int8_t *y = call->outputs[0]->data;
    const double scale = (double)*(const float *)call->outputs[0]->quantization->scales;
    for (int64_t i = 0; i < count_of(call); i++)
        y[i] = (int8_t)fmin(127, fmax(-128, rint(multiply(call, i, TF32_BITS) / scale)));
    return TN_OK;
}

static tn_status run_halves(tn_call *call) {
    uint16_t *y = call->outputs[0]->data;
    for (int64_t i = 0; i < count_of(call); i++) {
        const float rounded = (float)keep_bits(multiply(call, i, BF16_BITS), 7);
        uint32_t bits;
        memcpy(&bits, &rounded, sizeof(bits));
        y[i] = (uint16_t)(bits >> 16);
    }
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[90,20] w=f32[80,20]", "| x=f32[7,400] w=f32[150,400]"};
static const tn_operator products = {.size = sizeof(tn_operator),
                                     .since_version = 1,
                                     .state_version = 1,
                                     .domain = "Bound",
                                     .name = "Products",
                                     TN_NO_FIELDS,
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer,
                                     .reference = reference,
                                     TN_CASES(cases)};
#define KERNEL(kernel_name, more_traits, combinations_of_it, run_of_it)                            \
    {                                                                                              \
        .size = sizeof(tn_kernel), .revision = 1, .domain = "Bound", .op = "Products",             \
        .device = "cpu", .name = kernel_name, .traits = TN_KERNEL_DETERMINISTIC | (more_traits),   \
        TN_COMBINATIONS(combinations_of_it), .run = run_of_it                                      \
    }
static const char *const to_bytes[] = {"f32, f32 -> qi8"}, *const to_halves[] = {
                                                               "f32, f32 -> bf16"};
static const tn_kernel tf32 = KERNEL("tf32", TN_KERNEL_TF32, to_bytes, run_bytes),
                       bf16 = KERNEL("bf16", 0, to_halves, run_halves);
static const tn_operator *const operators[] = {&products};
static const tn_kernel *const kernels[] = {&tf32, &bf16};
TN_LIBRARY("rounded_products", "1", operators, kernels)
