/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of UFF files for tests; see uff_writer.h. Field numbers are the format's own. */

#include "uff_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls `put` with each piece of a text that ',' (or another mark) divides. */
static void each_piece(const char *text, char mark, void (*put)(void *user, const char *piece),
                       void *user) {
    char piece[128];
    while (*text) {
        const char *end = strchr(text, mark);
        const size_t length = end ? (size_t)(end - text) : strlen(text);
        snprintf(piece, sizeof(piece), "%.*s", (int)length, text);
        put(user, piece);
        text += length + (end != NULL);
    }
}

static void put_input(void *node, const char *name) {
    onnx_part_text(node, 2, name);
}

onnx_part uff_node(const char *id, const char *operation, const char *inputs) {
    onnx_part node = {0};
    onnx_part_text(&node, 1, id);
    each_piece(inputs, ',', put_input, &node);
    onnx_part_text(&node, 3, operation);
    return node;
}

static onnx_part make_entry(const char *key, const onnx_part *data) {
    onnx_part entry = {0};
    onnx_part_text(&entry, 1, key);
    onnx_part_message(&entry, 2, data);
    return entry;
}

void uff_field(onnx_part *node, const char *name, const onnx_part *data) {
    onnx_part entry = make_entry(name, data);
    onnx_part_move(node, 4, &entry);
}

static void move_field(onnx_part *node, const char *name, onnx_part *data) {
    uff_field(node, name, data);
    onnx_part_free(data);
}

void uff_field_int(onnx_part *node, const char *name, int64_t value) {
    onnx_part data = {0};
    onnx_part_number(&data, 7, value);
    move_field(node, name, &data);
}

void uff_field_real(onnx_part *node, const char *name, double value) {
    onnx_part data = {0};
    onnx_part_varint(&data, 3 << 3 | 1);
    onnx_part_raw(&data, &value, sizeof(value));
    move_field(node, name, &data);
}

void uff_field_bool(onnx_part *node, const char *name, bool value) {
    onnx_part data = {0};
    onnx_part_number(&data, 5, value);
    move_field(node, name, &data);
}

void uff_field_text(onnx_part *node, const char *name, const char *value) {
    onnx_part data = {0};
    onnx_part_text(&data, 1, value);
    move_field(node, name, &data);
}

static void put_number(void *list, const char *number) {
    onnx_part_varint(list, (uint64_t)strtoll(number, NULL, 10));
}

/* A list of integers as Data has it. */
static onnx_part make_ints(const char *values) {
    onnx_part numbers = {0}, list = {0}, data = {0};
    each_piece(values, ',', put_number, &numbers);
    if (numbers.bytes > 0) onnx_part_bytes(&list, 1, numbers.data, numbers.bytes);
    onnx_part_free(&numbers);
    onnx_part_move(&data, 8, &list);
    return data;
}

void uff_field_ints(onnx_part *node, const char *name, const char *values) {
    onnx_part data = make_ints(values);
    move_field(node, name, &data);
}

void uff_field_type(onnx_part *node, const char *name, int64_t type) {
    onnx_part data = {0};
    onnx_part_number(&data, 101, type);
    move_field(node, name, &data);
}

void uff_field_reference(onnx_part *node, const char *name, const char *key) {
    onnx_part data = {0};
    onnx_part_text(&data, 100, key);
    move_field(node, name, &data);
}

void uff_add(uff_net *net, onnx_part *node) {
    onnx_part_move(&net->graph, 2, node);
}

void uff_shared(uff_net *net, const char *key, const onnx_part *data) {
    onnx_part entry = make_entry(key, data);
    onnx_part_move(&net->shared, 5, &entry);
}

/* ----------------------------------------------------------------------------------------------
 * orders */

/* One order, "N+C", as an item of a list of orders. */
static void put_order(void *list, const char *name) {
    onnx_part letters = {0}, numbers = {0}, entry = {0}, order = {0};
    for (; *name; name++) {
        if (*name == '+') {
            onnx_part_varint(&letters, 2);
            onnx_part_varint(&letters, INT32_MAX);
        } else if (*name == '-') {
            onnx_part_varint(&letters, (uint64_t)(int64_t)INT32_MIN);
            onnx_part_varint(&letters, 2);
        } else {
            onnx_part_varint(&letters, *name == 'C');
        }
    }
    onnx_part_bytes(&numbers, 1, letters.data, letters.bytes);
    onnx_part_free(&letters);
    onnx_part_number(&entry, 1, -1);
    onnx_part_move(&entry, 2, &numbers);
    onnx_part_move(&order, 1, &entry);
    onnx_part_move(list, 1, &order);
}

void uff_field_orders(uff_net *net, onnx_part *node, const char *names) {
    char key[128];
    onnx_part list = {0}, data = {0};
    snprintf(key, sizeof(key), "orders_%s", names);
    each_piece(names, '_', put_order, &list);
    onnx_part_move(&data, 104, &list);
    uff_shared(net, key, &data);
    onnx_part_free(&data);
    uff_field_reference(node, "inputs_orders", key);
}

/* ----------------------------------------------------------------------------------------------
 * networks */

void uff_input(uff_net *net, const char *id, const char *shape) {
    onnx_part node = uff_node(id, "Input", "");
    uff_field_type(&node, "dtype", UFF_F32);
    uff_field_ints(&node, "shape", shape);
    uff_add(net, &node);
}

void uff_const(uff_net *net, const char *id, int64_t type, const char *shape, const void *data,
               size_t bytes) {
    char key[128];
    onnx_part values = {0}, node = uff_node(id, "Const", "");
    snprintf(key, sizeof(key), "weights_%s", id);
    onnx_part_bytes(&values, 9, data, bytes);
    uff_shared(net, key, &values);
    onnx_part_free(&values);
    uff_field_reference(&node, "values", key);
    uff_field_type(&node, "dtype", type);
    uff_field_ints(&node, "shape", shape);
    uff_add(net, &node);
}

void uff_mark(uff_net *net, const char *names) {
    onnx_part node = uff_node("MarkOutput_0", "MarkOutput", names);
    uff_add(net, &node);
}

onnx_part uff_file(uff_net *net) {
    onnx_part file = {0};
    onnx_part_number(&file, 1, 1);
    onnx_part_number(&file, 2, 1);
    onnx_part_text(&net->graph, 1, "main");
    onnx_part_move(&file, 4, &net->graph);
    onnx_part_raw(&file, net->shared.data, net->shared.bytes);
    onnx_part_free(&net->shared);
    return file;
}
