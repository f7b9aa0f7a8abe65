/* SPDX-License-Identifier: Apache-2.0 */
/* Values of any kind between files and contexts; see value_file.h. */
#include "value_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/plugin/string.h>

void file_value_free(file_value *value) {
    for (size_t i = 0; i < value->count; i++)
        file_tensor_free(&value->items[i]);
    free(value->items);
    *value = (file_value){0};
}

file_tensor *file_value_add(file_value *value, const char *path) {
    if (value->count == value->capacity) {
        const size_t capacity = value->capacity ? 2 * value->capacity : 16;
        file_tensor *larger = realloc(value->items, capacity * sizeof(*larger));
        if (!larger) {
            cli_fault("%s: no memory", path);
            return NULL;
        }
        value->items = larger;
        value->capacity = capacity;
    }
    value->items[value->count] = (file_tensor){0};
    return &value->items[value->count++];
}

const char *value_type_print(const tn_port_info *port, char *text) {
    const char *type = port->type == TN_NONE ? "values" : type_name(port->type);
    const char *key = port->key_type == TN_NONE ? "keys" : type_name(port->key_type);
    const char *format = "%s";
    if (port->kind == TN_KIND_SEQUENCE) format = "seq(%s)";
    if (port->kind == TN_KIND_OPTIONAL) format = "opt(%s)";
    if (port->kind == TN_KIND_OPTIONAL_SEQUENCE) format = "opt(seq(%s))";
    if (port->kind == TN_KIND_MAP || port->kind == TN_KIND_MAPS)
        snprintf(text, VALUE_TYPE_TEXT_BYTES,
                 port->kind == TN_KIND_MAP ? "map(%s,%s)" : "seq(map(%s,%s))", key, type);
    else
        snprintf(text, VALUE_TYPE_TEXT_BYTES, format, type);
    return text;
}

bool value_file_read(const char *path, const tn_port_info *port, file_value *out_value) {
    unsigned char *data = NULL;
    size_t bytes = 0;
    const char *ending = strrchr(path, '.');
    if (!whole_file_read(path, &data, &bytes)) return false;
    bool is_read = false;
    if (ending && strcmp(ending, ".pb") == 0) {
        is_read = value_pb_read(path, data, bytes, port, out_value);
    } else {
        char *text = memchr(data, 0, bytes) ? NULL : strndup((const char *)data, bytes);
        if (text)
            is_read = value_json_read(path, text, port, out_value);
        else
            cli_fault("%s: it is no JSON", path);
        free(text);
    }
    free(data);
    if (!is_read) file_value_free(out_value);
    return is_read;
}

bool value_bind(tn_context *context, uint32_t input, const file_value *value) {
    if (tn_context_clear_items(context, input) != TN_OK) return false;
    if (value->has_element && tn_context_set_element(context, input) != TN_OK) return false;
    for (size_t i = 0; i < value->count; i++) {
        const file_tensor *item = &value->items[i];
        if (tn_context_append_item(context, input, item->type, item->rank, item->shape, item->data,
                                   item->bytes) != TN_OK)
            return false;
    }
    return true;
}

bool value_compare(tn_context *context, uint32_t output, const tn_port_info *port,
                   const file_value *expected, const tolerance *allowed, char *why,
                   size_t why_bytes) {
    uint64_t count = 0;
    bool has_element = false;
    if (port->kind == TN_KIND_OPTIONAL_SEQUENCE &&
        (tn_context_output_has_element(context, output, &has_element) != TN_OK ||
         has_element != expected->has_element)) {
        snprintf(why, why_bytes, "output '%s' has %s sequence, expected %s", port->name,
                 has_element ? "a" : "no", expected->has_element ? "one" : "none");
        return false;
    }
    if (tn_context_output_length(context, output, &count) != TN_OK || count != expected->count) {
        snprintf(why, why_bytes, "output '%s' has %" PRIu64 " items, expected %zu", port->name,
                 count, expected->count);
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        const tn_tensor *item = NULL;
        char name[300];
        snprintf(name, sizeof(name), "%.250s, item %" PRIu64, port->name, i);
        if (tn_context_output_item(context, output, i, &item) != TN_OK) return false;
        if (!compare_tensors(name, &expected->items[i], item, allowed, why, why_bytes))
            return false;
    }
    return true;
}
