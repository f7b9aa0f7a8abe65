/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Lookup, columns times one of two lists of factors and a window that is a tensor, as a type
 * that a field says; and the mistakes with what fields point to, and with reads that need not be.
 */
#include "mistake.h"

#include <stdio.h>

typedef struct lookup_params {
    uint64_t present;
    tn_f32s factors, shifts;
    const tn_tensor *window;
    tn_type to;
} lookup_params;
static const tn_field fields[] = {
    TN_FIELD(lookup_params, factors, TN_FIELD_F32S, TN_REQUIRED, NULL, "of the columns"),
    TN_FIELD(lookup_params, shifts, TN_FIELD_F32S, 0, NULL, "as many as factors, or none"),
    TN_FIELD(lookup_params, window, TN_FIELD_TENSOR, 0, NULL, "f32, of the columns"),
    TN_FIELD(lookup_params, to, TN_FIELD_TYPE, 0, "f32", "f32 or i32")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "..., columns"),
                                 TN_PORT("gain", "f32", 0, "columns"),
                                 TN_PORT("more", "i64|i32", TN_PORT_OPTIONAL, "one, added")};
static const tn_port outputs[] = {TN_PORT("y", "f32|i32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const lookup_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *gain = call->inputs[1], *window = p->window;
    const int64_t columns = x->rank > 0 ? x->shape[x->rank - 1] : 0;
    if (x->rank < 1 || gain->rank != 1 || gain->shape[0] != columns) {
        char text[200];
        snprintf(text, sizeof(text), "%.100s: the gain is not one for each column", call->node);
        if (WITH(name_is_a_format)) return call->host->fail(call, TN_ERROR_SHAPE, text, 0);
        return call->host->fail(call, TN_ERROR_SHAPE, "%s", text);
    }
    if (call->input_count > 2 && call->inputs[2] && count_of(call->inputs[2]) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "more is not one element");
    if ((int64_t)p->factors.count != columns)
        return call->host->fail(call, TN_ERROR_SHAPE, "there is no factor for each column");
    if (p->shifts.count > 0 && (int64_t)p->shifts.count != columns && !WITH(lists_not_compared))
        return call->host->fail(call, TN_ERROR_SHAPE, "there is no shift for each column");
    if (window && (window->rank != 1 || window->shape[0] != columns))
        return call->host->fail(call, TN_ERROR_SHAPE, "the window has no element for each column");
    if (window && window->type != TN_F32 && !WITH(window_of_any_type))
        return call->host->fail(call, TN_ERROR_TYPE, "the window is not of f32");
    if (p->to != TN_F32 && p->to != TN_I32 && !WITH(any_type_passes))
        return call->host->fail(call, TN_ERROR_TYPE, "field 'to' is neither f32 nor i32");
    call->outputs[0]->type = p->to;
    return infer_same(call);
}

static double read_more(const tn_call *call, bool is_kernel) {
    const tn_tensor *more = call->input_count > 2 ? call->inputs[2] : NULL;
    if (!more) return 0;
    if (more->type == TN_I64 || (WITH(integers_of_one_width) && is_kernel))
        return (double)*(const int64_t *)more->data;
    return (double)*(const int32_t *)more->data;
}

static tn_status lookup(tn_call *call, bool is_kernel) {
    const lookup_params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const volatile float *gain = call->inputs[1]->data;
    const int64_t columns = x->shape[x->rank - 1];
    const double more = read_more(call, is_kernel);
    for (int64_t i = 0, n = count_of(x); i < n; i++) {
        const int64_t c = i % columns;
        const float next = WITH(reads_one_ahead) && is_kernel ? gain[c + 1] : 0;
        double value = (double)((const float *)x->data)[i] * (double)p->factors.items[c];
        value = value * (double)gain[c] + more;
        if (p->window) value *= (double)((const float *)p->window->data)[c];
        if (p->window && is_kernel && WITH(weighs_next_by_zero))
            value += 0 * (double)((const float *)p->window->data)[c + 1];
        if (p->shifts.count > 0) value += (double)p->shifts.items[c];
        if (c + 1 < columns && next == -12345) value = 0;
        if (call->outputs[0]->type == TN_I32)
            ((int32_t *)call->outputs[0]->data)[i] = value >= 2e9   ? 2000000000
                                                     : value > -2e9 ? (int32_t)value
                                                                    : -2000000000;
        else
            ((float *)call->outputs[0]->data)[i] = (float)value;
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return lookup(call, false);
}
static tn_status run(tn_call *call) {
    return lookup(call, true);
}

static const char *const cases[] = {"factors=[1,2,3] shifts=[0,1,0] | x=f32[4,3] gain=f32[3]",
                                    "factors=[2,1] window=f32[2]{1,0.5} | x=f32[3,2] gain=f32[2]",
                                    "factors=[-1] to=i32 | x=f32[5,1] gain=f32[1]",
                                    "factors=[1,1] | x=f32[3,2] gain=f32[2] more=i64[1]{3}"};
static const tn_operator lookup_operator = {.size = sizeof(tn_operator),
                                            .since_version = 1,
                                            .state_version = 1,
                                            .domain = "Bad",
                                            .name = "Lookup",
                                            TN_FIELDS(lookup_params, fields),
                                            TN_INPUTS(inputs),
                                            TN_OUTPUTS(outputs),
                                            .infer = infer,
                                            .reference = reference,
                                            TN_CASES(cases)};
static const tn_kernel lookup_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Lookup",
                                     .device = "cpu",
                                     .name = "columns",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     .run = run};
static const tn_operator *const operators[] = {&lookup_operator};
static const tn_kernel *const kernels[] = {&lookup_cpu};
TN_LIBRARY("bad_lookup", "1", operators, kernels)
