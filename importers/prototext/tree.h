/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers' text format as a tree of named values, as it was written (read.c): for Caffe's
 * descriptions of networks, whose binary form becomes such a tree as well (caffe/binary.c), and for
 * the text form of UFF. A table made from a .proto file says which names and types there may be
 * (schema.c); by the same table a tree becomes the binary form (encode.c).
 */
#ifndef TN_IMPORTERS_PROTOTEXT_TREE_H
#define TN_IMPORTERS_PROTOTEXT_TREE_H

#include "base/memory.h"
#include "importers/prototext/position.h"

#include <protobuf-c/protobuf-c.h>

/* Messages within messages, the outermost one counted. */
#define TN_PROTOTEXT_DEPTH 64
/* Bytes of text and values in it, at most: descriptions take less than one megabyte, weights that
 * are written as text are more. */
#define TN_PROTOTEXT_BYTES  ((size_t)256 << 20)
#define TN_PROTOTEXT_FIELDS (1u << 24)
/* The name of a layer's message whose number nothing names (in the binary form). */
#define TN_PROTOTEXT_UNNAMED "(unnamed)_param"

typedef enum tn_prototext_kind {
    TN_PROTOTEXT_NUMBER,
    TN_PROTOTEXT_WORD, /* an enumeration's word, true, false, inf, nan */
    TN_PROTOTEXT_STRING,
    TN_PROTOTEXT_MESSAGE
} tn_prototext_kind;

typedef struct tn_prototext_message tn_prototext_message;

/* One value of a field; a field given again, or a list, is several of them. */
typedef struct tn_prototext_field {
    struct tn_prototext_field *next; /* as written */
    const char *name;
    const char *text; /* of words and strings; of numbers as written */
    size_t bytes;     /* of a string that was read as bytes: it may hold NULs */
    tn_prototext_message *message;
    double number;
    int64_t integer;
    uint32_t line, column; /* of the name, or of the item in a list; 0: binary */
    tn_prototext_kind kind;
    bool is_integer; /* a number that `integer` holds */
    bool is_item;    /* written in brackets */
} tn_prototext_field;

struct tn_prototext_message {
    tn_prototext_field *first, *last;
    size_t encoded_bytes; /* of the binary form, while encode.c makes it */
};

/* Everything lies in `arena`. Strings may hold NULs where `has_bytes` says so. Errors
 * (TN_ERROR_FORMAT) begin with line and column. */
tn_status tn_prototext_read(tn_arena *arena, const tn_allocator *allocator, const char *text,
                            size_t bytes, bool has_bytes, tn_prototext_message **out_message);
/* The binary form of a message that the same table has checked; fields that the table does not have
 * are left out. `out_data` is the caller's, for tn_deallocate. */
tn_status tn_prototext_encode(const tn_allocator *allocator, tn_prototext_message *message,
                              const ProtobufCMessageDescriptor *schema, void **out_data,
                              size_t *out_bytes);

/* A message without fields. */
tn_status tn_prototext_message_create(tn_arena *arena, tn_prototext_message **out_message);
/* A new field at the message's end; *count is that of all fields, which are bounded. Line 0: the
 * binary form. */
tn_status tn_prototext_message_add(tn_arena *arena, tn_prototext_message *message, const char *name,
                                   uint32_t line, uint32_t column, size_t *count,
                                   tn_prototext_field **out_field);
/* Makes a field one that holds a message without fields. */
tn_status tn_prototext_field_open(tn_arena *arena, tn_prototext_field *field);
/* The next value of a name after one (null: the first), or null. */
const tn_prototext_field *tn_prototext_message_next(const tn_prototext_message *message,
                                                    const char *name,
                                                    const tn_prototext_field *after);
/* The values of a message that the schema has checked; `message` may be null: all is absent. A
 * singular field's value, or the fallback. */
bool tn_prototext_has(const tn_prototext_message *message, const char *name);
int64_t tn_prototext_integer(const tn_prototext_message *message, const char *name,
                             int64_t fallback);
double tn_prototext_number(const tn_prototext_message *message, const char *name, double fallback);
bool tn_prototext_bool(const tn_prototext_message *message, const char *name, bool fallback);
/* A string's text or an enumeration's word. */
const char *tn_prototext_text(const tn_prototext_message *message, const char *name,
                              const char *fallback);
const tn_prototext_message *tn_prototext_child(const tn_prototext_message *message,
                                               const char *name);
size_t tn_prototext_count(const tn_prototext_message *message, const char *name);
/* At most `capacity` integers of a list; answers how many there are. */
size_t tn_prototext_integers(const tn_prototext_message *message, const char *name, size_t capacity,
                             int64_t *out_values);

/* A word or number as a floating-point value; false: it is none. */
bool tn_prototext_field_number(const tn_prototext_field *field, double *out_value);

/* Which part of a message is checked. */
enum {
    TN_PROTOTEXT_CUSTOM_PARAMS = 1u, /* messages called "..._param" that the table has not are left
                                    to a plugin's operator */
    TN_PROTOTEXT_LAYERS_LATER = 2u,  /* layers are not looked into */
    TN_PROTOTEXT_RULES_ONLY = 4u,    /* of a layer: what says whether it is used */
    TN_PROTOTEXT_KNOWN_ONLY = 8u     /* fields that the table has not are not looked at, at any
                                        depth */
};
/* Checks a message against a table: names, types, singular fields given once; words of
 * enumerations replace their numbers. Errors begin with line and column and give the
 * nearest name. */
tn_status tn_prototext_schema_check(tn_prototext_message *message,
                                    const ProtobufCMessageDescriptor *schema, uint32_t flags);
/* A field of a table by its name, or null. */
const ProtobufCFieldDescriptor *tn_prototext_schema_find(const ProtobufCMessageDescriptor *schema,
                                                         const char *name);

#endif
