/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of the text format. Syntax: the Protocol Buffers documentation, "Text Format Language
 * Specification". Numbers are in numeral.c.
 */
#include "importers/prototext/lexer.h"

#include "base/status.h"
#include "importers/prototext/position.h"

#include <string.h>

void tn_prototext_lexer_init(tn_prototext_lexer *lexer, tn_arena *arena,
                             const tn_allocator *allocator, const char *text, size_t bytes,
                             bool has_bytes) {
    *lexer = (tn_prototext_lexer){.arena = arena,
                                  .allocator = allocator,
                                  .text = text,
                                  .bytes = bytes,
                                  .line = 1,
                                  .has_bytes = has_bytes};
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char peek(const tn_prototext_lexer *lexer, size_t ahead) {
    return ahead < lexer->bytes - lexer->at ? lexer->text[lexer->at + ahead] : '\0';
}

/* To the next byte that is part of a token. */
static void skip_space(tn_prototext_lexer *lexer) {
    bool is_comment = false;
    for (; lexer->at < lexer->bytes; lexer->at++) {
        char c = lexer->text[lexer->at];
        if (c == '\n') {
            is_comment = false;
            lexer->line++;
            lexer->line_start = lexer->at + 1;
        } else if (c == '#') {
            is_comment = true;
        } else if (!is_comment && c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f') {
            return;
        }
    }
}

static const char *copy_text(const tn_prototext_lexer *lexer, size_t from, size_t length) {
    char *copy = tn_arena_allocate(lexer->arena, length + 1, 1);
    if (copy && length > 0) memcpy(copy, lexer->text + from, length);
    return copy;
}

static tn_status fail_here(const tn_prototext_lexer *lexer, const char *what) {
    return tn_prototext_fail_at(lexer->line, (uint32_t)(lexer->at - lexer->line_start) + 1, "%s",
                                what);
}

/* ----------------------------------------------------------------------------------------------
 * strings */

static int digit_value(char c) {
    if (tn_prototext_is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* Up to `most` digits of a base; false when there is none. */
static bool read_digits(tn_prototext_lexer *lexer, int base, int most, uint32_t *out_value) {
    uint32_t value = 0;
    int count = 0;
    for (; count < most && digit_value(peek(lexer, 0)) < base; count++)
        value = value * (uint32_t)base + (uint32_t)digit_value(lexer->text[lexer->at++]);
    *out_value = value;
    return count > 0;
}

/* What follows a backslash, as one byte. */
static tn_status read_escape(tn_prototext_lexer *lexer, char *out_byte) {
    static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
    char c = peek(lexer, 0);
    const char *match = c ? strchr(from, c) : NULL;
    uint32_t value = 0;
    if (match) {
        lexer->at++;
        *out_byte = to[match - from];
        return TN_OK;
    }
    bool is_hex = c == 'x' || c == 'X';
    if (is_hex) lexer->at++;
    if (!read_digits(lexer, is_hex ? 16 : 8, is_hex ? 2 : 3, &value))
        return fail_here(lexer, "this escape is not known");
    if ((value == 0 && !lexer->has_bytes) || value > 255)
        return fail_here(lexer, "this escape stands for no character");
    *out_byte = (char)(unsigned char)value;
    return TN_OK;
}

static tn_status read_quoted(tn_prototext_lexer *lexer) {
    char quote = lexer->text[lexer->at++];
    const char *end = lexer->text + lexer->bytes, *at = lexer->text + lexer->at;
    while (at < end && *at != quote && *at != '\n')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    char *copy = tn_arena_allocate(lexer->arena, (size_t)(at - lexer->text) - lexer->at + 1, 1);
    size_t length = 0;
    if (!copy) return tn_fail_memory("a text");
    for (;;) {
        char c = peek(lexer, 0);
        if (lexer->at == lexer->bytes || c == '\n')
            return fail_here(lexer, "a text in quotes does not end in its line");
        if (c == '\0') return fail_here(lexer, "a text contains a NUL");
        lexer->at++;
        if (c == quote) break;
        if (c == '\\') TN_TRY(read_escape(lexer, &c));
        copy[length++] = c;
    }
    lexer->token.kind = TN_PROTOTEXT_QUOTED;
    lexer->token.text = copy;
    lexer->token.bytes = length;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * tokens */

static tn_status read_name(tn_prototext_lexer *lexer) {
    size_t from = lexer->at;
    while (is_letter(peek(lexer, 0)) || tn_prototext_is_digit(peek(lexer, 0)))
        lexer->at++;
    size_t length = lexer->at - from;
    lexer->token.kind = TN_PROTOTEXT_NAME;
    lexer->token.bytes = length;
    if (!lexer->name || strlen(lexer->name) != length ||
        memcmp(lexer->name, lexer->text + from, length) != 0)
        lexer->name = copy_text(lexer, from, length);
    lexer->token.text = lexer->name;
    return lexer->name ? TN_OK : tn_fail_memory("a name");
}

static tn_status read_numeral(tn_prototext_lexer *lexer) {
    size_t from = lexer->at;
    for (;;) {
        char c = peek(lexer, 0);
        bool is_sign = (c == '+' || c == '-') && lexer->at > from &&
                       (lexer->text[lexer->at - 1] | 0x20) == 'e' &&
                       !(lexer->text[from] == '0' && (lexer->text[from + 1] | 0x20) == 'x');
        if (!is_letter(c) && !tn_prototext_is_digit(c) && c != '.' && !is_sign) break;
        lexer->at++;
    }
    const char *text = copy_text(lexer, from, lexer->at - from);
    if (!text) return tn_fail_memory("a number");
    if (!tn_prototext_numeral(text, lexer->at - from, &lexer->token))
        return tn_prototext_fail_at(lexer->token.line, lexer->token.column, "'%.40s' is no number",
                                    text);
    lexer->token.kind = TN_PROTOTEXT_NUMERAL;
    lexer->token.text = text;
    return TN_OK;
}

tn_status tn_prototext_lexer_next(tn_prototext_lexer *lexer) {
    skip_space(lexer);
    lexer->token = (tn_prototext_token){
        .text = "", .line = lexer->line, .column = (uint32_t)(lexer->at - lexer->line_start) + 1};
    if (lexer->at == lexer->bytes) return TN_OK;
    char c = lexer->text[lexer->at];
    if (is_letter(c)) return read_name(lexer);
    if (tn_prototext_is_digit(c) || (c == '.' && tn_prototext_is_digit(peek(lexer, 1))))
        return read_numeral(lexer);
    if (c == '"' || c == '\'') return read_quoted(lexer);
    if (c == '\0' || !strchr("{}<>[]:,;-", c))
        return fail_here(lexer, c > ' ' && c < 127
                                    ? "this character has no meaning here"
                                    : "a byte that no text has: is it a binary file?");
    lexer->token.kind = TN_PROTOTEXT_PUNCTUATION;
    lexer->token.text = copy_text(lexer, lexer->at++, 1);
    return lexer->token.text ? TN_OK : tn_fail_memory("a description");
}
