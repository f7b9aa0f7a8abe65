/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Line, Bad::Dot and Bad::Less, which networks write with operators of ONNX: rewrites put them
 * in place of those; and the mistakes in patterns, replacements and guards. */
#include "mistake.h"
#include <tenon/plugin/rewrite.h>

/* y = slope * x + shift */
typedef struct line_params {
    uint64_t present;
    float slope, shift;
} line_params;
static const tn_field line_fields[] = {
    TN_FIELD(line_params, slope, TN_FIELD_F32, 0, "1", "the factor"),
    TN_FIELD(line_params, shift, TN_FIELD_F32, 0, "0", "what is added"),
};
static const tn_port line_inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "the result")};

static tn_status line(tn_call *call) {
    const line_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = p->slope * x[i] + p->shift;
    return TN_OK;
}

/* y = the sum over the last axis of x * w, where w is a vector as long as it */
static const tn_port dot_inputs[] = {TN_PORT("x", "f32", 0, "[..., n]"),
                                     TN_PORT("w", "f32", 0, "[n]")};

static tn_status infer_dot(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    if (x->rank == 0 || w->rank > 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis, or w has several");
    call->outputs[0]->rank = x->rank - 1;
    for (uint32_t i = 0; i + 1 < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[i];
    return TN_OK;
}

static tn_status dot(tn_call *call) {
    const float *x = call->inputs[0]->data, *w = call->inputs[1]->data;
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    const int64_t length = count_of(call->inputs[1]);
    float *y = call->outputs[0]->data;
    for (int64_t r = 0, rows = count_of(call->outputs[0]); r < rows; r++) {
        double sum = 0;
        for (int64_t i = 0; i < n && i < length; i++)
            sum += (double)x[r * n + i] * w[i];
        y[r] = (float)sum;
    }
    return TN_OK;
}

/* y = a - b - c, all of one shape */
static const tn_port less_inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                      TN_PORT("b", "f32", 0, "as a"),
                                      TN_PORT("c", "f32", 0, "as a")};

static tn_status infer_less(tn_call *call) {
    for (int i = 1; i < 3; i++)
        if (count_of(call->inputs[i]) != count_of(call->inputs[0]))
            return call->host->fail(call, TN_ERROR_SHAPE, "a, b and c differ in shape");
    return infer_same(call);
}

static tn_status less(tn_call *call) {
    const float *a = call->inputs[0]->data, *b = call->inputs[1]->data, *c = call->inputs[2]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = a[i] - b[i] - c[i];
    return TN_OK;
}

static const char *const line_cases[] = {"slope=3 shift=0.5 | x=f32[3,5]", "| x=f32[4]"};
static const char *const dot_cases[] = {"| x=f32[3,5] w=f32[5]"};
static const char *const less_cases[] = {"| a=f32[3,5] b=f32[3,5] c=f32[3,5]"};
#define TABLE(op_name, port_table, infer_rule, compute, case_table, ...)                           \
    {                                                                                              \
        .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Bad",      \
        .name = op_name, __VA_ARGS__, TN_INPUTS(port_table), TN_OUTPUTS(outputs),                  \
        .infer = infer_rule, .reference = compute, TN_CASES(case_table)                            \
    }
static const tn_operator line_operator =
    TABLE("Line", line_inputs, infer_same, line, line_cases, TN_FIELDS(line_params, line_fields));
static const tn_operator dot_operator =
    TABLE("Dot", dot_inputs, infer_dot, dot, dot_cases, TN_NO_FIELDS);
static const tn_operator less_operator =
    TABLE("Less", less_inputs, infer_less, less, less_cases, TN_NO_FIELDS);
static const tn_operator *const operators[] = {&line_operator, &dot_operator, &less_operator};

/* ---- rewrites */

static tn_status is_vector_of_x(const tn_match *match) {
    double axis = 0, keepdims = 0;
    if (tn_match_rank(match, "w") != 1) return match->refuse(match, "w is no vector");
    if (!WITH(shape_not_proved) && !match->is_equal_extent(match, "x", -1, "w", 0))
        return match->refuse(match, "w is not as long as the last axis of x");
    if (tn_match_number(match, "axes", 0, &axis) != TN_OK ||
        tn_match_number(match, "keepdims", 0, &keepdims) != TN_OK)
        return match->refuse(match, "the sum has no axis");
    const tn_attribute *axes = match->value(match, "axes");
    const int32_t rank = tn_match_rank(match, "x");
    const int is_last = axis == -1 || axis == rank - 1;
    if (!WITH(axis_not_looked_at) && (!is_last || axes->count != 1))
        return match->refuse(match, "the sum is not over the last axis");
    return keepdims == 0 ? TN_OK : match->refuse(match, "the axis is kept");
}

static tn_status same_shapes(const tn_match *match) {
    if (!tn_match_is_same_shape(match, "a", "b") || !tn_match_is_same_shape(match, "a", "c"))
        return match->refuse(match, "a, b and c differ in shape");
    return TN_OK;
}

static const char *const line_rewrite_cases[] = {"x=f32[3,5] slope=3.0 shift=0.5",
                                                 "x=f32[3,5] slope=-2 shift=1"};
static const char *const line_misses[] = {WITH(miss_applies) ? "x=f32[4] slope=2.0 shift=1.0"
                                                             : "x=f32[4] slope=f32[4] shift=1.0"};
static const tn_rewrite line_rewrite = {
    .size = sizeof(tn_rewrite),
    .name = "line",
    .domain = "",
    .doc = "slope * x + shift",
    .pattern = WITH(pattern_of_nothing)   ? "y = Add(Product(x, ?slope), ?shift)"
               : WITH(pattern_of_another) ? "y = Add(Add(x, ?slope), ?shift)"
                                          : "y = Add(Mul(x, ?slope), ?shift)",
    .replacement = WITH(constants_exchanged)  ? "y = Bad::Line(x, slope=?shift, shift=?slope)"
                   : WITH(constant_forgotten) ? "y = Bad::Line(x, slope=?slope)"
                                              : "y = Bad::Line(x, slope=?slope, shift=?shift)",
    TN_REWRITE_CASES(line_rewrite_cases),
    TN_REWRITE_MISSES(line_misses),
};
static const char *const dot_rewrite_cases[] = {"x=f32[3,3] w=f32[3] axes=[-1] keepdims=0"};
static const tn_rewrite dot_rewrite = {
    .size = sizeof(tn_rewrite),
    .name = "dot",
    .doc = "the sum over the last axis of x * w",
    .pattern = "y = ReduceSum(Mul(x, w), ?axes[], keepdims=?keepdims)",
    .replacement = "y = Bad::Dot(x, w)",
    .guard = is_vector_of_x,
    TN_REWRITE_CASES(dot_rewrite_cases),
};
static const char *const less_rewrite_cases[] = {"a=f32[3,5] b=f32[3,5] c=f32[3,5]"};
static const tn_rewrite less_rewrite = {
    .size = sizeof(tn_rewrite),
    .name = "less",
    .doc = "a - b - c",
    .pattern = "y = Sub(Sub(a, b), c) | Sub(a, Add(b, c))",
    .replacement = WITH(inputs_exchanged) ? "y = Bad::Less(b, a, c)" : "y = Bad::Less(a, b, c)",
    .guard = same_shapes,
    .case_count = WITH(rewrite_without_cases) ? 0 : 1,
    .cases = less_rewrite_cases,
};
static const tn_rewrite *const rewrites[] = {&line_rewrite, &dot_rewrite, &less_rewrite};

static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel line_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Line",
                                   .device = "cpu",
                                   .name = "plain",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .run = line};
static const tn_kernel *const kernels[] = {&line_cpu};
TN_LIBRARY_REWRITES("bad_rewrites", "1", operators, kernels, rewrites)
