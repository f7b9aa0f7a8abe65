/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's TensorProto files, as test data sets have them. Unpacked by protobuf-c from the reader's
 * own schema. */
#include "tensor_pb.h"

#include <tenon/plugin/string.h>

#include <stdlib.h>
#include <string.h>

/* ONNX's numbering of element types. */
static tn_type type_of(int32_t number) {
    static const tn_type types[] = {
        TN_NONE, TN_F32,    TN_U8,     TN_I8,     TN_U16,        TN_I16,    TN_I32,
        TN_I64,  TN_STRING, TN_BOOL,   TN_F16,    TN_F64,        TN_U32,    TN_U64,
        TN_NONE, TN_NONE,   TN_BF16,   TN_F8E4M3, TN_F8E4M3FNUZ, TN_F8E5M2, TN_F8E5M2FNUZ,
        TN_U4,   TN_I4,     TN_F4E2M1, TN_F8E8M0, TN_U2,         TN_I2};
    return number >= 0 && (size_t)number < sizeof(types) / sizeof(types[0]) ? types[number]
                                                                            : TN_NONE;
}

/* The typed field of a type: how many, and element i as bits in *out. */
static size_t typed_count(const Tenon__Onnx__TensorProto *proto, tn_type type) {
    switch (type) {
    case TN_F32:
        return proto->n_float_data;
    case TN_F64:
        return proto->n_double_data;
    case TN_I64:
        return proto->n_int64_data;
    case TN_U64:
    case TN_U32:
        return proto->n_uint64_data;
    default:
        return proto->n_int32_data;
    }
}

static void typed_element(const Tenon__Onnx__TensorProto *proto, tn_type type, size_t i,
                          void *out) {
    switch (type) {
    case TN_F32:
        memcpy(out, &proto->float_data[i], 4);
        break;
    case TN_F64:
        memcpy(out, &proto->double_data[i], 8);
        break;
    case TN_I64:
        memcpy(out, &proto->int64_data[i], 8);
        break;
    case TN_U64:
    case TN_U32:
        memcpy(out, &proto->uint64_data[i], type_bytes(type));
        break;
    default:
        memcpy(out, &proto->int32_data[i], type_bytes(type) ? type_bytes(type) : 1);
        break;
    }
}

static bool fill(const char *path, const Tenon__Onnx__TensorProto *proto, file_tensor *tensor) {
    if (proto->has_raw_data || tensor->bytes == 0) {
        if (proto->raw_data.len != tensor->bytes)
            return cli_fault("%s: %zu bytes of raw data, the shape needs %zu", path,
                             proto->raw_data.len, tensor->bytes),
                   false;
        if (tensor->bytes) memcpy(tensor->data, proto->raw_data.data, tensor->bytes);
        return true;
    }
    const size_t each =
        type_bytes(tensor->type) ? type_bytes(tensor->type) : 1; /* packed: a byte */
    const size_t count = tensor->bytes / each;
    if (typed_count(proto, tensor->type) != count)
        return cli_fault("%s: %zu elements, the shape needs %zu", path,
                         typed_count(proto, tensor->type), count),
               false;
    for (size_t i = 0; i < count; i++)
        typed_element(proto, tensor->type, i, (char *)tensor->data + i * each);
    return true;
}

/* Elements, then their heap. */
static bool fill_strings(const char *path, const Tenon__Onnx__TensorProto *proto,
                         file_tensor *tensor) {
    const size_t count = file_tensor_count(tensor);
    size_t bytes = tensor->bytes;
    if (proto->n_string_data != count)
        return cli_fault("%s: %zu strings, the shape needs %zu", path, proto->n_string_data, count),
               false;
    for (size_t i = 0; i < count; i++)
        bytes += proto->string_data[i].len; /* all of it lies in a file that was read */
    file_tensor block = *tensor;
    if (posix_memalign(&block.data, 64, bytes ? bytes : 64) != 0)
        return cli_fault("%s: no memory for %zu bytes", path, bytes), false;
    tn_string *elements = block.data;
    char *heap = (char *)block.data + tensor->bytes;
    for (size_t i = 0, at = 0; i < count; at += proto->string_data[i++].len) {
        elements[i] = (tn_string){at, proto->string_data[i].len};
        if (elements[i].bytes > 0) memcpy(heap + at, proto->string_data[i].data, elements[i].bytes);
    }
    block.bytes = bytes;
    file_tensor_free(tensor);
    *tensor = block;
    return true;
}

bool tensor_pb_take(const char *path, const Tenon__Onnx__TensorProto *proto,
                    file_tensor *out_tensor) {
    const tn_type type = type_of(proto->data_type);
    bool is_read = false;
    if (type == TN_NONE)
        cli_fault("%s: elements of ONNX type %d are not supported", path, proto->data_type);
    else if (file_tensor_allocate(out_tensor, type, (uint32_t)proto->n_dims, proto->dims, path))
        is_read = type == TN_STRING ? fill_strings(path, proto, out_tensor)
                                    : fill(path, proto, out_tensor);
    if (!is_read) file_tensor_free(out_tensor);
    return is_read;
}

bool tensor_pb_read(const char *path, const unsigned char *data, size_t bytes,
                    file_tensor *out_tensor) {
    Tenon__Onnx__TensorProto *proto = tenon__onnx__tensor_proto__unpack(NULL, bytes, data);
    if (!proto) return cli_fault("%s: it is not a TensorProto", path), false;
    const bool is_read = tensor_pb_take(path, proto, out_tensor);
    tenon__onnx__tensor_proto__free_unpacked(proto, NULL);
    return is_read;
}
