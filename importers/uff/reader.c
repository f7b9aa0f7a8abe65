/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a UFF file: the importer's table, and the steps from bytes to a sorted graph. The bytes
 * are checked and unpacked by base/wire.h (a text's after text_form.c has made them); traverse.c
 * puts the nodes in order, operations.c says what each means, custom.c asks the registry for all
 * others.
 */
#include "base/status.h"
#include "base/wire.h"
#include "importers/uff/uff.h"

#include <inttypes.h>
#include <string.h>

static tn_status reader_init(tn_uff_reader *reader) {
    const size_t count = reader->file->n_referenced_data;
    TN_TRY(tn_arena_create(reader->allocator, &reader->arena));
    TN_TRY(tn_map_create(reader->allocator, &reader->nodes));
    TN_TRY(tn_map_create(reader->allocator, &reader->data));
    reader->emit = (tn_emitter){.graph = reader->graph,
                                .arena = reader->arena,
                                .reserved = reader->nodes,
                                .version = TN_UFF_OPSET};
    reader->blobs = tn_arena_allocate(reader->arena, count, sizeof(*reader->blobs));
    reader->blob_bytes = tn_arena_allocate(reader->arena, count, sizeof(*reader->blob_bytes));
    if (!reader->blobs || !reader->blob_bytes) return tn_fail_memory("the list of data");
    for (size_t i = 0; i < count; i++) {
        const tn_uff_entry *entry = reader->file->referenced_data[i];
        TN_TRY(tn_map_set(reader->data, entry->key ? entry->key : "", i));
    }
    return TN_OK;
}

static void reader_deinit(tn_uff_reader *reader) {
    tn_map_destroy(reader->data);
    tn_map_destroy(reader->nodes);
    tn_arena_destroy(reader->arena);
}

static tn_status check_file(const tn_uff_file *file) {
    if (file->n_graphs == 0)
        return tn_fail(TN_ERROR_FORMAT, "the file holds no graph: is it a UFF model?");
    if (file->n_graphs > 1)
        return tn_fail(TN_ERROR_UNSUPPORTED, "the file holds %zu graphs; one is read",
                       file->n_graphs);
    if (file->version == 1 && file->descriptor_core_version == 1) return TN_OK;
    return tn_fail(TN_ERROR_UNSUPPORTED,
                   "the file is of UFF's version %" PRId64 " with operations of version %" PRId64
                   "; version 1 with 1 is supported",
                   file->version, file->descriptor_core_version);
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

static tn_uff_value *find_value(const tn_uff_reader *reader, uint32_t node, uint32_t output) {
    const tn_uff_state *state = &reader->states[node];
    if (output == 0) return state->value;
    return output <= state->extra_count ? &state->extras[output - 1] : NULL;
}

static tn_status find_inputs(tn_uff_call *call) {
    const tn_uff_node *node = call->node;
    call->inputs = tn_arena_allocate(call->reader->arena, node->n_inputs, sizeof(*call->inputs));
    if (!call->inputs || node->n_inputs > UINT32_MAX) return tn_fail_memory("a node's inputs");
    call->input_count = (uint32_t)node->n_inputs;
    for (uint32_t i = 0; i < call->input_count; i++) {
        uint32_t node_index, output;
        TN_TRY(tn_uff_node_find(call->reader, node->inputs[i], &node_index, &output));
        call->inputs[i] = find_value(call->reader, node_index, output);
        if (!call->inputs[i])
            return tn_fail(TN_ERROR_FORMAT, "input %" PRIu32 ", '%s', has no value", i,
                           node->inputs[i]);
    }
    return TN_OK;
}

static tn_status read_operation(tn_uff_call *call) {
    const tn_uff_operation_row *row = tn_uff_operation_find(call->node->operation);
    if (tn_uff_is_input(call->reader, call->node)) return tn_uff_input_read(call);
    TN_TRY(find_inputs(call));
    if (!row) return tn_uff_read_custom(call);
    if (call->input_count < row->minimum_inputs || call->input_count > row->maximum_inputs)
        return tn_fail(TN_ERROR_FORMAT, "the node has %" PRIu32 " inputs; it takes %" PRIu32 "%s",
                       call->input_count, row->minimum_inputs,
                       row->maximum_inputs > row->minimum_inputs ? " or more" : "");
    return row->read(call);
}

static tn_status read_node(tn_uff_reader *reader, uint32_t index) {
    const tn_uff_node *node = reader->source->nodes[index];
    tn_uff_value *value = tn_arena_allocate(reader->arena, 1, sizeof(*value));
    tn_uff_call call = {.reader = reader, .node = node, .index = index, .output = value};
    if (!value) return tn_fail_memory("a node");
    *value = (tn_uff_value){
        .name = node->id, .tensor = TN_IMPORT_NO_TENSOR, .storage = tn_uff_order_plain()};
    reader->emit.name = node->id;
    tn_status status = read_operation(&call);
    if (status != TN_OK) {
        /* a message of the graph's own says where it was */
        if (!strstr(tn_last_error()->where, "operator"))
            tn_error_in(status, .op_kind = "operation", .op = node->operation);
        return tn_error_in(status, .node = node->id);
    }
    reader->states[index].value = call.output;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

/* Outputs lie as the file has them, unless the inputs come as N, C, H, W: then they do, too. */
static tn_status add_output(tn_uff_reader *reader, uint32_t node, uint32_t output) {
    const char *name = reader->source->nodes[node]->id;
    tn_uff_value *value = find_value(reader, node, output);
    if (!value) return tn_fail(TN_ERROR_FORMAT, "node '%s' has no output %" PRIu32, name, output);
    const bool is_first =
        reader->options->order == TN_UFF_ORDER_NCHW ||
        (reader->options->order == TN_UFF_ORDER_AUTO && reader->is_channels_first);
    const tn_import_tensor tensor =
        is_first ? tn_uff_stored(reader, value) : tn_uff_plain(reader, value);
    TN_TRY(reader->emit.status);
    if (output > 0) name = value->name;
    return tn_import_add_output(reader->graph, tensor, name);
}

/* A constant is put in another order for each node that needs it so; a small file with many such
 * nodes is not to take all memory. One without weights is small whatever its network's size. */
#define PERMUTABLE_BASE   ((size_t)64 << 20)
#define PERMUTABLE_FACTOR 8u
#define LEFT_OUT_BYTES    ((size_t)2 << 30)

static size_t permutable_bytes(const tn_uff_options *options, uint64_t file_bytes) {
    const size_t enough = options->without_weights ? LEFT_OUT_BYTES : 0;
    size_t bytes;
    if (!tn_mul_size((size_t)file_bytes, PERMUTABLE_FACTOR, &bytes) ||
        !tn_add_size(bytes, PERMUTABLE_BASE, &bytes))
        return SIZE_MAX;
    return bytes > enough ? bytes : enough;
}

static void warn_left_out(const tn_uff_reader *reader) {
    if (reader->left_out_count == 0) return;
    const char *text =
        tn_arena_format(reader->arena,
                        "the file was written for people to read: the values of %" PRIu64
                        " constants, '%s' first, are not in it, and zeros stand for them",
                        reader->left_out_count, reader->left_out);
    if (text) reader->import->services->log(reader->import, TN_LOG_WARNING, text);
}

/* Names that the caller gives are in the file. */
static tn_status check_names(const tn_uff_reader *reader) {
    uint32_t node, output;
    for (uint32_t i = 0; i < reader->options->input_count; i++)
        TN_TRY(tn_error_at(
            tn_uff_node_find(reader, reader->options->inputs[i].name, &node, &output), "input"));
    return TN_OK;
}

static tn_status read_file(tn_uff_reader *reader) {
    TN_TRY(check_file(reader->file));
    TN_TRY(reader_init(reader));
    reader->source = reader->file->graphs[0];
    const char *name = reader->source->id ? reader->source->id : "";
    TN_TRY(reader->import->services->set_name(reader->graph, name));
    TN_TRY(tn_uff_traverse(reader));
    TN_TRY(check_names(reader));
    TN_TRY(tn_uff_customs_check(reader));
    TN_TRY(tn_uff_inputs_survey(reader));
    for (size_t i = 0; i < reader->sorted_count; i++)
        TN_TRY(read_node(reader, reader->sorted[i]));
    for (size_t i = 0; i < reader->output_count; i++)
        TN_TRY(add_output(reader, reader->outputs[i].node, reader->outputs[i].index));
    return TN_OK;
}

/* Either form. */
static tn_status unpack(const tn_allocator *allocator, const void *data, size_t bytes,
                        ProtobufCMessage **out_message) {
    void *binary = NULL;
    if (!tn_uff_is_text(data, bytes))
        return tn_wire_unpack(allocator, &tenon__uff__meta_graph__descriptor, data, bytes,
                              out_message);
    TN_TRY(tn_uff_text_encode(allocator, data, bytes, &binary, &bytes));
    tn_status status =
        tn_wire_unpack(allocator, &tenon__uff__meta_graph__descriptor, binary, bytes, out_message);
    tn_deallocate(allocator, binary);
    return status;
}

static tn_status read_message(tn_import *import, const tn_allocator *allocator,
                              const tn_uff_options *options, tn_uff_file *file) {
    tn_uff_reader reader = {.import = import,
                            .allocator = allocator,
                            .file = file,
                            .options = options,
                            .graph = import->graph,
                            .permutable_bytes = permutable_bytes(options, import->bytes)};
    const tn_status status = read_file(&reader);
    if (status == TN_OK) warn_left_out(&reader);
    reader_deinit(&reader);
    return status;
}

static tn_status read_in(tn_import *import) {
    const tn_allocator allocator = tn_import_allocator(import);
    ProtobufCMessage *message = NULL;
    tn_uff_options options;
    tn_arena *arena;
    tn_status status = TN_OK;
    TN_TRY(tn_arena_create(&allocator, &arena));
    TN_GO(tn_uff_options_read(arena, import->params, &options));
    TN_GO(unpack(&allocator, import->data, (size_t)import->bytes, &message));
    status = read_message(import, &allocator, &options, (tn_uff_file *)message);
done:
    tn_wire_free(&allocator, message);
    tn_arena_destroy(arena);
    return status;
}

static tn_status read_uff(tn_import *import) {
    return tn_import_read(import, read_in);
}

/* ----------------------------------------------------------------------------------------------
 * the table */

static uint32_t probe_uff(void *user, const void *head, uint64_t bytes) {
    (void)user;
    return tn_uff_is_text(head, (size_t)bytes) ? 90 : 0;
}

static const tn_field uff_options[] = {
    TN_FIELD_CHOICE(
        tn_uff_params, order, TN_FIELD_ENUM, TN_OPTIONAL, "auto", "auto|nchw",
        "data of networks in N, H, W, C: as the file and the given shapes have it, or N, C, H, W"),
    TN_FIELD(tn_uff_params, inputs, TN_FIELD_STRINGS, TN_OPTIONAL, NULL,
             "nodes that are inputs, and their shapes: NAME or NAME=1x3x224x224"),
    TN_FIELD(tn_uff_params, outputs, TN_FIELD_STRINGS, TN_OPTIONAL, NULL,
             "nodes that are outputs, instead of those that the file marks"),
    TN_FIELD(tn_uff_params, without_weights, TN_FIELD_BOOL, TN_OPTIONAL, "false",
             "zeros (2 GiB at most) for the constants that a text form for people leaves out"),
};

static const tn_importer uff = {.size = sizeof(tn_importer),
                                .name = "uff",
                                .what = "a UFF model",
                                .doc = "UFF files, binary or as text",
                                .endings = ".uff .uff.txt .pbtxt",
                                .probe = probe_uff,
                                TN_FIELDS(tn_uff_params, uff_options),
                                .read = read_uff};
static const tn_importer *const importers[] = {&uff};
TN_IMPORTER_LIBRARY("tenon_uff", "1.0", importers)
