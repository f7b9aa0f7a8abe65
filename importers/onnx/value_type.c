/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of values that are no dense tensors: sequences and optionals of tensors, optionals
 * of sequences, maps, and sequences of maps. What a file says of the items' shapes is not read.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <tenon/plugin/sequence.h>

static tn_status read_items(const Tenon__Onnx__TypeProto *items, const char *what,
                            tn_onnx_value_type *out_type) {
    if (!items || !items->tensor_type)
        return tn_fail(TN_ERROR_UNSUPPORTED, "it is %s of something that is no tensor", what);
    out_type->type = tn_onnx_type(items->tensor_type->elem_type);
    return out_type->type == TN_NONE ? tn_onnx_fail_type(items->tensor_type->elem_type) : TN_OK;
}

static tn_status read_map(const Tenon__Onnx__TypeProto__Map *map, tn_onnx_value_type *out_type) {
    out_type->key_type = tn_onnx_type(map->key_type);
    if (out_type->key_type != TN_I64 && out_type->key_type != TN_STRING)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "it is a map with keys of element type %d: expected int64 or string",
                       map->key_type);
    return read_items(map->value_type, "a map", out_type);
}

tn_status tn_onnx_value_type_read(const Tenon__Onnx__TypeProto *type,
                                  tn_onnx_value_type *out_type) {
    *out_type = (tn_onnx_value_type){0};
    if (!type) return tn_fail(TN_ERROR_FORMAT, "it has no type");
    if (type->map_type) {
        out_type->kind = TN_KIND_MAP;
        return read_map(type->map_type, out_type);
    }
    if (type->sequence_type && type->sequence_type->elem_type &&
        type->sequence_type->elem_type->map_type) {
        out_type->kind = TN_KIND_MAPS;
        return read_map(type->sequence_type->elem_type->map_type, out_type);
    }
    if (type->sequence_type) {
        out_type->kind = TN_KIND_SEQUENCE;
        return read_items(type->sequence_type->elem_type, "a sequence", out_type);
    }
    if (type->optional_type && type->optional_type->elem_type &&
        type->optional_type->elem_type->sequence_type) {
        out_type->kind = TN_KIND_OPTIONAL_SEQUENCE;
        return read_items(type->optional_type->elem_type->sequence_type->elem_type,
                          "an optional of a sequence", out_type);
    }
    if (type->optional_type) {
        out_type->kind = TN_KIND_OPTIONAL;
        return read_items(type->optional_type->elem_type, "an optional", out_type);
    }
    if (type->has_opaque_type || type->has_sparse_tensor_type)
        return tn_fail(TN_ERROR_UNSUPPORTED, "%s are not supported as inputs",
                       type->has_opaque_type ? "opaque values" : "sparse tensors");
    return tn_fail(TN_ERROR_FORMAT, "it has no type");
}
