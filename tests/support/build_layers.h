/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators and kernels for the tests of the builder, beside those of tiny_layers.h and in the same
 * domain: fusing kernels, kernels in one format alone, kernels that take a told time, kernels that
 * fail where they are told to. All compute what their operator says.
 */
#ifndef TN_TESTS_SUPPORT_BUILD_LAYERS_H
#define TN_TESTS_SUPPORT_BUILD_LAYERS_H

#include "test_clock.h"
#include "steps.h"

#include <string.h>
#include <tenon/plugin.h>
#include <tenon/plugin/cost.h>

/* Nanoseconds that a kernel of the name takes at least, how often it ran, and bytes that it packs
 * of its weights (mix_plain). */
typedef struct layer_pace {
    const char *name;
    uint64_t ns, runs, packed_bytes;
} layer_pace;
static layer_pace layer_paces[8];

static void layer_run_counts_clear(void) {
    memset(layer_paces, 0, sizeof layer_paces);
}

static layer_pace *layer_pace_of(const char *name) {
    size_t i = 0;
    while (i + 1 < sizeof layer_paces / sizeof *layer_paces && layer_paces[i].name &&
           strcmp(layer_paces[i].name, name) != 0)
        i++;
    layer_paces[i].name = name;
    return &layer_paces[i];
}

static void layer_take_time(const char *name) {
    layer_pace *pace = layer_pace_of(name);
    pace->runs++;
    test_clock_take(pace->ns);
}

static int64_t layer_count(const tn_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static void layer_copy_shape(tn_tensor *to, const tn_tensor *from) {
    to->rank = from->rank;
    memcpy(to->shape, from->shape, from->rank * sizeof(int64_t));
}

static tn_status layer_same_shape(tn_call *call) {
    layer_copy_shape(call->outputs[0], call->inputs[0]);
    return TN_OK;
}

/* The memory offset of an element, by its linear number. */
static int64_t layer_offset(const tn_tensor *tensor, int64_t index) {
    int64_t offset = 0;
    if (tensor->rank == 1)
        return index * tensor->strides[0]; /* millions of them, without a division */
    for (uint32_t axis = tensor->rank; axis-- > 0;) {
        int64_t at = index % tensor->shape[axis];
        index /= tensor->shape[axis];
        if (tensor->format == TN_C16 && axis == 1)
            offset += at / 16 * tensor->strides[axis] + at % 16;
        else
            offset += at * tensor->strides[axis];
    }
    return offset;
}

static float *layer_at(const tn_tensor *tensor, int64_t index) {
    return (float *)tensor->data + layer_offset(tensor, index);
}

static int64_t layer_channel(const tn_tensor *tensor, int64_t index) {
    int64_t inner = 1;
    for (uint32_t axis = 2; axis < tensor->rank; axis++)
        inner *= tensor->shape[axis];
    return tensor->rank < 2 ? 0 : index / inner % tensor->shape[1];
}

/* What a fusing kernel does before it stores element `index` of its output. */
static float layer_steps(const tn_call *call, const seen_steps *steps, int64_t index, float value) {
    for (uint32_t i = 0; i < steps->count; i++) {
        const seen_step *step = &steps->items[i];
        uint64_t stride = 1;
        const float *pointer = &value;
        if (step->kind == SEEN_ACTIVATION)
            value = value > 0 ? value : 0; /* lists RELU alone */
        else if (step->kind == SEEN_RESIDUAL)
            value += *layer_at(call->operands[step->operand], index);
        else if (step->kind == SEEN_BIAS)
            value +=
                *layer_at(call->operands[step->operand], layer_channel(call->outputs[0], index));
        else
            step->row(step->params, 1, &pointer, &stride, &value);
    }
    return value;
}

/* --- Mix: each channel times its own weight; "mix_plain", "mix_fused" and "mix_c16" compete --- */
static float layer_mixed(const tn_call *call, int64_t index) {
    return *layer_at(call->inputs[0], index) *
           *layer_at(call->inputs[1], layer_channel(call->inputs[0], index));
}

static tn_status layer_mix_into(tn_call *call) {
    seen_steps steps;
    see_steps(call, &steps);
    if (call->outputs[0]->format == TN_C16)
        memset(call->outputs[0]->data, 0, (size_t)call->outputs[0]->bytes);
    for (int64_t i = 0; i < layer_count(call->inputs[0]); i++)
        *layer_at(call->outputs[0], i) = layer_steps(call, &steps, i, layer_mixed(call, i));
    return TN_OK;
}
static tn_status layer_mix_plain(tn_call *call) {
    layer_take_time("mix_plain");
    return layer_mix_into(call);
}
static tn_status layer_fill_zeros(void *user, void *data, uint64_t bytes) {
    (void)user;
    memset(data, 0, bytes);
    return TN_OK;
}
static tn_status layer_mix_prepare(tn_call *call) {
    const uint64_t bytes = layer_pace_of("mix_plain")->packed_bytes;
    const void *packed;
    return bytes > 0 ? call->host->packed(call, 1, "zeros", bytes, layer_fill_zeros, NULL, &packed)
                     : TN_OK;
}
static tn_status layer_mix_fused(tn_call *call) {
    layer_take_time("mix_fused");
    return layer_mix_into(call);
}
static tn_status layer_mix_c16(tn_call *call) {
    layer_take_time("mix_c16");
    return layer_mix_into(call);
}
static const tn_port layer_mix_inputs[] = {TN_PORT("x", "T:f32", 0, "numbers"),
                                           TN_PORT("w", "T", 0, "a weight a channel")};
static const tn_port layer_unary_outputs[] = {TN_PORT("y", "T", 0, "the result")};
static const tn_operator layer_mix = {.size = sizeof(tn_operator),
                                      .since_version = 1,
                                      .state_version = 1,
                                      .domain = "tiny",
                                      .name = "Mix",
                                      .doc = "weighs channels",
                                      TN_NO_FIELDS,
                                      TN_INPUTS(layer_mix_inputs),
                                      TN_OUTPUTS(layer_unary_outputs),
                                      .infer = layer_same_shape,
                                      .reference = layer_mix_into};
static const char *const layer_mix_linear[] = {"f32, f32 -> f32"};
static const char *const layer_mix_blocked[] = {"f32:c16, f32 -> f32:c16"};
static tn_status layer_accepts_rank_4(tn_call *call) {
    return call->inputs[0]->rank == 4 ? TN_OK
                                      : call->host->fail(call, TN_ERROR_UNSUPPORTED, "rank 4 only");
}
static const tn_kernel layer_mix_plain_kernel = {.size = sizeof(tn_kernel),
                                                 .revision = 1,
                                                 .domain = "tiny",
                                                 .op = "Mix",
                                                 .device = "cpu",
                                                 .name = "mix_plain",
                                                 TN_COMBINATIONS(layer_mix_linear),
                                                 .prepare = layer_mix_prepare,
                                                 .run = layer_mix_plain};
static const tn_kernel layer_mix_fused_kernel = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "tiny",
    .op = "Mix",
    .device = "cpu",
    .name = "mix_fused",
    .absorbs = "tn.activation/1(relu), tn.residual/1, tn.bias/1, tn.row/1",
    TN_COMBINATIONS(layer_mix_linear),
    .run = layer_mix_fused};
static const tn_kernel layer_mix_c16_kernel = {.size = sizeof(tn_kernel),
                                               .revision = 1,
                                               .domain = "tiny",
                                               .op = "Mix",
                                               .device = "cpu",
                                               .name = "mix_c16",
                                               .absorbs = "tn.activation/1(relu), tn.residual/1",
                                               TN_COMBINATIONS(layer_mix_blocked),
                                               .accepts = layer_accepts_rank_4,
                                               .run = layer_mix_c16};

/* --- Relu and Tanhish: activations that describe themselves, of which kernels list the first ---
 */
static tn_status layer_relu_run(tn_call *call) {
    for (int64_t i = 0; i < layer_count(call->inputs[0]); i++) {
        float x = *layer_at(call->inputs[0], i);
        *layer_at(call->outputs[0], i) = x > 0 ? x : 0;
    }
    return TN_OK;
}
static tn_status layer_relu_epilogue(tn_call *call, uint32_t input, seen_step *out_step) {
    (void)call;
    if (input != 0) return TN_ERROR_UNSUPPORTED;
    out_step->kind = SEEN_ACTIVATION;
    out_step->activation = TN_ACTIVATION_RELU;
    return TN_OK;
}
DESCRIBES(layer_relu_facet, layer_relu_epilogue, NULL, NULL)
static tn_status layer_halve_run(tn_call *call) {
    for (int64_t i = 0; i < layer_count(call->inputs[0]); i++)
        *layer_at(call->outputs[0], i) = *layer_at(call->inputs[0], i) / 2;
    return TN_OK;
}
static tn_status layer_leaky_epilogue(tn_call *call, uint32_t input, seen_step *out_step) {
    (void)call, (void)input;
    out_step->kind = SEEN_ACTIVATION;
    out_step->activation = TN_ACTIVATION_LEAKY_RELU;
    return TN_OK;
}
DESCRIBES(layer_leaky_facet, layer_leaky_epilogue, NULL, NULL)
static const tn_port layer_unary_inputs[] = {TN_PORT("x", "T:f32", 0, "numbers")};
static const tn_operator layer_relu = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .traits = TN_OPERATOR_ELEMENTWISE,
                                       .domain = "tiny",
                                       .name = "Relu",
                                       .doc = "max(x, 0)",
                                       TN_NO_FIELDS,
                                       TN_INPUTS(layer_unary_inputs),
                                       TN_OUTPUTS(layer_unary_outputs),
                                       .infer = layer_same_shape,
                                       .reference = layer_relu_run,
                                       .facet = layer_relu_facet};
static const char *const layer_any_format[] = {"f32 -> f32", "f32:c16 -> f32:c16"};
static const tn_kernel layer_relu_kernel = {.size = sizeof(tn_kernel),
                                            .revision = 1,
                                            .domain = "tiny",
                                            .op = "Relu",
                                            .device = "cpu",
                                            .name = "relu",
                                            .traits = TN_KERNEL_IN_PLACE,
                                            TN_COMBINATIONS(layer_any_format),
                                            .run = layer_relu_run};
static const tn_operator layer_leaky = {.size = sizeof(tn_operator),
                                        .since_version = 1,
                                        .state_version = 1,
                                        .traits = TN_OPERATOR_ELEMENTWISE,
                                        .domain = "tiny",
                                        .name = "Halve",
                                        .doc = "x / 2, described as an activation that few absorb",
                                        TN_NO_FIELDS,
                                        TN_INPUTS(layer_unary_inputs),
                                        TN_OUTPUTS(layer_unary_outputs),
                                        .infer = layer_same_shape,
                                        .reference = layer_halve_run,
                                        .facet = layer_leaky_facet};

/* --- Scale: y = factor * x; describes itself by no facet but has a row function --- */
typedef struct layer_scale_params {
    uint64_t present;
    int64_t factor;
} layer_scale_params;
static const tn_field layer_scale_fields[] = {
    TN_FIELD(layer_scale_params, factor, TN_FIELD_I64, TN_OPTIONAL, "2", "the factor")};
static void layer_scale_row(const void *params, uint64_t count, const float *const *inputs,
                            const uint64_t *strides, float *output) {
    for (uint64_t i = 0; i < count; i++)
        output[i] = inputs[0][i * strides[0]] * (float)((const layer_scale_params *)params)->factor;
}
static tn_status layer_scale_run(tn_call *call) {
    for (int64_t i = 0; i < layer_count(call->inputs[0]); i++)
        *layer_at(call->outputs[0], i) = *layer_at(call->inputs[0], i) *
                                         (float)((const layer_scale_params *)call->params)->factor;
    return TN_OK;
}
static const tn_operator layer_scale = {.size = sizeof(tn_operator),
                                        .since_version = 1,
                                        .state_version = 1,
                                        .traits = TN_OPERATOR_ELEMENTWISE,
                                        .domain = "tiny",
                                        .name = "Scale",
                                        .doc = "factor * x",
                                        TN_FIELDS(layer_scale_params, layer_scale_fields),
                                        TN_INPUTS(layer_unary_inputs),
                                        TN_OUTPUTS(layer_unary_outputs),
                                        .infer = layer_same_shape,
                                        .reference = layer_scale_run,
                                        .row = layer_scale_row};
static uint32_t layer_tactic_seen;
static tn_cost layer_scale_said[3]; /* size 0: nothing */
static tn_status layer_scale_tactics(tn_call *call) {
    const tn_cost_service *costs = call->host->extension(call->host, TN_COSTS);
    for (uint32_t tactic = 0; tactic < 3; tactic++)
        if (layer_scale_said[tactic].size > 0) costs->set(call, tactic, &layer_scale_said[tactic]);
    call->tactic_count = 3;
    return TN_OK;
}
static tn_status layer_scale_kernel_run(tn_call *call) {
    static const char *const names[] = {"scale_0", "scale_1", "scale_2"};
    layer_tactic_seen |= 1u << call->tactic;
    layer_take_time(names[call->tactic]);
    return layer_scale_run(call);
}
static const tn_kernel layer_scale_kernel = {.size = sizeof(tn_kernel),
                                             .revision = 1,
                                             .domain = "tiny",
                                             .op = "Scale",
                                             .device = "cpu",
                                             .name = "scale",
                                             .traits = TN_KERNEL_IN_PLACE,
                                             .tactics = layer_scale_tactics,
                                             .run = layer_scale_kernel_run};

/* --- Plus: a + b of one shape, or b a number a channel --- */
static tn_status layer_plus_infer(tn_call *call) {
    if (call->inputs[1]->rank != 1 && (call->inputs[0]->rank != call->inputs[1]->rank ||
                                       memcmp(call->inputs[0]->shape, call->inputs[1]->shape,
                                              call->inputs[0]->rank * sizeof(int64_t)) != 0))
        return call->host->fail(call, TN_ERROR_SHAPE, "shapes differ");
    return layer_same_shape(call);
}
static tn_status layer_plus_run(tn_call *call) {
    const tn_tensor *b = call->inputs[1];
    bool is_channel = b->rank == 1 && call->inputs[0]->rank != 1;
    for (int64_t i = 0; i < layer_count(call->inputs[0]); i++)
        *layer_at(call->outputs[0], i) =
            *layer_at(call->inputs[0], i) +
            *layer_at(b, is_channel ? layer_channel(call->inputs[0], i) : i);
    return TN_OK;
}
static tn_status layer_plus_epilogue(tn_call *call, uint32_t input, seen_step *out_step) {
    bool is_channel = call->inputs[1]->rank == 1 && call->inputs[0]->rank != 1;
    if (is_channel && input != 0) return TN_ERROR_UNSUPPORTED;
    out_step->kind = is_channel ? SEEN_BIAS : SEEN_RESIDUAL;
    out_step->axis = 1;
    out_step->operand = 1 - input;
    return TN_OK;
}
DESCRIBES(layer_plus_facet, layer_plus_epilogue, NULL, NULL)
static const tn_port layer_plus_inputs[] = {TN_PORT("a", "T:f32", 0, "numbers"),
                                            TN_PORT("b", "T", 0, "more")};
static const tn_operator layer_plus = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .domain = "tiny",
                                       .name = "Plus",
                                       .doc = "a + b",
                                       TN_NO_FIELDS,
                                       TN_INPUTS(layer_plus_inputs),
                                       TN_OUTPUTS(layer_unary_outputs),
                                       .infer = layer_plus_infer,
                                       .reference = layer_plus_run,
                                       .facet = layer_plus_facet};

/* --- Only16: y = x, by a kernel that takes channel blocks alone --- */
static tn_status layer_copy_run(tn_call *call) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->inputs[0]->bytes);
    return TN_OK;
}
static const tn_operator layer_only16 = {.size = sizeof(tn_operator),
                                         .since_version = 1,
                                         .state_version = 1,
                                         .domain = "tiny",
                                         .name = "Only16",
                                         .doc = "x",
                                         TN_NO_FIELDS,
                                         TN_INPUTS(layer_unary_inputs),
                                         TN_OUTPUTS(layer_unary_outputs),
                                         .infer = layer_same_shape,
                                         .reference = layer_copy_run};
static const char *const layer_only16_combinations[] = {"f32:c16 -> f32:c16"};
static const tn_kernel layer_only16_kernel = {.size = sizeof(tn_kernel),
                                              .revision = 1,
                                              .domain = "tiny",
                                              .op = "Only16",
                                              .device = "cpu",
                                              .name = "only16",
                                              TN_COMBINATIONS(layer_only16_combinations),
                                              .run = layer_copy_run};

/* --- Same: an identity where its field says so --- */
typedef struct layer_same_params {
    uint64_t present;
    int64_t on;
} layer_same_params;
static const tn_field layer_same_fields[] = {
    TN_FIELD(layer_same_params, on, TN_FIELD_I64, TN_OPTIONAL, "1", "1: an identity")};
static tn_status layer_same_is_identity(tn_call *call) {
    return ((const layer_same_params *)call->params)->on ? TN_OK : TN_ERROR_UNSUPPORTED;
}
static const tn_operator layer_same = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .traits = TN_OPERATOR_IDENTITY,
                                       .domain = "tiny",
                                       .name = "Same",
                                       .doc = "x",
                                       TN_FIELDS(layer_same_params, layer_same_fields),
                                       TN_INPUTS(layer_unary_inputs),
                                       TN_OUTPUTS(layer_unary_outputs),
                                       .infer = layer_same_shape,
                                       .reference = layer_copy_run,
                                       .is_identity = layer_same_is_identity};

/* --- Noise: not to be folded; Fill: as many zeros as its input's value says --- */
static const tn_operator layer_noise = {.size = sizeof(tn_operator),
                                        .since_version = 1,
                                        .state_version = 1,
                                        .traits = TN_OPERATOR_NO_FOLD,
                                        .domain = "tiny",
                                        .name = "Noise",
                                        .doc = "x, and must not be folded",
                                        TN_NO_FIELDS,
                                        TN_INPUTS(layer_unary_inputs),
                                        TN_OUTPUTS(layer_unary_outputs),
                                        .infer = layer_same_shape,
                                        .reference = layer_copy_run};
static tn_status layer_fill_infer(tn_call *call) {
    if (!call->inputs[0]->data) return call->host->fail(call, TN_ERROR_SHAPE, "no value");
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = *(const int64_t *)call->inputs[0]->data;
    return TN_OK;
}
static tn_status layer_fill_run(tn_call *call) {
    memset(call->outputs[0]->data, 0, (size_t)call->outputs[0]->bytes);
    return TN_OK;
}
static const tn_port layer_fill_inputs[] = {
    TN_PORT("count", "i64", TN_PORT_VALUE_NEEDED, "how many")};
static const tn_port layer_fill_outputs[] = {TN_PORT("y", "f32", 0, "zeros")};
static const tn_operator layer_fill = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .domain = "tiny",
                                       .name = "Fill",
                                       .doc = "zeros",
                                       TN_NO_FIELDS,
                                       TN_INPUTS(layer_fill_inputs),
                                       TN_OUTPUTS(layer_fill_outputs),
                                       .infer = layer_fill_infer,
                                       .reference = layer_fill_run};

/* --- Pair: two outputs, the second optional --- */
static tn_status layer_pair_infer(tn_call *call) {
    for (int i = 0; i < 2; i++)
        if (call->outputs[i]) layer_copy_shape(call->outputs[i], call->inputs[0]);
    return TN_OK;
}
static tn_status layer_pair_run(tn_call *call) {
    for (int i = 0; i < 2; i++)
        if (call->outputs[i])
            memcpy(call->outputs[i]->data, call->inputs[0]->data, (size_t)call->inputs[0]->bytes);
    return TN_OK;
}
static const tn_port layer_pair_outputs[] = {TN_PORT("y", "T", 0, "x"),
                                             TN_PORT("z", "T", TN_PORT_OPTIONAL, "x again")};
static const tn_operator layer_pair = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .domain = "tiny",
                                       .name = "Pair",
                                       .doc = "x, twice",
                                       TN_NO_FIELDS,
                                       TN_INPUTS(layer_unary_inputs),
                                       TN_OUTPUTS(layer_pair_outputs),
                                       .infer = layer_pair_infer,
                                       .reference = layer_pair_run};

/* --- Fragile: y = x by "fragile", which fails in the callback that it is told to --- */
enum {
    LAYER_SOUND = 0,
    LAYER_FAILS_ACCEPTS,
    LAYER_FAILS_TACTICS,
    LAYER_FAILS_PREPARE,
    LAYER_FAILS_OPEN,
    LAYER_FAILS_RESHAPE,
    LAYER_FAILS_RUN
};
static int layer_fragile_failure;
static int layer_fragile_alive; /* prepared and opened, not given back */
static tn_status layer_fragile_step(tn_call *call, int step) {
    if (layer_fragile_failure == step)
        return call->host->fail(call, TN_ERROR_DEVICE, "fragile was told to fail");
    return TN_OK;
}
static tn_status layer_fragile_accepts(tn_call *call) {
    return layer_fragile_step(call, LAYER_FAILS_ACCEPTS);
}
static tn_status layer_fragile_tactics(tn_call *call) {
    call->tactic_count = 1;
    return layer_fragile_step(call, LAYER_FAILS_TACTICS);
}
static tn_status layer_fragile_prepare(tn_call *call) {
    tn_status status = layer_fragile_step(call, LAYER_FAILS_PREPARE);
    layer_fragile_alive += status == TN_OK;
    return status;
}
static void layer_fragile_release(tn_call *call) {
    (void)call;
    layer_fragile_alive--;
}
static tn_status layer_fragile_open(tn_call *call) {
    tn_status status = layer_fragile_step(call, LAYER_FAILS_OPEN);
    layer_fragile_alive += status == TN_OK;
    return status;
}
static tn_status layer_fragile_reshape(tn_call *call) {
    call->workspace_bytes = 1000;
    return layer_fragile_step(call, LAYER_FAILS_RESHAPE);
}
static tn_status layer_fragile_run(tn_call *call) {

    memset(call->workspace, 1, 1000);
    tn_status status = layer_fragile_step(call, LAYER_FAILS_RUN);
    return status == TN_OK ? layer_copy_run(call) : status;
}
static const tn_operator layer_fragile = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "tiny",
                                          .name = "Fragile",
                                          .doc = "x",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(layer_unary_inputs),
                                          TN_OUTPUTS(layer_unary_outputs),
                                          .infer = layer_same_shape,
                                          .reference = layer_copy_run};
static const tn_kernel layer_fragile_kernel = {.size = sizeof(tn_kernel),
                                               .revision = 1,
                                               .domain = "tiny",
                                               .op = "Fragile",
                                               .device = "cpu",
                                               .name = "fragile",
                                               .accepts = layer_fragile_accepts,
                                               .tactics = layer_fragile_tactics,
                                               .prepare = layer_fragile_prepare,
                                               .release = layer_fragile_release,
                                               .open = layer_fragile_open,
                                               .close = layer_fragile_release,
                                               .reshape = layer_fragile_reshape,
                                               .run = layer_fragile_run};

/* --- Twelfths: a row as twelve of equal length --- */
static tn_status layer_twelfths_infer(tn_call *call) {
    const int64_t count = call->inputs[0]->shape[0];
    if (call->inputs[0]->rank != 1 || count % 12 != 0 || count == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "not twelve of equal length");
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = count / 12;
    call->outputs[0]->shape[1] = 12;
    return TN_OK;
}
static const tn_operator layer_twelfths = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "tiny",
                                           .name = "Twelfths",
                                           .doc = "x as rows of twelve",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(layer_unary_inputs),
                                           TN_OUTPUTS(layer_unary_outputs),
                                           .infer = layer_twelfths_infer,
                                           .reference = layer_copy_run};

/* --- a plain kernel for Copy of tiny_layers.h, that needs no shapes in `prepare` --- */
static const tn_kernel layer_copy_kernel = {.size = sizeof(tn_kernel),
                                            .revision = 1,
                                            .domain = "tiny",
                                            .op = "Copy",
                                            .device = "cpu",
                                            .name = "copy",
                                            .run = layer_copy_run};

/* --- Team: y = x by two kernels that compete, "team_openmp" with that trait and "team_own" --- */
static tn_status layer_team_openmp_run(tn_call *call) {
    layer_take_time("team_openmp");
    return layer_copy_run(call);
}
static tn_status layer_team_openmp_prepare(tn_call *call) {
    (void)call;
    return TN_OK;
}
static tn_status layer_team_openmp_reshape(tn_call *call) {
    (void)call;
    return TN_OK;
}
static tn_status layer_team_own_run(tn_call *call) {
    layer_take_time("team_own");
    return layer_copy_run(call);
}
static const tn_operator layer_team = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .domain = "tiny",
                                       .name = "Team",
                                       .doc = "x",
                                       TN_NO_FIELDS,
                                       TN_INPUTS(layer_unary_inputs),
                                       TN_OUTPUTS(layer_unary_outputs),
                                       .infer = layer_same_shape,
                                       .reference = layer_copy_run};
static const tn_kernel layer_team_openmp_kernel = {.size = sizeof(tn_kernel),
                                                   .revision = 1,
                                                   .domain = "tiny",
                                                   .op = "Team",
                                                   .device = "cpu",
                                                   .name = "team_openmp",
                                                   .traits = TN_KERNEL_OPENMP,
                                                   .prepare = layer_team_openmp_prepare,
                                                   .reshape = layer_team_openmp_reshape,
                                                   .run = layer_team_openmp_run};
static const tn_kernel layer_team_own_kernel = {.size = sizeof(tn_kernel),
                                                .revision = 1,
                                                .domain = "tiny",
                                                .op = "Team",
                                                .device = "cpu",
                                                .name = "team_own",
                                                .run = layer_team_own_run};

/* --- Bare: as Team; its kernel "bare_openmp" has nothing to prepare --- */
static const tn_operator layer_bare = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .domain = "tiny",
                                       .name = "Bare",
                                       .doc = "x",
                                       TN_NO_FIELDS,
                                       TN_INPUTS(layer_unary_inputs),
                                       TN_OUTPUTS(layer_unary_outputs),
                                       .infer = layer_same_shape,
                                       .reference = layer_copy_run};
static const tn_kernel layer_bare_openmp_kernel = {.size = sizeof(tn_kernel),
                                                   .revision = 1,
                                                   .domain = "tiny",
                                                   .op = "Bare",
                                                   .device = "cpu",
                                                   .name = "bare_openmp",
                                                   .traits = TN_KERNEL_OPENMP,
                                                   .reshape = layer_team_openmp_reshape,
                                                   .run = layer_copy_run};
static const tn_kernel layer_bare_own_kernel = {.size = sizeof(tn_kernel),
                                                .revision = 1,
                                                .domain = "tiny",
                                                .op = "Bare",
                                                .device = "cpu",
                                                .name = "bare_own",
                                                .run = layer_copy_run};

static const tn_operator *const layer_operators[] = {
    &layer_mix,     &layer_relu,     &layer_leaky, &layer_scale, &layer_plus,
    &layer_only16,  &layer_same,     &layer_noise, &layer_fill,  &layer_pair,
    &layer_fragile, &layer_twelfths, &layer_team,  &layer_bare};
static const tn_kernel *const layer_kernels[] = {
    &layer_mix_plain_kernel, &layer_mix_fused_kernel,   &layer_mix_c16_kernel,
    &layer_relu_kernel,      &layer_scale_kernel,       &layer_only16_kernel,
    &layer_fragile_kernel,   &layer_copy_kernel,        &layer_team_openmp_kernel,
    &layer_team_own_kernel,  &layer_bare_openmp_kernel, &layer_bare_own_kernel};
static tn_library layer_library = {.size = sizeof(tn_library),
                                   .abi_major = TN_ABI_MAJOR,
                                   .abi_minor = TN_ABI_MINOR,
                                   .name = "build_layers",
                                   .version = "1",
                                   .operator_count = TN_COUNT(layer_operators),
                                   .operators = layer_operators,
                                   .kernel_count = TN_COUNT(layer_kernels),
                                   .kernels = layer_kernels};
static tn_library *layer_entry(const tn_host *host) {
    (void)host;
    return &layer_library;
}

#endif
