/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the texts of a rewrite; see pattern.h. What they mean together is pattern_check.c. */
#include "base/status.h"
#include "plugin/rewrite/pattern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    tn_arena *arena;
    tn_pattern *pattern;
    const char *what; /* "pattern", "replacement" */
    const char *text, *at;
    uint32_t node_count;
    bool is_replacement;
} parser;

static tn_status fail_at(const parser *p, const char *expected) {
    return tn_fail(TN_ERROR_PLUGIN, "%s, column %zu (\"%.24s\"): expected %s", p->what,
                   (size_t)(p->at - p->text) + 1, p->at, expected);
}

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t';
}

static void skip_spaces(parser *p) {
    while (is_space(*p->at))
        p->at++;
}

/* Takes a mark that is next. */
static bool take(parser *p, const char *mark) {
    skip_spaces(p);
    const size_t length = strlen(mark);
    if (strncmp(p->at, mark, length) != 0) return false;
    p->at += length;
    return true;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The length of the name that is next: letters, digits, '_', '.' and '-', a letter first. */
static size_t name_length(const parser *p) {
    size_t length = 0;
    if (!is_letter(*p->at)) return 0;
    while (is_letter(p->at[length]) || is_digit(p->at[length]) ||
           ((p->at[length] == '.' || p->at[length] == '-') && is_letter(p->at[length + 1])))
        length++;
    return length;
}

static tn_status take_text(parser *p, const char **out_text) {
    skip_spaces(p);
    const size_t length = name_length(p);
    if (length == 0) return fail_at(p, "a name");
    if (length > 100) return fail_at(p, "a name of at most 100 letters");
    char *text = tn_arena_allocate(p->arena, length + 1, 1);
    if (!text) return tn_fail_memory("a rewrite");
    memcpy(text, p->at, length);
    p->at += length;
    *out_text = text;
    return TN_OK;
}

/* The name's index; new ones are added. */
static tn_status find_name(parser *p, const char *text, uint32_t kind, uint32_t *out_index) {
    tn_pattern *pattern = p->pattern;
    *out_index = tn_pattern_find_name(pattern, text);
    if (*out_index == TN_NO_NAME) {
        if (pattern->name_count == TN_PATTERN_NAMES) return fail_at(p, "at most 64 names");
        *out_index = pattern->name_count++;
        pattern->names[*out_index] = (tn_pattern_name){.text = text,
                                                       .kind = kind,
                                                       .statement = TN_NO_STATEMENT,
                                                       .is_in_pattern = !p->is_replacement};
    }
    if (pattern->names[*out_index].kind != kind)
        return fail_at(p, "another name: this one stands for something else already");
    return TN_OK;
}

static tn_status take_name(parser *p, uint32_t kind, uint32_t *out_index) {
    const char *text = NULL;
    TN_TRY(take_text(p, &text));
    return find_name(p, text, kind, out_index);
}

/* ----------------------------------------------------------------------------------------------
 * values */

static bool is_number_next(const parser *p) {
    const char *at = p->at + (*p->at == '-' || *p->at == '+');
    return is_digit(*at) || (*at == '.' && is_digit(at[1])) ||
           (at > p->at && strncmp(at, "inf", 3) == 0);
}

static tn_status take_number(parser *p, double *out_number, bool *inout_is_integer) {
    char *end = NULL;
    skip_spaces(p);
    if (!is_number_next(p)) return fail_at(p, "a number");
    *out_number = strtod(p->at, &end);
    if (end == p->at || (isfinite(*out_number) && fabs(*out_number) > 1e300))
        return fail_at(p, "a number");
    for (const char *c = p->at; c < end; c++)
        if (*c != '-' && *c != '+' && !is_digit(*c)) *inout_is_integer = false;
    if (fabs(*out_number) > 9007199254740992.0) *inout_is_integer = false;
    p->at = end;
    return TN_OK;
}

/* A number, or several in brackets. */
static tn_status take_numbers(parser *p, tn_term *term) {
    double *numbers = tn_arena_allocate(p->arena, TN_PATTERN_NUMBERS, sizeof *numbers);
    if (!numbers) return tn_fail_memory("a rewrite");
    term->kind = TN_TERM_NUMBERS;
    term->numbers = numbers;
    term->are_integers = true;
    term->is_list = take(p, "[");
    if (!term->is_list) {
        term->number_count = 1;
        return take_number(p, numbers, &term->are_integers);
    }
    if (take(p, "]")) return TN_OK;
    do {
        if (term->number_count == TN_PATTERN_NUMBERS) return fail_at(p, "at most 32 numbers");
        TN_TRY(take_number(p, &numbers[term->number_count], &term->are_integers));
        term->number_count++;
    } while (take(p, ","));
    return take(p, "]") ? TN_OK : fail_at(p, "',' or ']'");
}

static tn_status take_capture(parser *p, tn_term *term) {
    term->kind = TN_TERM_CAPTURE;
    TN_TRY(take_name(p, TN_TERM_CAPTURE, &term->name));
    term->is_list = take(p, "[]");
    if (term->is_list && p->is_replacement) return fail_at(p, "the captured name alone");
    return TN_OK;
}

static tn_status take_computed(parser *p, tn_term *term) {
    term->kind = TN_TERM_COMPUTED;
    if (!p->is_replacement) return fail_at(p, "no '$': the guard computes for the replacement");
    return take_name(p, TN_TERM_COMPUTED, &term->name);
}

/* What can stand as a field's value and as an argument. */
static tn_status take_value(parser *p, tn_term *term, bool *out_is_taken) {
    *out_is_taken = true;
    skip_spaces(p);
    if (*p->at == '[' || is_number_next(p)) return take_numbers(p, term);
    if (take(p, "?")) return take_capture(p, term);
    if (take(p, "$")) return take_computed(p, term);
    *out_is_taken = false;
    return TN_OK;
}

static tn_status take_field_value(parser *p, const tn_term **out_value) {
    tn_term *term = tn_arena_allocate(p->arena, 1, sizeof *term);
    bool is_taken = false;
    if (!term) return tn_fail_memory("a rewrite");
    *out_value = term;
    TN_TRY(take_value(p, term, &is_taken));
    if (is_taken) return TN_OK;
    term->kind = TN_TERM_WORD;
    if (name_length(p) == 0) return fail_at(p, "a number, a list, a word, ?name or $name");
    return take_text(p, &term->word);
}

/* ----------------------------------------------------------------------------------------------
 * operators */

static tn_status take_term(parser *p, uint32_t depth, const tn_term **out_term);

/* Whether "name =" is next, and not a tensor. */
static bool is_field_next(const parser *p) {
    const char *at = p->at + name_length(p);
    while (is_space(*at))
        at++;
    return at > p->at && name_length(p) > 0 && *at == '=';
}

static tn_status take_field(parser *p, tn_term *node) {
    if (node->field_count == TN_PATTERN_FIELDS) return fail_at(p, "at most 16 fields");
    tn_term_field *field = &node->fields[node->field_count];
    TN_TRY(take_text(p, &field->name));
    for (uint32_t i = 0; i < node->field_count; i++)
        if (strcmp(node->fields[i].name, field->name) == 0) return fail_at(p, "each field once");
    if (!take(p, "=")) return fail_at(p, "'='");
    node->field_count++;
    return take_field_value(p, &field->value);
}

static tn_status take_argument(parser *p, uint32_t depth, tn_term *node) {
    skip_spaces(p);
    if (strncmp(p->at, "...", 3) == 0 && p->is_replacement)
        return fail_at(p, "the fields' values: a replacement has no others");
    if (take(p, "...")) {
        node->has_other_fields = true;
        return TN_OK;
    }
    if (is_field_next(p)) return take_field(p, node);
    if (node->field_count > 0) return fail_at(p, "inputs before fields");
    if (node->argument_count == TN_PATTERN_ARGUMENTS) return fail_at(p, "at most 16 inputs");
    return take_term(p, depth + 1, &node->arguments[node->argument_count++]);
}

static tn_status take_arguments(parser *p, uint32_t depth, tn_term *node) {
    node->arguments = tn_arena_allocate(p->arena, TN_PATTERN_ARGUMENTS, sizeof *node->arguments);
    node->fields = tn_arena_allocate(p->arena, TN_PATTERN_FIELDS, sizeof *node->fields);
    if (!node->arguments || !node->fields) return tn_fail_memory("a rewrite");
    if (take(p, ")")) return TN_OK;
    do {
        if (node->has_other_fields) return fail_at(p, "')': '...' is the last argument");
        TN_TRY(take_argument(p, depth, node));
    } while (take(p, ","));
    return take(p, ")") ? TN_OK : fail_at(p, "',' or ')'");
}

static tn_status take_version(parser *p, uint32_t *out_version) {
    uint32_t version = 0;
    if (!is_digit(*p->at)) return fail_at(p, "a version");
    for (; is_digit(*p->at) && version < 100000000; p->at++)
        version = version * 10 + (uint32_t)(*p->at - '0');
    *out_version = version;
    return version == 0 ? fail_at(p, "a version from 1 on") : TN_OK;
}

static tn_status take_versions(parser *p, tn_term *node) {
    TN_TRY(take_version(p, &node->lowest));
    if (*p->at != '-') return TN_OK;
    if (p->is_replacement) return fail_at(p, "one version");
    p->at++;
    return take_version(p, &node->highest);
}

/* An operator, whose name was read already. */
static tn_status take_node(parser *p, uint32_t depth, const char *name, tn_term *node) {
    node->kind = TN_TERM_NODE;
    node->op = name;
    if (++p->node_count > TN_PATTERN_NODES) return fail_at(p, "at most 96 operators");
    if (take(p, "::")) {
        node->domain = strcmp(name, "ai.onnx") == 0 ? "" : name;
        TN_TRY(take_text(p, &node->op));
    }
    if (*p->at == '@') {
        p->at++;
        TN_TRY(take_versions(p, node));
    }
    if (!take(p, "(")) return fail_at(p, "'('");
    return take_arguments(p, depth, node);
}

static tn_status take_constraint(parser *p, tn_term *term) {
    static const struct {
        const char *text;
        uint32_t constraint;
    } known[] = {
        {"const", TN_TERM_CONST}, {"scalar", TN_TERM_SCALAR}, {"channel", TN_TERM_CHANNEL}};
    const char *text = NULL;
    if (p->is_replacement) return fail_at(p, "a name alone: the pattern says what it is");
    TN_TRY(take_text(p, &text));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i].text) == 0) term->constraint = known[i].constraint;
    return term->constraint ? TN_OK : fail_at(p, "':const', ':scalar' or ':channel'");
}

static tn_status take_tensor(parser *p, const char *name, tn_term *term) {
    term->kind = TN_TERM_TENSOR;
    if (strcmp(name, "_") == 0) {
        term->kind = TN_TERM_ANY;
        return p->is_replacement ? fail_at(p, "a tensor: '_' is none") : TN_OK;
    }
    TN_TRY(find_name(p, name, TN_TERM_TENSOR, &term->name));
    if (*p->at == '?') {
        if (p->is_replacement) return fail_at(p, "a name alone: the pattern says what it is");
        p->at++;
        term->is_optional = true;
    }
    if (*p->at != ':' || p->at[1] == ':') return TN_OK;
    p->at++;
    return take_constraint(p, term);
}

static tn_status take_one(parser *p, uint32_t depth, const tn_term **out_term) {
    tn_term *term = tn_arena_allocate(p->arena, 1, sizeof *term);
    const char *name = NULL;
    bool is_taken = false;
    if (!term) return tn_fail_memory("a rewrite");
    *out_term = term;
    if (depth >= TN_PATTERN_DEPTH) return fail_at(p, "fewer operators within each other");
    if (take(p, "(")) {
        TN_TRY(take_term(p, depth + 1, out_term));
        return take(p, ")") ? TN_OK : fail_at(p, "')'");
    }
    TN_TRY(take_value(p, term, &is_taken));
    if (is_taken) return TN_OK;
    if (take(p, "-")) {
        term->kind = TN_TERM_ABSENT;
        return TN_OK;
    }
    if (name_length(p) == 0) return fail_at(p, "an operator, a tensor, a number, '_' or '-'");
    TN_TRY(take_text(p, &name));
    const char *next = p->at;
    while (is_space(*next))
        next++;
    const bool is_node = *next == '(' || *next == '@' || strncmp(next, "::", 2) == 0;
    return is_node ? take_node(p, depth, name, term) : take_tensor(p, name, term);
}

static tn_status take_term(parser *p, uint32_t depth, const tn_term **out_term) {
    TN_TRY(take_one(p, depth, out_term));
    if (!take(p, "|")) return TN_OK;
    if (p->is_replacement) return fail_at(p, "one expression: a replacement has no choice");
    tn_term *choice = tn_arena_allocate(p->arena, 1, sizeof *choice);
    if (!choice) return tn_fail_memory("a rewrite");
    choice->kind = TN_TERM_CHOICE;
    choice->arguments =
        tn_arena_allocate(p->arena, TN_PATTERN_ARGUMENTS, sizeof *choice->arguments);
    if (!choice->arguments) return tn_fail_memory("a rewrite");
    choice->arguments[choice->argument_count++] = *out_term;
    do {
        if (choice->argument_count == TN_PATTERN_ARGUMENTS)
            return fail_at(p, "at most 16 alternatives");
        TN_TRY(take_one(p, depth + 1, &choice->arguments[choice->argument_count++]));
    } while (take(p, "|"));
    *out_term = choice;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * statements */

static tn_status take_result(parser *p, tn_statement *statement) {
    if (statement->result_count == TN_PATTERN_RESULTS) return fail_at(p, "at most 8 results");
    uint32_t *result = &statement->results[statement->result_count++];
    const char *text = NULL;
    *result = TN_NO_NAME;
    TN_TRY(take_text(p, &text));
    return strcmp(text, "_") == 0 ? TN_OK : find_name(p, text, TN_TERM_TENSOR, result);
}

static bool is_of_nodes(const tn_term *term) {
    bool is_right = term->kind == TN_TERM_NODE || term->kind == TN_TERM_CHOICE;
    for (uint32_t i = 0; is_right && term->kind == TN_TERM_CHOICE && i < term->argument_count; i++)
        is_right = is_of_nodes(term->arguments[i]);
    return is_right;
}

static tn_status take_statement(parser *p, tn_statement *statement) {
    do
        TN_TRY(take_result(p, statement));
    while (take(p, ","));
    if (!take(p, "=")) return fail_at(p, "',' or '='");
    const char *begin = p->at;
    TN_TRY(take_term(p, 0, &statement->term));
    if (is_of_nodes(statement->term)) return TN_OK;
    p->at = begin;
    return fail_at(p, "an operator");
}

static tn_status take_statements(parser *p, const tn_statement **out_statements,
                                 uint32_t *out_count) {
    tn_statement *statements =
        tn_arena_allocate(p->arena, TN_PATTERN_STATEMENTS, sizeof *statements);
    if (!statements) return tn_fail_memory("a rewrite");
    *out_statements = statements;
    if (!p->text || strlen(p->text) > TN_PATTERN_BYTES)
        return tn_fail(TN_ERROR_PLUGIN, "%s: %s", p->what,
                       p->text ? "expected at most 16 KiB" : "there is none");
    do {
        skip_spaces(p);
        if (!*p->at && *out_count > 0) return TN_OK;
        if (*out_count == TN_PATTERN_STATEMENTS) return fail_at(p, "at most 48 statements");
        TN_TRY(take_statement(p, &statements[(*out_count)++]));
    } while (take(p, ";"));
    skip_spaces(p);
    return *p->at ? fail_at(p, "';' or the end") : TN_OK;
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
    parser before = {arena, made, "pattern", pattern, pattern, 0, false};
    parser after = {arena, made, "replacement", replacement, replacement, 0, true};
    TN_TRY(take_statements(&before, &made->statements, &made->statement_count));
    TN_TRY(take_statements(&after, &made->replacements, &made->replacement_count));
    made->replacement_nodes = after.node_count;
    TN_TRY(tn_pattern_check(made));
    *out_pattern = made;
    return TN_OK;
}
