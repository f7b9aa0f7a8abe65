/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two libraries of third parties for the tests of fusion. "acme" has operators that describe
 * themselves by facets of its own (Clamp, with two variants, and Cut, which changes the shape) and
 * by one of the header's (Pool), and one that is an expression (Soft). "other" has a kernel for the
 * operator Mix that absorbs them.
 */
#ifndef TN_TESTS_UNIT_BUILDER_FACET_LAYERS_H
#define TN_TESTS_UNIT_BUILDER_FACET_LAYERS_H

#include "build_layers.h"

#include <tenon/plugin/elementwise.h>

#define ACME_CLAMP "acme.clamp/1"
#define ACME_CUT   "acme.cut/1"

/* As acme publishes them. */
typedef struct acme_clamp {
    uint32_t size;
    float low, high;
} acme_clamp;
typedef struct acme_cut {
    uint32_t size, keep; /* elements of the last axis, from its beginning */
} acme_cut;

typedef struct acme_params {
    uint64_t present;
    float low, high;
    int64_t window;
    bool is_open;
} acme_params;
static const tn_field acme_fields[] = {
    TN_FIELD(acme_params, low, TN_FIELD_F32, TN_OPTIONAL, "-1", "lower bound"),
    TN_FIELD(acme_params, high, TN_FIELD_F32, TN_OPTIONAL, "1", "upper bound"),
    TN_FIELD(acme_params, window, TN_FIELD_I64, TN_OPTIONAL, "2", "rows and columns of a window"),
    TN_FIELD(acme_params, is_open, TN_FIELD_BOOL, TN_OPTIONAL, "false", "the other variant")};
static const tn_port acme_inputs[] = {TN_PORT("x", "T:f32", 0, "numbers")};

static uint32_t acme_asked; /* calls of Clamp's facet */

static float acme_clamped(float low, float high, float x) {
    return x < low ? low : x > high ? high : x;
}

static tn_status acme_clamp_reference(tn_call *call) {
    const acme_params *p = call->params;
    for (int64_t i = 0; i < layer_count(call->outputs[0]); i++)
        *layer_at(call->outputs[0], i) =
            acme_clamped(p->low, p->high, *layer_at(call->inputs[0], i));
    return TN_OK;
}

static tn_status acme_clamp_facet(tn_call *call, uint32_t input, const char *name,
                                  tn_facet *out_facet) {
    const acme_params *p = call->params;
    acme_asked++;
    if (input != 0 || strcmp(name, ACME_CLAMP) != 0) return TN_ERROR_UNSUPPORTED;
    acme_clamp *clamp = out_facet->what;
    clamp->size = sizeof(*clamp);
    clamp->low = p->low;
    clamp->high = p->high;
    out_facet->variant = p->is_open ? "open" : "closed";
    return TN_OK;
}

static tn_status acme_pool_infer(tn_call *call) {
    const acme_params *p = call->params;
    layer_copy_shape(call->outputs[0], call->inputs[0]);
    for (uint32_t axis = 2; axis < 4; axis++)
        call->outputs[0]->shape[axis] /= p->window;
    return TN_OK;
}

/* The largest element of a window of output element `index` of a tensor that `at` reads. */
static float acme_largest(const tn_call *call, const tn_tensor *x, const uint32_t *window,
                          int64_t index, float (*at)(const tn_call *call, int64_t index)) {
    const tn_tensor *y = call->outputs[0];
    const int64_t column = index % y->shape[3], row = index / y->shape[3] % y->shape[2];
    const int64_t plane = index / y->shape[3] / y->shape[2];
    float largest = 0;
    for (int64_t i = 0; i < (int64_t)window[0] * window[1]; i++) {
        const int64_t r = row * window[0] + i / window[1], c = column * window[1] + i % window[1];
        const float value = at(call, (plane * x->shape[2] + r) * x->shape[3] + c);
        if (i == 0 || value > largest) largest = value;
    }
    return largest;
}

static float acme_input(const tn_call *call, int64_t index) {
    return *layer_at(call->inputs[0], index);
}

static tn_status acme_pool_reference(tn_call *call) {
    const acme_params *p = call->params;
    const uint32_t window[2] = {(uint32_t)p->window, (uint32_t)p->window};
    for (int64_t i = 0; i < layer_count(call->outputs[0]); i++)
        *layer_at(call->outputs[0], i) = acme_largest(call, call->inputs[0], window, i, acme_input);
    return TN_OK;
}

static tn_status acme_pool_facet(tn_call *call, uint32_t input, const char *name,
                                 tn_facet *out_facet) {
    const acme_params *p = call->params;
    if (input != 0 || strcmp(name, TN_FACET_WINDOW_MAX) != 0) return TN_ERROR_UNSUPPORTED;
    tn_facet_window_max *windows = out_facet->what;
    windows->size = sizeof(*windows);
    windows->window[0] = windows->window[1] = (uint32_t)p->window;
    out_facet->flags = TN_FACET_RESHAPES;
    return TN_OK;
}

/* Half of the last axis: another number of elements for every shape. */
static tn_status acme_cut_infer(tn_call *call) {
    layer_copy_shape(call->outputs[0], call->inputs[0]);
    call->outputs[0]->shape[3] /= 2;
    return TN_OK;
}

static int64_t acme_uncut(const tn_tensor *x, const tn_tensor *y, int64_t index) {
    return index / y->shape[3] * x->shape[3] + index % y->shape[3];
}

static tn_status acme_cut_reference(tn_call *call) {
    for (int64_t i = 0; i < layer_count(call->outputs[0]); i++)
        *layer_at(call->outputs[0], i) =
            *layer_at(call->inputs[0], acme_uncut(call->inputs[0], call->outputs[0], i));
    return TN_OK;
}

static tn_status acme_cut_facet(tn_call *call, uint32_t input, const char *name,
                                tn_facet *out_facet) {
    if (input != 0 || strcmp(name, ACME_CUT) != 0) return TN_ERROR_UNSUPPORTED;
    acme_cut *cut = out_facet->what;
    cut->size = sizeof(*cut);
    cut->keep = (uint32_t)call->outputs[0]->shape[3];
    out_facet->flags = TN_FACET_RESHAPES;
    return TN_OK;
}

#define ACME_OPERATOR(variable, operator_name, shape_rule)                                         \
    static const tn_operator acme_##variable##_operator = {.size = sizeof(tn_operator),            \
                                                           .since_version = 1,                     \
                                                           .state_version = 1,                     \
                                                           .domain = "tiny",                       \
                                                           .name = operator_name,                  \
                                                           .doc = "for tests",                     \
                                                           TN_FIELDS(acme_params, acme_fields),    \
                                                           TN_INPUTS(acme_inputs),                 \
                                                           TN_OUTPUTS(layer_unary_outputs),        \
                                                           .infer = shape_rule,                    \
                                                           .reference =                            \
                                                               acme_##variable##_reference,        \
                                                           .facet = acme_##variable##_facet}
ACME_OPERATOR(clamp, "Clamp", layer_same_shape);
ACME_OPERATOR(pool, "Pool", acme_pool_infer);
ACME_OPERATOR(cut, "Cut", acme_cut_infer);
/* Neither a row function nor a facet of its own. */
static const tn_field acme_soft_fields[] = {TN_NUMBER(low, F32, "-0.5", "lower bound"),
                                            TN_NUMBER(high, F32, "1.25", "upper bound"),
                                            TN_NUMBER(window, I64, "2", "how wide")};
static const tn_operator acme_soft_operator = TN_ELEMENTWISE(
    "tiny", "Soft", 1, "low + (high - low) * sigmoid(x / window)", acme_soft_fields, "for tests");
static const tn_operator *const acme_operators[] = {&acme_clamp_operator, &acme_pool_operator,
                                                    &acme_cut_operator, &acme_soft_operator};
static tn_library acme_library = {.size = sizeof(tn_library),
                                  .abi_major = TN_ABI_MAJOR,
                                  .abi_minor = TN_ABI_MINOR,
                                  .name = "acme",
                                  .version = "1",
                                  .operator_count = 4,
                                  .operators = acme_operators};
static tn_library *acme_entry(const tn_host *host) {
    (void)host;
    return &acme_library;
}

/* ----------------------------------------------------------------------------------------------
 * the kernel of another library */

static uint32_t other_runs, other_absorbed;

static bool other_is_elementwise(const tn_step *step) {
    return strcmp(step->facet, ACME_CLAMP) == 0 || strcmp(step->facet, TN_FACET_ROW) == 0;
}

static float other_step(const tn_step *step, float value) {
    if (strcmp(step->facet, TN_FACET_ROW) == 0) {
        const tn_facet_expression *row = step->what;
        const float *const inputs[] = {&value};
        const uint64_t strides[] = {1};
        float result = 0;
        row->row(row->params, 1, inputs, strides, &result);
        return result;
    }
    const acme_clamp *clamp = step->what;
    return acme_clamped(clamp->low, clamp->high, value);
}

/* Mix, the clamps and the rows up to the first other step. */
static float other_clamped(const tn_call *call, int64_t index) {
    float value = layer_mixed(call, index);
    for (uint32_t i = 0; i < call->step_count && other_is_elementwise(call->steps[i]); i++)
        value = other_step(call->steps[i], value);
    return value;
}

static uint32_t other_clamps(const tn_call *call) {
    uint32_t count = 0;
    while (count < call->step_count && other_is_elementwise(call->steps[count]))
        count++;
    return count;
}

/* Any clamps and rows, then one pooling or one cut at most. */
static tn_status other_accepts(tn_call *call) {
    return call->inputs[0]->rank == 4 && other_clamps(call) + 1 >= call->step_count
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

static tn_status other_run(tn_call *call) {
    const uint32_t clamps = other_clamps(call);
    const tn_step *last = clamps < call->step_count ? call->steps[clamps] : NULL;
    const bool is_pool = last && strcmp(last->facet, TN_FACET_WINDOW_MAX) == 0;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    other_runs++;
    other_absorbed += call->step_count;
    for (int64_t i = 0; i < layer_count(y); i++)
        *layer_at(y, i) =
            is_pool ? acme_largest(call, x, ((const tn_facet_window_max *)last->what)->window, i,
                                   other_clamped)
                    : other_clamped(call, last ? acme_uncut(x, y, i) : i);
    return TN_OK;
}

#define OTHER_KERNEL(variable, kernel_name, text)                                                  \
    static const tn_kernel other_##variable = {.size = sizeof(tn_kernel),                          \
                                               .revision = 1,                                      \
                                               .domain = "tiny",                                   \
                                               .op = "Mix",                                        \
                                               .device = "cpu",                                    \
                                               .name = kernel_name,                                \
                                               .absorbs = text,                                    \
                                               TN_COMBINATIONS(layer_mix_linear),                  \
                                               .accepts = other_accepts,                           \
                                               .run = other_run}
OTHER_KERNEL(absorbing, "mix_other", ACME_CLAMP "(closed), " TN_FACET_WINDOW_MAX ", " ACME_CUT);
OTHER_KERNEL(unlisted, "mix_variants",
             ACME_CLAMP ", "
                        "acme.clamps/1(closed)");
OTHER_KERNEL(nothing, "mix_nothing", NULL);
OTHER_KERNEL(rows, "mix_rows", TN_FACET_ROW);
static const tn_kernel *const other_kernels[] = {&other_absorbing, &other_unlisted, &other_nothing,
                                                 &other_rows};
static tn_library other_library = {.size = sizeof(tn_library),
                                   .abi_major = TN_ABI_MAJOR,
                                   .abi_minor = TN_ABI_MINOR,
                                   .name = "other",
                                   .version = "1",
                                   .kernel_count = 4,
                                   .kernels = other_kernels};
static tn_library *other_entry(const tn_host *host) {
    (void)host;
    return &other_library;
}

#endif
