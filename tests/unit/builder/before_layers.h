/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A third party's library for the tests of steps before an input, beside those of facet_layers.h:
 * operators that stand there (Widen, a conversion; Gain, a factor a channel; Trim, which changes
 * the shape for one width alone), and Meet, an operator of two
 * inputs, with kernels that absorb them.
 */
#ifndef TN_TESTS_UNIT_BUILDER_BEFORE_LAYERS_H
#define TN_TESTS_UNIT_BUILDER_BEFORE_LAYERS_H

#include "facet_layers.h"

#include <tenon/plugin/before.h>

#define FORE_TRIM "fore.trim/1"
#define FORE_BEND "fore.bend/1" /* y = x * the first operand + the second */

/* As fore publishes it. */
typedef struct fore_trim {
    uint32_t size, drop; /* elements at the end of the last axis */
} fore_trim;

/* --- Widen: bytes as floats --- */
static tn_status fore_widen_infer(tn_call *call) {
    layer_copy_shape(call->outputs[0], call->inputs[0]);
    return TN_OK;
}
static tn_status fore_widen_reference(tn_call *call) {
    for (int64_t i = 0; i < layer_count(call->inputs[0]); i++)
        ((float *)call->outputs[0]->data)[i] = (float)((const uint8_t *)call->inputs[0]->data)[i];
    return TN_OK;
}
static tn_status fore_widen_facet(tn_call *call, uint32_t input, const char *name,
                                  tn_facet *out_facet) {
    (void)call;
    if (input != 0 || strcmp(name, TN_FACET_CONVERT) != 0) return TN_ERROR_UNSUPPORTED;
    *(uint32_t *)out_facet->what = sizeof(uint32_t);
    return TN_OK;
}

/* --- Gain: a factor a channel --- */
static tn_status fore_gain_reference(tn_call *call) {
    for (int64_t i = 0; i < layer_count(call->inputs[0]); i++)
        *layer_at(call->outputs[0], i) = layer_mixed(call, i);
    return TN_OK;
}
static tn_status fore_gain_facet(tn_call *call, uint32_t input, const char *name,
                                 tn_facet *out_facet) {
    (void)call;
    if (input != 0 || strcmp(name, TN_FACET_SCALE) != 0) return TN_ERROR_UNSUPPORTED;
    *(tn_facet_axis *)out_facet->what = (tn_facet_axis){.size = sizeof(tn_facet_axis), .axis = 1};
    out_facet->operand_count = 1;
    out_facet->operands[0] = (tn_facet_operand){.input = 1, .form = TN_OPERAND_VECTOR, .axis = 1};
    return TN_OK;
}

/* --- Bend: a factor and an addition a channel, two operands of one step --- */
static tn_status fore_bend_reference(tn_call *call) {
    for (int64_t i = 0; i < layer_count(call->inputs[0]); i++)
        *layer_at(call->outputs[0], i) =
            layer_mixed(call, i) + *layer_at(call->inputs[2], layer_channel(call->inputs[0], i));
    return TN_OK;
}
static tn_status fore_bend_facet(tn_call *call, uint32_t input, const char *name,
                                 tn_facet *out_facet) {
    (void)call;
    if (input != 0 || strcmp(name, FORE_BEND) != 0) return TN_ERROR_UNSUPPORTED;
    *(uint32_t *)out_facet->what = sizeof(uint32_t);
    out_facet->operand_count = 2;
    for (uint32_t i = 0; i < 2; i++)
        out_facet->operands[i] =
            (tn_facet_operand){.input = 1 + i, .form = TN_OPERAND_VECTOR, .axis = 1};
    return TN_OK;
}

/* --- Trim: a width of 9 becomes 8; no point of a profile has it --- */
static tn_status fore_trim_infer(tn_call *call) {
    layer_copy_shape(call->outputs[0], call->inputs[0]);
    call->outputs[0]->shape[3] -= call->outputs[0]->shape[3] == 9;
    return TN_OK;
}
static tn_status fore_trim_facet(tn_call *call, uint32_t input, const char *name,
                                 tn_facet *out_facet) {
    if (input != 0 || strcmp(name, FORE_TRIM) != 0) return TN_ERROR_UNSUPPORTED;
    *(fore_trim *)out_facet->what =
        (fore_trim){.size = sizeof(fore_trim), .drop = call->inputs[0]->shape[3] == 9};
    out_facet->flags = TN_FACET_RESHAPES;
    return TN_OK;
}

/* --- Meet: the sum of two --- */
static tn_status fore_join_reference(tn_call *call) {
    for (int64_t i = 0; i < layer_count(call->outputs[0]); i++)
        *layer_at(call->outputs[0], i) =
            *layer_at(call->inputs[0], i) + *layer_at(call->inputs[1], i);
    return TN_OK;
}

#define FORE_OPERATOR(variable, operator_name, input_ports, output_ports, shape_rule, compute,     \
                      describe)                                                                    \
    static const tn_operator fore_##variable##_operator = {.size = sizeof(tn_operator),            \
                                                           .since_version = 1,                     \
                                                           .state_version = 1,                     \
                                                           .domain = "tiny",                       \
                                                           .name = operator_name,                  \
                                                           .doc = "for tests",                     \
                                                           TN_NO_FIELDS,                           \
                                                           TN_INPUTS(input_ports),                 \
                                                           TN_OUTPUTS(output_ports),               \
                                                           .infer = shape_rule,                    \
                                                           .reference = compute,                   \
                                                           .facet = describe}
static const tn_port fore_bytes[] = {TN_PORT("x", "u8", 0, "bytes")};
static const tn_port fore_floats[] = {TN_PORT("y", "f32", 0, "floats")};
FORE_OPERATOR(widen, "Widen", fore_bytes, fore_floats, fore_widen_infer, fore_widen_reference,
              fore_widen_facet);
FORE_OPERATOR(gain, "Gain", layer_mix_inputs, layer_unary_outputs, layer_same_shape,
              fore_gain_reference, fore_gain_facet);
static const tn_port fore_bend_inputs[] = {TN_PORT("x", "T:f32", 0, "numbers"),
                                           TN_PORT("w", "T", 0, "a factor a channel"),
                                           TN_PORT("b", "T", 0, "an addition a channel")};
FORE_OPERATOR(bend, "Bend", fore_bend_inputs, layer_unary_outputs, layer_same_shape,
              fore_bend_reference, fore_bend_facet);
FORE_OPERATOR(trim, "Trim", layer_unary_inputs, layer_unary_outputs, fore_trim_infer,
              acme_cut_reference, fore_trim_facet);
FORE_OPERATOR(join, "Meet", layer_plus_inputs, layer_unary_outputs, layer_same_shape,
              fore_join_reference, NULL);

/* ----------------------------------------------------------------------------------------------
 * kernels */

static uint32_t fore_runs, fore_before, fore_after; /* of all its runs */
static tn_type fore_stored;                         /* what the last run read at input 0 */

static float fore_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    float value = (float)(bits & 1023) / 1024 + (exponent > 0);
    for (int i = exponent > 0 ? exponent : 1; i < 15; i++)
        value /= 2;
    for (int i = 15; i < exponent; i++)
        value *= 2;
    return bits >> 15 ? -value : value;
}

/* A stored element as a real number. */
static float fore_element(const tn_tensor *x, int64_t index) {
    switch (x->type) {
    case TN_U8:
        return (float)((const uint8_t *)x->data)[index];
    case TN_F16:
        return fore_half(((const uint16_t *)x->data)[index]);
    case TN_I8:
        return (float)((const int8_t *)x->data)[index] * *(const float *)x->quantization->scales;
    default:
        return *layer_at(x, index);
    }
}

/* Element `index` of what the input is after its first `count` steps, in the shape `y`. */
static float fore_read(const tn_call *call, uint32_t port, uint32_t count, const tn_tensor *y,
                       int64_t index) {
    const tn_tensor *stored = call->inputs[port - 1];
    float value;
    if (count == 0) return fore_element(stored, acme_uncut(stored, y, index));
    const tn_step *step = call->steps[count - 1];
    if (step->port != port) return fore_read(call, port, 0, y, index);
    value = fore_read(call, port, count - 1, y, index);
    for (uint32_t i = 0; i < step->input_count; i++) {
        if (!(step->inputs[i] & TN_STEP_OPERAND) || step->inputs[i] == TN_STEP_ABSENT) continue;
        const tn_tensor *operand = call->operands[step->inputs[i] & ~TN_STEP_OPERAND];
        const bool is_factor = strcmp(step->facet, TN_FACET_SCALE) == 0 ||
                               (strcmp(step->facet, FORE_BEND) == 0 && i == 1);
        const bool is_channel = is_factor || strcmp(step->facet, FORE_BEND) == 0;
        const float by = *layer_at(operand, is_channel ? layer_channel(y, index) : index);
        value = is_factor ? value * by : value + by;
    }
    if (strcmp(step->facet, ACME_CLAMP) == 0) value = other_step(step, value);
    return value;
}

static uint32_t fore_count(const tn_call *call) {
    uint32_t count = 0;
    while (count < call->step_count && call->steps[count]->port > 0)
        count++;
    return count;
}

static tn_status fore_join_run(tn_call *call) {
    const uint32_t before = fore_count(call);
    const tn_tensor *y = call->outputs[0];
    fore_runs++;
    fore_before += before;
    fore_after += call->step_count - before;
    fore_stored = call->inputs[0]->type;
    layer_take_time("join_fore");
    for (int64_t i = 0; i < layer_count(y); i++) {
        float value = fore_read(call, 1, before, y, i) + fore_read(call, 2, before, y, i);
        for (uint32_t s = before; s < call->step_count; s++)
            value = other_step(call->steps[s], value);
        *layer_at(y, i) = value;
    }
    return TN_OK;
}
static tn_status fore_plain_run(tn_call *call) {
    layer_take_time("join_plain");
    return fore_join_reference(call);
}
static tn_status fore_clamp_run(tn_call *call) {
    layer_take_time("clamp");
    return acme_clamp_reference(call);
}

/* Each step once, with what it says of itself; the first before the input reads what is stored. */
static tn_status fore_accepts(tn_call *call) {
    for (uint32_t i = 0; i < call->step_count; i++) {
        const bool is_first = i == 0 || call->steps[i]->port != call->steps[i - 1]->port;
        if (call->steps[i]->inputs[0] != (is_first ? TN_STEP_VALUE : i - 1))
            return TN_ERROR_UNSUPPORTED;
    }
    return call->outputs[0]->rank == 4 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

#define FORE_LIST                                                                                  \
    "@1 tn.convert/1, @1 tn.scale/1, @1 tn.residual/1, @1 acme.clamp/1(closed), @1 acme.cut/1, "   \
    "@1 fore.trim/1, @1 fore.bend/1, @2 acme.clamp/1(closed), @2 tn.residual/1, "                  \
    "acme.clamp/1(closed)"
static const char *const fore_combinations[] = {"f32, f32 -> f32", "u8, f32 -> f32",
                                                "f16, f32 -> f32", "qi8, f32 -> f32"};
#define FORE_KERNEL(variable, op_name, kernel_name, text, table, ask, compute)                     \
    static const tn_kernel fore_##variable = {.size = sizeof(tn_kernel),                           \
                                              .revision = 1,                                       \
                                              .domain = "tiny",                                    \
                                              .op = op_name,                                       \
                                              .device = "cpu",                                     \
                                              .name = kernel_name,                                 \
                                              .traits = TN_KERNEL_IN_PLACE,                        \
                                              .absorbs = text,                                     \
                                              TN_COMBINATIONS(table),                              \
                                              .accepts = ask,                                      \
                                              .run = compute}
static const char *const fore_unary[] = {"f32 -> f32"};
static const char *const fore_quantized[] = {"qi8, f32 -> f32"};
static const char *const fore_halves[] = {"f16, f32 -> f32"};
static const char *const fore_open[] = {"*, * -> *"};
FORE_KERNEL(absorbing, "Meet", "join_fore", FORE_LIST, fore_combinations, fore_accepts,
            fore_join_run);
FORE_KERNEL(plain, "Meet", "join_plain", NULL, layer_mix_linear, NULL, fore_plain_run);
FORE_KERNEL(scaled, "Meet", "join_qi8", FORE_LIST, fore_quantized, fore_accepts, fore_join_run);
FORE_KERNEL(sixteen, "Meet", "join_half", FORE_LIST, fore_halves, fore_accepts, fore_join_run);
FORE_KERNEL(every, "Meet", "join_every", FORE_LIST, fore_open, fore_accepts, fore_join_run);
FORE_KERNEL(clamp, "Clamp", "clamp", NULL, fore_unary, NULL, fore_clamp_run);

static const tn_operator *const fore_operators[] = {&fore_widen_operator, &fore_gain_operator,
                                                    &fore_trim_operator, &fore_bend_operator,
                                                    &fore_join_operator};
static const tn_kernel *const fore_kernels[] = {&fore_absorbing, &fore_plain,   &fore_every,
                                                &fore_scaled,    &fore_sixteen, &fore_clamp};
static tn_library fore_library = {.size = sizeof(tn_library),
                                  .abi_major = TN_ABI_MAJOR,
                                  .abi_minor = TN_ABI_MINOR,
                                  .name = "fore",
                                  .version = "1",
                                  .operator_count = 5,
                                  .operators = fore_operators,
                                  .kernel_count = 6,
                                  .kernels = fore_kernels};
static tn_library *fore_entry(const tn_host *host) {
    (void)host;
    return &fore_library;
}

#endif
