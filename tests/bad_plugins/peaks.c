/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Shares, softmax along the last axis; Bad::Peak, the largest element of it, NaN where there
 * is one; Bad::Turned, rows backwards by a table: and the mistakes that special values, contexts of
 * two shapes and memory that is used again show. */
#include "mistake.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "of rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "by rows of x")};

static int64_t length_of(const tn_call *call) {
    return call->inputs[0]->shape[call->inputs[0]->rank - 1];
}
static tn_status infer_rows(tn_call *call) {
    if (call->inputs[0]->rank < 1 || length_of(call) < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x must have elements along an axis");
    return infer_same(call);
}
static tn_status infer_peak(tn_call *call) {
    const tn_status status = infer_rows(call);
    if (status != TN_OK) return status;
    call->outputs[0]->rank--;
    return TN_OK;
}

static tn_status shares(const tn_call *call, bool has_maximum) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t length = length_of(call);
    for (int64_t row = 0, n = count_of(call->inputs[0]); row < n; row += length) {
        float most = has_maximum ? -INFINITY : 0, sum = 0;
        for (int64_t i = row; i < row + length && has_maximum; i++)
            most = x[i] > most ? x[i] : most;
        for (int64_t i = row; i < row + length; i++)
            sum += y[i] = expf(x[i] - most);
        for (int64_t i = row; i < row + length; i++)
            y[i] /= sum;
    }
    return TN_OK;
}
static tn_status shares_reference(tn_call *call) {
    return shares(call, true);
}
static tn_status shares_run(tn_call *call) {
    return shares(call, !WITH(softmax_without_maximum));
}

static tn_status peak(const tn_call *call, bool is_kernel) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t length = length_of(call), rows = count_of(call->inputs[0]) / length;
    for (int64_t row = 0; row < rows; row++) {
        float most = is_kernel && WITH(starts_at_lowest_float) ? -FLT_MAX : -INFINITY;
        for (int64_t i = 0; i < length; i++) {
            const float value = x[row * length + i];
            const bool is_kept = value <= most || isnan(most);
            if (is_kernel && WITH(maximum_loses_nan)) {
                most = fmaxf(most, value);
                continue;
            }
            most = is_kept ? most : value;
        }
        y[row] = most;
    }
    return TN_OK;
}
static tn_status peak_reference(tn_call *call) {
    return peak(call, false);
}
static tn_status peak_run(tn_call *call) {
    return peak(call, true);
}

/* ----------------------------------------------------------------------------------------------
 * rows backwards */

static int64_t last_length; /* of the context that was shaped last */
typedef struct turned_context {
    int64_t length;
    const void *known; /* the first element of what lies here, kept by its address */
    float first;
} turned_context;

static tn_status turned_open(tn_call *call) {
    call->context = call->host->allocate(call->host, sizeof(turned_context), 64);
    if (!call->context) return call->host->fail(call, TN_ERROR_MEMORY, "no memory");
    *(turned_context *)call->context = (turned_context){0};
    return TN_OK;
}
static void turned_close(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
static tn_status turned_reshape(tn_call *call) {
    turned_context *context = call->context;
    context->length = length_of(call);
    last_length = length_of(call);
    return TN_OK;
}

static tn_status turn(const tn_call *call, int64_t length, const float *first) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t row = 0, n = count_of(call->inputs[0]); row + length <= n; row += length)
        for (int64_t i = 0; i < length; i++)
            y[row + i] = x[row + length - 1 - i];
    if (first && count_of(call->inputs[0]) > 0) y[length - 1] = *first;
    return TN_OK;
}
static tn_status turned_reference(tn_call *call) {
    return turn(call, length_of(call), NULL);
}
static tn_status turned_run(tn_call *call) {
    turned_context *context = call->context;
    const float *x = call->inputs[0]->data;
    if (context->known != x && count_of(call->inputs[0]) > 0) context->first = x[0];
    context->known = x;
    return turn(call, WITH(length_in_a_static) ? last_length : context->length,
                WITH(caches_by_address) ? &context->first : NULL);
}

static const char *const cases[] = {"| x=f32[3,8]", "| x=f32[4,3,5]"};
#define ROWS(id, title, rule)                                                                      \
    static const tn_operator id##_operator = {.size = sizeof(tn_operator),                         \
                                              .since_version = 1,                                  \
                                              .state_version = 1,                                  \
                                              .domain = "Bad",                                     \
                                              .name = title,                                       \
                                              TN_NO_FIELDS,                                        \
                                              TN_INPUTS(inputs),                                   \
                                              TN_OUTPUTS(outputs),                                 \
                                              .infer = rule,                                       \
                                              .reference = id##_reference,                         \
                                              TN_CASES(cases)}
#define KERNEL(title)                                                                              \
    .size = sizeof(tn_kernel), .revision = 1, .domain = "Bad", .op = title, .device = "cpu",       \
    .name = "rows", .traits = TN_KERNEL_DETERMINISTIC
ROWS(shares, "Shares", infer_rows);
ROWS(peak, "Peak", infer_peak);
ROWS(turned, "Turned", infer_rows);
static const tn_kernel shares_cpu = {KERNEL("Shares"), .run = shares_run};
static const tn_kernel peak_cpu = {KERNEL("Peak"), .run = peak_run};
static const tn_kernel turned_cpu = {KERNEL("Turned"), .open = turned_open, .close = turned_close,
                                     .reshape = turned_reshape, .run = turned_run};

static const tn_operator *const operators[] = {&shares_operator, &peak_operator, &turned_operator};
static const tn_kernel *const kernels[] = {&shares_cpu, &peak_cpu, &turned_cpu};
TN_LIBRARY("bad_peaks", "1", operators, kernels)
