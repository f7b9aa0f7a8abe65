/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model declares of a tensor: its type, extents, and names of those that are not known. ONNX
 * means one extent by one name; exporters also write names that only say "not known", the same for
 * axes that have nothing to do with each other. Those are no names here.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <string.h>
#include <strings.h>

/* Whole names, in any case; where each was seen. */
static const char *const unknown_names[] = {
    "",          /* many: a name that is set and empty */
    "?",         /* Paddle2ONNX, scripts that make a model dynamic */
    "*",         /* scripts */
    "None",      /* Keras and scripts: Python's None as text */
    "null",      /* converters in other languages */
    "nan",       /* tables read by pandas */
    "any",       /* what messages here print */
    "unknown",   /* scripts */
    "undefined", /* scripts in JavaScript */
    "dynamic",   /* scripts: dynamic_axes with one text for all */
};

/* What generated names begin with; a number follows. One that is generated for a single axis would
 * do no harm as a name, but it tells a reader nothing, and some generators count from 0 again for
 * each tensor. */
static const char *const unknown_prefixes[] = {
    "unk__",                 /* tf2onnx, ONNX's shape inference */
    "DynamicDimension.",     /* Paddle2ONNX */
    "p2o.DynamicDimension.", /* Paddle2ONNX */
};

static bool is_number(const char *text) {
    return *text && text[strspn(text, "0123456789")] == '\0';
}

bool tn_onnx_is_extent_name(const char *name) {
    if (!name || (*name == '-' && is_number(name + 1))) return false;
    for (size_t i = 0; i < sizeof(unknown_names) / sizeof(*unknown_names); i++)
        if (strcasecmp(name, unknown_names[i]) == 0) return false;
    for (size_t i = 0; i < sizeof(unknown_prefixes) / sizeof(*unknown_prefixes); i++) {
        const size_t length = strlen(unknown_prefixes[i]);
        if (strncmp(name, unknown_prefixes[i], length) == 0 && is_number(name + length))
            return false;
    }
    return true;
}

tn_status tn_onnx_extents_read(const Tenon__Onnx__TensorShapeProto *shape, int64_t *extents,
                               const char **names) {
    if (shape->n_dim > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %zu; at most %d is possible", shape->n_dim,
                       TN_MAX_RANK);
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Tenon__Onnx__TensorShapeProto__Dimension *extent = shape->dim[i];
        const bool is_known = extent->has_dim_value && extent->dim_value >= 0;
        extents[i] = is_known ? extent->dim_value : -1;
        names[i] = !extent->has_dim_value && tn_onnx_is_extent_name(extent->dim_param)
                       ? extent->dim_param
                       : NULL;
    }
    return TN_OK;
}

tn_status tn_onnx_declare(tn_onnx_reader *reader, const tn_onnx_value_info *info,
                          tn_import_tensor tensor, bool is_output) {
    const tn_import_tensor_info known = tn_import_tensor_at(reader->graph, tensor);
    const char *names[TN_MAX_RANK];
    int64_t extents[TN_MAX_RANK];
    uint32_t rank = UINT32_MAX;
    if ((known.flags & (TN_IMPORT_IS_INPUT | TN_IMPORT_IS_CONSTANT)) || !info->type ||
        !info->type->tensor_type)
        return TN_OK;
    const Tenon__Onnx__TypeProto__Tensor *declared = info->type->tensor_type;
    const tn_type type = tn_onnx_type(declared->elem_type);
    if (declared->shape && declared->shape->n_dim <= TN_MAX_RANK) {
        TN_TRY(tn_onnx_extents_read(declared->shape, extents, names));
        rank = (uint32_t)declared->shape->n_dim;
    }
    if (type == TN_NONE && rank == UINT32_MAX) return TN_OK;
    if (is_output && rank != UINT32_MAX)
        TN_TRY(reader->import->services->name_extents(reader->graph, tensor, rank, names));
    return reader->import->services->declare(reader->graph, tensor, info->name, is_output, type,
                                             rank, extents);
}
