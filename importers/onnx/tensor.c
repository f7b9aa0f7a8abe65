/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's TensorProto: element type, shape and data, which lie in the message as raw bytes or as a
 * list of numbers, or in a file beside the model (external.c). The declared size must fit exactly.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <inttypes.h>
#include <string.h>

/* ONNX's numbers of element types, and ours where we have it. */
static const struct {
    const char *name;
    tn_type type;
} onnx_types[] = {{"UNDEFINED", TN_NONE},
                  {"FLOAT", TN_F32},
                  {"UINT8", TN_U8},
                  {"INT8", TN_I8},
                  {"UINT16", TN_U16},
                  {"INT16", TN_I16},
                  {"INT32", TN_I32},
                  {"INT64", TN_I64},
                  {"STRING", TN_STRING},
                  {"BOOL", TN_BOOL},
                  {"FLOAT16", TN_F16},
                  {"DOUBLE", TN_F64},
                  {"UINT32", TN_U32},
                  {"UINT64", TN_U64},
                  {"COMPLEX64", TN_NONE},
                  {"COMPLEX128", TN_NONE},
                  {"BFLOAT16", TN_BF16},
                  {"FLOAT8E4M3FN", TN_F8E4M3},
                  {"FLOAT8E4M3FNUZ", TN_F8E4M3FNUZ},
                  {"FLOAT8E5M2", TN_F8E5M2},
                  {"FLOAT8E5M2FNUZ", TN_F8E5M2FNUZ},
                  {"UINT4", TN_U4},
                  {"INT4", TN_I4},
                  {"FLOAT4E2M1", TN_F4E2M1},
                  {"FLOAT8E8M0", TN_F8E8M0},
                  {"UINT2", TN_U2},
                  {"INT2", TN_I2},
                  {"FLOAT6E2M3", TN_NONE},
                  {"FLOAT6E3M2", TN_NONE}};

tn_type tn_onnx_type(int64_t number) {
    return number >= 0 && number < (int64_t)TN_COUNT(onnx_types) ? onnx_types[number].type
                                                                 : TN_NONE;
}

const char *tn_onnx_type_name(int64_t number) {
    return number >= 0 && number < (int64_t)TN_COUNT(onnx_types) ? onnx_types[number].name
                                                                 : "unknown";
}

tn_status tn_onnx_fail_type(int32_t number) {
    return tn_fail(number == 0 ? TN_ERROR_FORMAT : TN_ERROR_UNSUPPORTED,
                   "tensors of ONNX's element type %" PRId32 " (%s) are not supported", number,
                   tn_onnx_type_name(number));
}

/* A list of numbers as the schema has it. */
typedef struct number_list {
    size_t count;
    const void *items;
    const char *name;
} number_list;

/* The list that holds elements of a type (the 32-bit one also holds all that is smaller). */
static number_list typed_field(const tn_onnx_tensor *tensor, tn_type type) {
    switch (type) {
    case TN_F32:
        return (number_list){tensor->n_float_data, tensor->float_data, "float_data"};
    case TN_F64:
        return (number_list){tensor->n_double_data, tensor->double_data, "double_data"};
    case TN_I64:
        return (number_list){tensor->n_int64_data, tensor->int64_data, "int64_data"};
    case TN_U64:
    case TN_U32:
        return (number_list){tensor->n_uint64_data, tensor->uint64_data, "uint64_data"};
    default:
        return (number_list){tensor->n_int32_data, tensor->int32_data, "int32_data"};
    }
}

static tn_status fail_range(size_t index, int64_t value, tn_type type) {
    return tn_fail(TN_ERROR_FORMAT, "element %zu is %" PRId64 ", which is no %s", index, value,
                   tn_type_name(type));
}

/* Whether int32_data has bytes: floats of 8 bits, and types of which several elements share a byte.
 */
static bool is_of_bytes(tn_type type) {
    return tn_type_is_packed(type) || (tn_type_bits(type) == 8 && tn_type_is_float(type));
}

/* The smallest and largest number that stand for an element of a small type in int32_data. */
static void small_range(tn_type type, int32_t *out_minimum, int32_t *out_maximum) {
    bool is_signed = type == TN_I8 || type == TN_I16;
    uint32_t bits = is_of_bytes(type) ? 8 : tn_type_bits(type);
    *out_minimum = is_signed ? -(1 << (bits - 1)) : 0;
    *out_maximum = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    if (type == TN_BOOL) *out_maximum = 1;
}

static tn_status narrow_int32(const int32_t *from, size_t count, tn_type type, void *to) {
    int32_t minimum, maximum;
    small_range(type, &minimum, &maximum);
    for (size_t i = 0; i < count; i++) {
        if (from[i] < minimum || from[i] > maximum) return fail_range(i, from[i], type);
        if (tn_type_bits(type) <= 8)
            ((uint8_t *)to)[i] = (uint8_t)from[i];
        else
            ((uint16_t *)to)[i] = (uint16_t)from[i];
    }
    return TN_OK;
}

static tn_status narrow_uint64(const uint64_t *from, size_t count, uint32_t *to) {
    for (size_t i = 0; i < count; i++) {
        if (from[i] > UINT32_MAX)
            return tn_fail(TN_ERROR_FORMAT, "element %zu is %" PRIu64 ", which is no u32", i,
                           from[i]);
        to[i] = (uint32_t)from[i];
    }
    return TN_OK;
}

/* The bits behind the last element. */
static bool has_padding(const tn_onnx_data *data) {
    size_t count = 0;
    return tn_type_is_packed(data->type) && tn_shape_count(&data->shape, &count) == TN_OK &&
           count * tn_type_bits(data->type) % 8 != 0;
}

static bool is_normal(const tn_onnx_data *data) {
    return data->bytes == 0 || (data->type != TN_BOOL && !has_padding(data));
}

/* Makes what kernels expect of data, which is the graph's own: each byte of a bool tensor is 0 or
 * 1, and bits behind the last element are 0. */
static void normalise(const tn_onnx_data *data) {
    uint8_t *bytes = (uint8_t *)(uintptr_t)data->data;
    size_t count = 0;
    if (is_normal(data)) return;
    for (size_t i = 0; data->type == TN_BOOL && i < data->bytes; i++)
        bytes[i] = bytes[i] != 0;
    if (tn_type_is_packed(data->type) && tn_shape_count(&data->shape, &count) == TN_OK)
        bytes[data->bytes - 1] &= (uint8_t)((1u << count * tn_type_bits(data->type) % 8) - 1);
}

static tn_status read_list(tn_onnx_reader *reader, const tn_onnx_tensor *tensor, size_t count,
                           tn_onnx_data *data) {
    number_list list = typed_field(tensor, data->type);
    if (tn_type_is_packed(data->type)) count = data->bytes;
    if (list.count != count)
        return tn_fail(TN_ERROR_FORMAT, "the shape takes %zu %s, but %s has %zu", count,
                       tn_type_is_packed(data->type) ? "bytes" : "elements", list.name, list.count);
    if (count == 0) return TN_OK;
    void *copy = tn_import_allocate(reader->graph, data->bytes);
    if (!copy) return tn_fail_memory("a tensor's data");
    data->data = copy;
    if (data->type == TN_U32) return narrow_uint64(list.items, count, copy);
    if (tn_type_bytes(data->type) < 4) {
        TN_TRY(narrow_int32(list.items, count, data->type, copy));
        normalise(data);
        return TN_OK;
    }
    memcpy(copy, list.items, data->bytes);
    return TN_OK;
}

static tn_status read_raw(tn_onnx_reader *reader, tn_onnx_tensor *tensor, tn_onnx_data *data) {
    if (tensor->raw_data.len != data->bytes)
        return tn_fail(TN_ERROR_FORMAT, "the shape takes %zu bytes, but raw_data has %zu",
                       data->bytes, tensor->raw_data.len);
    if (data->bytes == 0) return TN_OK;
    TN_TRY(tn_import_take(reader->graph, (void **)&tensor->raw_data.data, data->bytes,
                          "a tensor's data", &data->data));
    if (!tensor->raw_data.data) tensor->raw_data.len = 0;
    normalise(data);
    return TN_OK;
}

static tn_status read_external(tn_onnx_reader *reader, const tn_onnx_tensor *tensor,
                               tn_onnx_data *data) {
    TN_TRY(tn_onnx_external_read(reader, tensor, data->bytes, (tn_type_bits(data->type) + 7) / 8,
                                 &data->data));
    if (is_normal(data)) return TN_OK;
    TN_TRY(tn_import_copy(reader->graph, data->data, data->bytes, "a tensor's data", &data->data));
    normalise(data);
    return TN_OK;
}

static tn_status read_type_and_shape(const tn_onnx_tensor *tensor, tn_onnx_data *data) {
    data->type = tn_onnx_type(tensor->data_type);
    if (data->type == TN_NONE) return tn_onnx_fail_type(tensor->data_type);
    if (tensor->has_segment)
        return tn_fail(TN_ERROR_UNSUPPORTED, "tensors in segments are not supported");
    if (tensor->n_dims > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %zu; at most %d is possible", tensor->n_dims,
                       TN_MAX_RANK);
    TN_TRY(tn_shape_set(&data->shape, (uint32_t)tensor->n_dims, tensor->dims));
    return tn_format_bytes(TN_LINEAR, data->type, &data->shape, &data->bytes);
}

static tn_status read_once(tn_onnx_reader *reader, tn_onnx_tensor *tensor, tn_onnx_data *out_data) {
    tn_onnx_data data = {0};
    size_t count;
    TN_TRY(read_type_and_shape(tensor, &data));
    TN_TRY(tn_shape_count(&data.shape, &count));
    if (data.type == TN_STRING)
        TN_TRY(tn_onnx_strings_read(reader, tensor, count, &data));
    else if (tensor->data_location == 1)
        TN_TRY(read_external(reader, tensor, &data));
    else if (tensor->data_location != 0)
        return tn_fail(TN_ERROR_FORMAT, "data location %" PRId32 " is not known",
                       tensor->data_location);
    else if (tensor->has_raw_data)
        TN_TRY(read_raw(reader, tensor, &data));
    else
        TN_TRY(read_list(reader, tensor, count, &data));
    *out_data = data;
    return TN_OK;
}

/* A function may be called again: what was read is remembered. */
static tn_status read_shared(tn_onnx_reader *reader, tn_onnx_tensor *tensor,
                             tn_onnx_data *out_data) {
    uint64_t at;
    const char *key = tn_arena_format(reader->arena, "%p", (void *)tensor);
    if (!key) return tn_fail_memory("a tensor");
    if (!tn_map_get(reader->tensors, key, &at)) {
        tn_onnx_data data;
        at = reader->shared_count;
        TN_TRY(tn_grow(reader->allocator, (void **)&reader->shared, &reader->shared_capacity,
                       at + 1, sizeof(*reader->shared)));
        TN_TRY(read_once(reader, tensor, &data));
        TN_TRY(tn_map_set(reader->tensors, key, at));
        reader->shared[reader->shared_count++] = data;
    }
    *out_data = reader->shared[at];
    return TN_OK;
}

tn_status tn_onnx_tensor_read(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                              tn_onnx_tensor *tensor, tn_onnx_data *out_data) {
    return scope->function ? read_shared(reader, tensor, out_data)
                           : read_once(reader, tensor, out_data);
}
