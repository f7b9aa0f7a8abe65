/* SPDX-License-Identifier: Apache-2.0 */
/* Marks, names and values of a rewrite's texts; see pattern_reader.h. */
#include "plugin/rewrite/pattern_reader.h"
#include "base/decimal.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tn_status tn_pattern_fail(const tn_pattern_reader *p, const char *expected) {
    return tn_fail(TN_ERROR_PLUGIN, "%s, column %zu (\"%.24s\"): expected %s", p->what,
                   (size_t)(p->at - p->text) + 1, p->at, expected);
}

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t';
}

void tn_pattern_skip(tn_pattern_reader *p) {
    while (is_space(*p->at))
        p->at++;
}

/* Takes a mark that is next. */
bool tn_pattern_take(tn_pattern_reader *p, const char *mark) {
    tn_pattern_skip(p);
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
size_t tn_pattern_name_length(const tn_pattern_reader *p) {
    size_t length = 0;
    if (!is_letter(*p->at)) return 0;
    while (is_letter(p->at[length]) || is_digit(p->at[length]) ||
           ((p->at[length] == '.' || p->at[length] == '-') && is_letter(p->at[length + 1])))
        length++;
    return length;
}

tn_status tn_pattern_take_text(tn_pattern_reader *p, const char **out_text) {
    tn_pattern_skip(p);
    const size_t length = tn_pattern_name_length(p);
    if (length == 0) return tn_pattern_fail(p, "a name");
    if (length > 100) return tn_pattern_fail(p, "a name of at most 100 letters");
    char *text = tn_arena_allocate(p->arena, length + 1, 1);
    if (!text) return tn_fail_memory("a rewrite");
    memcpy(text, p->at, length);
    p->at += length;
    *out_text = text;
    return TN_OK;
}

/* The name's index; new ones are added. */
tn_status tn_pattern_note_name(tn_pattern_reader *p, const char *text, uint32_t kind,
                               uint32_t *out_index) {
    tn_pattern *pattern = p->pattern;
    *out_index = tn_pattern_find_name(pattern, text);
    if (*out_index == TN_NO_NAME) {
        if (pattern->name_count == TN_PATTERN_NAMES) return tn_pattern_fail(p, "at most 64 names");
        *out_index = pattern->name_count++;
        pattern->names[*out_index] = (tn_pattern_name){.text = text,
                                                       .kind = kind,
                                                       .statement = TN_NO_STATEMENT,
                                                       .is_in_pattern = !p->is_replacement};
    }
    if (pattern->names[*out_index].kind != kind)
        return tn_pattern_fail(p, "another name: this one stands for something else already");
    return TN_OK;
}

static tn_status take_name(tn_pattern_reader *p, uint32_t kind, uint32_t *out_index) {
    const char *text = NULL;
    TN_TRY(tn_pattern_take_text(p, &text));
    return tn_pattern_note_name(p, text, kind, out_index);
}

/* ----------------------------------------------------------------------------------------------
 * values */

static bool is_number_next(const tn_pattern_reader *p) {
    const char *at = p->at + (*p->at == '-' || *p->at == '+');
    return is_digit(*at) || (*at == '.' && is_digit(at[1])) ||
           (at > p->at && strncmp(at, "inf", 3) == 0);
}

static tn_status take_number(tn_pattern_reader *p, double *out_number, bool *inout_is_integer) {
    char *end = NULL;
    tn_pattern_skip(p);
    if (!is_number_next(p)) return tn_pattern_fail(p, "a number");
    *out_number = tn_decimal_read(p->at, &end);
    if (end == p->at || (isfinite(*out_number) && fabs(*out_number) > 1e300))
        return tn_pattern_fail(p, "a number");
    for (const char *c = p->at; c < end; c++)
        if (*c != '-' && *c != '+' && !is_digit(*c)) *inout_is_integer = false;
    if (fabs(*out_number) > 9007199254740992.0) *inout_is_integer = false;
    p->at = end;
    return TN_OK;
}

/* A number, or several in brackets. */
static tn_status take_numbers(tn_pattern_reader *p, tn_term *term) {
    double *numbers = tn_arena_allocate(p->arena, TN_PATTERN_NUMBERS, sizeof *numbers);
    if (!numbers) return tn_fail_memory("a rewrite");
    term->kind = TN_TERM_NUMBERS;
    term->numbers = numbers;
    term->are_integers = true;
    term->is_list = tn_pattern_take(p, "[");
    if (!term->is_list) {
        term->number_count = 1;
        return take_number(p, numbers, &term->are_integers);
    }
    if (tn_pattern_take(p, "]")) return TN_OK;
    do {
        if (term->number_count == TN_PATTERN_NUMBERS)
            return tn_pattern_fail(p, "at most 32 numbers");
        TN_TRY(take_number(p, &numbers[term->number_count], &term->are_integers));
        term->number_count++;
    } while (tn_pattern_take(p, ","));
    return tn_pattern_take(p, "]") ? TN_OK : tn_pattern_fail(p, "',' or ']'");
}

static tn_status take_capture(tn_pattern_reader *p, tn_term *term) {
    term->kind = TN_TERM_CAPTURE;
    TN_TRY(take_name(p, TN_TERM_CAPTURE, &term->name));
    term->is_list = tn_pattern_take(p, "[]");
    if (term->is_list && p->is_replacement) return tn_pattern_fail(p, "the captured name alone");
    return TN_OK;
}

static tn_status take_computed(tn_pattern_reader *p, tn_term *term) {
    term->kind = TN_TERM_COMPUTED;
    if (!p->is_replacement)
        return tn_pattern_fail(p, "no '$': the guard computes for the replacement");
    return take_name(p, TN_TERM_COMPUTED, &term->name);
}

/* What can stand as a field's value and as an argument. */
tn_status tn_pattern_take_value(tn_pattern_reader *p, tn_term *term, bool *out_is_taken) {
    *out_is_taken = true;
    tn_pattern_skip(p);
    if (*p->at == '[' || is_number_next(p)) return take_numbers(p, term);
    if (tn_pattern_take(p, "?")) return take_capture(p, term);
    if (tn_pattern_take(p, "$")) return take_computed(p, term);
    *out_is_taken = false;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the last statement, without reading the text */

static const char *last_statement(const char *pattern) {
    const char *begin = pattern;
    for (const char *mark = strchr(pattern, ';'); mark; mark = strchr(mark + 1, ';')) {
        const char *next = mark + 1;
        while (is_space(*next))
            next++;
        if (*next) begin = next;
    }
    return begin;
}

/* Behind the '|' that ends an alternative; null: it is the last one. */
static const char *next_alternative(const char *at) {
    for (uint32_t depth = 0; *at; at++) {
        depth += *at == '(';
        depth -= *at == ')' && depth > 0;
        if (*at == '|' && depth == 0) return at + 1;
    }
    return NULL;
}

bool tn_pattern_may_end(const char *pattern,
                        bool (*is)(const void *user, const char *op, size_t length),
                        const void *user) {
    tn_pattern_reader p = {.at = last_statement(pattern)};
    p.at += strcspn(p.at, "=");
    bool may = !tn_pattern_take(&p, "=");
    while (p.at && !may) {
        tn_pattern_skip(&p);
        size_t length = tn_pattern_name_length(&p);
        if (strncmp(p.at + length, "::", 2) == 0) {
            p.at += length + 2;
            length = tn_pattern_name_length(&p);
        }
        may = length == 0 || is(user, p.at, length);
        p.at = next_alternative(p.at);
    }
    return may;
}
