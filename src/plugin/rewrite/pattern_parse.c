/* SPDX-License-Identifier: Apache-2.0 */
/* The statements of a rewrite's texts; see pattern.h. What they mean together is pattern_check.c.
 */
#include "base/status.h"
#include "plugin/rewrite/pattern_reader.h"

#include <string.h>

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static tn_status take_field_value(tn_pattern_reader *p, const tn_term **out_value) {
    tn_term *term = tn_arena_allocate(p->arena, 1, sizeof *term);
    bool is_taken = false;
    if (!term) return tn_fail_memory("a rewrite");
    *out_value = term;
    TN_TRY(tn_pattern_take_value(p, term, &is_taken));
    if (is_taken) return TN_OK;
    term->kind = TN_TERM_WORD;
    if (tn_pattern_name_length(p) == 0)
        return tn_pattern_fail(p, "a number, a list, a word, ?name or $name");
    return tn_pattern_take_text(p, &term->word);
}

/* ----------------------------------------------------------------------------------------------
 * operators */

static tn_status take_term(tn_pattern_reader *p, uint32_t depth, const tn_term **out_term);

/* Whether "name =" is next, and not a tensor. */
static bool is_field_next(const tn_pattern_reader *p) {
    const char *at = p->at + tn_pattern_name_length(p);
    while (is_space(*at))
        at++;
    return at > p->at && tn_pattern_name_length(p) > 0 && *at == '=';
}

static tn_status take_field(tn_pattern_reader *p, tn_term *node) {
    if (node->field_count == TN_PATTERN_FIELDS) return tn_pattern_fail(p, "at most 16 fields");
    tn_term_field *field = &node->fields[node->field_count];
    TN_TRY(tn_pattern_take_text(p, &field->name));
    for (uint32_t i = 0; i < node->field_count; i++)
        if (strcmp(node->fields[i].name, field->name) == 0)
            return tn_pattern_fail(p, "each field once");
    if (!tn_pattern_take(p, "=")) return tn_pattern_fail(p, "'='");
    node->field_count++;
    return take_field_value(p, &field->value);
}

static tn_status take_argument(tn_pattern_reader *p, uint32_t depth, tn_term *node) {
    tn_pattern_skip(p);
    if (strncmp(p->at, "...", 3) == 0 && p->is_replacement)
        return tn_pattern_fail(p, "the fields' values: a replacement has no others");
    if (tn_pattern_take(p, "...")) {
        node->has_other_fields = true;
        return TN_OK;
    }
    if (is_field_next(p)) return take_field(p, node);
    if (node->field_count > 0) return tn_pattern_fail(p, "inputs before fields");
    if (node->argument_count == TN_PATTERN_ARGUMENTS)
        return tn_pattern_fail(p, "at most 16 inputs");
    return take_term(p, depth + 1, &node->arguments[node->argument_count++]);
}

static tn_status take_arguments(tn_pattern_reader *p, uint32_t depth, tn_term *node) {
    node->arguments = tn_arena_allocate(p->arena, TN_PATTERN_ARGUMENTS, sizeof *node->arguments);
    node->fields = tn_arena_allocate(p->arena, TN_PATTERN_FIELDS, sizeof *node->fields);
    if (!node->arguments || !node->fields) return tn_fail_memory("a rewrite");
    if (tn_pattern_take(p, ")")) return TN_OK;
    do {
        if (node->has_other_fields) return tn_pattern_fail(p, "')': '...' is the last argument");
        TN_TRY(take_argument(p, depth, node));
    } while (tn_pattern_take(p, ","));
    return tn_pattern_take(p, ")") ? TN_OK : tn_pattern_fail(p, "',' or ')'");
}

static tn_status take_version(tn_pattern_reader *p, uint32_t *out_version) {
    uint32_t version = 0;
    if (!is_digit(*p->at)) return tn_pattern_fail(p, "a version");
    for (; is_digit(*p->at) && version < 100000000; p->at++)
        version = version * 10 + (uint32_t)(*p->at - '0');
    *out_version = version;
    return version == 0 ? tn_pattern_fail(p, "a version from 1 on") : TN_OK;
}

static tn_status take_versions(tn_pattern_reader *p, tn_term *node) {
    TN_TRY(take_version(p, &node->lowest));
    if (*p->at != '-') return TN_OK;
    if (p->is_replacement) return tn_pattern_fail(p, "one version");
    p->at++;
    return take_version(p, &node->highest);
}

/* An operator, whose name was read already. */
static tn_status take_node(tn_pattern_reader *p, uint32_t depth, const char *name, tn_term *node) {
    node->kind = TN_TERM_NODE;
    node->op = name;
    if (++p->node_count > TN_PATTERN_NODES) return tn_pattern_fail(p, "at most 96 operators");
    if (tn_pattern_take(p, "::")) {
        node->domain = strcmp(name, "ai.onnx") == 0 ? "" : name;
        TN_TRY(tn_pattern_take_text(p, &node->op));
    }
    if (*p->at == '@') {
        p->at++;
        TN_TRY(take_versions(p, node));
    }
    if (*p->at == '*') {
        if (p->is_replacement) return tn_pattern_fail(p, "'(': '*' is for patterns");
        p->at++;
        node->may_stay = true;
    }
    if (!tn_pattern_take(p, "(")) return tn_pattern_fail(p, "'('");
    return take_arguments(p, depth, node);
}

static tn_status take_constraint(tn_pattern_reader *p, tn_term *term) {
    static const struct {
        const char *text;
        uint32_t constraint;
    } known[] = {
        {"const", TN_TERM_CONST}, {"scalar", TN_TERM_SCALAR}, {"channel", TN_TERM_CHANNEL}};
    const char *text = NULL;
    if (p->is_replacement) return tn_pattern_fail(p, "a name alone: the pattern says what it is");
    TN_TRY(tn_pattern_take_text(p, &text));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i].text) == 0) term->constraint = known[i].constraint;
    return term->constraint ? TN_OK : tn_pattern_fail(p, "':const', ':scalar' or ':channel'");
}

static tn_status take_tensor(tn_pattern_reader *p, const char *name, tn_term *term) {
    term->kind = TN_TERM_TENSOR;
    if (strcmp(name, "_") == 0) {
        term->kind = TN_TERM_ANY;
        return p->is_replacement ? tn_pattern_fail(p, "a tensor: '_' is none") : TN_OK;
    }
    TN_TRY(tn_pattern_note_name(p, name, TN_TERM_TENSOR, &term->name));
    if (*p->at == '?') {
        if (p->is_replacement)
            return tn_pattern_fail(p, "a name alone: the pattern says what it is");
        p->at++;
        term->is_optional = true;
    }
    if (*p->at != ':' || p->at[1] == ':') return TN_OK;
    p->at++;
    p->pattern->names[term->name].is_constant = true;
    return take_constraint(p, term);
}

static tn_status take_one(tn_pattern_reader *p, uint32_t depth, const tn_term **out_term) {
    tn_term *term = tn_arena_allocate(p->arena, 1, sizeof *term);
    const char *name = NULL;
    bool is_taken = false;
    if (!term) return tn_fail_memory("a rewrite");
    *out_term = term;
    if (depth >= TN_PATTERN_DEPTH) return tn_pattern_fail(p, "fewer operators within each other");
    if (tn_pattern_take(p, "(")) {
        TN_TRY(take_term(p, depth + 1, out_term));
        return tn_pattern_take(p, ")") ? TN_OK : tn_pattern_fail(p, "')'");
    }
    TN_TRY(tn_pattern_take_value(p, term, &is_taken));
    if (is_taken) return TN_OK;
    if (tn_pattern_take(p, "-")) {
        term->kind = TN_TERM_ABSENT;
        return TN_OK;
    }
    if (tn_pattern_name_length(p) == 0)
        return tn_pattern_fail(p, "an operator, a tensor, a number, '_' or '-'");
    TN_TRY(tn_pattern_take_text(p, &name));
    const char *next = p->at;
    while (is_space(*next))
        next++;
    const bool is_node =
        *next == '(' || *next == '@' || *next == '*' || strncmp(next, "::", 2) == 0;
    return is_node ? take_node(p, depth, name, term) : take_tensor(p, name, term);
}

static tn_status take_term(tn_pattern_reader *p, uint32_t depth, const tn_term **out_term) {
    TN_TRY(take_one(p, depth, out_term));
    if (!tn_pattern_take(p, "|")) return TN_OK;
    if (p->is_replacement) return tn_pattern_fail(p, "one expression: a replacement has no choice");
    tn_term *choice = tn_arena_allocate(p->arena, 1, sizeof *choice);
    if (!choice) return tn_fail_memory("a rewrite");
    choice->kind = TN_TERM_CHOICE;
    choice->arguments =
        tn_arena_allocate(p->arena, TN_PATTERN_ARGUMENTS, sizeof *choice->arguments);
    if (!choice->arguments) return tn_fail_memory("a rewrite");
    choice->arguments[choice->argument_count++] = *out_term;
    do {
        if (choice->argument_count == TN_PATTERN_ARGUMENTS)
            return tn_pattern_fail(p, "at most 16 alternatives");
        TN_TRY(take_one(p, depth + 1, &choice->arguments[choice->argument_count++]));
    } while (tn_pattern_take(p, "|"));
    *out_term = choice;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * statements */

static tn_status take_result(tn_pattern_reader *p, tn_statement *statement) {
    if (statement->result_count == TN_PATTERN_RESULTS)
        return tn_pattern_fail(p, "at most 8 results");
    uint32_t *result = &statement->results[statement->result_count++];
    const char *text = NULL;
    *result = TN_NO_NAME;
    TN_TRY(tn_pattern_take_text(p, &text));
    return strcmp(text, "_") == 0 ? TN_OK : tn_pattern_note_name(p, text, TN_TERM_TENSOR, result);
}

static bool is_of_nodes(const tn_term *term) {
    bool is_right = term->kind == TN_TERM_NODE || term->kind == TN_TERM_CHOICE;
    for (uint32_t i = 0; is_right && term->kind == TN_TERM_CHOICE && i < term->argument_count; i++)
        is_right = is_of_nodes(term->arguments[i]);
    return is_right;
}

static tn_status take_statement(tn_pattern_reader *p, tn_statement *statement) {
    do
        TN_TRY(take_result(p, statement));
    while (tn_pattern_take(p, ","));
    if (!tn_pattern_take(p, "=")) return tn_pattern_fail(p, "',' or '='");
    const char *begin = p->at;
    TN_TRY(take_term(p, 0, &statement->term));
    if (is_of_nodes(statement->term)) return TN_OK;
    p->at = begin;
    return tn_pattern_fail(p, "an operator");
}

static tn_status take_statements(tn_pattern_reader *p, const tn_statement **out_statements,
                                 uint32_t *out_count) {
    tn_statement *statements =
        tn_arena_allocate(p->arena, TN_PATTERN_STATEMENTS, sizeof *statements);
    if (!statements) return tn_fail_memory("a rewrite");
    *out_statements = statements;
    if (!p->text || strlen(p->text) > TN_PATTERN_BYTES)
        return tn_fail(TN_ERROR_PLUGIN, "%s: %s", p->what,
                       p->text ? "expected at most 16 KiB" : "there is none");
    do {
        tn_pattern_skip(p);
        if (!*p->at && *out_count > 0) return TN_OK;
        if (*out_count == TN_PATTERN_STATEMENTS) return tn_pattern_fail(p, "at most 48 statements");
        TN_TRY(take_statement(p, &statements[(*out_count)++]));
    } while (tn_pattern_take(p, ";"));
    tn_pattern_skip(p);
    return *p->at ? tn_pattern_fail(p, "';' or the end") : TN_OK;
}

uint32_t tn_pattern_find_name(const tn_pattern *pattern, const char *name) {
    for (uint32_t i = 0; i < pattern->name_count; i++)
        if (strcmp(pattern->names[i].text, name) == 0) return i;
    return TN_NO_NAME;
}

tn_status tn_pattern_parse(tn_arena *arena, const char *pattern, const char *replacement,
                           const tn_pattern **out_pattern) {
    tn_pattern *made = tn_arena_allocate(arena, 1, sizeof *made);
    if (!made) return tn_fail_memory("a rewrite");
    made->names = tn_arena_allocate(arena, TN_PATTERN_NAMES, sizeof *made->names);
    if (!made->names) return tn_fail_memory("a rewrite");
    tn_pattern_reader before = {arena, made, "pattern", pattern, pattern, 0, false};
    tn_pattern_reader after = {arena, made, "replacement", replacement, replacement, 0, true};
    TN_TRY(take_statements(&before, &made->statements, &made->statement_count));
    TN_TRY(take_statements(&after, &made->replacements, &made->replacement_count));
    TN_TRY(tn_pattern_check(made));
    *out_pattern = made;
    return TN_OK;
}
