/* SPDX-License-Identifier: Apache-2.0 */
/* The ports of Scan, checked, and its shape rule: states keep their shapes, slices are stacked. */
#include "scan.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * ports */

static bool is_packed(tn_type type) {
    return type == TN_F4E2M1 || type == TN_I4 || type == TN_U4 || type == TN_I2 || type == TN_U2;
}

static tn_status check_counts(tn_call *call, const tn_scan_ports *ports, uint32_t given,
                              int64_t scans) {
    const tn_body_graph *body = ports->body;
    if (scans > given || body->input_count != given || body->output_count < given - scans)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "%u inputs, of which num_scan_inputs says %lld are scanned: body "
                                "'%s' has %u inputs and %u outputs",
                                given, (long long)scans, body->name, body->input_count,
                                body->output_count);
    if (call->output_count > body->output_count)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "the node has %u outputs: body '%s' has %u", call->output_count,
                                body->name, body->output_count);
    for (uint32_t i = 0; i < given; i++)
        if (!ports->inputs[i])
            return call->host->fail(call, TN_ERROR_ARGUMENT, "input %u is absent", i);
    return TN_OK;
}

static tn_status check_list(tn_call *call, const char *what, tn_i64s list, uint32_t count,
                            const char *of) {
    if (list.count == 0 || list.count == count) return TN_OK;
    return call->host->fail(call, TN_ERROR_ARGUMENT, "%s has %llu numbers for %u %s", what,
                            (unsigned long long)list.count, count, of);
}

/* Opset 9 counts axes from the front alone. */
static tn_status find_axis(tn_call *call, const char *what, tn_i64s axes, uint32_t index,
                           uint32_t rank, uint32_t *out_axis) {
    const int64_t axis = index < axes.count ? axes.items[index] : 0;
    if (axis < 0 && call->op->since_version < 11)
        return call->host->fail(call, TN_ERROR_RANGE, "%s has %lld: expected at least 0", what,
                                (long long)axis);
    return tn_infer_axis(call, what, axis, rank, out_axis);
}

tn_status tn_scan_output_axis(tn_call *call, const tn_scan_ports *ports, uint32_t index,
                              uint32_t slice_rank, uint32_t *out_axis) {
    return find_axis(call, "scan_output_axes", ports->output_axes, index, slice_rank + 1, out_axis);
}

static tn_status read_scanned(tn_call *call, tn_scan_ports *ports, tn_i64s axes, uint32_t scan) {
    const tn_tensor *input = ports->inputs[ports->states + scan];
    const uint32_t batch = ports->is_batched;
    if (input->rank < 1 + batch)
        return call->host->fail(call, TN_ERROR_SHAPE, "scanned input %u has rank %u: expected %s",
                                scan, input->rank,
                                batch ? "at least 2, batch and sequence" : "at least 1");
    if (is_packed(input->type))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "scanned input %u has elements of less than a byte (%s)", scan,
                                tn_control_type(input->type));
    TN_TRY(find_axis(call, "scan_input_axes", axes, scan, input->rank - batch, &ports->axes[scan]));
    const int64_t length = input->shape[batch + ports->axes[scan]];
    if (scan > 0 && length != ports->length)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "scanned input %u has %lld slices, the first one %lld", scan,
                                (long long)length, (long long)ports->length);
    ports->length = length;
    return TN_OK;
}

static tn_status check_batch(tn_call *call, tn_scan_ports *ports) {
    const tn_tensor *lengths = tn_infer_input(call, 0);
    ports->batch = 1;
    if (!ports->is_batched) return TN_OK;
    for (uint32_t i = 0; i < ports->states + ports->scans; i++) {
        const tn_tensor *input = ports->inputs[i];
        if (input->rank == 0 || (i > 0 && input->shape[0] != ports->batch))
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "input %u has not the batch of the others as its first axis",
                                    i);
        if (is_packed(input->type))
            return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                    "input %u has elements of less than a byte (%s)", i,
                                    tn_control_type(input->type));
        ports->batch = input->shape[0];
    }
    if (lengths && (lengths->rank != 1 || lengths->shape[0] != ports->batch))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'sequence_lens' must be [%lld], one a sequence",
                                (long long)ports->batch);
    return TN_OK;
}

static tn_i64s read_fields(const tn_call *call, tn_scan_ports *ports, int64_t *out_scans) {
    if (ports->is_batched) {
        const tn_scan_8_params *old = call->params;
        ports->body = old->body;
        ports->input_directions = old->directions;
        *out_scans = old->num_scan_inputs;
        return (tn_i64s){0, NULL};
    }
    const tn_scan_params *params = call->params;
    ports->body = params->body;
    ports->input_directions = params->scan_input_directions;
    ports->output_axes = params->scan_output_axes;
    ports->output_directions = params->scan_output_directions;
    *out_scans = params->num_scan_inputs;
    return params->scan_input_axes;
}

tn_status tn_scan_read(tn_call *call, tn_scan_ports *ports) {
    int64_t scans = 0;
    memset(ports, 0, sizeof(*ports));
    ports->is_batched = call->op->since_version < 9;
    const uint32_t first = ports->is_batched; /* behind sequence_lens */
    const tn_i64s axes = read_fields(call, ports, &scans);
    const uint32_t own = call->input_count - ports->body->capture_count;
    const uint32_t given = own > first ? own - first : 0;
    ports->inputs = call->inputs + first;
    TN_TRY(check_counts(call, ports, given, scans));
    ports->scans = (uint32_t)scans;
    ports->states = given - ports->scans;
    ports->stacked = ports->body->output_count - ports->states;
    TN_TRY(check_list(call, "scan_input_axes", axes, ports->scans, "scanned inputs"));
    TN_TRY(check_list(call, ports->is_batched ? "directions" : "scan_input_directions",
                      ports->input_directions, ports->scans, "scanned inputs"));
    TN_TRY(check_list(call, "scan_output_axes", ports->output_axes, ports->stacked,
                      "stacked outputs"));
    TN_TRY(check_list(call, "scan_output_directions", ports->output_directions, ports->stacked,
                      "stacked outputs"));
    for (uint32_t i = 0; i < ports->scans; i++)
        TN_TRY(read_scanned(call, ports, axes, i));
    return check_batch(call, ports);
}

void tn_scan_slice(const tn_scan_ports *ports, uint32_t scan, uint32_t *out_rank,
                   int64_t *out_extents) {
    const tn_tensor *input = ports->inputs[ports->states + scan];
    uint32_t rank = 0;
    for (uint32_t axis = ports->is_batched; axis < input->rank; axis++)
        if (axis != ports->is_batched + ports->axes[scan]) out_extents[rank++] = input->shape[axis];
    *out_rank = rank;
}

/* ----------------------------------------------------------------------------------------------
 * shapes */

static void describe_inputs(const tn_scan_ports *ports, tn_control_shapes *given) {
    tn_control_shapes_init(given);
    for (uint32_t i = 0; i < ports->states + ports->scans; i++) {
        const tn_tensor *input = ports->inputs[i];
        tn_tensor *to = &given->tensors[i];
        to->type = input->type;
        if (i >= ports->states) {
            tn_scan_slice(ports, i - ports->states, &to->rank, to->shape);
            continue;
        }
        to->rank = input->rank - ports->is_batched;
        for (uint32_t axis = 0; axis < to->rank; axis++)
            to->shape[axis] = input->shape[axis + ports->is_batched];
    }
}

static bool may_be_same(const tn_tensor *before, const tn_tensor *after) {
    if (after->rank & TN_RANK_OPEN) return true;
    bool is_same = before->rank == after->rank;
    for (uint32_t axis = 0; is_same && axis < before->rank; axis++)
        is_same = after->shape[axis] < 0 || before->shape[axis] == after->shape[axis];
    return is_same;
}

static tn_status write_states(tn_call *call, const tn_scan_ports *ports,
                              const tn_control_shapes *given, const tn_control_shapes *made) {
    for (uint32_t i = 0; i < ports->states; i++) {
        const tn_tensor *before = &given->tensors[i], *after = &made->tensors[i];
        TN_TRY(tn_control_check_type(call, "state", i, before, after));
        if (!may_be_same(before, after))
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "state %u has another shape after a slice: expected the one "
                                    "that it was given",
                                    i);
        TN_TRY(tn_control_write(call, i, ports->inputs[i], 0, TN_CONTROL_NO_LENGTH));
    }
    return TN_OK;
}

/* A batch is stacked before the slices. */
static tn_status write_stacked(tn_call *call, const tn_scan_ports *ports, uint32_t index,
                               tn_tensor *slice) {
    const uint32_t output = ports->states + index;
    uint32_t axis = 0;
    if (is_packed(slice->type))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "output %u stacks elements of less than a byte (%s)", output,
                                tn_control_type(slice->type));
    TN_TRY(tn_scan_output_axis(call, ports, index, tn_control_rank(slice), &axis));
    if (ports->length == 0 || ports->batch == 0) { /* of nothing: any extents are right */
        slice->rank = tn_control_rank(slice);
        for (uint32_t i = 0; i < slice->rank; i++)
            if (slice->shape[i] < 0) slice->shape[i] = 0;
    }
    TN_TRY(tn_control_write(call, output, slice, axis, ports->length));
    tn_tensor *to = tn_infer_output(call, output);
    if (!to || !ports->is_batched) return TN_OK;
    int64_t extents[TN_MAX_RANK];
    tn_tensor whole = {.type = to->type, .rank = to->rank, .shape = extents};
    memcpy(extents, to->shape, tn_control_rank(to) * sizeof(int64_t));
    return tn_control_write(call, output, &whole, 0, ports->batch);
}

static tn_status infer(tn_call *call, const tn_scan_ports *ports, tn_control_shapes *shapes) {
    const tn_tensor *inputs[TN_BODY_MAX_PORTS];
    tn_control_shapes *given = &shapes[0], *made = &shapes[1];
    describe_inputs(ports, given);
    for (uint32_t i = 0; i < ports->states + ports->scans; i++)
        inputs[i] = &given->tensors[i];
    TN_TRY(tn_control_ask(call, ports->body, inputs, made));
    TN_TRY(write_states(call, ports, given, made));
    for (uint32_t i = 0; i < ports->stacked; i++)
        TN_TRY(write_stacked(call, ports, i, &made->tensors[ports->states + i]));
    return TN_OK;
}

tn_status tn_scan_infer(tn_call *call) {
    tn_scan_ports ports;
    TN_TRY(tn_scan_read(call, &ports));
    tn_control_shapes *shapes = call->host->allocate(call->host, 2 * sizeof(*shapes), 64);
    if (!shapes) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for shapes");
    const tn_status status = infer(call, &ports, shapes);
    call->host->deallocate(call->host, shapes);
    return status;
}
