/* SPDX-License-Identifier: Apache-2.0 */
/* What regex_parse.c, which reads patterns, and regex_class.c, which reads characters and classes
 * of them, share. */
#ifndef TN_LAYERS_STRINGS_REGEX_PARSER_H
#define TN_LAYERS_STRINGS_REGEX_PARSER_H

#include "strings/regex.h"

/* Flags of a group. */
enum { TN_REGEX_FOLD = 1, TN_REGEX_LINES = 2, TN_REGEX_DOT_ALL = 4 };

typedef struct tn_regex_parser {
    tn_call *call;
    tn_regex *regex;
    const char *pattern;
    uint64_t at, length;
    uint32_t flags, nesting;
} tn_regex_parser;

static inline tn_status tn_regex_fail(const tn_regex_parser *p, const char *why) {
    return p->call->host->fail(p->call, TN_ERROR_ARGUMENT, "field 'pattern': %s at byte %llu", why,
                               (unsigned long long)p->at);
}

static inline bool tn_regex_take(tn_regex_parser *p, const char *text) {
    const size_t length = strlen(text);
    if (strncmp(p->pattern + p->at, text, length) != 0) return false;
    p->at += length;
    return true;
}

static inline uint32_t tn_regex_add_node(tn_regex_parser *p, tn_regex_node node) {
    p->regex->nodes[++p->regex->node_count] = node;
    return p->regex->node_count;
}

static inline void tn_regex_add_range(tn_regex_parser *p, uint32_t first, uint32_t last) {
    p->regex->ranges[p->regex->range_count++] = (tn_regex_range){first, last};
}

/* The next character of the pattern. */
static inline uint32_t tn_regex_next_letter(tn_regex_parser *p) {
    uint32_t letter = 0;
    p->at += tn_letters_decode(p->pattern + p->at, p->length - p->at, &letter);
    return letter;
}

/* Digits of a base, at most `most`; false: there is none. */
bool tn_regex_take_number(tn_regex_parser *p, int base, int most, uint32_t *out_number);
/* What stands behind a backslash for one character. */
tn_status tn_regex_take_escape(tn_regex_parser *p, uint32_t *out_letter);
/* Adds the ranges of \d and its kind. */
bool tn_regex_take_letter_class(tn_regex_parser *p);
/* A node for the ranges from `begin` on. */
uint32_t tn_regex_add_class(tn_regex_parser *p, uint32_t begin, bool is_negated);
/* Brackets, behind the first one. */
tn_status tn_regex_parse_brackets(tn_regex_parser *p, uint32_t *out_node);

#endif
