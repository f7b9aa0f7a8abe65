/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes whose operator is a library's: any operation that the format does not define, its name
 * without the leading underscore. The node's fields (custom_fields.c) become the operator's; data
 * of networks in N, H, W, C order is given to the operator as N, C, H, W, and so are its outputs
 * taken.
 */
#include "importers/common/custom.h"
#include "base/status.h"
#include "importers/uff/uff.h"

#include <string.h>

#define OUTPUTS_AT_MOST 64

/* ----------------------------------------------------------------------------------------------
 * shapes */

static bool has_open(const tn_uff_call *call) {
    for (uint32_t i = 0; i < call->input_count; i++)
        for (uint32_t axis = 0; axis < call->inputs[i]->rank; axis++)
            if (tn_uff_is_open(call->inputs[i]->extents[axis])) return true;
    return false;
}

static void describe_inputs(const tn_uff_call *call, const tn_import_tensor *tensors,
                            tn_custom_input *out_inputs) {
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_uff_value *value = call->inputs[i];
        tn_custom_input *input = &out_inputs[i];
        *input =
            (tn_custom_input){.name = value->name, .type = value->type, .shape.rank = value->rank};
        const tn_import_tensor_info info = tn_import_tensor_at(call->reader->graph, tensors[i]);
        if (info.flags & TN_IMPORT_IS_CONSTANT) input->data = info.data;
        for (uint32_t position = 0; position < value->rank; position++) {
            const int64_t extent = value->extents[value->storage.axes[position]];
            input->shape.extents[position] = tn_uff_is_open(extent) ? -1 : extent;
        }
    }
}

/* The extent in storage order as two answers give it. */
static int64_t merge_extent(const tn_uff_call *call, uint32_t position, int64_t first,
                            int64_t second) {
    if (first == second) return first;
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_uff_value *x = call->inputs[i];
        if (position >= x->rank || !tn_uff_is_open(x->extents[x->storage.axes[position]])) continue;
        if (first == tn_custom_stand_in(position, false) &&
            second == tn_custom_stand_in(position, true))
            return x->extents[x->storage.axes[position]];
    }
    return tn_uff_open(call->reader);
}

/* The order of an input that has the output's rank, if any: so outputs of an operator on images
 * are images as well. */
static tn_uff_order output_order(const tn_uff_call *call, uint32_t rank) {
    for (uint32_t i = 0; i < call->input_count; i++)
        if (!call->inputs[i]->data && call->inputs[i]->rank == rank)
            return call->inputs[i]->storage;
    return tn_uff_order_plain();
}

typedef struct answer {
    tn_type *types;
    tn_shape *shapes;
} answer;

static bool answer_init(tn_arena *arena, uint32_t count, answer *out_answer) {
    out_answer->types = tn_arena_allocate(arena, count, sizeof(tn_type));
    out_answer->shapes = tn_arena_allocate(arena, count, sizeof(tn_shape));
    return out_answer->types && out_answer->shapes;
}

static void set_output(const tn_uff_call *call, uint32_t index, const answer *first,
                       const answer *second, tn_uff_value *value) {
    const tn_shape *a = &first->shapes[index], *b = &second->shapes[index];
    value->type = first->types[index];
    value->rank = a->rank;
    value->storage = output_order(call, a->rank);
    for (uint32_t position = 0; position < a->rank; position++) {
        const int64_t other = b->rank == a->rank ? b->extents[position] : -1;
        value->extents[value->storage.axes[position]] =
            merge_extent(call, position, a->extents[position], other);
    }
}

/* ----------------------------------------------------------------------------------------------
 * the node */

typedef struct custom {
    tn_custom_node node;
    tn_import_tensor *inputs;
    uint32_t output_count;
} custom;

static tn_uff_value *output_of(const tn_uff_call *call, uint32_t index) {
    return index == 0 ? call->output : &call->reader->states[call->index].extras[index - 1];
}

static tn_status make_outputs(const tn_uff_call *call, uint32_t count) {
    tn_arena *arena = call->reader->arena;
    tn_uff_state *state = &call->reader->states[call->index];
    state->extras = tn_arena_allocate(arena, count, sizeof(*state->extras));
    if (!state->extras) return tn_fail_memory("a node's outputs");
    for (uint32_t i = 1; i < count; i++) {
        const char *name = tn_arena_format(arena, "%s_%u", call->node->id, i);
        if (!name) return tn_fail_memory("an output's name");
        state->extras[i - 1] = (tn_uff_value){.name = name, .tensor = TN_IMPORT_NO_TENSOR};
    }
    return TN_OK;
}

static tn_status ask_shapes(const tn_uff_call *call, const custom *own, bool is_second,
                            const tn_custom_input *inputs, answer *out_answer) {
    return tn_custom_infer(call->reader->import, call->reader->arena, call->node->id, &own->node,
                           is_second, call->input_count, inputs, own->output_count,
                           out_answer->types, out_answer->shapes);
}

static tn_status set_outputs(const tn_uff_call *call, const custom *own) {
    tn_arena *arena = call->reader->arena;
    tn_custom_input *inputs = tn_arena_allocate(arena, call->input_count, sizeof(*inputs));
    answer answers[2];
    if (!inputs || !answer_init(arena, own->output_count, &answers[0]) ||
        !answer_init(arena, own->output_count, &answers[1]))
        return tn_fail_memory("a node");
    describe_inputs(call, own->inputs, inputs);
    TN_TRY(ask_shapes(call, own, false, inputs, &answers[0]));
    const bool is_asked_again = has_open(call);
    if (is_asked_again && ask_shapes(call, own, true, inputs, &answers[1]) != TN_OK) {
        if (tn_last_error()->status == TN_ERROR_MEMORY) return TN_ERROR_MEMORY;
        tn_error_clear(); /* it takes no other extents: nothing is known for sure */
        for (uint32_t i = 0; i < own->output_count; i++)
            answers[1].shapes[i].rank = UINT32_MAX;
    }
    TN_TRY(make_outputs(call, own->output_count));
    for (uint32_t i = 0; i < own->output_count; i++)
        set_output(call, i, &answers[0], &answers[is_asked_again ? 1 : 0], output_of(call, i));
    call->reader->states[call->index].extra_count = own->output_count - 1;
    return TN_OK;
}

static tn_status add_node(const tn_uff_call *call, const custom *own) {
    tn_uff_reader *reader = call->reader;
    tn_import_tensor outputs[OUTPUTS_AT_MOST];
    for (uint32_t i = 0; i < own->output_count; i++) {
        tn_uff_value *value = output_of(call, i);
        const bool is_other = i > 0 && tn_map_get(reader->nodes, value->name, &(uint64_t){0});
        const char *name = is_other ? tn_emit_name(&reader->emit, "output")
                                    : tn_import_free_name(reader->graph, value->name);
        if (!name) return tn_fail_memory("an output's name");
        TN_TRY(tn_import_add_tensor(reader->graph, name, &value->tensor));
        outputs[i] = value->tensor;
    }
    return tn_import_add_node(reader->graph, call->node->id, own->node.op,
                              own->node.attribute_count, own->node.attributes, call->input_count,
                              own->inputs, own->output_count, outputs);
}

/* Variadic outputs are one: the file does not say how many are meant. */
static tn_status count_outputs(const tn_operator *op, uint32_t *out_count) {
    *out_count = op->output_count;
    if (op->output_count >= 1 && op->output_count <= OUTPUTS_AT_MOST) return TN_OK;
    return tn_fail(TN_ERROR_UNSUPPORTED, "operator '%s' has %u outputs; 1 to %d are supported",
                   op->name, op->output_count, OUTPUTS_AT_MOST);
}

static tn_status read_inputs(const tn_uff_call *call, custom *own) {
    tn_uff_reader *reader = call->reader;
    own->inputs = tn_arena_allocate(reader->arena, call->input_count, sizeof(*own->inputs));
    if (!own->inputs) return tn_fail_memory("a node's inputs");
    for (uint32_t i = 0; i < call->input_count; i++)
        own->inputs[i] = tn_uff_stored(reader, call->inputs[i]);
    return reader->emit.status;
}

/* By the operation's name without the converter's underscore. */
static tn_status find_operator(const tn_uff_call *call, tn_custom_node *out_node) {
    const char *name = call->node->operation;
    tn_custom_field *fields = NULL;
    size_t field_count = 0;
    TN_TRY(tn_uff_custom_fields_read(call, &field_count, &fields));
    return tn_custom_find(call->reader->import, call->reader->arena,
                          name[0] == '_' && name[1] ? name + 1 : name, field_count, fields,
                          out_node);
}

tn_status tn_uff_customs_check(tn_uff_reader *reader) {
    const tn_import_services *services = reader->import->services;
    for (size_t i = 0; i < reader->sorted_count; i++) {
        const tn_uff_node *node = reader->source->nodes[reader->sorted[i]];
        const tn_uff_call call = {.reader = reader, .node = node};
        tn_custom_node found;
        if (tn_uff_is_input(reader, node) || tn_uff_operation_find(node->operation) ||
            services->is_missing(reader->import, node->operation))
            continue;
        tn_status status = find_operator(&call, &found);
        if (status == TN_ERROR_UNSUPPORTED)
            status = services->add_missing(reader->import, node->operation, node->id);
        if (status != TN_OK) {
            tn_error_in(status, .op_kind = "operation", .op = node->operation);
            return tn_error_in(status, .node = node->id);
        }
    }
    return services->report_missing(reader->import);
}

tn_status tn_uff_read_custom(tn_uff_call *call) {
    custom own = {0};
    TN_TRY(find_operator(call, &own.node));
    TN_TRY(count_outputs(own.node.op, &own.output_count));
    TN_TRY(read_inputs(call, &own));
    TN_TRY(set_outputs(call, &own));
    return add_node(call, &own);
}
