/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Const: an element type, a shape, and bytes among the file's shared data. Constants of the type
 * that has no name (7) tell what they are by their bytes.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <float.h>
#include <math.h>
#include <string.h>

static tn_status read_shape(const tn_uff_call *call, size_t *out_count) {
    tn_uff_value *value = call->output;
    tn_shape shape;
    size_t count = 0;
    const int64_t *extents;
    TN_TRY(tn_uff_field_i64s(call, "shape", &count, &extents));
    if (count > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %zu; at most %d is possible", count, TN_MAX_RANK);
    TN_TRY(tn_shape_set(&shape, (uint32_t)count, extents));
    value->rank = shape.rank;
    memcpy(value->extents, shape.extents, sizeof(value->extents));
    return tn_shape_count(&shape, out_count);
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

static tn_status fail_bytes(const tn_uff_value *value, const tn_uff_data *data, bool is_taken,
                            const char *type, size_t bytes) {
    char text[TN_SHAPE_TEXT_BYTES];
    tn_shape_print(value->rank, value->extents, text, sizeof(text));
    if (!is_taken && is_skipped(data))
        return tn_fail(TN_ERROR_FORMAT,
                       "the file has '%.*s' for the values of %s: it was written for people to "
                       "read, without weights, and cannot be built; take the whole file",
                       (int)(data->blob.len < 60 ? data->blob.len : 60),
                       (const char *)data->blob.data, text);
    return tn_fail(TN_ERROR_FORMAT, "%s of %s takes %zu bytes, but the file holds %zu", text, type,
                   bytes, value->bytes);
}

/* ----------------------------------------------------------------------------------------------
 * the type without a name */

/* Integers below 2^52 are subnormal as doubles; no network has such weights. */
static bool are_integers(const void *data, size_t count) {
    bool has_subnormal = false;
    for (size_t i = 0; i < count; i++)
        has_subnormal |= fpclassify(tn_element_get_f64(data, TN_F64, i)) == FP_SUBNORMAL;
    return has_subnormal;
}

static tn_status narrow(const void *data, size_t count, float *to) {
    for (size_t i = 0; i < count; i++) {
        const double wide = tn_element_get_f64(data, TN_F64, i);
        if (isfinite(wide) && fabs(wide) > (double)FLT_MAX)
            return tn_fail(TN_ERROR_UNSUPPORTED,
                           "element %zu, %g, is beyond what a 32-bit float holds", i, wide);
        to[i] = (float)wide;
    }
    return TN_OK;
}

static tn_status widen(const void *data, tn_type from, size_t count, tn_type type, void *to) {
    for (size_t i = 0; i < count; i++) {
        const int64_t number = tn_element_get_i64(data, from, i);
        if (number < 0)
            return tn_fail(TN_ERROR_UNSUPPORTED,
                           "element %zu is beyond what a 64-bit integer holds", i);
        tn_element_set_i64(to, type, i, number);
    }
    return TN_OK;
}

/* What the converter wrote as type 7 is truth values, unsigned integers or doubles, by the bytes of
 * an element; each becomes a type that the format names. */
static tn_status take_unnamed(tn_uff_reader *reader, tn_uff_value *value, const tn_uff_data *data,
                              bool is_taken, size_t count) {
    const size_t element = count > 0 ? value->bytes / count : 0;
    const bool is_wide = element == 8 && !are_integers(value->data, count);
    const tn_type from = element == 1   ? TN_U8
                         : element == 2 ? TN_U16
                         : element == 4 ? TN_U32
                                        : TN_I64;
    size_t bytes;
    if ((element != 1 && element != 2 && element != 4 && element != 8) ||
        element * count != value->bytes)
        return fail_bytes(value, data, is_taken,
                          "UFF's unnamed element type 7, of 1, 2, 4 or 8 bytes each,", count);
    value->type = is_wide ? TN_F32 : element < 4 ? TN_I32 : TN_I64;
    if (!tn_mul_size(count, tn_type_bytes(value->type), &bytes))
        return tn_fail_memory("a constant");
    if (bytes > reader->permutable_bytes)
        return tn_fail(TN_ERROR_MEMORY, "the file asks for its constants too many times");
    reader->permutable_bytes -= bytes;
    void *to = tn_import_allocate(reader->graph, bytes);
    if (!to) return tn_fail_memory("a constant");
    if (is_wide)
        TN_TRY(narrow(value->data, count, to));
    else
        TN_TRY(widen(value->data, from, count, value->type, to));
    value->data = to;
    value->bytes = bytes;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the node */

/* Zeros instead of values that the file leaves out, where the caller wants to look alone. */
static tn_status leave_out(tn_uff_reader *reader, tn_uff_call *call, size_t bytes) {
    tn_uff_value *value = call->output;
    if (bytes > reader->permutable_bytes)
        return tn_fail(TN_ERROR_MEMORY, "the file leaves out more than 2 GiB of values");
    reader->permutable_bytes -= bytes;
    value->data = tn_import_allocate(reader->graph, bytes);
    value->bytes = bytes;
    if (!value->data) return tn_fail_memory("a constant");
    if (reader->left_out_count++ == 0) reader->left_out = call->node->id;
    return TN_OK;
}

/* *out_is_left_out: the values are not in the file. */
static tn_status take_values(tn_uff_call *call, size_t count, bool is_unnamed,
                             bool *out_is_left_out) {
    tn_uff_reader *reader = call->reader;
    tn_uff_value *value = call->output;
    const tn_uff_data *data;
    uint32_t entry = UINT32_MAX;
    size_t bytes = 0;
    TN_TRY(find_values(reader, call->node, &data, &entry));
    const bool is_taken = entry != UINT32_MAX && reader->blobs[entry];
    value->data = is_taken ? reader->blobs[entry] : data->blob.data;
    value->bytes = is_taken ? reader->blob_bytes[entry] : data->blob.len;
    if (is_unnamed && count > 0) return take_unnamed(reader, value, data, is_taken, count);
    const bool has_size = tn_mul_size(count, tn_type_bytes(value->type), &bytes);
    *out_is_left_out = reader->options->without_weights && has_size && bytes > 0 &&
                       value->bytes != bytes && !is_taken && is_skipped(data);
    if (*out_is_left_out) return leave_out(reader, call, bytes);
    if (!has_size || value->bytes != bytes)
        return fail_bytes(value, data, is_taken, tn_type_name(value->type), bytes);
    if (entry != UINT32_MAX && !is_taken) value->blob = entry + 1;
    if (entry != UINT32_MAX || bytes == 0) return TN_OK;
    return tn_import_copy(reader->graph, value->data, bytes, "a constant", &value->data);
}

/* Short lists of integers are followed as numbers. */
static tn_status note_integers(const tn_uff_call *call, size_t count) {
    tn_uff_value *value = call->output;
    if (!tn_type_is_integer(value->type) || value->rank > 1 || count > TN_UFF_INTEGERS_AT_MOST)
        return TN_OK;
    int64_t *values = tn_arena_allocate(call->reader->arena, count, sizeof(*values));
    if (!values) return tn_fail_memory("a constant");
    for (size_t i = 0; i < count; i++) {
        values[i] = tn_element_get_i64(value->data, value->type, i);
        if (tn_uff_is_open(values[i])) return TN_OK;
    }
    value->known = values;
    return TN_OK;
}

tn_status tn_uff_read_const(tn_uff_call *call) {
    tn_uff_value *value = call->output;
    const tn_uff_data *type;
    size_t count;
    bool is_left_out = false;
    TN_TRY(tn_uff_field_require(call, "dtype"));
    TN_TRY(tn_uff_field_find(call, "dtype", &type));
    const bool is_unnamed = type->has_dtype && type->dtype == TENON__UFF__DATA_TYPE__DT_OTHER;
    value->type = TN_F32;
    if (!is_unnamed) TN_TRY(tn_uff_field_type(call, "dtype", TN_NONE, &value->type));
    TN_TRY(read_shape(call, &count));
    TN_TRY(take_values(call, count, is_unnamed, &is_left_out));
    if (count == 0) { /* no elements: the pointer says that it is a constant all the same */
        value->data = tn_import_allocate(call->reader->graph, 1);
        value->blob = 0;
        if (!value->data) return tn_fail_memory("a constant");
    }
    return is_left_out ? TN_OK : note_integers(call, count);
}
