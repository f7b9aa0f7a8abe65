/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that lie on what they replace: outputs of kernels in place, and of ports that update an
 * input. The program says where that may be; here it is left out where something that lies in the
 * same memory by now, as a window does, is still to be read. And outputs of the network that update
 * an input of the network, for callers who bind both to one pointer.
 */
#include "base/status.h"
#include "run/sharing/sharing.h"

typedef struct in_place_maker {
    const tn_context *context;
    tn_shape_state *state;
    uint32_t *last_read; /* by value: 1 + the last step that reads it; outputs: beyond all steps */
} in_place_maker;

static void note_reads(const in_place_maker *maker, uint32_t step, uint32_t count,
                       const uint32_t *values) {
    for (uint32_t i = 0; i < count; i++)
        if (values[i] != TN_NO_VALUE) maker->last_read[values[i]] = step + 1;
}

static void find_reads(const in_place_maker *maker) {
    const tn_program *program = maker->context->engine->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        note_reads(maker, s, program->steps[s].input_count, program->steps[s].inputs);
        note_reads(maker, s, program->steps[s].operand_count, program->steps[s].operands);
    }
    for (size_t i = 0; i < maker->context->engine->graph->output_count; i++)
        maker->last_read[program->output_values[i]] = UINT32_MAX;
}

static bool overlaps(const tn_shape_state *state, uint32_t a, uint32_t b) {
    size_t a_shift, b_shift;
    if (!state->tensors[b].tensor.size ||
        tn_shape_state_root(state, a, &a_shift) != tn_shape_state_root(state, b, &b_shift))
        return false;
    return a_shift < b_shift + state->tensors[b].tensor.bytes &&
           b_shift < a_shift + state->tensors[a].tensor.bytes;
}

/* Whether nothing in a value's memory is read after step `index`. */
static bool is_last_read(const in_place_maker *maker, uint32_t value, uint32_t index) {
    for (uint32_t v = 0; v < maker->context->engine->program->value_count; v++)
        if (maker->last_read[v] > index + 1 && overlaps(maker->state, value, v)) return false;
    return true;
}

static void share_value(const in_place_maker *maker, uint32_t index, uint32_t from, uint32_t to) {
    tn_shape_state *state = maker->state;
    if (from == TN_NO_VALUE || to == TN_NO_VALUE) return;
    size_t shift;
    const uint32_t kind = state->locations[tn_shape_state_root(state, from, &shift)].kind;
    if ((kind != TN_LOCATION_ARENA && kind != TN_LOCATION_DEVICE) ||
        state->locations[to].root != to || tn_strided_rows_is(state, from) ||
        tn_strided_rows_is(state, to) ||
        state->tensors[from].tensor.bytes != state->tensors[to].tensor.bytes ||
        state->tensors[to].tensor.type == TN_STRING || !is_last_read(maker, from, index))
        return;
    state->locations[to].root = from;
}

static void share_step(const in_place_maker *maker, uint32_t index) {
    const tn_engine *engine = maker->context->engine;
    const tn_program_step *step = &engine->program->steps[index];
    if (step->kind != TN_STEP_KERNEL || step->is_host || maker->state->is_dropped[index]) return;
    if (step->is_in_place) share_value(maker, index, step->inputs[0], step->outputs[0]);
    const tn_operator *op = engine->graph->nodes[step->node].entry->op;
    for (uint32_t o = 0; o < step->output_count && o < 64; o++)
        if (step->aliased >> o & 1)
            share_value(maker, index, step->inputs[tn_graph_output_port(op, o)->alias - 1],
                        step->outputs[o]);
}

/* ----------------------------------------------------------------------------------------------
 * the network's own */

/* The value that output `made` of a step updates, where the kernel may do it in place and is the
 * last one to read it; TN_NO_VALUE. */
static uint32_t find_updated(const in_place_maker *maker, uint32_t index, uint32_t made) {
    const tn_engine *engine = maker->context->engine;
    const tn_program_step *step = &engine->program->steps[index];
    if (step->kind != TN_STEP_KERNEL || step->is_host || !step->kernel ||
        maker->state->is_dropped[index])
        return TN_NO_VALUE;
    for (uint32_t o = step->absorbed_count > 0; o < step->output_count; o++) {
        const tn_port *port = tn_graph_output_port(engine->graph->nodes[step->node].entry->op, o);
        if (step->outputs[o] != made || !(port->flags & TN_PORT_ALIAS) || port->alias == 0 ||
            port->alias > step->input_count)
            continue;
        const uint32_t from = step->inputs[port->alias - 1];
        const bool is_free =
            from != TN_NO_VALUE && tn_program_count_reads(step, from) == 1 &&
            is_last_read(maker, from, index) &&
            maker->state->tensors[from].tensor.bytes == maker->state->tensors[made].tensor.bytes;
        return is_free ? from : TN_NO_VALUE;
    }
    return TN_NO_VALUE;
}

static uint32_t find_input(const in_place_maker *maker, uint32_t root) {
    const tn_program *program = maker->context->engine->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        size_t shift;
        const uint32_t from = find_updated(maker, s, root);
        if (from == TN_NO_VALUE) continue;
        const tn_value_location *location =
            &maker->state->locations[tn_shape_state_root(maker->state, from, &shift)];
        return location->kind == TN_LOCATION_INPUT && shift == 0 ? location->index + 1 : 0;
    }
    return 0;
}

void tn_shape_state_find_updated(const tn_context *context, tn_shape_state *state) {
    const in_place_maker maker = {context, state, state->last_read};
    for (uint32_t i = 0; i < context->engine->graph->output_count; i++) {
        size_t shift;
        const uint32_t root =
            tn_shape_state_root(state, context->engine->program->output_values[i], &shift);
        if (state->locations[root].kind == TN_LOCATION_OUTPUT && state->locations[root].index == i)
            state->updated[i] = find_input(&maker, root);
    }
}

void tn_shape_state_share_in_place(const tn_context *context, tn_shape_state *state) {
    const in_place_maker maker = {context, state, state->last_read};
    find_reads(&maker);
    for (uint32_t s = 0; s < context->engine->program->step_count; s++)
        share_step(&maker, s);
}
