/* SPDX-License-Identifier: Apache-2.0 */
/* What pattern_parse.c reads with: marks, names, numbers and values, each with its position in the
 * text. */
#ifndef TN_PLUGIN_REWRITE_PATTERN_READER_H
#define TN_PLUGIN_REWRITE_PATTERN_READER_H

#include "plugin/rewrite/pattern.h"

typedef struct tn_pattern_reader {
    tn_arena *arena;
    tn_pattern *pattern;
    const char *what; /* "pattern", "replacement" */
    const char *text, *at;
    uint32_t node_count;
    bool is_replacement;
} tn_pattern_reader;

/* TN_ERROR_PLUGIN: the column, what is there, and what was expected. */
tn_status tn_pattern_fail(const tn_pattern_reader *reader, const char *expected);
void tn_pattern_skip(tn_pattern_reader *reader); /* spaces */
/* Takes a mark that is next. */
bool tn_pattern_take(tn_pattern_reader *reader, const char *mark);
/* The length of the name that is next: letters, digits, '_', '.' and '-', a letter first. */
size_t tn_pattern_name_length(const tn_pattern_reader *reader);
tn_status tn_pattern_take_text(tn_pattern_reader *reader, const char **out_text);
/* The index of a name of a kind; new ones are added. */
tn_status tn_pattern_note_name(tn_pattern_reader *reader, const char *text, uint32_t kind,
                               uint32_t *out_index);
/* A number, a list, ?name or $name: what can stand as a field's value and as an argument. */
tn_status tn_pattern_take_value(tn_pattern_reader *reader, tn_term *term, bool *out_is_taken);

#endif
