/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators and kernels for the tests of engines and contexts, in the domain "run", one of each
 * kind that a run treats differently. Each kernel checks what it is promised: alignment, null
 * data where only a shape is read, values at reshape, a workspace. Elements are 32-bit floats.
 */
#ifndef TN_TESTS_SUPPORT_RUN_LAYERS_H
#define TN_TESTS_SUPPORT_RUN_LAYERS_H

#include <string.h>
#include "steps.h"
#include <tenon/plugin.h>

static int64_t run_count(const tn_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static void run_set_shape(tn_tensor *tensor, uint32_t rank, const int64_t *extents) {
    tensor->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        tensor->shape[i] = extents[i];
}

/* What every tensor with data is promised. */
static tn_status run_check(tn_call *call) {
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_tensor *input = call->inputs[i];
        if (input && input->data && ((uintptr_t)input->data & 63))
            return call->host->fail(call, TN_ERROR_INTERNAL, "input %u is not aligned", i);
    }
    for (uint32_t i = 0; i < call->output_count; i++) {
        const tn_tensor *output = call->outputs[i];
        if (output && (!output->data || ((uintptr_t)output->data & 63)))
            return call->host->fail(call, TN_ERROR_INTERNAL, "output %u is not aligned", i);
    }
    return TN_OK;
}

static tn_status run_same_infer(tn_call *call) {
    run_set_shape(call->outputs[0], call->inputs[0]->rank, call->inputs[0]->shape);
    return TN_OK;
}

static const tn_port run_unary_inputs[] = {TN_PORT("x", "f32", 0, "numbers")};
static const tn_port run_unary_outputs[] = {TN_PORT("y", "f32", 0, "numbers")};

#define RUN_OPERATOR(operator_name, input_table, output_table, rule, compute)                      \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "run",          \
    .name = (operator_name), .doc = "for tests of runs", TN_INPUTS(input_table),                   \
    TN_OUTPUTS(output_table), .infer = (rule), .reference = (compute)
#define RUN_KERNEL(operator_name, kernel_name)                                                     \
    .size = sizeof(tn_kernel), .revision = 1, .domain = "run", .op = (operator_name),              \
    .device = "cpu", .name = (kernel_name)

/* --- Step: y = x + 1, nothing else; only a reference --- */
static tn_status run_step(tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    const tn_status status = run_check(call);
    if (status != TN_OK) return status;
    for (int64_t i = 0; i < run_count(call->inputs[0]); i++)
        to[i] = from[i] + 1;
    return TN_OK;
}
static const tn_operator run_step_operator = {
    RUN_OPERATOR("Step", run_unary_inputs, run_unary_outputs, run_same_infer, run_step)};

/* --- Negate: y = -x, in place where it may --- */
static _Atomic int run_negated_in_place; /* contexts run side by side */
static tn_status run_negate(tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    const tn_status status = run_check(call);
    if (status != TN_OK) return status;
    run_negated_in_place += from == to;
    for (int64_t i = 0; i < run_count(call->inputs[0]); i++)
        to[i] = -from[i];
    return TN_OK;
}
static const tn_operator run_negate_operator = {
    RUN_OPERATOR("Negate", run_unary_inputs, run_unary_outputs, run_same_infer, run_negate)};
static const tn_kernel run_negate_kernel = {RUN_KERNEL("Negate", "in_place"),
                                            .traits = TN_KERNEL_IN_PLACE, .run = run_negate};

/* --- Sum: y = a + b, of one shape; b may also be one element. An epilogue where it is whole --- */
static tn_status run_sum(tn_call *call) {
    const float *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    float *to = call->outputs[0]->data;
    const int64_t b_count = run_count(call->inputs[1]);
    const tn_status status = run_check(call);
    if (status != TN_OK) return status;
    for (int64_t i = 0; i < run_count(call->inputs[0]); i++)
        to[i] = a[i] + b[b_count == 1 ? 0 : i];
    return TN_OK;
}
static tn_status run_sum_epilogue(tn_call *call, uint32_t input, seen_step *out_step) {
    if (input != 0 || run_count(call->inputs[0]) != run_count(call->inputs[1]))
        return TN_ERROR_UNSUPPORTED;
    out_step->kind = SEEN_RESIDUAL;
    out_step->operand = 1;
    return TN_OK;
}
DESCRIBES(run_sum_facet, run_sum_epilogue, NULL, NULL)
static const tn_port run_sum_inputs[] = {TN_PORT("a", "f32", 0, "numbers"),
                                         TN_PORT("b", "f32", 0, "as many, or one")};
static const tn_operator run_sum_operator = {
    RUN_OPERATOR("Sum", run_sum_inputs, run_unary_outputs, run_same_infer, run_sum),
    .facet = run_sum_facet};

/* --- Gain: y = 2 x, by a kernel that can add a whole tensor --- */
static _Atomic int run_gain_fused;
static tn_status run_gain(tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    const float *added = call->step_count ? call->operands[0]->data : NULL;
    const tn_status status = run_check(call);
    if (status != TN_OK) return status;
    run_gain_fused += added != NULL;
    for (int64_t i = 0; i < run_count(call->inputs[0]); i++)
        to[i] = 2 * from[i] + (added ? added[i] : 0);
    return TN_OK;
}
static const tn_operator run_gain_operator = {
    RUN_OPERATOR("Gain", run_unary_inputs, run_unary_outputs, run_same_infer, run_gain)};
static const tn_kernel run_gain_kernel = {RUN_KERNEL("Gain", "adds"), .absorbs = "tn.residual/1",
                                          .run = run_gain};

/* --- Quirk: y = x, and of five elements the first alone --- */
static tn_status run_quirk_infer(tn_call *call) {
    const int64_t count = call->inputs[0]->shape[0];
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = count == 5 ? 1 : count;
    return TN_OK;
}
static tn_status run_quirk(tn_call *call) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->outputs[0]->bytes);
    return run_check(call);
}
static const tn_operator run_quirk_operator = {
    RUN_OPERATOR("Quirk", run_unary_inputs, run_unary_outputs, run_quirk_infer, run_quirk)};

/* --- Open: y = 5 x, by a kernel for any shape; of 13 elements it wants nothing to do --- */
typedef struct run_opened {
    int prepared, ran, reference_ran;
    int64_t extent;      /* as prepare saw it */
    int64_t least, most; /* of minimum_inputs and maximum_inputs */
} run_opened;
static run_opened run_open;
static tn_status run_open_compute(tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    const tn_status status = run_check(call);
    if (status != TN_OK) return status;
    *(call->flags & TN_CALL_REFERENCE ? &run_open.reference_ran : &run_open.ran) += 1;
    for (int64_t i = 0; i < run_count(call->inputs[0]); i++)
        to[i] = 5 * from[i];
    return TN_OK;
}
static tn_status run_open_prepare(tn_call *call) {
    run_open.prepared++;
    run_open.extent = call->inputs[0]->shape[0];
    run_open.least = call->minimum_inputs[0]->shape[0];
    run_open.most = call->maximum_inputs[0]->shape[0];
    return TN_OK;
}
static tn_status run_open_reshape(tn_call *call) {
    return run_count(call->inputs[0]) == 13
               ? call->host->fail(call, TN_ERROR_UNSUPPORTED, "thirteen")
               : TN_OK;
}
static const tn_operator run_open_operator = {
    RUN_OPERATOR("Open", run_unary_inputs, run_unary_outputs, run_same_infer, run_open_compute)};
static const tn_kernel run_open_kernel = {
    RUN_KERNEL("Open", "any_shape"), .traits = TN_KERNEL_ANY_SHAPE, .prepare = run_open_prepare,
    .reshape = run_open_reshape, .run = run_open_compute};

/* --- Blocked: y = 3 x, by a kernel that wants blocks of channels --- */
static tn_status run_blocked(tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    const tn_status status = run_check(call);
    if (status != TN_OK) return status;
    if (call->inputs[0]->format != call->outputs[0]->format)
        return call->host->fail(call, TN_ERROR_INTERNAL, "two formats");
    for (uint64_t i = 0; i < call->inputs[0]->bytes / sizeof(float); i++)
        to[i] = 3 * from[i];
    return TN_OK;
}
static const tn_operator run_blocked_operator = {
    RUN_OPERATOR("Blocked", run_unary_inputs, run_unary_outputs, run_same_infer, run_blocked)};
static const char *const run_blocked_combinations[] = {"f32:c16 -> f32:c16"};
static const tn_kernel run_blocked_kernel = {
    RUN_KERNEL("Blocked", "c16"), TN_COMBINATIONS(run_blocked_combinations), .run = run_blocked};
/* The same name in a library that has changed. */
static const char *const run_changed_combinations[] = {"f32 -> f32"};
static const tn_kernel run_changed_kernel = {
    RUN_KERNEL("Blocked", "c16"), TN_COMBINATIONS(run_changed_combinations), .run = run_blocked};

/* --- Flat: a view of rank 1 --- */
static tn_status run_flat_infer(tn_call *call) {
    const int64_t count = run_count(call->inputs[0]);
    run_set_shape(call->outputs[0], 1, &count);
    return TN_OK;
}
static const tn_port run_any_inputs[] = {TN_PORT("x", "T:any", 0, "anything")};
static const tn_port run_flat_outputs[] = {TN_PORT_VIEW_OF("y", "T", 0, "the same elements")};
static const tn_operator run_flat_operator = {
    RUN_OPERATOR("Flat", run_any_inputs, run_flat_outputs, run_flat_infer, NULL)};

/* --- Ones: 1 in the shape of `like`, of which only that is read --- */
static tn_status run_ones(tn_call *call) {
    float *to = call->outputs[0]->data;
    const tn_status status = run_check(call);
    if (status != TN_OK) return status;
    if (call->inputs[0]->data)
        return call->host->fail(call, TN_ERROR_INTERNAL, "data where only a shape is read");
    for (int64_t i = 0; i < run_count(call->outputs[0]); i++)
        to[i] = 1;
    return TN_OK;
}
static const tn_port run_ones_inputs[] = {TN_PORT("like", "any", TN_PORT_SHAPE_ONLY, "a shape")};
static const tn_operator run_ones_operator = {
    RUN_OPERATOR("Ones", run_ones_inputs, run_unary_outputs, run_same_infer, run_ones),
    .traits = TN_OPERATOR_NO_FOLD};

/* --- Fill: x's first element in the shape that is the value of `sizes` --- */
static int64_t run_filled[2]; /* what the kernel saw at reshape and at run */
static tn_status run_fill_infer(tn_call *call) {
    const tn_tensor *sizes = call->inputs[1];
    if (!sizes->data) return call->host->fail(call, TN_ERROR_INTERNAL, "no value to infer from");
    if (sizes->rank != 1 || sizes->shape[0] > TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE, "sizes must be a list");
    run_set_shape(call->outputs[0], (uint32_t)sizes->shape[0], sizes->data);
    return TN_OK;
}
static tn_status run_fill_reshape(tn_call *call) {
    if (!call->inputs[1]->data)
        return call->host->fail(call, TN_ERROR_INTERNAL, "no value to reshape by");
    run_filled[0] = ((const int64_t *)call->inputs[1]->data)[0];
    return TN_OK;
}
static tn_status run_fill(tn_call *call) {
    float *to = call->outputs[0]->data;
    const tn_status status = run_check(call);
    if (status != TN_OK) return status;
    run_filled[1] = ((const int64_t *)call->inputs[1]->data)[0];
    for (int64_t i = 0; i < run_count(call->outputs[0]); i++)
        to[i] = *(const float *)call->inputs[0]->data;
    return TN_OK;
}
static const tn_port run_fill_inputs[] = {
    TN_PORT("x", "f32", 0, "numbers"),
    TN_PORT("sizes", "i64", TN_PORT_VALUE_NEEDED, "the output's extents")};
static const tn_operator run_fill_operator = {
    RUN_OPERATOR("Fill", run_fill_inputs, run_unary_outputs, run_fill_infer, run_fill)};
static const tn_kernel run_fill_kernel = {RUN_KERNEL("Fill", "fill"), .reshape = run_fill_reshape,
                                          .run = run_fill};

/* --- Positive: x's positive elements; how many, only a run knows --- */
static tn_status run_positive(tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    int64_t found = 0;
    const tn_status status = run_check(call);
    if (status != TN_OK) return status;
    for (int64_t i = 0; i < run_count(call->inputs[0]); i++)
        if (from[i] > 0) to[found++] = from[i];
    call->outputs[0]->shape[0] = found;
    return TN_OK;
}
static const tn_port run_positive_outputs[] = {
    TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "the positive ones")};
static const tn_operator run_positive_operator = {
    RUN_OPERATOR("Positive", run_unary_inputs, run_positive_outputs, run_flat_infer, run_positive)};

/* --- Probe: y = x, by a kernel with every callback, which counts them and fails when told to ---
 */
enum {
    PROBE_SOUND = 0,
    PROBE_FAILS_PREPARE,
    PROBE_FAILS_OPEN,
    PROBE_FAILS_RESHAPE,
    PROBE_FAILS_RUN,
    PROBE_FAILS_ON_A_THREAD, /* the last item of parallel_for */
    PROBE_RETURNS_NUMBER     /* run returns a status that nobody knows, without a reason */
};
static struct {
    int failure, fail_after; /* in which callback, after how many good calls of it */
    int prepared, released, opened, closed, reshaped, ran;
    uint64_t more_workspace; /* is asked for on top */
} run_probe;
static tn_status run_probe_step(tn_call *call, int which, int calls) {
    if (run_probe.failure != which || calls <= run_probe.fail_after) return TN_OK;
    return call->host->fail(call, TN_ERROR_DEVICE, "the probe was told to fail");
}
static tn_status run_probe_prepare(tn_call *call) {
    const tn_status status = run_probe_step(call, PROBE_FAILS_PREPARE, run_probe.prepared + 1);
    if (status != TN_OK) return status;
    call->state = call->host->allocate(call->host, 100, 64);
    if (!call->state) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the probe");
    run_probe.prepared++;
    return TN_OK;
}
static void run_probe_release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
    run_probe.released++;
}
static tn_status run_probe_open(tn_call *call) {
    const tn_status status = run_probe_step(call, PROBE_FAILS_OPEN, run_probe.opened + 1);
    if (status != TN_OK) return status;
    if (!call->state) return call->host->fail(call, TN_ERROR_INTERNAL, "not prepared");
    call->context = call->host->allocate(call->host, 100, 64);
    if (!call->context) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the probe");
    run_probe.opened++;
    return TN_OK;
}
static void run_probe_close(tn_call *call) {
    call->host->deallocate(call->host, call->context);
    run_probe.closed++;
}
static tn_status run_probe_reshape(tn_call *call) {
    const tn_status status = run_probe_step(call, PROBE_FAILS_RESHAPE, run_probe.reshaped + 1);
    if (status != TN_OK) return status;
    run_probe.reshaped++;
    call->workspace_bytes = call->inputs[0]->bytes + run_probe.more_workspace;
    *(int64_t *)call->context = run_count(call->inputs[0]);
    return TN_OK;
}
static tn_status run_probe_item(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)begin, (void)thread;
    return end == 64 ? run_probe_step(user, PROBE_FAILS_ON_A_THREAD, run_probe.ran + 1) : TN_OK;
}
static tn_status run_probe_run(tn_call *call) {
    const tn_tensor *input = call->inputs[0];
    tn_status status = run_check(call);
    if (status == TN_OK) status = run_probe_step(call, PROBE_FAILS_RUN, run_probe.ran + 1);
    if (status == TN_OK) status = call->host->parallel_for(call, 64, 1, run_probe_item, call);
    if (status != TN_OK) return status;
    if (run_probe.failure == PROBE_RETURNS_NUMBER) return 4711;
    run_probe.ran++;
    if (!call->context || *(int64_t *)call->context != run_count(input))
        return call->host->fail(call, TN_ERROR_INTERNAL, "it was not told of this shape");
    if (call->workspace_bytes < input->bytes || ((uintptr_t)call->workspace & 63))
        return call->host->fail(call, TN_ERROR_INTERNAL, "the workspace is not as asked for");
    if (input->bytes == 0) return TN_OK;
    memset(call->workspace, 0xee, (size_t)call->workspace_bytes);
    memcpy(call->workspace, input->data, (size_t)input->bytes);
    memcpy(call->outputs[0]->data, call->workspace, (size_t)input->bytes);
    return TN_OK;
}
static tn_status run_probe_reference(tn_call *call) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->inputs[0]->bytes);
    return TN_OK;
}
static const tn_operator run_probe_operator = {RUN_OPERATOR(
    "Probe", run_unary_inputs, run_unary_outputs, run_same_infer, run_probe_reference)};
static const tn_kernel run_probe_kernel = {
    RUN_KERNEL("Probe", "probe"), .prepare = run_probe_prepare, .release = run_probe_release,
    .open = run_probe_open,       .close = run_probe_close,     .reshape = run_probe_reshape,
    .run = run_probe_run};

/* --- Update: y = x with its first element one more, in place where it may --- */
static _Atomic int run_updated_in_place;
static tn_status run_update(tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    const tn_status status = run_check(call);
    if (status != TN_OK) return status;
    run_updated_in_place += from == to;
    if (from != to) memcpy(to, from, (size_t)call->inputs[0]->bytes);
    to[0] += 1;
    return TN_OK;
}
static const tn_port run_update_outputs[] = {
    {"y", "f32", "x with another first element", TN_PORT_ALIAS, 1, 0, 0}};
static const tn_operator run_update_operator = {
    RUN_OPERATOR("Update", run_unary_inputs, run_update_outputs, run_same_infer, run_update)};
static const tn_kernel run_update_kernel = {RUN_KERNEL("Update", "update"), .run = run_update};

/* --- the libraries --- */
static const tn_operator *const run_operators[] = {
    &run_open_operator,  &run_quirk_operator, &run_step_operator,     &run_negate_operator,
    &run_sum_operator,   &run_gain_operator,  &run_blocked_operator,  &run_flat_operator,
    &run_ones_operator,  &run_fill_operator,  &run_positive_operator, &run_probe_operator,
    &run_update_operator};
static const tn_kernel *const run_kernels[] = {
    &run_open_kernel, &run_negate_kernel, &run_gain_kernel,  &run_blocked_kernel,
    &run_fill_kernel, &run_probe_kernel,  &run_update_kernel};
static const tn_kernel *const run_changed_kernels[] = {
    &run_open_kernel, &run_negate_kernel, &run_gain_kernel,  &run_changed_kernel,
    &run_fill_kernel, &run_probe_kernel,  &run_update_kernel};
#define RUN_LIBRARY(entry, kernel_table, total)                                                    \
    static inline tn_library *entry(const tn_host *host) {                                         \
        static tn_library library = {.size = sizeof(tn_library),                                   \
                                     .abi_major = TN_ABI_MAJOR,                                    \
                                     .abi_minor = TN_ABI_MINOR,                                    \
                                     .name = "run_layers",                                         \
                                     .version = "1",                                               \
                                     .operator_count = TN_COUNT(run_operators),                    \
                                     .operators = run_operators,                                   \
                                     .kernel_count = (total),                                      \
                                     .kernels = (kernel_table)};                                   \
        (void)host;                                                                                \
        return &library;                                                                           \
    }
RUN_LIBRARY(run_entry, run_kernels, TN_COUNT(run_kernels))
RUN_LIBRARY(run_entry_changed, run_changed_kernels, TN_COUNT(run_kernels))
RUN_LIBRARY(run_entry_bare, run_kernels, 0)

#endif
