/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for the tests of what a kernel has of its own: fields read by name, state in the plan,
 * combinations by callback. All kernels are of one operator, Scale, y = factor * x. Their names say
 * what is special; `own_probe` counts their callbacks.
 */
#ifndef TN_TESTS_UNIT_WHOLE_OWN_LAYERS_H
#define TN_TESTS_UNIT_WHOLE_OWN_LAYERS_H

#include <stdio.h>
#include <string.h>
#include <tenon/plugin.h>

static struct {
    int prepared, loaded, saved, released, keyed, asked;
    bool has_lost_params;      /* a callback saw other parameters than the one before, or none */
    const void *params;        /* the kernel's own, as the callbacks saw them */
    const char *bad_text;      /* a combination by callback that is not well-formed */
    int combinations;          /* by callback; 0: no end */
    bool refuses_key, damages; /* timing_key says no; save announces less than it writes */
} own_probe;

/* --- the operator --- */

typedef struct own_scale_params {
    uint64_t present;
    float factor;
    int32_t count;
    uint32_t mode; /* forward 0, backward 1 */
    tn_f32s table;
    const char *label;
} own_scale_params;

static const tn_field own_scale_fields[] = {
    TN_FIELD(own_scale_params, factor, TN_FIELD_F32, TN_OPTIONAL, "2", "what x is multiplied by"),
    TN_FIELD(own_scale_params, count, TN_FIELD_I32, TN_OPTIONAL, "3", "a number"),
    TN_FIELD_CHOICE(own_scale_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "forward",
                    "forward|backward", "a choice"),
    TN_FIELD(own_scale_params, table, TN_FIELD_F32S, TN_OPTIONAL, "[1, 0.5]", "a list"),
    TN_FIELD(own_scale_params, label, TN_FIELD_STRING, TN_OPTIONAL, NULL, "a text"),
};

static tn_status own_infer(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    memcpy(call->outputs[0]->shape, call->inputs[0]->shape,
           call->inputs[0]->rank * sizeof(int64_t));
    return TN_OK;
}

static void own_multiply(const tn_call *call, double factor) {
    const uint64_t count = call->inputs[0]->bytes / sizeof(float);
    for (uint64_t i = 0; i < count; i++)
        ((float *)call->outputs[0]->data)[i] =
            (float)(factor * (double)((const float *)call->inputs[0]->data)[i]);
}

static tn_status own_reference(tn_call *call) {
    own_multiply(call, (double)((const own_scale_params *)call->params)->factor);
    return TN_OK;
}

static const tn_port own_inputs[] = {TN_PORT("x", "f32", 0, "an image")};
static const tn_port own_outputs[] = {TN_PORT("y", "f32", 0, "scaled")};
static const tn_operator own_scale = {.size = sizeof(tn_operator),
                                      .since_version = 1,
                                      .state_version = 1,
                                      .domain = "own",
                                      .name = "Scale",
                                      TN_FIELDS(own_scale_params, own_scale_fields),
                                      TN_INPUTS(own_inputs),
                                      TN_OUTPUTS(own_outputs),
                                      .infer = own_infer,
                                      .reference = own_reference};

#define OWN_KERNEL(kernel_name)                                                                    \
    .size = sizeof(tn_kernel), .revision = 1, .domain = "own", .op = "Scale", .device = "cpu",     \
    .name = (kernel_name)

/* --- fields: wider numbers, other numbers of choices, one that the operator lacks --- */

typedef struct own_params {
    uint64_t present;
    tn_f64s table;
    int64_t count;
    double factor;
    uint32_t mode; /* backward 5, forward 7 */
    float missing;
    const char *label;
    const tn_attribute *any;
} own_params;

static const tn_field own_fields[] = {
    TN_FIELD(own_params, factor, TN_FIELD_F64, TN_REQUIRED, NULL, "the operator's"),
    TN_FIELD(own_params, count, TN_FIELD_I64, TN_REQUIRED, NULL, "the operator's"),
    TN_FIELD_CHOICE(own_params, mode, TN_FIELD_ENUM, TN_REQUIRED, NULL, "backward=5|forward=7",
                    "the operator's"),
    TN_FIELD(own_params, table, TN_FIELD_F64S, TN_REQUIRED, NULL, "the operator's"),
    TN_FIELD(own_params, label, TN_FIELD_STRING, TN_OPTIONAL, "nobody", "the operator's"),
    TN_FIELD(own_params, missing, TN_FIELD_F32, TN_OPTIONAL, "7", "no operator's"),
};

static void own_see(const tn_call *call) {
    if (!call->kernel_params || (own_probe.params && own_probe.params != call->kernel_params))
        own_probe.has_lost_params = true;
    own_probe.params = call->kernel_params;
}

static tn_status own_pass(tn_call *call) {
    own_see(call);
    return TN_OK;
}

static void own_leave(tn_call *call) {
    own_see(call);
}

static tn_status own_tactics(tn_call *call) {
    own_see(call);
    call->tactic_count = 1;
    return TN_OK;
}

static tn_status own_fields_run(tn_call *call) {
    own_see(call);
    own_multiply(call, ((const own_params *)call->kernel_params)->factor);
    return TN_OK;
}

static const tn_kernel own_fields_kernel = {
    OWN_KERNEL("fields"),   .accepts = own_pass,
    .tactics = own_tactics, .prepare = own_pass,
    .release = own_leave,   .open = own_pass,
    .close = own_leave,     .reshape = own_pass,
    .run = own_fields_run,  TN_FIELDS(own_params, own_fields)};

static tn_status own_never(tn_call *call) {
    return call->host->fail(call, TN_ERROR_INTERNAL, "this kernel must not run");
}

typedef struct own_other_params {
    uint64_t present;
    int64_t label;
} own_other_params;

#define OWN_MISFIT(name, params, member, type, flags, low, high)                                   \
    static const tn_field own_##name##_fields[] = {                                                \
        TN_FIELD_RANGE(params, member, type, flags, NULL, low, high, "does not fit")};             \
    static const tn_kernel own_##name##_kernel = {OWN_KERNEL(#name), .run = own_never,             \
                                                  TN_FIELDS(params, own_##name##_fields)}
OWN_MISFIT(typed, own_other_params, label, TN_FIELD_I64, TN_OPTIONAL, 0, 0);
OWN_MISFIT(lacks, own_params, missing, TN_FIELD_F32, TN_REQUIRED, 0, 0);
OWN_MISFIT(bounded, own_params, factor, TN_FIELD_F64, TN_OPTIONAL, 0, 1);

/* --- state: the factor, found in prepare --- */

enum { OWN_MARK = 0x4f574e };
typedef struct own_state {
    uint32_t mark;
    float factor;
} own_state;

static tn_status own_keep(tn_call *call, own_state value) {
    own_state *state = call->host->allocate(call->host, sizeof(*state), 16);
    if (!state) return TN_ERROR_MEMORY;
    *state = value;
    call->state = state;
    return TN_OK;
}

static tn_status own_state_prepare(tn_call *call) {
    own_probe.prepared++;
    return own_keep(call, (own_state){OWN_MARK, ((const own_scale_params *)call->params)->factor});
}

static void own_state_release(tn_call *call) {
    own_probe.released++;
    call->host->deallocate(call->host, call->state);
}

static tn_status own_state_save(tn_call *call, void *data, uint64_t *inout_bytes) {
    own_probe.saved++;
    if (data) memcpy(data, call->state, sizeof(own_state));
    *inout_bytes = own_probe.damages && !data ? 1 : sizeof(own_state);
    return TN_OK;
}

static tn_status own_state_load(tn_call *call, const void *data, uint64_t bytes) {
    own_state state;
    if (bytes != sizeof(state))
        return call->host->fail(call, TN_ERROR_FORMAT, "a state of %llu bytes",
                                (unsigned long long)bytes);
    memcpy(&state, data, sizeof(state));
    if (state.mark != OWN_MARK) return call->host->fail(call, TN_ERROR_FORMAT, "no state of mine");
    own_probe.loaded++;
    return own_keep(call, state);
}

static tn_status own_state_run(tn_call *call) {
    own_multiply(call, (double)((const own_state *)call->state)->factor);
    return TN_OK;
}

static tn_status own_timing_key(tn_call *call, char *text, uint32_t bytes) {
    own_probe.keyed++;
    snprintf(text, bytes, "%g", (double)((const own_scale_params *)call->params)->factor);
    return own_probe.refuses_key ? TN_ERROR_UNSUPPORTED : TN_OK;
}

#define OWN_STATE                                                                                  \
    .prepare = own_state_prepare, .release = own_state_release, .run = own_state_run,              \
    .save = own_state_save, .load = own_state_load
static const tn_kernel own_state_kernel = {OWN_KERNEL("state"), OWN_STATE};
static const tn_kernel own_keyed_kernel = {OWN_KERNEL("keyed"), OWN_STATE,
                                           .timing_key = own_timing_key};

/* --- combinations by callback --- */

static tn_status own_combination(tn_call *call, uint32_t index, char *text, uint32_t bytes) {
    static const char *const texts[] = {"f32:c2 -> f32:c2", "f32:c64 -> f32:c64"};
    own_probe.asked++;
    if (call->inputs[0]->format != TN_LINEAR || call->inputs[0]->type != TN_F32)
        return TN_ERROR_INTERNAL;
    if (own_probe.bad_text && index == 1)
        snprintf(text, bytes, "%s", own_probe.bad_text);
    else
        snprintf(text, bytes, "%s", texts[index % 2]);
    return own_probe.combinations && (int)index >= own_probe.combinations ? TN_ERROR_RANGE : TN_OK;
}

/* One image of one position: blocks of channels lie as they are. */
static tn_status own_blocked_run(tn_call *call) {
    if (call->inputs[0]->format == TN_LINEAR)
        return call->host->fail(call, TN_ERROR_INTERNAL, "it is linear");
    own_multiply(call, (double)((const own_scale_params *)call->params)->factor);
    return TN_OK;
}

static const tn_kernel own_asked_kernel = {OWN_KERNEL("asked"), .run = own_blocked_run,
                                           .combination = own_combination};

static const tn_operator *const own_operators[] = {&own_scale};
static const tn_kernel *const own_kernels[] = {
    &own_fields_kernel, &own_lacks_kernel, &own_typed_kernel, &own_bounded_kernel,
    &own_state_kernel,  &own_keyed_kernel, &own_asked_kernel};
static tn_library *own_entry(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "own_layers",
                               .version = "1",
                               .operator_count = TN_COUNT(own_operators),
                               .operators = own_operators,
                               .kernel_count = TN_COUNT(own_kernels),
                               .kernels = own_kernels};
    (void)host;
    return &table;
}

#endif
