/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A check of a protocol buffer's bytes, and unpacking with our allocator. The wire format is the
 * one that the Protocol Buffers documentation calls "encoding": tag = field number << 3 | wire
 * type; 0: varint, 1: 8 bytes, 2: length and bytes, 5: 4 bytes; 3 and 4 (groups) are not used by
 * any format that we read.
 */
#include "base/wire.h"

#include "base/status.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* Unpacked, a file may take this much memory, and this many times its size on top. */
#define MEMORY_BASE   ((uint64_t)64 << 20)
#define MEMORY_FACTOR 32u
#define FIELD_BYTES   32u /* of bookkeeping for each field */
#define SEEN_WORDS    4   /* fields of one message that are told apart: 256 */

typedef struct wire_level {
    const ProtobufCMessageDescriptor *descriptor;
    size_t end;
    uint64_t seen[SEEN_WORDS]; /* single messages that were there, by index in the description */
} wire_level;

typedef struct wire_cursor {
    const unsigned char *data;
    size_t at;
    uint64_t memory;
    uint32_t depth;
    wire_level levels[TN_WIRE_DEPTH];
} wire_cursor;

static wire_level *top(wire_cursor *cursor) {
    return &cursor->levels[cursor->depth - 1];
}

static tn_status fail_at(wire_cursor *cursor, size_t at, const char *what) {
    return tn_error_at_byte(tn_fail(TN_ERROR_FORMAT, "the file is damaged at byte %zu, in a %s: %s",
                                    at, top(cursor)->descriptor->short_name, what),
                            at);
}

static tn_status read_varint(wire_cursor *cursor, uint64_t *out_value) {
    size_t start = cursor->at;
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 70; shift += 7) {
        if (cursor->at >= top(cursor)->end) return fail_at(cursor, start, "a number is cut off");
        unsigned char byte = cursor->data[cursor->at++];
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80) continue;
        *out_value = value;
        return TN_OK;
    }
    return fail_at(cursor, start, "a number is longer than ten bytes");
}

static tn_status skip(wire_cursor *cursor, uint64_t bytes) {
    if (bytes > top(cursor)->end - cursor->at)
        return fail_at(cursor, cursor->at, "a field is longer than what is left");
    cursor->at += (size_t)bytes;
    return TN_OK;
}

static tn_status push(wire_cursor *cursor, const ProtobufCMessageDescriptor *descriptor,
                      size_t end) {
    if (cursor->depth == TN_WIRE_DEPTH)
        return tn_error_at_byte(
            tn_fail(TN_ERROR_FORMAT,
                    "messages are nested deeper than %d levels (at byte %zu, in a %s)",
                    TN_WIRE_DEPTH, cursor->at, top(cursor)->descriptor->short_name),
            cursor->at);
    cursor->levels[cursor->depth++] = (wire_level){.descriptor = descriptor, .end = end};
    cursor->memory += descriptor->sizeof_message;
    return TN_OK;
}

/* A single message given again would be merged with the first: no writer does so. */
static tn_status note_single(wire_cursor *cursor, const ProtobufCFieldDescriptor *field) {
    size_t index = (size_t)(field - top(cursor)->descriptor->fields);
    if (field->label == PROTOBUF_C_LABEL_REPEATED || index >= (size_t)SEEN_WORDS * 64) return TN_OK;
    uint64_t *word = &top(cursor)->seen[index / 64];
    uint64_t bit = UINT64_C(1) << (index % 64);
    if (*word & bit)
        return tn_error_at_byte(
            tn_fail(TN_ERROR_FORMAT,
                    "the file is damaged at byte %zu: field '%s' of %s is there twice", cursor->at,
                    field->name, top(cursor)->descriptor->short_name),
            cursor->at);
    *word |= bit;
    return TN_OK;
}

static tn_status enter_bytes(wire_cursor *cursor, const ProtobufCFieldDescriptor *field) {
    uint64_t length = 0;
    TN_TRY(read_varint(cursor, &length));
    size_t start = cursor->at;
    if (!field || field->type != PROTOBUF_C_TYPE_MESSAGE) {
        TN_TRY(skip(cursor, length));
        cursor->memory += length;
        if (field && field->type == PROTOBUF_C_TYPE_STRING &&
            memchr(cursor->data + start, 0, (size_t)length))
            return fail_at(cursor, start, "a text contains a NUL");
        /* packed numbers: at most eight bytes from one */
        if (field && field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_BYTES)
            cursor->memory += length * 7;
        return TN_OK;
    }
    if (length > top(cursor)->end - cursor->at)
        return fail_at(cursor, start, "a message is longer than what is left");
    TN_TRY(note_single(cursor, field));
    return push(cursor, field->descriptor, cursor->at + (size_t)length);
}

static tn_status read_field(wire_cursor *cursor) {
    uint64_t tag = 0, value = 0;
    size_t start = cursor->at;
    TN_TRY(read_varint(cursor, &tag));
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return fail_at(cursor, start, "a field number is not possible");
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(top(cursor)->descriptor, (unsigned)(tag >> 3));
    cursor->memory += FIELD_BYTES;
    switch (tag & 7) {
    case WIRE_VARINT:
        return read_varint(cursor, &value);
    case WIRE_64:
        return skip(cursor, 8);
    case WIRE_BYTES:
        return enter_bytes(cursor, field);
    case WIRE_32:
        return skip(cursor, 4);
    default:
        return fail_at(cursor, start, "a wire type is not possible");
    }
}

tn_status tn_wire_check(const ProtobufCMessageDescriptor *descriptor, const void *data,
                        size_t bytes) {
    wire_cursor cursor;
    cursor.data = data;
    cursor.at = cursor.depth = 0;
    cursor.memory = 0;
    TN_TRY(push(&cursor, descriptor, bytes));
    while (cursor.depth > 0) {
        if (cursor.at == top(&cursor)->end)
            cursor.depth--;
        else
            TN_TRY(read_field(&cursor));
    }
    if (cursor.memory > MEMORY_BASE + MEMORY_FACTOR * (uint64_t)bytes)
        return tn_fail(TN_ERROR_MEMORY,
                       "%zu bytes would take more than %llu bytes of memory when unpacked: this is "
                       "not a sound file",
                       bytes, (unsigned long long)cursor.memory);
    return TN_OK;
}

/* protobuf-c's view of our allocator. */
typedef struct wire_memory {
    ProtobufCAllocator functions;
    const tn_allocator *allocator;
    bool is_failed;
} wire_memory;

static void *wire_allocate(void *user, size_t bytes) {
    wire_memory *memory = user;
    void *block = tn_allocate_aligned(memory->allocator, bytes ? bytes : 1, bytes < 64 ? 16 : 64);
    if (block)
        tn_memory_populate(block, bytes);
    else
        memory->is_failed = true;
    return block;
}

static void wire_deallocate(void *user, void *block) {
    wire_memory *memory = user;
    tn_deallocate(memory->allocator, block);
}

static void wire_memory_init(wire_memory *memory, const tn_allocator *allocator) {
    memory->functions.alloc = wire_allocate;
    memory->functions.free = wire_deallocate;
    memory->functions.allocator_data = memory;
    memory->allocator = allocator;
    memory->is_failed = false;
}

tn_status tn_wire_unpack(const tn_allocator *allocator,
                         const ProtobufCMessageDescriptor *descriptor, const void *data,
                         size_t bytes, ProtobufCMessage **out_message) {
    TN_TRY(tn_wire_check(descriptor, data, bytes));
    wire_memory memory;
    wire_memory_init(&memory, allocator);
    ProtobufCMessage *message =
        protobuf_c_message_unpack(descriptor, &memory.functions, bytes, data);
    if (!message && memory.is_failed) return tn_fail_memory("unpacking a file");
    if (!message)
        return tn_fail(TN_ERROR_FORMAT, "the file is damaged: a field of its %s is not of its type",
                       descriptor->short_name);
    *out_message = message;
    return TN_OK;
}

void tn_wire_free(const tn_allocator *allocator, ProtobufCMessage *message) {
    if (!message) return;
    wire_memory memory;
    wire_memory_init(&memory, allocator);
    protobuf_c_message_free_unpacked(message, &memory.functions);
}
