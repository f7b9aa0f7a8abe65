/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of protocol buffers' text format, one at a time; read.c makes a tree of them. */
#ifndef TN_IMPORTERS_PROTOTEXT_LEXER_H
#define TN_IMPORTERS_PROTOTEXT_LEXER_H

#include "base/text.h"

typedef enum tn_prototext_token_kind {
    TN_PROTOTEXT_END,
    TN_PROTOTEXT_PUNCTUATION, /* one of {}<>[]:,;- */
    TN_PROTOTEXT_NAME,
    TN_PROTOTEXT_NUMERAL, /* without a sign */
    TN_PROTOTEXT_QUOTED   /* `text` is what the escapes stand for */
} tn_prototext_token_kind;

typedef struct tn_prototext_token {
    tn_prototext_token_kind kind;
    const char *text; /* in the arena */
    size_t bytes;     /* of `text` */
    double number;
    int64_t integer;
    bool is_integer;
    uint32_t line, column; /* from 1; columns count bytes */
} tn_prototext_token;

typedef struct tn_prototext_lexer {
    tn_arena *arena;
    const tn_allocator *allocator;
    const char *text;
    size_t bytes, at, line_start;
    uint32_t line;
    bool has_bytes;   /* a string may hold NULs, as escapes */
    const char *name; /* the last one: a field's name mostly comes again */
    tn_prototext_token token;
} tn_prototext_lexer;

static inline bool tn_prototext_is_digit(char c) {
    return c >= '0' && c <= '9';
}

void tn_prototext_lexer_init(tn_prototext_lexer *lexer, tn_arena *arena,
                             const tn_allocator *allocator, const char *text, size_t bytes,
                             bool has_bytes);
/* Reads the next token into lexer->token. */
tn_status tn_prototext_lexer_next(tn_prototext_lexer *lexer);
/* A number from its digits: decimal (with or without a point, an exponent, a trailing f),
 * hexadecimal or octal; the same in every locale. False: it is none. */
bool tn_prototext_numeral(const char *text, size_t length, tn_prototext_token *out_token);
/* inf, infinity and nan, in any case. */
bool tn_prototext_special_number(const char *text, double *out_value);

#endif
