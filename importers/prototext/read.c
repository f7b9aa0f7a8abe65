/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers' text format, as networks are described in: fields into a tree, with the line
 * and column of each. Tokens come from lexer.c; names are checked later (schema.c), since a
 * description also holds layers that are not used.
 */
#include "base/status.h"
#include "importers/prototext/lexer.h"
#include "importers/prototext/tree.h"

#include <string.h>

typedef struct text_reader {
    tn_prototext_lexer lexer;
    tn_arena *arena;
    uint32_t depth;
    size_t field_count;
} text_reader;

static tn_status read_message(text_reader *reader, char end, tn_prototext_message *message);

static bool is_punctuation(const text_reader *reader, char c) {
    return reader->lexer.token.kind == TN_PROTOTEXT_PUNCTUATION && reader->lexer.token.text[0] == c;
}

static tn_status fail_here(const text_reader *reader, const char *expected) {
    const tn_prototext_token *token = &reader->lexer.token;
    if (token->kind == TN_PROTOTEXT_END)
        return tn_prototext_fail_at(token->line, token->column,
                                    "the text ends where %s is expected", expected);
    return tn_prototext_fail_at(token->line, token->column, "'%.40s' stands where %s is expected",
                                token->text, expected);
}

static tn_status advance(text_reader *reader) {
    return tn_prototext_lexer_next(&reader->lexer);
}

/* A message in braces or angle brackets, whose opening is the current token. */
static tn_status read_child(text_reader *reader, tn_prototext_field *field) {
    char end = is_punctuation(reader, '{') ? '}' : '>';
    TN_TRY(tn_prototext_field_open(reader->arena, field));
    if (reader->depth == TN_PROTOTEXT_DEPTH)
        return tn_prototext_fail_at(field->line, field->column,
                                    "messages are nested deeper than %d levels",
                                    TN_PROTOTEXT_DEPTH);
    reader->depth++;
    TN_TRY(advance(reader));
    TN_TRY(read_message(reader, end, field->message));
    reader->depth--;
    return advance(reader);
}

/* Strings that follow each other are one. */
static tn_status read_strings(text_reader *reader, tn_prototext_field *field) {
    field->kind = TN_PROTOTEXT_STRING;
    field->text = reader->lexer.token.text;
    field->bytes = reader->lexer.token.bytes;
    TN_TRY(advance(reader));
    if (reader->lexer.token.kind != TN_PROTOTEXT_QUOTED) return TN_OK;
    tn_text text;
    tn_text_init(&text, reader->lexer.allocator);
    tn_text_add_bytes(&text, field->text, field->bytes);
    tn_status status = TN_OK;
    while (status == TN_OK && reader->lexer.token.kind == TN_PROTOTEXT_QUOTED) {
        tn_text_add_bytes(&text, reader->lexer.token.text, reader->lexer.token.bytes);
        status = advance(reader);
    }
    if (status == TN_OK) {
        field->bytes = text.length;
        field->text =
            text.is_failed ? NULL : tn_arena_copy(reader->arena, text.data, text.length + 1);
        if (!field->text) status = tn_fail_memory("a text");
    }
    tn_text_deinit(&text);
    return status;
}

static tn_status read_minus(text_reader *reader, tn_prototext_field *field) {
    TN_TRY(advance(reader));
    const tn_prototext_token *token = &reader->lexer.token;
    field->kind = TN_PROTOTEXT_NUMBER;
    field->text = tn_arena_format(reader->arena, "-%s", token->text);
    if (!field->text) return tn_fail_memory("a number");
    if (token->kind == TN_PROTOTEXT_NUMERAL) {
        field->number = -token->number;
        field->is_integer = token->is_integer;
        field->integer = -token->integer;
    } else if (token->kind != TN_PROTOTEXT_NAME ||
               !tn_prototext_special_number(token->text, &field->number)) {
        return fail_here(reader, "a number");
    } else {
        field->number = -field->number;
    }
    return advance(reader);
}

static tn_status read_value(text_reader *reader, tn_prototext_field *field) {
    const tn_prototext_token *token = &reader->lexer.token;
    if (is_punctuation(reader, '{') || is_punctuation(reader, '<'))
        return read_child(reader, field);
    if (is_punctuation(reader, '-')) return read_minus(reader, field);
    if (token->kind == TN_PROTOTEXT_QUOTED) return read_strings(reader, field);
    if (token->kind != TN_PROTOTEXT_NAME && token->kind != TN_PROTOTEXT_NUMERAL)
        return fail_here(reader, "a value");
    field->text = token->text;
    field->kind = token->kind == TN_PROTOTEXT_NAME ? TN_PROTOTEXT_WORD : TN_PROTOTEXT_NUMBER;
    field->number = token->number;
    field->is_integer = token->is_integer;
    field->integer = token->integer;
    return advance(reader);
}

static tn_status add_field(text_reader *reader, tn_prototext_message *message, const char *name,
                           const tn_prototext_token *name_token, tn_prototext_field **out_field) {
    return tn_prototext_message_add(reader->arena, message, name, name_token->line,
                                    name_token->column, &reader->field_count, out_field);
}

/* What follows "name: [". */
static tn_status read_list(text_reader *reader, tn_prototext_message *message, const char *name) {
    TN_TRY(advance(reader));
    while (!is_punctuation(reader, ']')) {
        tn_prototext_field *field = NULL;
        TN_TRY(add_field(reader, message, name, &reader->lexer.token, &field));
        field->is_item = true;
        TN_TRY(read_value(reader, field));
        if (is_punctuation(reader, ',')) {
            TN_TRY(advance(reader));
            if (is_punctuation(reader, ']')) return fail_here(reader, "a value");
        } else if (!is_punctuation(reader, ']')) {
            return fail_here(reader, "',' or ']'");
        }
    }
    return advance(reader);
}

static tn_status read_field(text_reader *reader, tn_prototext_message *message) {
    tn_prototext_token name = reader->lexer.token;
    tn_prototext_field *field = NULL;
    if (name.kind != TN_PROTOTEXT_NAME) return fail_here(reader, "a field's name");
    TN_TRY(advance(reader));
    bool has_colon = is_punctuation(reader, ':');
    if (has_colon) TN_TRY(advance(reader));
    if (has_colon && is_punctuation(reader, '[')) return read_list(reader, message, name.text);
    if (!has_colon && !is_punctuation(reader, '{') && !is_punctuation(reader, '<'))
        return fail_here(reader, "':' or '{'");
    TN_TRY(add_field(reader, message, name.text, &name, &field));
    return read_value(reader, field);
}

/* Fields up to the closing bracket (0: the text's end), which stays the current token. Depth is
 * bounded by read_child. */
static tn_status read_message(text_reader *reader, char end, tn_prototext_message *message) {
    for (;;) {
        if (end ? is_punctuation(reader, end) : reader->lexer.token.kind == TN_PROTOTEXT_END)
            return TN_OK;
        if (reader->lexer.token.kind != TN_PROTOTEXT_NAME)
            return fail_here(reader, end == '}'   ? "a field's name or '}'"
                                     : end == '>' ? "a field's name or '>'"
                                                  : "a field's name");
        TN_TRY(read_field(reader, message));
        if (is_punctuation(reader, ',') || is_punctuation(reader, ';')) TN_TRY(advance(reader));
    }
}

tn_status tn_prototext_read(tn_arena *arena, const tn_allocator *allocator, const char *text,
                            size_t bytes, bool has_bytes, tn_prototext_message **out_message) {
    if (bytes > TN_PROTOTEXT_BYTES)
        return tn_fail(TN_ERROR_FORMAT,
                       "%zu bytes are too many for a network's text; at most %zu are read", bytes,
                       TN_PROTOTEXT_BYTES);
    text_reader reader = {.arena = arena, .depth = 1};
    tn_prototext_message *message = NULL;
    TN_TRY(tn_prototext_message_create(arena, &message));
    tn_prototext_lexer_init(&reader.lexer, arena, allocator, text, bytes, has_bytes);
    TN_TRY(advance(&reader));
    TN_TRY(read_message(&reader, 0, message));
    *out_message = message;
    return TN_OK;
}
