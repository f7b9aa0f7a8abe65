/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions in RE2's syntax, matched with whole texts: a pattern becomes a tree
 * (regex_parse.c), the tree a program (regex_program.c), which is run with all its states side by
 * side (regex_match.c), so that the time is at most the text's length times the program's:
 * Thompson, "Regular expression search algorithm" (1968). No captures, so that lazy and greedy
 * repetitions are the same. Classes of Unicode (\p) and bytes (\C) are refused.
 */
#ifndef TN_LAYERS_STRINGS_REGEX_H
#define TN_LAYERS_STRINGS_REGEX_H

#include "strings/strings.h"

enum {
    TN_REGEX_MOST_NESTING = 200,
    TN_REGEX_MOST_REPEATS = 1000,
    TN_REGEX_MOST_STEPS = 1 << 16,
    TN_REGEX_MOST_PATTERN = 1 << 16
};

typedef enum tn_regex_assertion {
    TN_REGEX_TEXT_BEGIN,
    TN_REGEX_TEXT_END,
    TN_REGEX_LINE_BEGIN,
    TN_REGEX_LINE_END,
    TN_REGEX_WORD_EDGE,
    TN_REGEX_NO_WORD_EDGE
} tn_regex_assertion;

/* Characters first..last. */
typedef struct tn_regex_range {
    uint32_t first, last;
} tn_regex_range;

/* The ranges from `begin` to `end`, or all others; in any case. */
typedef struct tn_regex_class {
    uint32_t begin, end;
    bool is_negated, is_folded;
} tn_regex_class;

typedef enum tn_regex_kind {
    TN_REGEX_CLASS,     /* a character of class `value` */
    TN_REGEX_ASSERTION, /* `value` */
    TN_REGEX_CONCAT,    /* all children */
    TN_REGEX_CHOICE,    /* one of the children */
    TN_REGEX_REPEAT     /* the child, least..most times; most is UINT32_MAX: any number */
} tn_regex_kind;

/* Children are a list: the first one, and from each to the next; 0 ends it. */
typedef struct tn_regex_node {
    tn_regex_kind kind;
    uint32_t value, least, most, child, next;
} tn_regex_node;

typedef enum tn_regex_action {
    TN_REGEX_TAKE,  /* a character of class x, then the next step */
    TN_REGEX_CHECK, /* assertion x */
    TN_REGEX_FORK,  /* steps x and y */
    TN_REGEX_JUMP,  /* step x */
    TN_REGEX_ACCEPT
} tn_regex_action;

typedef struct tn_regex_step {
    tn_regex_action action;
    uint32_t x, y;
} tn_regex_step;

typedef struct tn_regex {
    tn_regex_node *nodes; /* from 1 on */
    tn_regex_class *classes;
    tn_regex_range *ranges;
    tn_regex_step *steps;
    uint32_t node_count, class_count, range_count, step_count, root;
} tn_regex;

/* Errors name field 'pattern' and where in it. Freed by tn_regex_deinit, also after an error. */
tn_status tn_regex_parse(tn_call *call, const char *pattern, tn_regex *out_regex);
/* Makes the steps. */
tn_status tn_regex_compile(tn_call *call, tn_regex *regex);
void tn_regex_deinit(tn_call *call, tn_regex *regex);

/* Bytes that a match needs beside the text. */
uint64_t tn_regex_scratch_bytes(const tn_regex *regex);
/* Whether the whole text is matched. */
bool tn_regex_matches(const tn_regex *regex, const char *text, uint64_t bytes, void *scratch);

#endif
