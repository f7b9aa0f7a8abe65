/* SPDX-License-Identifier: Apache-2.0 */
/* Text as protocol buffers' own printer has it; see prototext_writer.h. */
#include "prototext_writer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_message(FILE *file, const ProtobufCMessage *message, int indent);

static void write_bytes(FILE *file, const unsigned char *data, size_t bytes) {
    fputc('"', file);
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] == '"' || data[i] == '\\')
            fprintf(file, "\\%c", data[i]);
        else if (data[i] >= ' ' && data[i] < 127)
            fputc(data[i], file);
        else
            fprintf(file, "\\%03o", data[i]);
    }
    fputc('"', file);
}

/* A number, a word, or a text, which stands at `at`. */
static void write_scalar(FILE *file, const ProtobufCFieldDescriptor *field, const char *at) {
    const ProtobufCEnumValue *word = NULL;
    const ProtobufCBinaryData *data = (const void *)at;
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        write_bytes(file, *(unsigned char *const *)at, strlen(*(char *const *)at));
        return;
    case PROTOBUF_C_TYPE_BYTES:
        write_bytes(file, data->data, data->len);
        return;
    case PROTOBUF_C_TYPE_DOUBLE:
        fprintf(file, "%.17g", *(const double *)at);
        return;
    case PROTOBUF_C_TYPE_FLOAT:
        fprintf(file, "%.9g", (double)*(const float *)at);
        return;
    case PROTOBUF_C_TYPE_INT64:
        fprintf(file, "%" PRId64, *(const int64_t *)at);
        return;
    case PROTOBUF_C_TYPE_BOOL:
        fputs(*(const protobuf_c_boolean *)at ? "true" : "false", file);
        return;
    case PROTOBUF_C_TYPE_ENUM:
        word = protobuf_c_enum_descriptor_get_value(field->descriptor, *(const int *)at);
        break;
    default:
        break;
    }
    if (word)
        fputs(word->name, file);
    else
        fprintf(file, "%" PRId32, *(const int32_t *)at);
}

static void write_field(FILE *file, const ProtobufCFieldDescriptor *field, const char *at,
                        int indent) {
    fprintf(file, "%*s%s", indent, "", field->name);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        fputs(" {\n", file);
        write_message(file, *(ProtobufCMessage *const *)at, indent + 2);
        fprintf(file, "%*s}\n", indent, "");
    } else {
        fputs(": ", file);
        write_scalar(file, field, at);
        fputc('\n', file);
    }
}

static size_t item_bytes(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_ENUM:
        return 4;
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    default:
        return 8;
    }
}

static bool is_there(const ProtobufCFieldDescriptor *field, const ProtobufCMessage *message) {
    const char *base = (const char *)message;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING)
        return *(void *const *)(base + field->offset) != NULL;
    return *(const protobuf_c_boolean *)(base + field->quantifier_offset) != 0;
}

/* Depth is that of the messages in the table. */
static void write_message(FILE *file, const ProtobufCMessage *message, int indent) {
    const char *base = (const char *)message;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            if (is_there(field, message)) write_field(file, field, base + field->offset, indent);
            continue;
        }
        const size_t count = *(const size_t *)(base + field->quantifier_offset);
        const char *items = *(char *const *)(base + field->offset);
        for (size_t item = 0; item < count; item++)
            write_field(file, field, items + item * item_bytes(field->type), indent);
    }
}

char *prototext_write(const ProtobufCMessageDescriptor *descriptor, const void *data, size_t bytes,
                      size_t *out_bytes) {
    char *text = NULL;
    FILE *file = open_memstream(&text, out_bytes);
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, NULL, bytes, data);
    if (!file || !message) {
        fprintf(stderr, "prototext_write: damaged bytes, or no memory\n");
        exit(2);
    }
    write_message(file, message, 0);
    fclose(file);
    protobuf_c_message_free_unpacked(message, NULL);
    return text;
}
