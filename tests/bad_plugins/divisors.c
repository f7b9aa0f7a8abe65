/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Share, x / divisor of 64-bit integers, rounded towards zero, and Bad::Average, over some
 * axes; Bad::Leak, x < 0 ? alpha * x : x; Bad::Exact, x * factor in double precision: and kernels
 * that are wrong for some values of their fields. */
#include "mistake.h"

typedef struct share_params {
    uint64_t present;
    int64_t divisor;
} share_params;
static const tn_field share_fields[] = {
    TN_FIELD(share_params, divisor, TN_FIELD_I64, 0, "3", "not 0")};
static const tn_port whole_input[] = {TN_PORT("x", "i64", 0, "any shape")};
static const tn_port whole_output[] = {TN_PORT("y", "i64", 0, "as x")};

static tn_status infer_share(tn_call *call) {
    if (((const share_params *)call->params)->divisor == 0)
        return call->host->fail(call, TN_ERROR_RANGE, "the divisor is 0");
    return infer_same(call);
}

static int64_t share(int64_t x, int64_t divisor, bool is_kernel) {
    const bool traps = is_kernel && WITH(traps_at_minus_one);
    if (is_kernel && WITH(divisor_of_32_bits)) divisor = (int32_t)divisor ? (int32_t)divisor : 1;
    if (is_kernel && WITH(halves_by_shift) && divisor == 2) return x >> 1;
    if (divisor == -1 && !traps) return (int64_t)(0 - (uint64_t)x);
    return x / *(volatile int64_t *)&divisor;
}

static tn_status share_all(tn_call *call, bool is_kernel) {
    const share_params *p = call->params;
    const int64_t *x = call->inputs[0]->data;
    int64_t *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = share(x[i], p->divisor, is_kernel);
    return TN_OK;
}
static tn_status share_reference(tn_call *call) {
    return share_all(call, false);
}
static tn_status share_run(tn_call *call) {
    return share_all(call, true);
}

/* ----------------------------------------------------------------------------------------------
 * averages of two axes */

typedef struct average_params {
    uint64_t present;
    tn_i64s axes;
} average_params;
static const tn_field average_fields[] = {
    TN_FIELD(average_params, axes, TN_FIELD_I64S, 0, "[0]", "over these")};
static const tn_port float_input[] = {TN_PORT("x", "f32", 0, "two axes")};
static const tn_port float_output[] = {
    TN_PORT("y", "f32", 0, "as x, those axes with one position")};

/* A bit for each axis. */
static uint32_t axes_of(const tn_call *call) {
    const average_params *p = call->params;
    uint32_t bits = 0;
    for (uint64_t i = 0; i < p->axes.count; i++) {
        const int64_t axis = p->axes.items[i] < 0 ? p->axes.items[i] + 2 : p->axes.items[i];
        bits |= axis < 0 || axis > 1 ? 4 : 1u << axis;
    }
    return bits;
}

static tn_status infer_average(tn_call *call) {
    const uint32_t axes = axes_of(call);
    if (call->inputs[0]->rank != 2 || axes > 3)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has two axes");
    call->outputs[0]->rank = 2;
    for (uint32_t i = 0; i < 2; i++)
        call->outputs[0]->shape[i] = axes >> i & 1 ? 1 : call->inputs[0]->shape[i];
    return TN_OK;
}

static tn_status average(tn_call *call, bool is_kernel) {
    const average_params *p = call->params;
    const int64_t *shape = call->inputs[0]->shape, *to = call->outputs[0]->shape;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    int64_t positions = count_of(call->inputs[0]) / (count_of(call->outputs[0]) ?: 1);
    for (uint64_t i = 1; i < p->axes.count && is_kernel && WITH(counts_axes_twice); i++)
        if (p->axes.items[i] == p->axes.items[0]) positions *= shape[p->axes.items[0] & 1];
    for (int64_t i = 0; i < to[0]; i++)
        for (int64_t k = 0; k < to[1]; k++) {
            double sum = 0;
            for (int64_t r = to[0] == shape[0] ? i : 0; r < (to[0] == shape[0] ? i + 1 : shape[0]);
                 r++)
                for (int64_t c = to[1] == shape[1] ? k : 0;
                     c < (to[1] == shape[1] ? k + 1 : shape[1]); c++)
                    sum += (double)x[r * shape[1] + c];
            y[i * to[1] + k] = (float)(sum / (double)positions);
        }
    return TN_OK;
}
static tn_status average_reference(tn_call *call) {
    return average(call, false);
}
static tn_status average_run(tn_call *call) {
    return average(call, true);
}

/* ----------------------------------------------------------------------------------------------
 * floats */

typedef struct leak_params {
    uint64_t present;
    float alpha;
} leak_params;
static const tn_field leak_fields[] = {
    TN_FIELD(leak_params, alpha, TN_FIELD_F32, 0, "0.01", "slope below 0")};

static tn_status leak(tn_call *call, bool is_kernel) {
    const leak_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        const float other = p->alpha * x[i];
        y[i] = is_kernel && WITH(leaks_by_maximum) ? (x[i] > other ? x[i] : other)
               : x[i] < 0                          ? other
                                                   : x[i];
    }
    return TN_OK;
}
static tn_status leak_reference(tn_call *call) {
    return leak(call, false);
}
static tn_status leak_run(tn_call *call) {
    return leak(call, true);
}

typedef struct exact_params {
    uint64_t present;
    double factor;
} exact_params;
static const tn_field exact_fields[] = {
    TN_FIELD(exact_params, factor, TN_FIELD_F64, 0, "1", "of x")};
static const tn_port double_input[] = {TN_PORT("x", "f64", 0, "any shape")};
static const tn_port double_output[] = {TN_PORT("y", "f64", 0, "as x")};

static tn_status exact(tn_call *call, double factor) {
    const double *x = call->inputs[0]->data;
    double *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = factor * x[i];
    return TN_OK;
}
static tn_status exact_reference(tn_call *call) {
    return exact(call, ((const exact_params *)call->params)->factor);
}
static tn_status exact_run(tn_call *call) {
    const double factor = ((const exact_params *)call->params)->factor;
    return exact(call, WITH(factor_as_float) ? (double)(float)factor : factor);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const char *const share_cases[] = {"| x=i64[40]"};
static const char *const average_cases[] = {"| x=f32[3,4]"};
static const char *const leak_cases[] = {"| x=f32[3,5]"};
static const char *const exact_cases[] = {"| x=f64[3,5]"};
#define LAYER(id, title, from, to, rule)                                                           \
    static const tn_operator id##_operator = {.size = sizeof(tn_operator),                         \
                                              .since_version = 1,                                  \
                                              .state_version = 1,                                  \
                                              .domain = "Bad",                                     \
                                              .name = title,                                       \
                                              TN_FIELDS(id##_params, id##_fields),                 \
                                              TN_INPUTS(from),                                     \
                                              TN_OUTPUTS(to),                                      \
                                              .infer = rule,                                       \
                                              .reference = id##_reference,                         \
                                              TN_CASES(id##_cases)};                               \
    static const tn_kernel id##_cpu = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = title,                                                \
                                       .device = "cpu",                                            \
                                       .name = "plain",                                            \
                                       .traits = TN_KERNEL_DETERMINISTIC,                          \
                                       .run = id##_run}
LAYER(share, "Share", whole_input, whole_output, infer_share);
LAYER(average, "Average", float_input, float_output, infer_average);
LAYER(leak, "Leak", float_input, float_output, infer_same);
LAYER(exact, "Exact", double_input, double_output, infer_same);
static const tn_operator *const operators[] = {&share_operator, &average_operator, &leak_operator,
                                               &exact_operator};
static const tn_kernel *const kernels[] = {&share_cpu, &average_cpu, &leak_cpu, &exact_cpu};
TN_LIBRARY("bad_divisors", "1", operators, kernels)
