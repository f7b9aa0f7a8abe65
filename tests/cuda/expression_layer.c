/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A third party's library: two elementwise operators that say what they compute as text, and have
 * no kernel at all. On a GPU both, and chains of them, run as kernels that are compiled from that
 * text; on the processor their references do.
 */
#include <math.h>
#include <string.h>
#include <tenon/layer.h>

TN_LAYER_PARAMS(squareplus, float sharpness;);

static const tn_field fields[] = {
    TN_LAYER_F32(squareplus, sharpness, "4", 0, 1000, "how far the corner at 0 is rounded"),
};
static const tn_port squareplus_inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any tensor")};
static const tn_port squareplus_outputs[] = {
    TN_PORT("y", "T", 0, "(x + sqrt(x * x + sharpness)) / 2")};
static const tn_port distance_inputs[] = {TN_PORT("a", "T:f32|f64", 0, "any tensor"),
                                          TN_PORT("b", "T", 0, "another of the same shape")};
static const tn_port distance_outputs[] = {TN_PORT("y", "T", 0, "sqrt(a * a + b * b)")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    for (uint32_t i = 1; i < call->input_count; i++)
        if (call->inputs[i]->rank != x->rank ||
            memcmp(call->inputs[i]->shape, x->shape, x->rank * sizeof(*x->shape)) != 0)
            return call->host->fail(call, TN_ERROR_SHAPE, "a and b differ in shape");
    y->type = x->type;
    y->rank = x->rank;
    memcpy(y->shape, x->shape, x->rank * sizeof(*x->shape));
    return TN_OK;
}

static tn_status squareplus_reference(tn_call *call) {
    const squareplus *params = call->params;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++) {
        const double x = tn_layer_load(call->inputs[0], i);
        tn_layer_store(call->outputs[0], i, (x + sqrt(x * x + (double)params->sharpness)) / 2);
    }
    return TN_OK;
}

static tn_status distance_reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++) {
        const double a = tn_layer_load(call->inputs[0], i), b = tn_layer_load(call->inputs[1], i);
        tn_layer_store(call->outputs[0], i, sqrt(a * a + b * b));
    }
    return TN_OK;
}

static const char *const squareplus_cases[] = {"| x=f32[2,3,5,7]", "sharpness=0.5 | x=f32[33]",
                                               "| x=f32[]", "| x=f32[0,3]", "| x=f64[5]"};
static const char *const distance_cases[] = {"| a=f32[2,3,5,7] b=f32[2,3,5,7]",
                                             "| a=f64[9] b=f64[9]"};

static const tn_operator squareplus_1 = {.size = sizeof(tn_operator),
                                         .since_version = 1,
                                         .state_version = 1,
                                         .traits = TN_OPERATOR_ELEMENTWISE,
                                         .domain = "tests.expressions",
                                         .name = "Squareplus",
                                         .doc = "A smooth rectifier without exponentials.",
                                         TN_FIELDS(squareplus, fields),
                                         TN_INPUTS(squareplus_inputs),
                                         TN_OUTPUTS(squareplus_outputs),
                                         .infer = infer,
                                         .reference = squareplus_reference,
                                         .expression = "(x + sqrt(x * x + sharpness)) / 2",
                                         TN_CASES(squareplus_cases)};
static const tn_operator distance_1 = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .traits = TN_OPERATOR_ELEMENTWISE,
                                       .domain = "tests.expressions",
                                       .name = "Distance",
                                       .doc = "The length of (a, b), element by element.",
                                       TN_NO_FIELDS,
                                       TN_INPUTS(distance_inputs),
                                       TN_OUTPUTS(distance_outputs),
                                       .infer = infer,
                                       .reference = distance_reference,
                                       .expression = "sqrt(a * a + b * b)",
                                       TN_CASES(distance_cases)};

static const tn_operator *const operators[] = {&squareplus_1, &distance_1};
static const tn_kernel *const kernels[] = {NULL};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "expression_layer",
                             .version = "1.0",
                             .operator_count = TN_COUNT(operators),
                             .operators = operators,
                             .kernels = kernels};

TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {
    (void)host;
    return &library;
}
