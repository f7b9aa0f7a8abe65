/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary form of a network's description, as the same tree that its text gives. Numbers of
 * fields get their names from net.proto's tables; the bytes have been checked by base/wire.h
 * before, so that lengths and nesting hold. A message under a number that the tables do not have
 * cannot be read, since nothing says what its fields are called.
 */
#include "base/status.h"
#include "base/wire.h"
#include "importers/caffe/caffe.h"

#include <inttypes.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

typedef struct binary_reader {
    tn_arena *arena;
    const unsigned char *data;
    size_t bytes, at, field_count;
} binary_reader;

bool tn_caffe_is_binary(const void *data, size_t bytes) {
    const unsigned char *text = data;
    /* A name, a layer (100: two bytes), old layers, or inputs come first: each is a tag of wire
     * type 2 with a length after it. Text begins with a letter, '#' or white space; a newline (the
     * name's tag) is told apart by the bytes that no text has. */
    for (size_t i = 0; i < bytes && i < 4096; i++)
        if ((text[i] < ' ' && (text[i] < '\t' || text[i] > '\r')) || text[i] == 0x7f) return true;
    return false;
}

static uint64_t read_varint(binary_reader *reader) {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 70 && reader->at < reader->bytes; shift += 7) {
        unsigned char byte = reader->data[reader->at++];
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) break;
    }
    return value;
}

static tn_status read_message(binary_reader *reader, const ProtobufCMessageDescriptor *schema,
                              size_t end, tn_prototext_message *message);

static tn_status new_field(binary_reader *reader, const char *name, tn_prototext_message *message,
                           tn_prototext_field **out_field) {
    if (strcmp(name, "base_") == 0) name = "base"; /* see schema.c */
    return tn_prototext_message_add(reader->arena, message, name, 0, 0, &reader->field_count,
                                    out_field);
}

static tn_status fail_type(const ProtobufCFieldDescriptor *schema) {
    return tn_fail(TN_ERROR_FORMAT, "the file is damaged: field '%s' is not of its type",
                   schema->name);
}

static tn_status set_integer(binary_reader *reader, tn_prototext_field *field, int64_t value) {
    field->is_integer = true;
    field->integer = value;
    field->number = (double)value;
    field->text = tn_arena_format(reader->arena, "%" PRId64, value);
    return field->text ? TN_OK : tn_fail_memory("a number");
}

static bool is_varint(const ProtobufCFieldDescriptor *schema) {
    return schema->type == PROTOBUF_C_TYPE_INT32 || schema->type == PROTOBUF_C_TYPE_UINT32 ||
           schema->type == PROTOBUF_C_TYPE_INT64 || schema->type == PROTOBUF_C_TYPE_BOOL ||
           schema->type == PROTOBUF_C_TYPE_ENUM;
}

static tn_status read_scalar(binary_reader *reader, const ProtobufCFieldDescriptor *schema,
                             uint64_t wire, tn_prototext_message *message) {
    tn_prototext_field *field = NULL;
    float number;
    const bool is_float = schema->type == PROTOBUF_C_TYPE_FLOAT;
    if (wire == WIRE_VARINT ? !is_varint(schema) : wire != WIRE_32 || !is_float)
        return fail_type(schema);
    TN_TRY(new_field(reader, schema->name, message, &field));
    if (wire == WIRE_VARINT) return set_integer(reader, field, (int64_t)read_varint(reader));
    memcpy(&number, reader->data + reader->at, sizeof(number));
    reader->at += sizeof(number);
    field->number = (double)number;
    field->text = tn_arena_format(reader->arena, "%.9g", (double)number);
    return field->text ? TN_OK : tn_fail_memory("a number");
}

static tn_status read_bytes(binary_reader *reader, const ProtobufCFieldDescriptor *schema,
                            size_t end, tn_prototext_message *message) {
    tn_prototext_field *field = NULL;
    size_t start = reader->at;
    if (schema->type != PROTOBUF_C_TYPE_MESSAGE && schema->type != PROTOBUF_C_TYPE_STRING) {
        while (reader->at < end) { /* numbers that are packed */
            if (!is_varint(schema) && end - reader->at < sizeof(float)) return fail_type(schema);
            TN_TRY(read_scalar(reader, schema, is_varint(schema) ? WIRE_VARINT : WIRE_32, message));
            if (reader->at > end) return fail_type(schema);
        }
        return TN_OK;
    }
    TN_TRY(new_field(reader, schema->name, message, &field));
    if (schema->type == PROTOBUF_C_TYPE_STRING) {
        char *text = tn_arena_allocate(reader->arena, end - start + 1, 1);
        if (!text) return tn_fail_memory("a text");
        memcpy(text, reader->data + start, end - start);
        field->kind = TN_PROTOTEXT_STRING;
        field->text = text;
        reader->at = end;
        return TN_OK;
    }
    TN_TRY(tn_prototext_field_open(reader->arena, field));
    return read_message(reader, schema->descriptor, end, field->message);
}

/* What the table does not have, or what nobody reads. A message of a layer is noted. */
static tn_status skip(binary_reader *reader, const ProtobufCMessageDescriptor *schema,
                      const ProtobufCFieldDescriptor *known, uint64_t wire, size_t length,
                      tn_prototext_message *message) {
    tn_prototext_field *field = NULL;
    bool is_layer = strcmp(schema->short_name, "LayerParameter") == 0;
    if (wire == WIRE_VARINT)
        (void)read_varint(reader);
    else
        reader->at += wire == WIRE_BYTES ? length : wire == WIRE_64 ? 8 : 4;
    if (known || wire != WIRE_BYTES || !is_layer) return TN_OK;
    TN_TRY(new_field(reader, TN_PROTOTEXT_UNNAMED, message, &field));
    return tn_prototext_field_open(reader->arena, field);
}

/* Messages that nobody reads have no fields in the tables; but the oldest form's is looked for. */
static bool is_left_out(const ProtobufCFieldDescriptor *field) {
    const ProtobufCMessageDescriptor *inner = field->descriptor;
    return field->type == PROTOBUF_C_TYPE_MESSAGE && inner->n_fields == 0 &&
           strcmp(field->name, "layer") != 0;
}

/* Depth is bounded by the check before. */
static tn_status read_message(binary_reader *reader, const ProtobufCMessageDescriptor *schema,
                              size_t end, tn_prototext_message *message) {
    while (reader->at < end) {
        uint64_t tag = read_varint(reader), wire = tag & 7;
        size_t length = wire == WIRE_BYTES ? (size_t)read_varint(reader) : 0;
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(schema, (unsigned)(tag >> 3));
        if (!field || is_left_out(field))
            TN_TRY(skip(reader, schema, field, wire, length, message));
        else if (wire == WIRE_BYTES)
            TN_TRY(read_bytes(reader, field, reader->at + length, message));
        else
            TN_TRY(read_scalar(reader, field, wire, message));
    }
    return TN_OK;
}

tn_status tn_caffe_binary_read(tn_arena *arena, const ProtobufCMessageDescriptor *schema,
                               const void *data, size_t bytes, tn_prototext_message **out_message) {
    TN_TRY(tn_wire_check(schema, data, bytes));
    binary_reader reader = {.arena = arena, .data = data, .bytes = bytes};
    tn_prototext_message *message = NULL;
    TN_TRY(tn_prototext_message_create(arena, &message));
    TN_TRY(read_message(&reader, schema, bytes, message));
    *out_message = message;
    return TN_OK;
}
