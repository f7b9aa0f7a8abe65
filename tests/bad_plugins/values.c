/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Larger, the larger of two tensors of any of six types, and which one it was; Bad::Times,
 * products of integers; Bad::Tenth, a tenth of halves; Bad::Whole and Bad::Soft, elementwise
 * floats: and the mistakes that small values do not show. */
#include "mistake.h"

#include <math.h>
#include <string.h>

static float half_to_float(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31;
    const uint32_t fraction = half & 1023;
    float value;
    if (exponent == 0) {
        value = (WITH(half_flushes_subnormals) ? 0.0f : (float)fraction) * 0x1p-24f;
        return sign ? -value : value;
    }
    if (exponent == 31 || (WITH(half_ends_early) && exponent == 30))
        return fraction && exponent == 31 ? NAN : sign ? -INFINITY : INFINITY;
    const uint32_t bits = sign | (exponent + 112) << 23 | fraction << 13;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint16_t float_to_half(float value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const float magnitude = fabsf(value);
    int exponent;
    if (isnan(value)) return 0x7E00;
    if (magnitude >= 65520) return (uint16_t)(sign | 0x7C00);
    if (magnitude < 0x1p-14f) return (uint16_t)(sign | (uint16_t)rintf(magnitude * 0x1p24f));
    const float fraction = frexpf(magnitude, &exponent); /* from 0.5 to 1 */
    return (uint16_t)(sign + ((exponent + 14) << 10) + (int)rintf(fraction * 2048) - 1024);
}

/* ----------------------------------------------------------------------------------------------
 * the larger one */

static const tn_port pair_ports[] = {TN_PORT("a", "T:u8|i8|i32|u32|i64|f16", 0, "any shape"),
                                     TN_PORT("b", "T", 0, "as a")};
static const tn_port larger_outputs[] = {TN_PORT("y", "u8|i8|i32|u32|i64|f16", 0, "as a"),
                                         TN_PORT("is_b", "bool", 0, "whether b is larger")};

static tn_status infer_larger(tn_call *call) {
    if (count_of(call->inputs[0]) != count_of(call->inputs[1]))
        return call->host->fail(call, TN_ERROR_SHAPE, "a and b must be alike");
    for (uint32_t k = 0; k < 2; k++) {
        if (!call->outputs[k]) continue;
        call->outputs[k]->type = k == 0 ? call->inputs[0]->type : TN_BOOL;
        call->outputs[k]->rank = call->inputs[0]->rank;
        for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
            call->outputs[k]->shape[i] = call->inputs[0]->shape[i];
    }
    return TN_OK;
}

#define IS_LESS(type, as)                                                                          \
    is_less = (as)((const type *)a)[i] < (as)((const type *)b)[i];                                 \
    size = sizeof(type);                                                                           \
    break

static tn_status find_larger(tn_call *call, bool is_kernel) {
    const void *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    const bool bytes_as_signed = WITH(bytes_as_signed) && is_kernel,
               wide_through_double = WITH(wide_through_double) && is_kernel,
               wide_through_int = WITH(wide_through_int) && is_kernel,
               unsigned_as_signed = WITH(unsigned_as_signed) && is_kernel,
               int_through_float = WITH(int_through_float) && is_kernel;
    char *y = call->outputs[0] ? call->outputs[0]->data : NULL;
    uint8_t *is_b = call->outputs[1] ? call->outputs[1]->data : NULL;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        bool is_less = false;
        size_t size = 0;
        switch (call->inputs[0]->type) {
        case TN_U8:
            if (bytes_as_signed) {
                IS_LESS(uint8_t, int8_t);
            }
            IS_LESS(uint8_t, uint8_t);
        case TN_I8:
            IS_LESS(int8_t, int8_t);
        case TN_U32:
            if (unsigned_as_signed) {
                IS_LESS(uint32_t, int32_t);
            }
            IS_LESS(uint32_t, uint32_t);
        case TN_I32:
            if (int_through_float) {
                IS_LESS(int32_t, float);
            }
            IS_LESS(int32_t, int32_t);
        case TN_I64:
            if (wide_through_double) {
                IS_LESS(int64_t, double);
            }
            if (wide_through_int) {
                IS_LESS(int64_t, int32_t);
            }
            IS_LESS(int64_t, int64_t);
        default:
            is_less =
                half_to_float(((const uint16_t *)a)[i]) < half_to_float(((const uint16_t *)b)[i]);
            size = 2;
        }
        if (y) memcpy(y + i * size, (const char *)(is_less ? b : a) + i * size, size);
        if (is_b) is_b[i] = is_less ? (WITH(masks_as_truths) && is_kernel ? 0xFF : 1) : 0;
    }
    return TN_OK;
}
static tn_status larger_reference(tn_call *call) {
    return find_larger(call, false);
}
static tn_status larger_run(tn_call *call) {
    return find_larger(call, true);
}

static const char *const larger_cases[] = {"| a=u8[5,7] b=u8[5,7]",   "| a=i8[5,7] b=i8[5,7]",
                                           "| a=i32[5,7] b=i32[5,7]", "| a=u32[5,7] b=u32[5,7]",
                                           "| a=i64[5,7] b=i64[5,7]", "| a=f16[5,7] b=f16[5,7]"};
static const tn_operator larger = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Bad",
                                   .name = "Larger",
                                   TN_NO_FIELDS,
                                   TN_INPUTS(pair_ports),
                                   TN_OUTPUTS(larger_outputs),
                                   .infer = infer_larger,
                                   .reference = larger_reference,
                                   TN_CASES(larger_cases)};
static const tn_kernel larger_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Larger",
                                     .device = "cpu",
                                     .name = "plain",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     .run = larger_run};

/* ----------------------------------------------------------------------------------------------
 * products */

static const tn_port factors[] = {TN_PORT("a", "T:i32|i64", 0, "any shape"),
                                  TN_PORT("b", "T", 0, "as a")};
static const tn_port product[] = {TN_PORT("y", "i32|i64", 0, "a * b")};

static tn_status infer_times(tn_call *call) {
    if (count_of(call->inputs[0]) != count_of(call->inputs[1]))
        return call->host->fail(call, TN_ERROR_SHAPE, "a and b must be alike");
    call->outputs[0]->type = call->inputs[0]->type;
    return infer_same(call);
}

static tn_status multiply(tn_call *call, bool is_kernel) {
    const void *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    void *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        if (call->inputs[0]->type == TN_I32)
            ((int32_t *)y)[i] =
                (int32_t)((uint32_t)((const int32_t *)a)[i] * (uint32_t)((const int32_t *)b)[i]);
        else if (WITH(product_of_ints) && is_kernel)
            ((int64_t *)y)[i] =
                (int32_t)((uint64_t)((const int64_t *)a)[i] * (uint64_t)((const int64_t *)b)[i]);
        else
            ((int64_t *)y)[i] =
                (int64_t)((uint64_t)((const int64_t *)a)[i] * (uint64_t)((const int64_t *)b)[i]);
    }
    return TN_OK;
}
static tn_status times_reference(tn_call *call) {
    return multiply(call, false);
}
static tn_status times_run(tn_call *call) {
    return multiply(call, true);
}

static const char *const times_cases[] = {"| a=i32[5,7] b=i32[5,7]", "| a=i64[5,7] b=i64[5,7]"};
static const tn_operator times = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .domain = "Bad",
                                  .name = "Times",
                                  TN_NO_FIELDS,
                                  TN_INPUTS(factors),
                                  TN_OUTPUTS(product),
                                  .infer = infer_times,
                                  .reference = times_reference,
                                  TN_CASES(times_cases)};
static const tn_kernel times_cpu = {.size = sizeof(tn_kernel),
                                    .revision = 1,
                                    .domain = "Bad",
                                    .op = "Times",
                                    .device = "cpu",
                                    .name = "plain",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    .run = times_run};

/* ----------------------------------------------------------------------------------------------
 * floats of one tensor */

static const tn_port half_input[] = {TN_PORT("x", "f16", 0, "any shape")};
static const tn_port half_output[] = {TN_PORT("y", "f16", 0, "x / 10")};
static const tn_port float_input[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port float_output[] = {TN_PORT("y", "f32", 0, "as x")};

static double half_value(uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double value = exponent == 31  ? (fraction ? NAN : INFINITY)
                         : exponent == 0 ? ldexp(fraction, -24)
                                         : ldexp(fraction + 1024, exponent - 25);
    return half >> 15 ? -value : value;
}
/* Rounds once, to even. */
static uint16_t nearest_half(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (isnan(value)) return 0x7e00;
    if (value == 0) return sign;
    if (fabs(value) >= 65520) return sign | 0x7c00;
    (void)frexp(value, &exponent);
    exponent = exponent - 11 > -24 ? exponent - 11 : -24;
    return (uint16_t)(sign |
                      (((exponent + 24) << 10) + (int)nearbyint(ldexp(fabs(value), -exponent))));
}
/* The reference converts by the definition. */
static tn_status tenth_reference(tn_call *call) {
    const uint16_t *x = call->inputs[0]->data;
    uint16_t *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = nearest_half(half_value(x[i]) / 10);
    return TN_OK;
}
static tn_status tenth_run(tn_call *call) {
    const uint16_t *x = call->inputs[0]->data;
    uint16_t *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = float_to_half(half_to_float(x[i]) / 10);
    return TN_OK;
}

static tn_status whole_reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = floorf(x[i]);
    return TN_OK;
}
static tn_status whole_run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        const float cut = WITH(floor_through_int) ? (float)(int32_t)x[i] : truncf(x[i]);
        y[i] = cut - (cut > x[i]);
    }
    return TN_OK;
}

static tn_status soft_reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = (float)(log1p(exp(-fabs((double)x[i]))) + (x[i] < 0 ? 0 : (double)x[i]));
    return TN_OK;
}
static tn_status soft_run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = WITH(exp_overflows) ? logf(1 + expf(x[i]))
                                   : log1pf(expf(-fabsf(x[i]))) + (x[i] < 0 ? 0 : x[i]);
    return TN_OK;
}

static const char *const half_cases[] = {"| x=f16[3,40]"};
static const char *const float_cases[] = {"| x=f32[3,40]"};
#define ELEMENTWISE(id, title, from, to, tried, text)                                              \
    static const tn_operator id = {.size = sizeof(tn_operator),                                    \
                                   .since_version = 1,                                             \
                                   .state_version = 1,                                             \
                                   .domain = "Bad",                                                \
                                   .name = title,                                                  \
                                   .traits = TN_OPERATOR_ELEMENTWISE,                              \
                                   .expression = text,                                             \
                                   TN_NO_FIELDS,                                                   \
                                   TN_INPUTS(from),                                                \
                                   TN_OUTPUTS(to),                                                 \
                                   .infer = infer_same,                                            \
                                   .reference = id##_reference,                                    \
                                   TN_CASES(tried)};                                               \
    static const tn_kernel id##_cpu = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = title,                                                \
                                       .device = "cpu",                                            \
                                       .name = "plain",                                            \
                                       .traits = TN_KERNEL_DETERMINISTIC,                          \
                                       .run = id##_run}
ELEMENTWISE(tenth, "Tenth", half_input, half_output, half_cases, "x / 10");
ELEMENTWISE(whole, "Whole", float_input, float_output, float_cases, "floor(x)");
ELEMENTWISE(soft, "Soft", float_input, float_output, float_cases,
            WITH(expression_overflows) ? "log(1 + exp(x))" : "fmax(x, 0) + log1p(exp(-fabs(x)))");

static const tn_operator *const operators[] = {&larger, &times, &tenth, &whole, &soft};
static const tn_kernel *const kernels[] = {&larger_cpu, &times_cpu, &tenth_cpu, &whole_cpu,
                                           &soft_cpu};
TN_LIBRARY("bad_values", "1", operators, kernels)
