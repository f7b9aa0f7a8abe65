/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a byte for the port, and any text as the JSON of its value, as `tenon run` reads it.
 * What is read has the port's types, and as many bytes as its shapes say; strings lie within their
 * heap. Nothing may crash, take long or be left over.
 */
#include "values/value_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/plugin/string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const struct {
    uint32_t kind;
    tn_type key_type, type;
} ports[] = {
    {TN_KIND_SEQUENCE, TN_NONE, TN_F32},  {TN_KIND_SEQUENCE, TN_NONE, TN_STRING},
    {TN_KIND_SEQUENCE, TN_NONE, TN_U8},   {TN_KIND_SEQUENCE, TN_NONE, TN_I64},
    {TN_KIND_SEQUENCE, TN_NONE, TN_BOOL}, {TN_KIND_SEQUENCE, TN_NONE, TN_F16},
    {TN_KIND_OPTIONAL, TN_NONE, TN_F64},  {TN_KIND_OPTIONAL, TN_NONE, TN_STRING},
    {TN_KIND_MAP, TN_I64, TN_F32},        {TN_KIND_MAP, TN_STRING, TN_I64},
    {TN_KIND_MAP, TN_STRING, TN_STRING},  {TN_KIND_MAPS, TN_I64, TN_F32},
    {TN_KIND_MAPS, TN_STRING, TN_STRING},
};

static void check(int is_sound) {
    if (!is_sound) abort();
}

static void check_strings(const file_tensor *item, uint64_t count) {
    const tn_string *elements = item->data;
    const uint64_t heap = item->bytes - count * sizeof(tn_string);
    for (uint64_t i = 0; i < count; i++)
        check(elements[i].offset <= heap && elements[i].bytes <= heap - elements[i].offset);
}

static void check_item(const file_tensor *item, tn_type type) {
    uint64_t count = 1;
    check(item->type == type && item->rank <= TN_MAX_RANK);
    for (uint32_t i = 0; i < item->rank; i++) {
        check(item->shape[i] >= 0);
        count *= (uint64_t)item->shape[i];
    }
    if (type == TN_STRING) {
        check(item->bytes >= count * sizeof(tn_string));
        check_strings(item, count);
    } else {
        check(item->bytes == count * type_bytes(type));
    }
}

static void check_value(const file_value *value, const tn_port_info *port) {
    const bool is_map = port->kind == TN_KIND_MAP || port->kind == TN_KIND_MAPS;
    if (port->kind == TN_KIND_OPTIONAL) check(value->count <= 1);
    if (port->kind == TN_KIND_MAP) check(value->count == 2);
    for (size_t i = 0; i < value->count; i++) {
        check_item(&value->items[i], is_map && i % 2 == 0 ? port->key_type : port->type);
        if (!is_map || i % 2 == 0) continue;
        check(value->items[i].rank == 1 && value->items[i - 1].rank == 1);
        check(value->items[i].shape[0] == value->items[i - 1].shape[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    tn_port_info port = {.name = "x"};
    file_value value = {0};
    if (bytes == 0) return 0;
    const size_t which = data[0] % (sizeof(ports) / sizeof(ports[0]));
    port.kind = ports[which].kind;
    port.key_type = ports[which].key_type;
    port.type = ports[which].type;
    char *text = malloc(bytes);
    if (!text) return 0;
    memcpy(text, data + 1, bytes - 1);
    text[bytes - 1] = 0;
    if (value_json_read("value", text, &port, &value)) check_value(&value, &port);
    file_value_free(&value);
    free(text);
    return 0;
}
