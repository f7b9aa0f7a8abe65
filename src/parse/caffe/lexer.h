/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of protocol buffers' text format, one at a time; text.c makes a tree of them. */
#ifndef TN_PARSE_CAFFE_LEXER_H
#define TN_PARSE_CAFFE_LEXER_H

#include "base/text.h"
#include "parse/caffe/tree.h"

typedef enum tn_caffe_token_kind {
    TN_CAFFE_END,
    TN_CAFFE_PUNCTUATION, /* one of {}<>[]:,;- */
    TN_CAFFE_NAME,
    TN_CAFFE_NUMERAL, /* without a sign */
    TN_CAFFE_QUOTED   /* `text` is what the escapes stand for */
} tn_caffe_token_kind;

typedef struct tn_caffe_token {
    tn_caffe_token_kind kind;
    const char *text; /* in the arena */
    double number;
    int64_t integer;
    bool is_integer;
    uint32_t line, column; /* from 1; columns count bytes */
} tn_caffe_token;

typedef struct tn_caffe_lexer {
    tn_arena *arena;
    const tn_allocator *allocator;
    const char *text;
    size_t bytes, at, line_start;
    uint32_t line;
    tn_caffe_token token;
} tn_caffe_lexer;

void tn_caffe_lexer_init(tn_caffe_lexer *lexer, tn_arena *arena, const tn_allocator *allocator,
                         const char *text, size_t bytes);
/* Reads the next token into lexer->token. */
tn_status tn_caffe_lexer_next(tn_caffe_lexer *lexer);
/* A number from its digits: decimal (with or without a point, an exponent, a trailing f),
 * hexadecimal or octal; the same in every locale. False: it is none. */
bool tn_caffe_numeral(const char *text, size_t length, tn_caffe_token *out_token);
/* inf, infinity and nan, in any case. */
bool tn_caffe_special_number(const char *text, double *out_value);

#endif
