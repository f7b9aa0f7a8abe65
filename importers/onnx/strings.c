/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings of a model: tensors of element type STRING, and nodes Constant that hold strings, which
 * become constants of the graph. Elements and heap lie in one block (tenon/plugin/string.h).
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <tenon/plugin/string.h>

#include <string.h>

/* The block of `count` strings, in the graph's arena. */
static tn_status make_block(const tn_onnx_reader *reader, size_t count,
                            const ProtobufCBinaryData *items, tn_onnx_data *data) {
    size_t bytes;
    if (!tn_mul_size(count, sizeof(tn_string), &bytes)) return tn_fail_memory("strings");
    for (size_t i = 0; i < count; i++)
        if (!tn_add_size(bytes, items[i].len, &bytes)) return tn_fail_memory("strings");
    char *block = tn_import_allocate(reader->graph, bytes);
    if (!block) return tn_fail_memory("strings");
    tn_string *elements = (tn_string *)(void *)block;
    char *heap = block + count * sizeof(*elements);
    for (size_t i = 0, at = 0; i < count; at += items[i++].len) {
        elements[i] = (tn_string){at, items[i].len};
        if (items[i].len > 0) memcpy(heap + at, items[i].data, items[i].len);
    }
    data->data = bytes > 0 ? block : NULL;
    data->bytes = bytes;
    return TN_OK;
}

tn_status tn_onnx_strings_read(const tn_onnx_reader *reader, const tn_onnx_tensor *tensor,
                               size_t count, tn_onnx_data *data) {
    if (tensor->data_location != 0 || tensor->has_raw_data)
        return tn_fail(TN_ERROR_FORMAT, "strings lie in string_data alone");
    if (tensor->n_string_data != count)
        return tn_fail(TN_ERROR_FORMAT, "the shape takes %zu elements, but string_data has %zu",
                       count, tensor->n_string_data);
    return make_block(reader, count, tensor->string_data, data);
}

/* Whether an attribute of a Constant holds strings; then these as a tensor's data. */
static tn_status read_value(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                            const tn_onnx_attribute *value, tn_onnx_data *data, bool *out_is) {
    const char *name = value->name ? value->name : "";
    *out_is = true;
    data->type = TN_STRING;
    if (strcmp(name, "value_string") == 0 && value->has_s)
        return make_block(reader, 1, &value->s, data);
    if (strcmp(name, "value_strings") == 0) {
        const int64_t count = (int64_t)value->n_strings;
        TN_TRY(tn_shape_set(&data->shape, 1, &count));
        return make_block(reader, value->n_strings, value->strings, data);
    }
    *out_is =
        strcmp(name, "value") == 0 && value->t && tn_onnx_type(value->t->data_type) == TN_STRING;
    if (!*out_is) return TN_OK;
    return tn_onnx_tensor_read(reader, scope, value->t, data);
}

tn_status tn_onnx_constant_strings_read(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                        const tn_onnx_node *node, bool *out_is_done) {
    tn_onnx_binding binding;
    tn_onnx_data data = {0};
    *out_is_done = false;
    if (strcmp(node->op_type, "Constant") != 0 || *tn_onnx_domain(node->domain) ||
        node->n_attribute != 1 || node->n_output != 1 ||
        tn_map_get(scope->tensors, node->output[0], &(uint64_t){0}))
        return TN_OK;
    TN_TRY(tn_onnx_attribute_resolve(scope, node->attribute[0], &binding));
    if (!binding.value) return TN_OK;
    tn_onnx_attribute value = *binding.value;
    value.name = (char *)(uintptr_t)binding.name;
    TN_TRY(read_value(reader, scope, &value, &data, out_is_done));
    if (!*out_is_done) return TN_OK;
    const char *name = tn_arena_format(reader->arena, "%s%s", scope->prefix, node->output[0]);
    if (!name) return tn_fail_memory("a constant");
    return tn_onnx_scope_constant(reader, scope, node->output[0], name, &data);
}
