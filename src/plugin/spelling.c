/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of spellings; see spelling.h. */
#include "plugin/spelling.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

typedef struct parser {
    tn_arena *arena;
    const char *text, *at, *input;
} parser;

static tn_status fail_at(const parser *p, const char *expected) {
    return tn_fail(TN_ERROR_PLUGIN, "spelling \"%s\": column %zu: expected %s", p->text,
                   (size_t)(p->at - p->text) + 1, expected);
}

static void skip_spaces(parser *p) {
    while (*p->at == ' ')
        p->at++;
}

static tn_status parse_tree(parser *p, uint32_t depth, tn_spelling **out_tree);

static tn_status parse_arguments(parser *p, uint32_t depth, tn_spelling *tree) {
    p->at++; /* the parenthesis */
    for (;;) {
        tn_spelling *argument = NULL;
        if (tree->argument_count == TN_SPELLING_ARGUMENTS) return fail_at(p, "')'");
        TN_TRY(parse_tree(p, depth + 1, &argument));
        tree->arguments[tree->argument_count++] = argument;
        skip_spaces(p);
        if (*p->at == ')') break;
        if (*p->at != ',') return fail_at(p, "',' or ')'");
        p->at++;
    }
    p->at++;
    return TN_OK;
}

static tn_status parse_name(parser *p, uint32_t depth, tn_spelling *tree) {
    const size_t length = strcspn(p->at, " ,()");
    if (length == 0) return fail_at(p, "an operator, a number or the input");
    if (p->at[length] != '(') {
        if (strlen(p->input) != length || memcmp(p->at, p->input, length) != 0)
            return fail_at(p, "an operator with arguments, a number or the input's name");
        p->at += length;
        return TN_OK;
    }
    char *name = tn_arena_allocate(p->arena, length + 1, 1);
    if (!name) return tn_fail_memory("a spelling");
    memcpy(name, p->at, length);
    tree->kind = TN_SPELLING_OPERATOR;
    tree->name = name;
    p->at += length;
    return parse_arguments(p, depth, tree);
}

static tn_status parse_tree(parser *p, uint32_t depth, tn_spelling **out_tree) {
    if (depth == TN_SPELLING_DEPTH) return fail_at(p, "fewer operators within each other");
    tn_spelling *tree = tn_arena_allocate(p->arena, 1, sizeof(*tree));
    if (!tree) return tn_fail_memory("a spelling");
    *out_tree = tree;
    skip_spaces(p);
    if (!strchr("+-.0123456789", *p->at) || !*p->at) return parse_name(p, depth, tree);
    char *end = NULL;
    tree->kind = TN_SPELLING_NUMBER;
    tree->number = strtod(p->at, &end);
    if (end == p->at) return fail_at(p, "a number");
    p->at = end;
    return TN_OK;
}

tn_status tn_spelling_parse(tn_arena *arena, const char *text, const char *input,
                            const tn_spelling **out_spelling) {
    parser p = {arena, text, text, input};
    tn_spelling *tree = NULL;
    TN_TRY(parse_tree(&p, 0, &tree));
    skip_spaces(&p);
    if (*p.at) return fail_at(&p, "the end");
    if (tree->kind != TN_SPELLING_OPERATOR)
        return tn_fail(TN_ERROR_PLUGIN, "spelling \"%s\" names no operator", text);
    *out_spelling = tree;
    return TN_OK;
}
