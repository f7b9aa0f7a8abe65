/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for tests of lower precision, in the domain "tiny" too: an operator with weights whose
 * kernels take 32-bit floats, 16-bit floats and 8 bits with scales and absorb what follows, one
 * that only selects elements, one that floats alone have, a view, and one that '*' serves. A kernel
 * takes as long as it is told, and notes the scales that it was shown.
 */
#ifndef TN_TESTS_QUANTIZED_LAYERS_H
#define TN_TESTS_QUANTIZED_LAYERS_H

#include "tensor/type.h"
#include "steps.h"
#include "test_clock.h"

#include <math.h>
#include <string.h>
#include <tenon/plugin.h>

/* What a run of the kernels needs at least, in nanoseconds. */
static uint64_t quantized_float_ns, quantized_byte_ns;
/* Of the last run in 8 bits. */
static _Thread_local float quantized_seen_input, quantized_seen_output, quantized_seen_operand;
static _Thread_local uint32_t quantized_selected_without_scale;

static int64_t quantized_count(const tn_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static size_t quantized_offset(const tn_tensor *tensor, int64_t index) {
    int64_t offset = 0;
    for (uint32_t axis = tensor->rank; axis-- > 0;) {
        int64_t at = index % tensor->shape[axis];
        index /= tensor->shape[axis];
        if (tensor->format == TN_C16 && axis == 1)
            offset += at / 16 * tensor->strides[axis] + at % 16;
        else
            offset += at * tensor->strides[axis];
    }
    return (size_t)offset;
}

/* Element `index`, in linear order, as the real number that it stands for, and back. */
static double quantized_get(const tn_tensor *tensor, int64_t index) {
    double value = tn_element_get_f64(tensor->data, tensor->type, quantized_offset(tensor, index));
    return tensor->quantization ? value * (double)*(const float *)tensor->quantization->scales
                                : value;
}
static void quantized_set(const tn_tensor *tensor, int64_t index, double value) {
    if (tensor->quantization)
        value = nearbyint(value / (double)*(const float *)tensor->quantization->scales);
    tn_element_set_f64(tensor->data, tensor->type, quantized_offset(tensor, index), value);
}

static tn_status quantized_same_shape(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    memcpy(call->outputs[0]->shape, call->inputs[0]->shape,
           call->inputs[0]->rank * sizeof(int64_t));
    return TN_OK;
}

/* --- Weigh: each channel times its own weight --- */
static double quantized_steps(const tn_call *call, const seen_steps *steps, int64_t index,
                              double value) {
    for (uint32_t i = 0; i < steps->count; i++) {
        const seen_step *step = &steps->items[i];
        if (step->kind == SEEN_ACTIVATION)
            value = value > 0 ? value : 0;
        else
            value += quantized_get(call->operands[step->operand], index);
    }
    return value;
}
static tn_status quantized_weigh_run(tn_call *call) {
    seen_steps steps;
    see_steps(call, &steps);
    const tn_tensor *x = call->inputs[0];
    int64_t inner = 1;
    for (uint32_t axis = 2; axis < x->rank; axis++)
        inner *= x->shape[axis];
    if (call->outputs[0]->format == TN_C16)
        memset(call->outputs[0]->data, 0, (size_t)call->outputs[0]->bytes);
    for (int64_t i = 0; i < quantized_count(x); i++) {
        double value =
            quantized_get(x, i) * quantized_get(call->inputs[1], i / inner % x->shape[1]);
        quantized_set(call->outputs[0], i, quantized_steps(call, &steps, i, value));
    }
    return TN_OK;
}
static tn_status quantized_weigh_float_run(tn_call *call) {
    test_clock_take(quantized_float_ns);
    return quantized_weigh_run(call);
}
static float quantized_scale_of(const tn_tensor *tensor) {
    return tensor->quantization ? *(const float *)tensor->quantization->scales : 0;
}
static tn_status quantized_weigh_byte_run(tn_call *call) {
    /* A result in floats is dearer. */
    test_clock_take(quantized_byte_ns * (call->outputs[0]->type == TN_I8 ? 1 : 2));
    quantized_seen_input = quantized_scale_of(call->inputs[0]);
    quantized_seen_output = quantized_scale_of(call->outputs[0]);
    quantized_seen_operand = call->operand_count ? quantized_scale_of(call->operands[0]) : 0;
    if (call->inputs[0]->type != TN_I8 || !(quantized_seen_input > 0))
        return call->host->fail(call, TN_ERROR_INTERNAL, "a quantised input has no scale");
    return quantized_weigh_run(call);
}
/* Scales are known when a kernel is prepared, too. */
static tn_status quantized_weigh_byte_prepare(tn_call *call) {
    return call->inputs[0]->quantization && call->inputs[0]->type == TN_I8
               ? TN_OK
               : call->host->fail(call, TN_ERROR_INTERNAL, "prepare is shown no scale");
}
static const tn_port quantized_weigh_inputs[] = {TN_PORT("x", "T:f32", 0, "numbers"),
                                                 TN_PORT("w", "T", 0, "a weight a channel")};
static const tn_port quantized_outputs[] = {TN_PORT("y", "T", 0, "the result")};
static const tn_operator quantized_weigh = {.size = sizeof(tn_operator),
                                            .since_version = 1,
                                            .state_version = 1,
                                            .domain = "tiny",
                                            .name = "Weigh",
                                            .doc = "weighs channels",
                                            TN_NO_FIELDS,
                                            TN_INPUTS(quantized_weigh_inputs),
                                            TN_OUTPUTS(quantized_outputs),
                                            .infer = quantized_same_shape,
                                            .reference = quantized_weigh_run};
#define QUANTIZED_ABSORBS "tn.activation/1(relu), tn.residual/1"
static const char *const quantized_weigh_floats[] = {"f32, f32 -> f32", "f32:c16, f32 -> f32:c16"};
static const char *const quantized_weigh_bytes[] = {"qi8, f32 -> qi8", "qi8, f32 -> f32",
                                                    "qi8:c16, f32 -> qi8:c16"};
static const char *const quantized_weigh_halves[] = {"f16, f32 -> f16", "bf16, f32 -> bf16"};
static const tn_kernel quantized_weigh_float = {.size = sizeof(tn_kernel),
                                                .revision = 1,
                                                .domain = "tiny",
                                                .op = "Weigh",
                                                .device = "cpu",
                                                .name = "weigh_f32",
                                                .absorbs = QUANTIZED_ABSORBS,
                                                TN_COMBINATIONS(quantized_weigh_floats),
                                                .run = quantized_weigh_float_run};
static const tn_kernel quantized_weigh_byte = {.size = sizeof(tn_kernel),
                                               .revision = 1,
                                               .domain = "tiny",
                                               .op = "Weigh",
                                               .device = "cpu",
                                               .name = "weigh_i8",
                                               .absorbs = QUANTIZED_ABSORBS,
                                               TN_COMBINATIONS(quantized_weigh_bytes),
                                               .prepare = quantized_weigh_byte_prepare,
                                               .run = quantized_weigh_byte_run};
static const tn_kernel quantized_weigh_half = {.size = sizeof(tn_kernel),
                                               .revision = 1,
                                               .domain = "tiny",
                                               .op = "Weigh",
                                               .device = "cpu",
                                               .name = "weigh_f16",
                                               TN_COMBINATIONS(quantized_weigh_halves),
                                               .run = quantized_weigh_run};

/* --- Rect and Both: what Weigh's kernels absorb; alone they have floats --- */
static tn_status quantized_rect_run(tn_call *call) {
    for (int64_t i = 0; i < quantized_count(call->inputs[0]); i++) {
        double x = quantized_get(call->inputs[0], i);
        quantized_set(call->outputs[0], i, x > 0 ? x : 0);
    }
    return TN_OK;
}
static tn_status quantized_rect_epilogue(tn_call *call, uint32_t input, seen_step *out_step) {
    (void)call, (void)input;
    out_step->kind = SEEN_ACTIVATION;
    out_step->activation = TN_ACTIVATION_RELU;
    return TN_OK;
}
DESCRIBES(quantized_rect_facet, quantized_rect_epilogue, NULL, NULL)
static tn_status quantized_both_run(tn_call *call) {
    for (int64_t i = 0; i < quantized_count(call->inputs[0]); i++)
        quantized_set(call->outputs[0], i,
                      quantized_get(call->inputs[0], i) + quantized_get(call->inputs[1], i));
    return TN_OK;
}
static tn_status quantized_both_epilogue(tn_call *call, uint32_t input, seen_step *out_step) {
    (void)call;
    out_step->kind = SEEN_RESIDUAL;
    out_step->operand = 1 - input;
    return TN_OK;
}
DESCRIBES(quantized_both_facet, quantized_both_epilogue, NULL, NULL)
static const tn_port quantized_inputs[] = {TN_PORT("x", "T:f32", 0, "numbers")};
static const tn_port quantized_both_inputs[] = {TN_PORT("a", "T:f32", 0, "numbers"),
                                                TN_PORT("b", "T", 0, "more")};
static const char *const quantized_float_alone[] = {"f32 -> f32"};
static const char *const quantized_two_floats[] = {"f32, f32 -> f32"};
static const tn_operator quantized_rect = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "tiny",
                                           .name = "Rect",
                                           .doc = "max(x, 0)",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(quantized_inputs),
                                           TN_OUTPUTS(quantized_outputs),
                                           .infer = quantized_same_shape,
                                           .reference = quantized_rect_run,
                                           .facet = quantized_rect_facet};
static const tn_kernel quantized_rect_kernel = {.size = sizeof(tn_kernel),
                                                .revision = 1,
                                                .domain = "tiny",
                                                .op = "Rect",
                                                .device = "cpu",
                                                .name = "rect",
                                                TN_COMBINATIONS(quantized_float_alone),
                                                .run = quantized_rect_run};
static const tn_operator quantized_both = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "tiny",
                                           .name = "Both",
                                           .doc = "a + b",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(quantized_both_inputs),
                                           TN_OUTPUTS(quantized_outputs),
                                           .infer = quantized_same_shape,
                                           .reference = quantized_both_run,
                                           .facet = quantized_both_facet};
static const tn_kernel quantized_both_kernel = {.size = sizeof(tn_kernel),
                                                .revision = 1,
                                                .domain = "tiny",
                                                .op = "Both",
                                                .device = "cpu",
                                                .name = "both",
                                                TN_COMBINATIONS(quantized_two_floats),
                                                .run = quantized_both_run};

/* --- Square: in floats alone --- */
static tn_status quantized_square_run(tn_call *call) {
    for (int64_t i = 0; i < quantized_count(call->inputs[0]); i++) {
        double x = quantized_get(call->inputs[0], i);
        quantized_set(call->outputs[0], i, x * x);
    }
    return TN_OK;
}
static const tn_operator quantized_square = {.size = sizeof(tn_operator),
                                             .since_version = 1,
                                             .state_version = 1,
                                             .domain = "tiny",
                                             .name = "Square",
                                             .doc = "x * x",
                                             TN_NO_FIELDS,
                                             TN_INPUTS(quantized_inputs),
                                             TN_OUTPUTS(quantized_outputs),
                                             .infer = quantized_same_shape,
                                             .reference = quantized_square_run};
static const tn_kernel quantized_square_kernel = {.size = sizeof(tn_kernel),
                                                  .revision = 1,
                                                  .domain = "tiny",
                                                  .op = "Square",
                                                  .device = "cpu",
                                                  .name = "square",
                                                  TN_COMBINATIONS(quantized_float_alone),
                                                  .run = quantized_square_run};

/* --- Flip: the elements in reverse, bit by bit; Anything: the same by '*' --- */
static tn_status quantized_flip_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t count = quantized_count(x);
    const size_t bytes = count > 0 ? (size_t)x->bytes / (size_t)count : 0;
    if (x->type == TN_I8 &&
        (!x->quantization || !y->quantization ||
         *(const float *)x->quantization->scales != *(const float *)y->quantization->scales))
        quantized_selected_without_scale++;
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)y->data + (size_t)(count - 1 - i) * bytes,
               (const char *)x->data + (size_t)i * bytes, bytes);
    return TN_OK;
}
static const char *const quantized_flip_combinations[] = {"f32|f16 -> f32|f16", "qi8 -> qi8"};
static const char *const quantized_any_combination[] = {"* -> *"};
#define QUANTIZED_FLIP(symbol, operator_name)                                                      \
    static const tn_operator symbol = {.size = sizeof(tn_operator),                                \
                                       .since_version = 1,                                         \
                                       .state_version = 1,                                         \
                                       .traits = TN_OPERATOR_SELECTS,                              \
                                       .domain = "tiny",                                           \
                                       .name = operator_name,                                      \
                                       .doc = "the elements in reverse",                           \
                                       TN_NO_FIELDS,                                               \
                                       TN_INPUTS(quantized_inputs),                                \
                                       TN_OUTPUTS(quantized_outputs),                              \
                                       .infer = quantized_same_shape,                              \
                                       .reference = quantized_flip_run}
QUANTIZED_FLIP(quantized_flip, "Flip");
QUANTIZED_FLIP(quantized_anything, "Anything");
static const tn_kernel quantized_flip_kernel = {.size = sizeof(tn_kernel),
                                                .revision = 1,
                                                .domain = "tiny",
                                                .op = "Flip",
                                                .device = "cpu",
                                                .name = "flip",
                                                TN_COMBINATIONS(quantized_flip_combinations),
                                                .run = quantized_flip_run};
static const tn_kernel quantized_anything_kernel = {.size = sizeof(tn_kernel),
                                                    .revision = 1,
                                                    .domain = "tiny",
                                                    .op = "Anything",
                                                    .device = "cpu",
                                                    .name = "anything",
                                                    TN_COMBINATIONS(quantized_any_combination),
                                                    .run = quantized_flip_run};

/* --- Chain: two tensors, one after the other along the first axis --- */
static tn_status quantized_chain_infer(tn_call *call) {
    quantized_same_shape(call);
    for (uint32_t i = 1; i < call->input_count; i++)
        call->outputs[0]->shape[0] += call->inputs[i]->shape[0];
    return TN_OK;
}
static tn_status quantized_chain_run(tn_call *call) {
    char *to = call->outputs[0]->data;
    for (uint32_t i = 0; i < call->input_count; i++) {
        memcpy(to, call->inputs[i]->data, (size_t)call->inputs[i]->bytes);
        to += call->inputs[i]->bytes;
    }
    return TN_OK;
}
static const tn_port quantized_chain_inputs[] = {
    TN_PORT("x", "T:f32", TN_PORT_VARIADIC, "numbers")};
static const char *const quantized_chain_combinations[] = {"f32... -> f32", "qi8... -> qi8"};
static const tn_operator quantized_chain = {.size = sizeof(tn_operator),
                                            .since_version = 1,
                                            .state_version = 1,
                                            .traits = TN_OPERATOR_SELECTS,
                                            .domain = "tiny",
                                            .name = "Chain",
                                            .doc = "one after the other",
                                            TN_NO_FIELDS,
                                            TN_INPUTS(quantized_chain_inputs),
                                            TN_OUTPUTS(quantized_outputs),
                                            .infer = quantized_chain_infer,
                                            .reference = quantized_chain_run};
static const tn_kernel quantized_chain_kernel = {.size = sizeof(tn_kernel),
                                                 .revision = 1,
                                                 .domain = "tiny",
                                                 .op = "Chain",
                                                 .device = "cpu",
                                                 .name = "chain",
                                                 TN_COMBINATIONS(quantized_chain_combinations),
                                                 .run = quantized_chain_run};

/* --- Look: a view --- */
static const tn_port quantized_look_outputs[] = {TN_PORT_VIEW_OF("y", "T", 0, "the same")};
static const tn_operator quantized_look = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "tiny",
                                           .name = "Look",
                                           .doc = "the same elements",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(quantized_inputs),
                                           TN_OUTPUTS(quantized_look_outputs),
                                           .infer = quantized_same_shape,
                                           .reference = quantized_rect_run};

static const tn_operator *const quantized_operators[] = {
    &quantized_weigh, &quantized_rect,     &quantized_both,  &quantized_square,
    &quantized_flip,  &quantized_anything, &quantized_chain, &quantized_look};
static const tn_kernel *const quantized_kernels[] = {
    &quantized_weigh_float, &quantized_weigh_byte,      &quantized_weigh_half,
    &quantized_rect_kernel, &quantized_both_kernel,     &quantized_square_kernel,
    &quantized_flip_kernel, &quantized_anything_kernel, &quantized_chain_kernel};
static tn_library quantized_library = {.size = sizeof(tn_library),
                                       .abi_major = TN_ABI_MAJOR,
                                       .abi_minor = TN_ABI_MINOR,
                                       .name = "quantized",
                                       .version = "1",
                                       .operator_count = TN_COUNT(quantized_operators),
                                       .operators = quantized_operators,
                                       .kernel_count = TN_COUNT(quantized_kernels),
                                       .kernels = quantized_kernels};
static tn_library *quantized_entry(const tn_host *host) {
    (void)host;
    return &quantized_library;
}

#endif
