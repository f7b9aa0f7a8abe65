/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of ONNX files for tests; see onnx_writer.h. Field numbers are the format's own. */
#include "onnx_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the wire --- */

static void reserve(onnx_part *part, size_t bytes) {
    if (part->capacity - part->bytes >= bytes) return;
    size_t capacity = part->capacity * 2 + bytes + 64;
    unsigned char *data = realloc(part->data, capacity);
    if (!data) exit(99);
    part->data = data;
    part->capacity = capacity;
}

void onnx_part_free(onnx_part *part) {
    free(part->data);
    *part = (onnx_part){0};
}

void onnx_part_raw(onnx_part *part, const void *data, size_t bytes) {
    reserve(part, bytes);
    if (bytes > 0) memcpy(part->data + part->bytes, data, bytes);
    part->bytes += bytes;
}

void onnx_part_varint(onnx_part *part, uint64_t value) {
    do {
        unsigned char byte = value & 0x7f;
        value >>= 7;
        if (value) byte |= 0x80;
        onnx_part_raw(part, &byte, 1);
    } while (value);
}

static void put_tag(onnx_part *part, uint32_t field, uint32_t wire_type) {
    onnx_part_varint(part, (uint64_t)field << 3 | wire_type);
}

void onnx_part_number(onnx_part *part, uint32_t field, int64_t value) {
    put_tag(part, field, 0);
    onnx_part_varint(part, (uint64_t)value);
}

void onnx_part_float(onnx_part *part, uint32_t field, float value) {
    put_tag(part, field, 5);
    onnx_part_raw(part, &value, sizeof(value));
}

void onnx_part_bytes(onnx_part *part, uint32_t field, const void *data, size_t bytes) {
    put_tag(part, field, 2);
    onnx_part_varint(part, bytes);
    onnx_part_raw(part, data, bytes);
}

void onnx_part_text(onnx_part *part, uint32_t field, const char *text) {
    onnx_part_bytes(part, field, text, strlen(text));
}

void onnx_part_message(onnx_part *part, uint32_t field, const onnx_part *message) {
    onnx_part_bytes(part, field, message->data, message->bytes);
}

void onnx_part_move(onnx_part *part, uint32_t field, onnx_part *message) {
    onnx_part_message(part, field, message);
    onnx_part_free(message);
}

/* --- lists joined by ',' --- */

/* The next item of a list, cut out into `item`; null at the end. */
static const char *next_item(const char *list, char *item, size_t bytes) {
    if (!list || !*list) return NULL;
    size_t length = strcspn(list, ",");
    snprintf(item, bytes, "%.*s", (int)length, list);
    return list + length + (list[length] == ',');
}

static void put_names(onnx_part *part, uint32_t field, const char *names) {
    char name[256];
    for (const char *rest = names; (rest = next_item(rest, name, sizeof(name)));)
        onnx_part_text(part, field, name);
}

/* --- nodes and attributes --- */

onnx_part onnx_node(const char *op, const char *name, const char *domain, const char *inputs,
                    const char *outputs) {
    onnx_part node = {0};
    put_names(&node, 1, inputs);
    put_names(&node, 2, outputs);
    onnx_part_text(&node, 3, name);
    onnx_part_text(&node, 4, op);
    if (*domain) onnx_part_text(&node, 7, domain);
    return node;
}

static onnx_part attribute(const char *name, int type) {
    onnx_part part = {0};
    onnx_part_text(&part, 1, name);
    onnx_part_number(&part, 20, type);
    return part;
}

onnx_part onnx_attribute_int(const char *name, int64_t value) {
    onnx_part part = attribute(name, 2);
    onnx_part_number(&part, 3, value);
    return part;
}

onnx_part onnx_attribute_ints(const char *name, size_t count, const int64_t *values) {
    onnx_part part = attribute(name, 7);
    for (size_t i = 0; i < count; i++)
        onnx_part_number(&part, 8, values[i]);
    return part;
}

onnx_part onnx_attribute_float(const char *name, float value) {
    onnx_part part = attribute(name, 1);
    onnx_part_float(&part, 2, value);
    return part;
}

onnx_part onnx_attribute_floats(const char *name, size_t count, const float *values) {
    onnx_part part = attribute(name, 6);
    onnx_part_bytes(&part, 7, values, count * sizeof(*values)); /* packed */
    return part;
}

onnx_part onnx_attribute_text(const char *name, const void *data, size_t bytes) {
    onnx_part part = attribute(name, 3);
    onnx_part_bytes(&part, 4, data, bytes);
    return part;
}

onnx_part onnx_attribute_tensor(const char *name, const onnx_part *tensor) {
    onnx_part part = attribute(name, 4);
    onnx_part_message(&part, 5, tensor);
    return part;
}

onnx_part onnx_attribute_graph(const char *name, const onnx_part *graph) {
    onnx_part part = attribute(name, 5);
    onnx_part_message(&part, 6, graph);
    return part;
}

onnx_part onnx_attribute_reference(const char *name, const char *wanted, int type) {
    onnx_part part = attribute(name, type);
    onnx_part_text(&part, 21, wanted);
    return part;
}

void onnx_node_add(onnx_part *node, onnx_part part) {
    onnx_part_move(node, ONNX_NODE_ATTRIBUTE, &part);
}

/* --- tensors and values --- */

onnx_part onnx_tensor(const char *name, int type, const char *shape) {
    onnx_part tensor = {0};
    char extent[32];
    for (const char *rest = shape; (rest = next_item(rest, extent, sizeof(extent)));)
        onnx_part_number(&tensor, 1, strtoll(extent, NULL, 10));
    onnx_part_number(&tensor, 2, type);
    onnx_part_text(&tensor, 8, name);
    return tensor;
}

onnx_part onnx_tensor_raw(const char *name, int type, const char *shape, const void *data,
                          size_t bytes) {
    onnx_part tensor = onnx_tensor(name, type, shape);
    onnx_part_bytes(&tensor, 9, data, bytes);
    return tensor;
}

static void put_entry(onnx_part *tensor, const char *key, const char *value) {
    onnx_part entry = {0};
    if (!value) return;
    onnx_part_text(&entry, 1, key);
    onnx_part_text(&entry, 2, value);
    onnx_part_move(tensor, 13, &entry);
}

onnx_part onnx_tensor_external(const char *name, int type, const char *shape, const char *location,
                               const char *offset, const char *length) {
    onnx_part tensor = onnx_tensor(name, type, shape);
    put_entry(&tensor, "location", location);
    put_entry(&tensor, "offset", offset);
    put_entry(&tensor, "length", length);
    onnx_part_number(&tensor, 14, 1);
    return tensor;
}

static onnx_part value_shape(const char *shape) {
    onnx_part extents = {0};
    char text[64];
    for (const char *rest = shape; (rest = next_item(rest, text, sizeof(text)));) {
        onnx_part extent = {0};
        if (*text == '-' || (*text >= '0' && *text <= '9'))
            onnx_part_number(&extent, 1, strtoll(text, NULL, 10));
        else if (strcmp(text, "?") != 0)
            onnx_part_text(&extent, 2, *text == '=' ? text + 1 : text);
        onnx_part_move(&extents, 1, &extent);
    }
    return extents;
}

onnx_part onnx_value(const char *name, int type, const char *shape) {
    onnx_part value = {0}, kind = {0}, tensor = {0};
    onnx_part_text(&value, 1, name);
    onnx_part_number(&tensor, 1, type);
    if (shape) {
        onnx_part extents = value_shape(shape);
        onnx_part_move(&tensor, 2, &extents);
    }
    onnx_part_move(&kind, 1, &tensor);
    onnx_part_move(&value, 2, &kind);
    return value;
}

/* --- graphs, functions, models --- */

onnx_part onnx_graph(const char *name) {
    onnx_part graph = {0};
    onnx_part_text(&graph, 2, name);
    return graph;
}

onnx_part onnx_import(const char *domain, int64_t version) {
    onnx_part import = {0};
    onnx_part_text(&import, 1, domain);
    onnx_part_number(&import, 2, version);
    return import;
}

onnx_part onnx_function(const char *domain, const char *name, const char *inputs,
                        const char *outputs) {
    onnx_part function = {0};
    onnx_part_text(&function, 1, name);
    put_names(&function, 4, inputs);
    put_names(&function, 5, outputs);
    onnx_part_text(&function, 10, domain);
    return function;
}

onnx_part onnx_model(onnx_part *graph, const char *domain, int64_t version) {
    onnx_part model = {0};
    onnx_part import = onnx_import(domain, version);
    onnx_part_number(&model, 1, 8);
    onnx_part_move(&model, ONNX_MODEL_IMPORT, &import);
    onnx_part_move(&model, ONNX_MODEL_GRAPH, graph);
    return model;
}

void onnx_graph_node(onnx_part *graph, const char *op, const char *name, const char *domain,
                     const char *inputs, const char *outputs) {
    onnx_part node = onnx_node(op, name, domain, inputs, outputs);
    onnx_part_move(graph, ONNX_GRAPH_NODE, &node);
}

void onnx_graph_input(onnx_part *graph, const char *name, int type, const char *shape) {
    onnx_part value = onnx_value(name, type, shape);
    onnx_part_move(graph, ONNX_GRAPH_INPUT, &value);
}

void onnx_graph_output(onnx_part *graph, const char *name, int type, const char *shape) {
    onnx_part value = onnx_value(name, type, shape);
    onnx_part_move(graph, ONNX_GRAPH_OUTPUT, &value);
}

void onnx_write_file(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(99);
    }
}
