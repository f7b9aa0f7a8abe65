/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any two texts as a rewrite's pattern and replacement, split at the first zero byte.
 * What is read has names, statements and terms within their bounds; what is refused says why.
 * Nothing may crash or take long.
 */
#include "base/status.h"
#include "plugin/rewrite/pattern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(int is_sound) {
    if (!is_sound) abort();
}

static uint32_t check_term(const tn_pattern *pattern, const tn_term *term, uint32_t depth) {
    uint32_t nodes = term->kind == TN_TERM_NODE;
    check(depth <= 2 * TN_PATTERN_DEPTH + 2);
    check(term->kind <= TN_TERM_CHOICE && term->name < TN_PATTERN_NAMES);
    check(term->argument_count <= TN_PATTERN_ARGUMENTS && term->field_count <= TN_PATTERN_FIELDS);
    check(term->number_count <= TN_PATTERN_NUMBERS);
    if (term->kind == TN_TERM_TENSOR || term->kind == TN_TERM_CAPTURE)
        check(pattern->names[term->name].kind == term->kind);
    if (term->kind == TN_TERM_NODE) check(term->op && term->op[0]);
    for (uint32_t i = 0; i < term->argument_count; i++)
        nodes += check_term(pattern, term->arguments[i], depth + 1);
    for (uint32_t i = 0; i < term->field_count; i++)
        check_term(pattern, term->fields[i].value, depth + 1);
    return nodes;
}

static void check_statements(const tn_pattern *pattern, const tn_statement *statements,
                             uint32_t count) {
    uint32_t nodes = 0;
    check(count > 0 && count <= TN_PATTERN_STATEMENTS);
    for (uint32_t s = 0; s < count; s++) {
        check(statements[s].result_count > 0 && statements[s].result_count <= TN_PATTERN_RESULTS);
        for (uint32_t i = 0; i < statements[s].result_count; i++)
            check(statements[s].results[i] == TN_NO_NAME ||
                  statements[s].results[i] < pattern->name_count);
        nodes += check_term(pattern, statements[s].term, 0);
    }
    check(nodes > 0 && nodes <= TN_PATTERN_NODES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    tn_arena *arena = NULL;
    const tn_pattern *pattern = NULL;
    char *text = calloc(1, bytes + 2); /* two texts, both with an end */
    if (!text || tn_arena_create(tn_allocator_default(), &arena) != TN_OK) {
        free(text);
        return 0;
    }
    if (bytes > 0) memcpy(text, data, bytes);
    const char *replacement = strlen(text) < bytes ? text + strlen(text) + 1 : "y = F(x)";
    if (tn_pattern_parse(arena, text, replacement, &pattern) == TN_OK) {
        check(pattern->name_count <= TN_PATTERN_NAMES);
        check(pattern->replacement_nodes < pattern->least_nodes);
        check_statements(pattern, pattern->statements, pattern->statement_count);
        check_statements(pattern, pattern->replacements, pattern->replacement_count);
    } else {
        check(tn_last_error()->message[0] != 0);
    }
    tn_arena_destroy(arena);
    free(text);
    return 0;
}
