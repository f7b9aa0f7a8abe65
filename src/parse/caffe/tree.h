/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network's description as a tree of named values, as it was written: from text (text.c) or from
 * the binary form (binary.c). What the names mean is in schema.c and in the layers' files; weights
 * are no part of it (weights.c).
 */
#ifndef TN_PARSE_CAFFE_TREE_H
#define TN_PARSE_CAFFE_TREE_H

#include "base/memory.h"

#include <protobuf-c/protobuf-c.h>

/* Messages within messages, the outermost one counted. */
#define TN_CAFFE_DEPTH 64
/* Bytes of text at most: the largest known networks take less than one. */
#define TN_CAFFE_TEXT_BYTES ((size_t)16 << 20)
/* Values of a description, at most. */
#define TN_CAFFE_FIELDS (1u << 21)
/* The name of a layer's message whose number nothing names (in the binary form). */
#define TN_CAFFE_UNNAMED "(unnamed)_param"

typedef enum tn_caffe_kind {
    TN_CAFFE_NUMBER,
    TN_CAFFE_WORD, /* an enumeration's word, true, false, inf, nan */
    TN_CAFFE_STRING,
    TN_CAFFE_MESSAGE
} tn_caffe_kind;

typedef struct tn_caffe_message tn_caffe_message;

/* One value of a field; a field given again, or a list, is several of them. */
typedef struct tn_caffe_field {
    struct tn_caffe_field *next; /* as written */
    const char *name;
    const char *text; /* of words and strings; of numbers as written */
    tn_caffe_message *message;
    double number;
    int64_t integer;
    uint32_t line, column; /* of the name, or of the item in a list; 0: binary */
    tn_caffe_kind kind;
    bool is_integer; /* a number that `integer` holds */
    bool is_item;    /* written in brackets */
} tn_caffe_field;

struct tn_caffe_message {
    tn_caffe_field *first, *last;
};

/* Everything lies in `arena`. Errors (TN_ERROR_FORMAT) begin with line and column. */
tn_status tn_caffe_text_read(tn_arena *arena, const tn_allocator *allocator, const char *text,
                             size_t bytes, tn_caffe_message **out_message);
/* The same from the binary form, whose numbers get names from a table of net.proto. What the table
 * does not have is left out, and so are blobs; a layer's message that it does not have is there,
 * empty, as TN_CAFFE_UNNAMED. */
tn_status tn_caffe_binary_read(tn_arena *arena, const ProtobufCMessageDescriptor *schema,
                               const void *data, size_t bytes, tn_caffe_message **out_message);
/* Whether the bytes look like the binary form: no text begins with what such a file begins with. */
bool tn_caffe_is_binary(const void *data, size_t bytes);

/* Takes over a field at the message's end. */
void tn_caffe_message_append(tn_caffe_message *message, tn_caffe_field *field);
/* The next value of a name after one (null: the first), or null. */
const tn_caffe_field *tn_caffe_message_next(const tn_caffe_message *message, const char *name,
                                            const tn_caffe_field *after);
/* The values of a message that the schema has checked; `message` may be null: all is absent. A
 * singular field's value, or the fallback. */
bool tn_caffe_has(const tn_caffe_message *message, const char *name);
int64_t tn_caffe_integer(const tn_caffe_message *message, const char *name, int64_t fallback);
double tn_caffe_number(const tn_caffe_message *message, const char *name, double fallback);
bool tn_caffe_bool(const tn_caffe_message *message, const char *name, bool fallback);
/* A string's text or an enumeration's word. */
const char *tn_caffe_text(const tn_caffe_message *message, const char *name, const char *fallback);
const tn_caffe_message *tn_caffe_child(const tn_caffe_message *message, const char *name);
size_t tn_caffe_count(const tn_caffe_message *message, const char *name);
/* At most `capacity` integers of a list; answers how many there are. */
size_t tn_caffe_integers(const tn_caffe_message *message, const char *name, size_t capacity,
                         int64_t *out_values);

/* A word or number as a floating-point value; false: it is none. */
bool tn_caffe_field_number(const tn_caffe_field *field, double *out_value);

/* Which part of a message is checked. */
enum {
    TN_CAFFE_CUSTOM_PARAMS = 1u, /* messages called "..._param" that the table has not are left to a
                                    plugin's operator */
    TN_CAFFE_LAYERS_LATER = 2u,  /* layers are not looked into */
    TN_CAFFE_RULES_ONLY = 4u     /* of a layer: what says whether it is used */
};
/* Checks a message against a table of net.proto: names, types, singular fields given once; words of
 * enumerations take the place of their numbers. Errors begin with line and column and give the
 * nearest name. */
tn_status tn_caffe_schema_check(tn_caffe_message *message, const ProtobufCMessageDescriptor *schema,
                                uint32_t flags);
/* A new error at a place of the text: "line 3, column 5: ...". */
tn_status tn_caffe_fail_at(uint32_t line, uint32_t column, tn_status status, const char *format,
                           ...) TN_PRINTF(4, 5);

#endif
