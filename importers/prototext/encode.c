/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree's binary form, so that what reads the binary files reads their text as well, with the same
 * checks (base/wire.h). Two traversals: one for the sizes of messages, which stand before them, and
 * one that writes. The tree has been checked by the table (schema.c): kinds and ranges hold. Wire
 * format: the Protocol Buffers documentation, "Encoding".
 */
#include "base/status.h"
#include "importers/prototext/tree.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

typedef struct wire_writer {
    unsigned char *at; /* null: sizes are counted */
} wire_writer;

static size_t put_varint(wire_writer *writer, uint64_t value) {
    size_t count = 0;
    do {
        if (writer->at)
            *writer->at++ = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80u : 0u));
        value >>= 7;
        count++;
    } while (value);
    return count;
}

static size_t put_bytes(wire_writer *writer, const void *data, size_t bytes) {
    if (writer->at && bytes > 0) {
        memcpy(writer->at, data, bytes);
        writer->at += bytes;
    }
    return bytes;
}

static size_t put_tag(wire_writer *writer, const ProtobufCFieldDescriptor *schema, uint32_t wire) {
    return put_varint(writer, (uint64_t)schema->id << 3 | wire);
}

static size_t put_real(wire_writer *writer, const tn_prototext_field *field,
                       const ProtobufCFieldDescriptor *schema) {
    double wide = 0;
    (void)tn_prototext_field_number(field, &wide);
    const bool is_wide = schema->type == PROTOBUF_C_TYPE_DOUBLE;
    const float single = (float)wide;
    const size_t bytes = put_tag(writer, schema, is_wide ? WIRE_64 : WIRE_32);
    return bytes + (is_wide ? put_bytes(writer, &wide, sizeof(wide))
                            : put_bytes(writer, &single, sizeof(single)));
}

/* Numbers, truth values, and words of enumerations. */
static size_t put_integer(wire_writer *writer, const tn_prototext_field *field,
                          const ProtobufCFieldDescriptor *schema) {
    uint64_t value = (uint64_t)field->integer;
    if (schema->type == PROTOBUF_C_TYPE_ENUM) {
        const ProtobufCEnumValue *word =
            protobuf_c_enum_descriptor_get_value_by_name(schema->descriptor, field->text);
        value = word ? (uint64_t)(int64_t)word->value : 0;
    } else if (field->kind == TN_PROTOTEXT_WORD) {
        value = field->text[0] == 't' || field->text[0] == 'T';
    }
    const size_t bytes = put_tag(writer, schema, WIRE_VARINT);
    return bytes + put_varint(writer, value);
}

static size_t put_message(wire_writer *writer, tn_prototext_message *message,
                          const ProtobufCMessageDescriptor *schema);

static size_t put_field(wire_writer *writer, tn_prototext_field *field,
                        const ProtobufCFieldDescriptor *schema) {
    size_t bytes;
    switch (schema->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        if (!writer->at)
            field->message->encoded_bytes = put_message(writer, field->message, schema->descriptor);
        bytes = put_tag(writer, schema, WIRE_BYTES);
        bytes += put_varint(writer, field->message->encoded_bytes);
        if (!writer->at) return bytes + field->message->encoded_bytes;
        return bytes + put_message(writer, field->message, schema->descriptor);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        bytes = put_tag(writer, schema, WIRE_BYTES);
        bytes += put_varint(writer, field->bytes);
        return bytes + put_bytes(writer, field->text, field->bytes);
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE:
        return put_real(writer, field, schema);
    default:
        return put_integer(writer, field, schema);
    }
}

/* Depth is bounded by the reader of the text. No size overflows: a field takes less than twenty
 * bytes more than its text, of which there are TN_PROTOTEXT_BYTES. */
static size_t put_message(wire_writer *writer, tn_prototext_message *message,
                          const ProtobufCMessageDescriptor *schema) {
    size_t bytes = 0;
    for (tn_prototext_field *field = message->first; field; field = field->next) {
        const ProtobufCFieldDescriptor *known = tn_prototext_schema_find(schema, field->name);
        if (known) bytes += put_field(writer, field, known);
    }
    return bytes;
}

tn_status tn_prototext_encode(const tn_allocator *allocator, tn_prototext_message *message,
                              const ProtobufCMessageDescriptor *schema, void **out_data,
                              size_t *out_bytes) {
    wire_writer counting = {0};
    const size_t bytes = put_message(&counting, message, schema);
    wire_writer writing = {.at = tn_allocate(allocator, bytes ? bytes : 1)};
    if (!writing.at) return tn_fail_memory("a text's binary form");
    *out_data = writing.at;
    *out_bytes = put_message(&writing, message, schema);
    return TN_OK;
}
