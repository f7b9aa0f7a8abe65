/* SPDX-License-Identifier: Apache-2.0 */
/* Characters and classes of them in a pattern; see regex_parser.h. */
#include "strings/regex_parser.h"

#include <stdio.h>

typedef struct named_class {
    const char *name;
    tn_regex_range ranges[4]; /* the first one with last 0 ends them */
} named_class;

static const named_class letters[] = {{"d", {{'0', '9'}}},
                                      {"w", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
                                      {"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}}};
static const named_class words[] = {
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
    {"ascii", {{0, 0x7F}}},
    {"blank", {{'\t', '\t'}, {' ', ' '}}},
    {"cntrl", {{0, 0x1F}, {0x7F, 0x7F}}},
    {"digit", {{'0', '9'}}},
    {"graph", {{'!', '~'}}},
    {"lower", {{'a', 'z'}}},
    {"print", {{' ', '~'}}},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"space", {{'\t', '\r'}, {' ', ' '}}},
    {"upper", {{'A', 'Z'}}},
    {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};

/* The ranges of a class, or of all that it leaves out. */
static void add_named(tn_regex_parser *p, const named_class *class, bool is_negated) {
    uint32_t from = 0;
    for (size_t i = 0; i < TN_COUNT(class->ranges) && class->ranges[i].last > 0; i++) {
        if (!is_negated) tn_regex_add_range(p, class->ranges[i].first, class->ranges[i].last);
        if (is_negated && class->ranges[i].first > from)
            tn_regex_add_range(p, from, class->ranges[i].first - 1);
        from = class->ranges[i].last + 1;
    }
    if (is_negated) tn_regex_add_range(p, from, UINT32_MAX);
}

/* \d and its kind, in upper case what they leave out. */
bool tn_regex_take_letter_class(tn_regex_parser *p) {
    const char *at = p->pattern + p->at;
    for (size_t i = 0; at[0] == '\\' && i < TN_COUNT(letters); i++) {
        const char small = letters[i].name[0];
        if (at[1] != small && at[1] != small - 'a' + 'A') continue;
        add_named(p, &letters[i], at[1] != small);
        p->at += 2;
        return true;
    }
    return false;
}

/* [:alpha:] and its kind, within brackets. */
static tn_status take_word_class(tn_regex_parser *p, bool *out_is_one) {
    char text[16];
    *out_is_one = strncmp(p->pattern + p->at, "[:", 2) == 0;
    for (size_t i = 0; *out_is_one && i < 2 * TN_COUNT(words); i++) {
        const named_class *class = &words[i / 2];
        snprintf(text, sizeof(text), "[:%s%s:]", i % 2 ? "^" : "", class->name);
        if (!tn_regex_take(p, text)) continue;
        add_named(p, class, i % 2);
        return TN_OK;
    }
    return *out_is_one ? tn_regex_fail(p, "there is no such class of characters") : TN_OK;
}

static int digit_of(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : 16;
}

/* Digits of a base, at most `most`; false: there is none. */
bool tn_regex_take_number(tn_regex_parser *p, int base, int most, uint32_t *out_number) {
    uint32_t number = 0;
    int count = 0;
    for (; count < most && digit_of(p->pattern[p->at]) < base; count++)
        number = number * (uint32_t)base + (uint32_t)digit_of(p->pattern[p->at++]);
    *out_number = number;
    return count > 0;
}

/* What stands behind a backslash for one character. */
tn_status tn_regex_take_escape(tn_regex_parser *p, uint32_t *out_letter) {
    static const char names[] = "aftnrv", values[] = "\a\f\t\n\r\v";
    const char letter = p->pattern[p->at];
    const char *name = letter ? strchr(names, letter) : NULL;
    if (name) {
        p->at++;
        *out_letter = (uint32_t)values[name - names];
        return TN_OK;
    }
    if (letter == '0' || (letter > '0' && letter <= '7' && digit_of(p->pattern[p->at + 1]) < 8)) {
        tn_regex_take_number(p, 8, 3, out_letter);
        return TN_OK;
    }
    if (tn_regex_take(p, "x{")) {
        if (tn_regex_take_number(p, 16, 6, out_letter) && tn_regex_take(p, "}") &&
            *out_letter <= 0x10FFFF)
            return TN_OK;
        return tn_regex_fail(p, "a character's number is wrong");
    }
    if (tn_regex_take(p, "x")) {
        const uint64_t begin = p->at;
        if (tn_regex_take_number(p, 16, 2, out_letter) && p->at == begin + 2) return TN_OK;
        return tn_regex_fail(p, "a character's number is wrong");
    }
    if (letter == 'p' || letter == 'P' || letter == 'C' || letter == 'X')
        return tn_regex_fail(p, "classes of Unicode (\\p) and bytes (\\C) are not supported");
    const bool is_word = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                         (letter >= 'A' && letter <= 'Z') || letter == '\0';
    if (is_word) return tn_regex_fail(p, "the backslash stands before nothing that it changes");
    *out_letter = tn_regex_next_letter(p);
    return TN_OK;
}

static tn_status take_class_letter(tn_regex_parser *p, uint32_t *out_letter) {
    if (p->at >= p->length) return tn_regex_fail(p, "a bracket is not closed");
    if (tn_regex_take(p, "\\")) return tn_regex_take_escape(p, out_letter);
    *out_letter = tn_regex_next_letter(p);
    return TN_OK;
}

static tn_status take_range(tn_regex_parser *p) {
    uint32_t first = 0, last = 0;
    TN_TRY(take_class_letter(p, &first));
    last = first;
    if (p->pattern[p->at] == '-' && p->pattern[p->at + 1] != ']' && p->at + 1 < p->length) {
        p->at++;
        TN_TRY(take_class_letter(p, &last));
    }
    if (last < first) return tn_regex_fail(p, "a range of characters ends before it begins");
    tn_regex_add_range(p, first, last);
    return TN_OK;
}

uint32_t tn_regex_add_class(tn_regex_parser *p, uint32_t begin, bool is_negated) {
    p->regex->classes[p->regex->class_count] =
        (tn_regex_class){begin, p->regex->range_count, is_negated, (p->flags & TN_REGEX_FOLD) != 0};
    return tn_regex_add_node(
        p, (tn_regex_node){.kind = TN_REGEX_CLASS, .value = p->regex->class_count++});
}

/* Behind the bracket. */
tn_status tn_regex_parse_brackets(tn_regex_parser *p, uint32_t *out_node) {
    const uint32_t begin = p->regex->range_count;
    const bool is_negated = tn_regex_take(p, "^");
    for (bool is_first = true; is_first || !tn_regex_take(p, "]"); is_first = false) {
        bool is_one = tn_regex_take_letter_class(p);
        if (!is_one) TN_TRY(take_word_class(p, &is_one));
        if (!is_one) TN_TRY(take_range(p));
    }
    *out_node = tn_regex_add_class(p, begin, is_negated);
    return TN_OK;
}
