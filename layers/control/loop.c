/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loop: a graph again and again, as often as a limit says and until it says itself that it ends.
 * What comes out of an iteration goes into the next one, and what it computes besides is stacked.
 * Where the number of iterations or their shapes are known, each slice is written where it belongs;
 * otherwise slices are kept until the end.
 */
#include "loop.h"

#include <string.h>

/* What is stacked by one run. */
typedef struct loop_run {
    tn_call *call;
    tn_control_state *state;
    uint32_t carried;
    uint32_t stacked; /* that somebody asked for, at most */
    uint32_t ranks[TN_BODY_MAX_PORTS];
    int64_t extents[TN_BODY_MAX_PORTS][TN_MAX_RANK]; /* of a slice */
} loop_run;

static tn_status fail_slice(const loop_run *run, uint32_t index, int64_t iteration,
                            const tn_tensor *slice) {
    char is[TN_INFER_SHAPE_TEXT_BYTES], was[TN_INFER_SHAPE_TEXT_BYTES];
    return run->call->host->fail(
        run->call, TN_ERROR_SHAPE,
        "output %u stacks %s in iteration %lld: %s was expected, the same in each", index,
        tn_infer_shape_text(slice->rank, slice->shape, is, sizeof(is)), (long long)iteration,
        tn_infer_shape_text(run->ranks[index], run->extents[index], was, sizeof(was)));
}

/* The first slice says what the others have to be, or the output where it has its shape. */
static void expect(loop_run *run, uint32_t index, const tn_tensor *slice) {
    const tn_tensor *output = run->call->outputs[index];
    const bool is_there = output->data != NULL;
    run->ranks[index] = is_there ? output->rank - 1 : slice->rank;
    for (uint32_t axis = 0; axis < run->ranks[index]; axis++)
        run->extents[index][axis] = is_there ? output->shape[axis + 1] : slice->shape[axis];
}

static tn_status stack_one(loop_run *run, uint32_t index, int64_t iteration,
                           const tn_tensor *slice) {
    const tn_tensor *output = run->call->outputs[index];
    tn_control_buffer *buffer = &run->state->outputs[index];
    unsigned char *to = output->data;
    if (iteration == 0) {
        expect(run, index, slice);
        buffer->used = 0;
    }
    const uint32_t rank = run->ranks[index];
    if (rank != slice->rank ||
        (rank > 0 && memcmp(run->extents[index], slice->shape, rank * sizeof(int64_t)) != 0) ||
        (to && iteration >= output->shape[0]))
        return fail_slice(run, index, iteration, slice);
    if (!to) {
        if (slice->bytes > UINT64_MAX / 2 - buffer->used)
            return run->call->host->fail(run->call, TN_ERROR_MEMORY, "too much is stacked");
        TN_TRY(tn_control_reserve(run->call, buffer, buffer->used + slice->bytes));
        to = buffer->memory;
    }
    to += (uint64_t)iteration * slice->bytes;
    buffer->used += slice->bytes;
    if (slice->type == TN_STRING)
        return tn_strings_append_all(run->call, index, slice, (tn_string *)(void *)to);
    if (slice->bytes > 0) memcpy(to, slice->data, slice->bytes);
    return TN_OK;
}

static tn_status stack(void *user, int64_t iteration, const tn_tensor *outputs) {
    loop_run *run = user;
    for (uint32_t i = 0; i < run->stacked; i++)
        if (run->call->outputs[run->carried + i])
            TN_TRY(stack_one(run, run->carried + i, iteration, &outputs[i]));
    return TN_OK;
}

/* Extents that no iteration has said are 0. */
static void expect_nothing(loop_run *run, uint32_t index) {
    const tn_tensor *output = run->call->outputs[index];
    const bool has_rank = output->rank != TN_RANK_UNKNOWN && output->rank > 0;
    run->ranks[index] = has_rank ? output->rank - 1 : 0;
    for (uint32_t axis = 0; axis < run->ranks[index]; axis++) {
        const int64_t extent = output->shape[axis + 1];
        run->extents[index][axis] = extent > 0 ? extent : 0;
    }
}

static tn_status hand_out_stacked(loop_run *run, uint32_t index, int64_t iterations) {
    const tn_control_buffer *buffer = &run->state->outputs[index];
    int64_t extents[TN_MAX_RANK] = {iterations};
    void *data = NULL;
    if (iterations == 0) expect_nothing(run, index);
    const uint32_t rank = run->ranks[index];
    if (rank >= TN_MAX_RANK)
        return run->call->host->fail(run->call, TN_ERROR_SHAPE, "output %u has rank %u", index,
                                     rank + 1);
    for (uint32_t axis = 0; axis < rank; axis++)
        extents[axis + 1] = run->extents[index][axis];
    const bool is_there = run->call->outputs[index]->data != NULL;
    TN_TRY(tn_control_memory(run->call, index, rank + 1, extents, &data));
    if (!is_there && iterations > 0 && buffer->used > 0) memcpy(data, buffer->memory, buffer->used);
    return TN_OK;
}

static tn_status run_loop(tn_call *call, tn_control_state *state) {
    const tn_tensor *condition = tn_infer_input(call, TN_LOOP_CONDITION);
    const uint32_t carried = tn_loop_carried(call);
    loop_run run = {.call = call, .state = state, .carried = carried};
    tn_tensor results[TN_BODY_MAX_PORTS];
    tn_body_loop loop = {.size = sizeof(loop),
                         .carried_count = carried,
                         .limit = tn_loop_limit(call),
                         .condition = !condition || *(const bool *)condition->data,
                         .carried = carried > 0 ? call->inputs + TN_LOOP_CARRIED : NULL,
                         .results = results,
                         .each = stack,
                         .user = &run};
    run.stacked = call->output_count > carried ? call->output_count - carried : 0;
    TN_TRY(tn_control_bodies(call)->run_while(call, tn_loop_body(call), &loop));
    for (uint32_t i = 0; i < carried; i++)
        TN_TRY(tn_control_hand_out(call, i, &results[i]));
    for (uint32_t i = 0; i < run.stacked; i++)
        if (call->outputs[carried + i])
            TN_TRY(hand_out_stacked(&run, carried + i, loop.iterations));
    return TN_OK;
}

static tn_status loop_reference(tn_call *call) {
    return tn_control_with_state(call, run_loop);
}

static tn_status loop_run_kernel(tn_call *call) {
    return run_loop(call, call->context);
}

static const tn_field loop_fields[] = {
    TN_FIELD(tn_loop_params, body, TN_FIELD_GRAPH, TN_REQUIRED, NULL, "one iteration"),
};
static const tn_port loop_inputs[] = {
    TN_PORT("M", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_WANTED,
            "how many iterations at most; absent: any number"),
    TN_PORT("cond", "bool", TN_PORT_OPTIONAL | TN_PORT_VALUE_WANTED,
            "whether there is a first one; absent: there is"),
    TN_PORT("v_initial", "value(any|string)",
            TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS | TN_PORT_OPTIONAL,
            "what is carried into the first iteration"),
};
static const tn_port loop_outputs[] = {
    TN_PORT("v_final_and_scan_outputs", "value(any|string)",
            TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS | TN_PORT_SIZED_BY_RUN,
            "what the last iteration carries out, then what all of them stacked"),
};
const tn_operator tn_control_loop = {
    TN_OPERATOR_BEGIN("", "Loop", 1, "A graph again and again, by a count and a condition."),
    .traits = TN_OPERATOR_EXACT,
    .infer = tn_loop_infer,
    .reference = loop_reference,
    TN_FIELDS(tn_loop_params, loop_fields),
    TN_INPUTS(loop_inputs),
    TN_OUTPUTS(loop_outputs)};
static const char *const loop_combinations[] = {"i64?, bool?, *|string?... -> *|string..."};
const tn_kernel tn_control_loop_kernel = {
    TN_KERNEL_BEGIN("cpu", "", "Loop", "iterate", 1, "runs the body's own program"),
    TN_COMBINATIONS(loop_combinations), .open = tn_control_open, .close = tn_control_close,
    .run = loop_run_kernel};
