/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scan: a graph for each slice of its last inputs. States go from one slice to the next, what the
 * graph computes besides is stacked. Slices along the first axis are read and written where they
 * are; others are gathered and scattered.
 */
#include "scan.h"

#include <string.h>

/* One run. */
typedef struct scan_run {
    tn_call *call;
    tn_control_state *state;
    tn_scan_ports ports;
    int64_t sequence, slice; /* the element of the batch, and the number of the slice */
    tn_tensor inputs[TN_BODY_MAX_PORTS], made[TN_BODY_MAX_PORTS];
    int64_t extents[TN_BODY_MAX_PORTS][TN_MAX_RANK];
    uint32_t axes[TN_BODY_MAX_PORTS]; /* of what is stacked */
    void *memory[TN_BODY_MAX_PORTS];  /* of outputs: all of it */
} scan_run;

/* A tensor as outer * length * inner bytes. */
typedef struct scan_region {
    uint64_t outer, length, inner;
} scan_region;

static scan_region region_of(const tn_tensor *slice, uint32_t axis, int64_t length) {
    scan_region region = {.outer = 1, .length = (uint64_t)length, .inner = slice->bytes};
    for (uint32_t i = 0; i < axis; i++)
        region.outer *= (uint64_t)slice->shape[i];
    if (region.outer > 0) region.inner /= region.outer;
    return region;
}

static void gather(const scan_region *region, const unsigned char *from, uint64_t index,
                   unsigned char *to) {
    for (uint64_t i = 0; i < region->outer; i++)
        memcpy(to + i * region->inner, from + (i * region->length + index) * region->inner,
               region->inner);
}

static void scatter(const scan_region *region, const unsigned char *from, uint64_t index,
                    unsigned char *to) {
    for (uint64_t i = 0; i < region->outer; i++)
        memcpy(to + (i * region->length + index) * region->inner, from + i * region->inner,
               region->inner);
}

static int64_t number_of(const scan_run *run, tn_i64s directions, uint32_t index) {
    return tn_scan_is_reversed(directions, index) ? run->ports.length - 1 - run->slice : run->slice;
}

/* ----------------------------------------------------------------------------------------------
 * inputs */

static tn_status read_slice(scan_run *run, uint32_t scan) {
    const tn_scan_ports *ports = &run->ports;
    const uint32_t input = ports->states + scan;
    const tn_tensor *whole = ports->inputs[input];
    tn_tensor *slice = &run->inputs[input];
    const uint64_t number = (uint64_t)number_of(run, ports->input_directions, scan);
    const uint64_t sequence_bytes = whole->bytes / (uint64_t)ports->batch;
    unsigned char *from = (unsigned char *)whole->data + (uint64_t)run->sequence * sequence_bytes;
    slice->bytes = sequence_bytes / (uint64_t)ports->length;
    if (ports->axes[scan] == 0) {
        slice->data = from + number * slice->bytes;
        return TN_OK;
    }
    tn_control_buffer *buffer = &run->state->inputs[scan];
    const scan_region region = region_of(slice, ports->axes[scan], ports->length);
    TN_TRY(tn_control_reserve(run->call, buffer, slice->bytes));
    if (slice->bytes > 0) gather(&region, from, number, buffer->memory);
    slice->data = buffer->memory;
    return TN_OK;
}

static void describe_slices(scan_run *run) {
    const tn_scan_ports *ports = &run->ports;
    for (uint32_t i = 0; i < ports->scans; i++) {
        const uint32_t input = ports->states + i;
        run->inputs[input] = *ports->inputs[input];
        run->inputs[input].shape = run->extents[input];
        tn_scan_slice(ports, i, &run->inputs[input].rank, run->extents[input]);
    }
}

static void begin_states(scan_run *run) {
    const tn_scan_ports *ports = &run->ports;
    for (uint32_t i = 0; i < ports->states; i++) {
        const tn_tensor *whole = ports->inputs[i];
        tn_tensor *state = &run->inputs[i];
        *state = *whole;
        if (!ports->is_batched) continue;
        state->rank = whole->rank - 1;
        state->shape = whole->shape + 1;
        state->bytes = whole->bytes / (uint64_t)ports->batch;
        state->data = (unsigned char *)whole->data + (uint64_t)run->sequence * state->bytes;
    }
}

/* ----------------------------------------------------------------------------------------------
 * outputs */

static bool is_asked(const scan_run *run, uint32_t output) {
    return output < run->call->output_count && run->call->outputs[output];
}

/* The memory of an output for all slices of this shape, once. */
static tn_status lay_out(scan_run *run, uint32_t output, uint32_t rank, const int64_t *slice) {
    const tn_scan_ports *ports = &run->ports;
    int64_t extents[TN_MAX_RANK + 2];
    uint32_t count = 0;
    uint32_t *axis = &run->axes[output];
    if (run->memory[output]) return TN_OK;
    TN_TRY(tn_scan_output_axis(run->call, ports, output - ports->states, rank, axis));
    if (rank + 1 + ports->is_batched > TN_MAX_RANK)
        return run->call->host->fail(run->call, TN_ERROR_SHAPE,
                                     "output %u stacks slices of rank %u", output, rank);
    if (ports->is_batched) extents[count++] = ports->batch;
    for (uint32_t i = 0; i <= rank; i++) {
        if (i == *axis) extents[count++] = ports->length;
        if (i < rank) extents[count++] = slice[i];
    }
    TN_TRY(tn_control_memory(run->call, output, count, extents, &run->memory[output]));
    if (ports->is_batched && run->call->outputs[output]->bytes > 0) /* behind a sequence's end */
        memset(run->memory[output], 0, run->call->outputs[output]->bytes);
    return TN_OK;
}

/* Where there is nothing to run, open extents are 0. */
static tn_status lay_out_nothing(scan_run *run, uint32_t output) {
    const tn_scan_ports *ports = &run->ports;
    const tn_tensor *to = run->call->outputs[output];
    int64_t slice[TN_MAX_RANK] = {0};
    if (to->data) {
        if (to->bytes > 0) memset(to->data, 0, to->bytes);
        return TN_OK;
    }
    const uint32_t more = 1 + ports->is_batched;
    const uint32_t rank = to->rank == TN_RANK_UNKNOWN || to->rank < more ? 0 : to->rank - more;
    return lay_out(run, output, rank, slice);
}

/* Whether the output, once it is there, has slices of this shape. */
static bool fits(const scan_run *run, uint32_t output, const tn_tensor *slice) {
    const tn_tensor *to = run->call->outputs[output];
    const uint32_t batch = run->ports.is_batched;
    bool is_same = to->rank == slice->rank + 1 + batch;
    for (uint32_t i = 0; is_same && i < slice->rank; i++)
        is_same = to->shape[batch + i + (i >= run->axes[output])] == slice->shape[i];
    return is_same;
}

/* The elements of a slice: of strings, with the output's own offsets. */
static tn_status find_elements(scan_run *run, uint32_t output, const void **out_elements) {
    const tn_tensor *slice = &run->made[output];
    tn_control_buffer *buffer = &run->state->outputs[output];
    *out_elements = slice->data;
    if (slice->type != TN_STRING) return TN_OK;
    TN_TRY(tn_control_reserve(run->call, buffer, slice->bytes));
    *out_elements = buffer->memory;
    return tn_strings_append_all(run->call, output, slice, (tn_string *)(void *)buffer->memory);
}

static tn_status stack(scan_run *run, uint32_t output) {
    const tn_scan_ports *ports = &run->ports;
    const tn_tensor *slice = &run->made[output];
    const void *elements = NULL;
    const tn_tensor *to = run->call->outputs[output];
    const uint32_t index = output - ports->states;
    TN_TRY(lay_out(run, output, slice->rank, slice->shape));
    const scan_region region = region_of(slice, run->axes[output], ports->length);
    const uint64_t sequence_bytes = to->bytes / (uint64_t)ports->batch;
    if (!fits(run, output, slice))
        return run->call->host->fail(run->call, TN_ERROR_SHAPE,
                                     "output %u stacks slices that differ in shape", output);
    TN_TRY(find_elements(run, output, &elements));
    if (slice->bytes > 0)
        scatter(&region, elements, (uint64_t)number_of(run, ports->output_directions, index),
                (unsigned char *)run->memory[output] + (uint64_t)run->sequence * sequence_bytes);
    return TN_OK;
}

static tn_status hand_out_state(const scan_run *run, uint32_t index) {
    const tn_tensor *state = &run->inputs[index], *whole = run->ports.inputs[index];
    const tn_tensor *to = run->call->outputs[index];
    const uint64_t bytes = to->bytes / (uint64_t)run->ports.batch;
    const uint32_t batch = run->ports.is_batched;
    bool is_same = state->rank + batch == whole->rank;
    for (uint32_t axis = 0; is_same && axis < state->rank; axis++)
        is_same = state->shape[axis] == whole->shape[axis + batch];
    if (!is_same)
        return run->call->host->fail(run->call, TN_ERROR_SHAPE,
                                     "state %u has another shape after the last slice", index);
    unsigned char *data = (unsigned char *)to->data + (uint64_t)run->sequence * bytes;
    if (to->type == TN_STRING)
        return tn_strings_append_all(run->call, index, state, (tn_string *)(void *)data);
    if (bytes > 0) memcpy(data, state->data, bytes);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * a run */

static tn_status run_slice(scan_run *run) {
    const tn_scan_ports *ports = &run->ports;
    const tn_tensor *given[TN_BODY_MAX_PORTS];
    tn_tensor *results[TN_BODY_MAX_PORTS] = {NULL};
    for (uint32_t i = 0; i < ports->scans; i++)
        TN_TRY(read_slice(run, i));
    for (uint32_t i = 0; i < ports->states + ports->scans; i++)
        given[i] = &run->inputs[i];
    for (uint32_t i = 0; i < ports->body->output_count; i++) {
        if (i >= ports->states && !is_asked(run, i)) continue;
        run->made[i] = (tn_tensor){.size = sizeof(tn_tensor)};
        results[i] = &run->made[i];
    }
    TN_TRY(tn_control_bodies(run->call)->run(run->call, ports->body, given, results));
    for (uint32_t i = 0; i < ports->states; i++)
        run->inputs[i] = run->made[i];
    for (uint32_t i = ports->states; i < run->call->output_count; i++)
        if (is_asked(run, i)) TN_TRY(stack(run, i));
    return TN_OK;
}

static tn_status read_length(const scan_run *run, int64_t *out_length) {
    const tn_tensor *lengths = run->ports.is_batched ? tn_infer_input(run->call, 0) : NULL;
    *out_length = run->ports.length;
    if (!lengths) return TN_OK;
    *out_length = ((const int64_t *)lengths->data)[run->sequence];
    if (*out_length >= 0 && *out_length <= run->ports.length) return TN_OK;
    return run->call->host->fail(run->call, TN_ERROR_RANGE,
                                 "sequence_lens has %lld: expected 0 to %lld",
                                 (long long)*out_length, (long long)run->ports.length);
}

static tn_status run_sequence(scan_run *run) {
    int64_t length = 0;
    TN_TRY(read_length(run, &length));
    begin_states(run);
    for (run->slice = 0; run->slice < length; run->slice++)
        TN_TRY(run_slice(run));
    for (uint32_t i = 0; i < run->ports.states; i++)
        if (is_asked(run, i)) TN_TRY(hand_out_state(run, i));
    return TN_OK;
}

static tn_status start(scan_run *run) {
    TN_TRY(tn_scan_read(run->call, &run->ports));
    memset(run->memory, 0, sizeof(run->memory));
    describe_slices(run);
    for (uint32_t i = 0; i < run->ports.states; i++) /* a state has the shape that it was given */
        if (is_asked(run, i) && !run->call->outputs[i]->data)
            TN_TRY(tn_control_memory(run->call, i, run->ports.inputs[i]->rank,
                                     run->ports.inputs[i]->shape, &run->memory[i]));
    return TN_OK;
}

static tn_status run_scan(tn_call *call, tn_control_state *state) {
    scan_run run;
    run.call = call;
    run.state = state;
    TN_TRY(start(&run));
    for (run.sequence = 0; run.sequence < run.ports.batch; run.sequence++)
        TN_TRY(run_sequence(&run));
    for (uint32_t i = run.ports.states; i < call->output_count; i++)
        if (is_asked(&run, i) && !run.memory[i]) TN_TRY(lay_out_nothing(&run, i));
    return TN_OK;
}

static tn_status scan_reference(tn_call *call) {
    return tn_control_with_state(call, run_scan);
}

static tn_status scan_run_kernel(tn_call *call) {
    return run_scan(call, call->context);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

#define BODY_FIELDS(params)                                                                        \
    TN_FIELD(params, body, TN_FIELD_GRAPH, TN_REQUIRED, NULL, "what is done to a slice"),          \
        TN_FIELD_RANGE(params, num_scan_inputs, TN_FIELD_I64, TN_REQUIRED, NULL, 1,                \
                       TN_BODY_MAX_PORTS, "how many of the inputs are scanned, the last ones")
#define DIRECTIONS(params, member, words)                                                          \
    TN_FIELD_LIST(params, member, TN_FIELD_I64S, TN_OPTIONAL, NULL, 0, 0, 0, 1, words)
static const tn_field scan_fields[] = {
    BODY_FIELDS(tn_scan_params),
    TN_FIELD(tn_scan_params, scan_input_axes, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "of each scanned input: the axis along which it is; absent: 0"),
    DIRECTIONS(tn_scan_params, scan_input_directions, "1: from the last slice to the first"),
    TN_FIELD(tn_scan_params, scan_output_axes, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "of each stacked output: the axis along which slices are stacked; absent: 0"),
    DIRECTIONS(tn_scan_params, scan_output_directions, "1: each slice before the ones so far"),
};
static const tn_field scan_8_fields[] = {
    BODY_FIELDS(tn_scan_8_params),
    DIRECTIONS(tn_scan_8_params, directions,
               "of each scanned input: 1: from the last slice to the first"),
};
#define STATES TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS
static const tn_port scan_inputs[] = {
    TN_PORT("initial_state_and_scan_inputs", "any|string", STATES,
            "states, then what is scanned, then what the body captured")};
static const tn_port scan_8_inputs[] = {
    TN_PORT("sequence_lens", "i64", TN_PORT_OPTIONAL,
            "[batch]: how many slices of each sequence are there; absent: all"),
    TN_PORT("initial_state_and_scan_inputs", "any|string", STATES,
            "states [batch, ...], then what is scanned [batch, length, ...], then what the body "
            "captured")};
static const tn_port scan_outputs[] = {
    TN_PORT("final_state_and_scan_outputs", "any|string", STATES | TN_PORT_SIZED_BY_RUN,
            "the states behind the last slice, then what is stacked")};

#define SCAN(version, its_params, its_fields, its_inputs)                                          \
    const tn_operator tn_control_scan_##version = {                                                \
        TN_OPERATOR_BEGIN("", "Scan", version, "A graph for each slice of tensors."),              \
        .traits = TN_OPERATOR_EXACT,                                                               \
        .infer = tn_scan_infer,                                                                    \
        .reference = scan_reference,                                                               \
        TN_FIELDS(its_params, its_fields),                                                         \
        TN_INPUTS(its_inputs),                                                                     \
        TN_OUTPUTS(scan_outputs)}
SCAN(8, tn_scan_8_params, scan_8_fields, scan_8_inputs);
SCAN(9, tn_scan_params, scan_fields, scan_inputs);
SCAN(11, tn_scan_params, scan_fields, scan_inputs);

static const char *const scan_combinations[] = {"*|string... -> *|string..."};
static const char *const scan_8_combinations[] = {"i64?, *|string... -> *|string..."};
#define SCAN_KERNEL                                                                                \
    TN_KERNEL_BEGIN("cpu", "", "Scan", "slices", 1, "runs the body's own program"),                \
        .open = tn_control_open, .close = tn_control_close, .run = scan_run_kernel
const tn_kernel tn_control_scan_8_kernel = {SCAN_KERNEL, TN_COMBINATIONS(scan_8_combinations),
                                            .minimum_version = 8, .maximum_version = 8};
const tn_kernel tn_control_scan_kernel = {SCAN_KERNEL, TN_COMBINATIONS(scan_combinations),
                                          .minimum_version = 9, .maximum_version = UINT32_MAX};
