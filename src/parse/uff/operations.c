/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations that UFF defines, by name, and the two that compute nothing: Const and Identity.
 * What the others mean is in operations_*.c; any other name is a library's (custom.c).
 */
#include "base/status.h"
#include "parse/uff/uff.h"

#include <inttypes.h>
#include <string.h>

#define MANY UINT32_MAX
static const struct {
    const char *name;
    uint32_t minimum_inputs, maximum_inputs;
    tn_uff_operation read;
} operations[] = {
    {"Const", 0, 0, tn_uff_read_const},
    {"Identity", 1, 1, tn_uff_read_identity},
    {"Conv", 2, 2, tn_uff_read_conv},
    {"ConvTranspose", 3, 3, tn_uff_read_conv_transpose},
    {"Pool", 1, 1, tn_uff_read_pool},
    {"LRN", 1, 1, tn_uff_read_lrn},
    {"BatchNorm", 5, 5, tn_uff_read_batch_norm},
    {"FullyConnected", 2, 2, tn_uff_read_fully_connected},
    {"Binary", 2, 2, tn_uff_read_binary},
    {"Unary", 1, 1, tn_uff_read_unary},
    {"Activation", 1, 1, tn_uff_read_activation},
    {"LeakyRelu", 1, 1, tn_uff_read_leaky_relu},
    {"Softmax", 1, 1, tn_uff_read_softmax},
    {"Reshape", 2, 2, tn_uff_read_reshape},
    {"Flatten", 1, 1, tn_uff_read_flatten},
    {"Transpose", 1, 1, tn_uff_read_transpose},
    {"Squeeze", 1, 1, tn_uff_read_squeeze},
    {"ExpandDims", 1, 1, tn_uff_read_expand_dims},
    {"Concat", 1, MANY, tn_uff_read_concat},
    {"Stack", 1, MANY, tn_uff_read_stack},
    {"Shape", 1, 1, tn_uff_read_shape},
    {"StridedSlice", 4, 4, tn_uff_read_strided_slice},
    {"Pad", 2, 2, tn_uff_read_pad},
    {"Reduce", 1, 1, tn_uff_read_reduce},
    {"ArgMax", 1, 1, tn_uff_read_arg},
    {"ArgMin", 1, 1, tn_uff_read_arg},
    {"Gather", 2, 2, tn_uff_read_gather},
    {"GatherV2", 2, 2, tn_uff_read_gather},
};

tn_uff_operation tn_uff_operation_find(const char *name, uint32_t *out_minimum_inputs,
                                       uint32_t *out_maximum_inputs) {
    for (size_t i = 0; i < TN_COUNT(operations); i++) {
        if (strcmp(operations[i].name, name) != 0) continue;
        if (out_minimum_inputs) *out_minimum_inputs = operations[i].minimum_inputs;
        if (out_maximum_inputs) *out_maximum_inputs = operations[i].maximum_inputs;
        return operations[i].read;
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------
 * Const */

static tn_status read_shape(const tn_uff_reader *reader, const tn_uff_node *node,
                            tn_uff_value *value, size_t *out_bytes) {
    tn_shape shape;
    size_t count = 0;
    const int64_t *extents;
    TN_TRY(tn_uff_field_i64s(reader, node, "shape", &count, &extents));
    if (count > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %zu; at most %d is possible", count, TN_MAX_RANK);
    TN_TRY(tn_shape_set(&shape, (uint32_t)count, extents));
    value->rank = shape.rank;
    memcpy(value->extents, shape.extents, sizeof(value->extents));
    return tn_format_bytes(TN_LINEAR, value->type, &shape, out_bytes);
}

/* Where the values are: a blob among the file's shared data, which may be taken over, or in the
 * node itself. */
static tn_status find_values(const tn_uff_reader *reader, const tn_uff_node *node,
                             const tn_uff_data **out_data, uint32_t *out_entry) {
    const tn_uff_entry *field = NULL;
    for (size_t i = node->n_fields; i-- > 0 && !field;)
        if (node->fields[i]->key && strcmp(node->fields[i]->key, "values") == 0)
            field = node->fields[i];
    *out_data = NULL;
    if (field) TN_TRY(tn_uff_data_resolve(reader, field->value, out_data, out_entry));
    if (*out_data && (*out_data)->has_blob) return TN_OK;
    return tn_fail(*out_data && (*out_data)->s ? TN_ERROR_UNSUPPORTED : TN_ERROR_FORMAT,
                   *out_data ? "the values are no tensor" : "the constant has no values");
}

/* A file that was written to be read by people has "(...N bytes skipped...)" for the bytes. */
static bool is_skipped(const tn_uff_data *data) {
    return data->blob.len >= 8 && memcmp(data->blob.data, "(...", 4) == 0 &&
           memcmp(data->blob.data + data->blob.len - 4, "...)", 4) == 0;
}

static tn_status take_values(tn_uff_reader *reader, tn_uff_call *call, size_t bytes) {
    tn_uff_value *value = call->output;
    const tn_uff_data *data;
    uint32_t entry = UINT32_MAX;
    TN_TRY(find_values(reader, call->node, &data, &entry));
    const bool is_taken = entry != UINT32_MAX && reader->blobs[entry];
    value->data = is_taken ? reader->blobs[entry] : data->blob.data;
    value->bytes = is_taken ? reader->blob_bytes[entry] : data->blob.len;
    if (value->bytes != bytes) {
        char text[TN_SHAPE_TEXT_BYTES];
        if (!is_taken && is_skipped(data))
            return tn_fail(TN_ERROR_FORMAT,
                           "the file has '%.*s' for the values of %s: it was written for people to "
                           "read, without weights, and cannot be built; take the whole file",
                           (int)(data->blob.len < 60 ? data->blob.len : 60),
                           (const char *)data->blob.data,
                           tn_shape_print(value->rank, value->extents, text, sizeof(text)));
        return tn_fail(TN_ERROR_FORMAT, "%s of %s takes %zu bytes, but the file holds %zu",
                       tn_shape_print(value->rank, value->extents, text, sizeof(text)),
                       tn_type_name(value->type), bytes, value->bytes);
    }
    if (entry != UINT32_MAX && !is_taken) {
        value->blob = entry + 1;
        return TN_OK;
    }
    if (is_taken || bytes == 0) return TN_OK;
    value->data = tn_arena_copy(reader->graph->arena, value->data, bytes);
    return value->data ? TN_OK : tn_fail_memory("a constant");
}

tn_status tn_uff_read_const(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *value = call->output;
    size_t bytes;
    TN_TRY(tn_uff_field_require(reader, call->node, "dtype"));
    TN_TRY(tn_uff_field_type(reader, call->node, "dtype", TN_NONE, &value->type));
    TN_TRY(read_shape(reader, call->node, value, &bytes));
    TN_TRY(take_values(reader, call, bytes));
    const size_t count = bytes / tn_type_bytes(value->type);
    if (bytes == 0) { /* no elements: the pointer says that it is a constant all the same */
        value->data = tn_graph_allocate_data(reader->graph, 1);
        value->blob = 0;
        if (!value->data) return tn_fail_memory("a constant");
    }
    if (!tn_type_is_integer(value->type) || value->rank > 1 || count > TN_UFF_NUMBERS_AT_MOST)
        return TN_OK;
    int64_t *numbers = tn_arena_allocate(reader->arena, count, sizeof(*numbers));
    if (!numbers) return tn_fail_memory("a constant");
    for (size_t i = 0; i < count; i++) {
        numbers[i] = tn_element_get_i64(value->data, value->type, i);
        if (tn_uff_is_open(numbers[i])) return TN_OK;
    }
    value->known = numbers;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * Identity */

tn_status tn_uff_read_identity(tn_uff_reader *reader, tn_uff_call *call) {
    (void)reader;
    call->output = call->inputs[0];
    return TN_OK;
}
