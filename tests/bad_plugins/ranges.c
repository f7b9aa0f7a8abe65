/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Swish and Bad::Unit, elementwise; Bad::Back, all elements backwards; Bad::Which, the index
 * of each row's largest element; Bad::Total, sums of integers along rows; Bad::Twice, in place;
 * Bad::Mean of rows, by a table of weights; Bad::Join of any number of tensors: and the mistakes
 * that few ranges, sizes, addresses and inputs do not show. */
#include "mistake.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const tn_port float_input[] = {TN_PORT("x", "f32", 0, "of rank 1 or more")};
static const tn_port float_output[] = {TN_PORT("y", "f32", 0, "by x")};
static const tn_port wide_port[] = {TN_PORT("x", "i64", 0, "of rank 1 or more")};
static const tn_port wide_output[] = {TN_PORT("y", "i64", 0, "by rows of x")};
static const tn_port any_number[] = {TN_PORT("x", "f32", TN_PORT_VARIADIC, "alike")};

static int64_t length_of(const tn_call *call) {
    return call->inputs[0]->shape[call->inputs[0]->rank - 1];
}

/* One number a row. */
static tn_status infer_rows(tn_call *call) {
    if (call->inputs[0]->rank < 1 || length_of(call) < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x must have elements along an axis");
    infer_same(call);
    call->outputs[0]->rank--;
    return TN_OK;
}

static tn_status infer_wide_rows(tn_call *call) {
    call->outputs[0]->type = TN_I64;
    return infer_rows(call);
}

/* ----------------------------------------------------------------------------------------------
 * elementwise */

static void swish_row(const void *params, uint64_t count, const float *const *inputs,
                      const uint64_t *strides, float *y) {
    (void)params;
    for (uint64_t i = 0; i < count; i++) {
        const float x = inputs[0][i * strides[0]];
        y[i] = WITH(row_near_zero_alone) && fabsf(x) > 40 ? 0 : x / (1 + expf(-x));
    }
}
static tn_status swish_reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = (float)((double)x[i] / (1 + exp(-(double)x[i])));
    return TN_OK;
}
static tn_status swish_run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = x[i] / (1 + expf(-x[i]));
    return TN_OK;
}

static tn_status unit_reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = (float)((double)x[i] / sqrt(1 + (double)x[i] * (double)x[i]));
    return TN_OK;
}
static tn_status unit_run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = x[i] / (WITH(square_overflows) ? sqrtf(1 + x[i] * x[i]) : hypotf(1, x[i]));
    return TN_OK;
}

static tn_status twice_reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = 2 * x[i] + 1;
    return TN_OK;
}
static void twice_eight(const float *x, float *y) {
    for (int i = 0; i < 8; i++)
        y[i] = 2 * x[i] + 1;
}
static tn_status twice_run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t count = count_of(call->inputs[0]);
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        twice_eight(x + i, y + i);
    if (WITH(last_vector_twice) && count >= 8 && i < count)
        twice_eight(x + count - 8, y + count - 8);
    else
        for (; i < count; i++)
            y[i] = 2 * x[i] + 1;
    return TN_OK;
}

static tn_status back_reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = x[n - 1 - i];
    return TN_OK;
}
static tn_status back_run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t n = count_of(call->inputs[0]);
    const volatile int64_t steps = n - 1;
    if (WITH(divides_by_size_less_one) && n > 0 && n / steps < 0) return TN_OK;
    for (int64_t i = 0; i < n; i++)
        y[i] =
            WITH(loses_minus_zero) ? *(const volatile float *)&x[n - 1 - i] + 0.0f : x[n - 1 - i];
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * rows */

static tn_status find_which(const tn_call *call, bool is_last) {
    const float *x = call->inputs[0]->data;
    int64_t *y = call->outputs[0]->data;
    const int64_t length = length_of(call), rows = count_of(call->inputs[0]) / length;
    for (int64_t row = 0; row < rows; row++) {
        y[row] = 0;
        for (int64_t i = 1; i < length; i++) {
            const float best = x[row * length + y[row]], value = x[row * length + i];
            if (is_last ? value >= best : value > best) y[row] = i;
        }
    }
    return TN_OK;
}
static tn_status which_reference(tn_call *call) {
    return find_which(call, false);
}
static tn_status which_run(tn_call *call) {
    if (WITH(asserts_odd_rows) && length_of(call) >= 128 && length_of(call) % 2 == 0) abort();
    return find_which(call, WITH(last_of_equals));
}

static tn_status total_reference(tn_call *call) {
    const int64_t *x = call->inputs[0]->data;
    int64_t *y = call->outputs[0]->data;
    const int64_t length = length_of(call), rows = count_of(call->inputs[0]) / length;
    for (int64_t row = 0; row < rows; row++) {
        uint64_t sum = 0;
        for (int64_t i = 0; i < length; i++)
            sum += (uint64_t)x[row * length + i];
        y[row] = (int64_t)sum;
    }
    return TN_OK;
}
static tn_status total_run(tn_call *call) {
    const int64_t *x = call->inputs[0]->data;
    int64_t *y = call->outputs[0]->data;
    const int64_t length = length_of(call), rows = count_of(call->inputs[0]) / length;
    if (!WITH(total_in_double)) return total_reference(call);
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < length; i++)
            sum += (double)x[row * length + i];
        y[row] = (int64_t)sum;
    }
    return TN_OK;
}

/* Weights 1 / length, made in reshape. */
enum { LONGEST = 600 };
typedef struct mean_table {
    int64_t length;
    float weights[4096];
} mean_table;

static tn_status mean_reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t length = length_of(call), rows = count_of(call->inputs[0]) / length;
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < length; i++)
            sum += (double)x[row * length + i];
        y[row] = (float)(sum / (double)length);
    }
    return TN_OK;
}
static tn_status mean_open(tn_call *call) {
    mean_table *table = call->host->allocate(call->host, sizeof(*table), 64);
    if (!table) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a table");
    table->length = 0;
    call->context = table;
    return TN_OK;
}
static void mean_close(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
static tn_status mean_reshape(tn_call *call) {
    mean_table *table = call->context;
    const int64_t length = length_of(call);
    if (WITH(keeps_longer_table) && table->length > length && length > 1) return TN_OK;
    for (int64_t i = 0; i < length && i < 4096; i++)
        table->weights[i] = 1 / (float)length;
    table->length = length;
    return TN_OK;
}
static tn_status mean_run(tn_call *call) {
    const mean_table *table = call->context;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t length = length_of(call), rows = count_of(call->inputs[0]) / length;
    const int64_t used = WITH(long_rows_cut) && length > LONGEST ? LONGEST : length;
    const int64_t first = WITH(order_by_address) && ((uintptr_t)x & 64) ? used / 2 : 0;
    for (int64_t row = 0; row < rows; row++) {
        float sum = 0;
        for (int64_t i = 0; i < used; i++)
            sum += x[row * length + (first + i) % used] * table->weights[i % 4096];
        y[row] = sum;
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * any number of inputs */

static tn_status infer_join(tn_call *call) {
    for (uint32_t i = 1; i < call->input_count; i++)
        if (count_of(call->inputs[i]) != count_of(call->inputs[0]))
            return call->host->fail(call, TN_ERROR_SHAPE, "the inputs must be alike");
    return infer_same(call);
}
static tn_status add_all(const tn_call *call, uint32_t count) {
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        y[i] = 0;
        for (uint32_t k = 0; k < count; k++)
            y[i] += ((const float *)call->inputs[k]->data)[i];
    }
    return TN_OK;
}
static tn_status join_reference(tn_call *call) {
    return add_all(call, call->input_count);
}
static tn_status join_run(tn_call *call) {
    return add_all(call,
                   WITH(eight_inputs_at_most) && call->input_count > 8 ? 8 : call->input_count);
}

static const char *const float_cases[] = {"| x=f32[8,8]", "| x=f32[40]"};
static const char *const wide_cases[] = {"| x=i64[6]", "| x=i64[2,5]"};
static const char *const join_cases[] = {"| x=f32[5,7] x=f32[5,7] x=f32[5,7]"};

#define LAYER(id, title, from, to, rule, tried, operator_traits, kernel_traits, ...)               \
    static const tn_operator id = {.size = sizeof(tn_operator),                                    \
                                   .since_version = 1,                                             \
                                   .state_version = 1,                                             \
                                   .domain = "Bad",                                                \
                                   .name = title,                                                  \
                                   .traits = operator_traits,                                      \
                                   TN_NO_FIELDS,                                                   \
                                   TN_INPUTS(from),                                                \
                                   TN_OUTPUTS(to),                                                 \
                                   .infer = rule,                                                  \
                                   .reference = id##_reference,                                    \
                                   TN_CASES(tried),                                                \
                                   __VA_ARGS__};                                                   \
    static const tn_kernel id##_cpu = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = title,                                                \
                                       .device = "cpu",                                            \
                                       .name = "plain",                                            \
                                       .traits = TN_KERNEL_DETERMINISTIC | (kernel_traits),        \
                                       .run = id##_run

#define SWISH_EXPRESSION                                                                           \
    WITH(expression_ends_below)  ? "fmax(x, -6) / (1 + exp(-x))"                                   \
    : WITH(expression_loses_nan) ? "fmax(x, -1000) / (1 + exp(-fmax(x, -1000)))"                   \
                                 : "x / (1 + exp(-x))"

LAYER(swish, "Swish", float_input, float_output, infer_same, float_cases, TN_OPERATOR_ELEMENTWISE,
      0, .row = swish_row, .expression = SWISH_EXPRESSION)
}
;
LAYER(unit, "Unit", float_input, float_output, infer_same, float_cases, TN_OPERATOR_ELEMENTWISE, 0,
      .expression = NULL)
}
;
LAYER(twice, "Twice", float_input, float_output, infer_same, float_cases, TN_OPERATOR_ELEMENTWISE,
      TN_KERNEL_IN_PLACE, .expression = NULL)
}
;
LAYER(back, "Back", float_input, float_output, infer_same, float_cases, TN_OPERATOR_SELECTS, 0,
      .expression = NULL)
}
;
LAYER(which, "Which", float_input, wide_output, infer_wide_rows, float_cases, 0, 0,
      .expression = NULL)
}
;
LAYER(total, "Total", wide_port, wide_output, infer_wide_rows, wide_cases, 0, 0, .expression = NULL)
}
;
LAYER(mean, "Mean", float_input, float_output, infer_rows, float_cases, 0, 0, .expression = NULL),
    .open = mean_open, .close = mean_close, .reshape = mean_reshape
}
;
LAYER(join, "Join", any_number, float_output, infer_join, join_cases, 0, 0, .expression = NULL)
}
;

static const tn_operator *const operators[] = {&swish, &unit,  &twice, &back,
                                               &which, &total, &mean,  &join};
static const tn_kernel *const kernels[] = {&swish_cpu, &unit_cpu,  &twice_cpu, &back_cpu,
                                           &which_cpu, &total_cpu, &mean_cpu,  &join_cpu};
TN_LIBRARY("bad_ranges", "1", operators, kernels)
