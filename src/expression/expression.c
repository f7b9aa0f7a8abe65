/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading expressions; see expression.h. A reader of one token ahead, with one function for each
 * level of binding, as in C's grammar (ISO/IEC 9899:2011, 6.5).
 */
#include "src/expression/expression.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct expression_reader {
    tn_expression *expression;
    const char *text, *at; /* `at`: the token that is looked at */
    uint32_t depth;
    char *why;
    size_t why_bytes;
} expression_reader;

/* ----------------------------------------------------------------------------------------------
 * tokens */

static bool fail(const expression_reader *reader, const char *format, ...) {
    va_list arguments;
    int length;
    if (!reader->why || reader->why_bytes == 0) return false;
    length = snprintf(reader->why, reader->why_bytes,
                      "column %zu: ", (size_t)(reader->at - reader->text) + 1);
    if (length < 0 || (size_t)length >= reader->why_bytes) return false;
    va_start(arguments, format);
    (void)vsnprintf(reader->why + length, reader->why_bytes - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

/* Without the C library's, which ask the locale. */
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_spaces(expression_reader *reader) {
    while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n')
        reader->at++;
}

static bool take_token(expression_reader *reader, const char *token) {
    const size_t length = strlen(token);
    if (strncmp(reader->at, token, length) != 0) return false;
    reader->at += length;
    skip_spaces(reader);
    return true;
}

static bool add_step(expression_reader *reader, const tn_expression_step *step,
                     uint32_t *out_step) {
    tn_expression *expression = reader->expression;
    if (expression->count == TN_EXPRESSION_MOST_STEPS)
        return fail(reader, "an expression of more than %d steps", TN_EXPRESSION_MOST_STEPS);
    *out_step = expression->count;
    expression->steps[expression->count++] = *step;
    return true;
}

static bool add_binary(expression_reader *reader, tn_expression_kind kind, uint32_t left,
                       uint32_t right, uint32_t *out_step) {
    const tn_expression_step step = {.kind = kind, .operand_count = 2, .operands = {left, right}};
    return add_step(reader, &step, out_step);
}

/* ----------------------------------------------------------------------------------------------
 * the grammar */

static bool read_choice(expression_reader *reader, uint32_t *out_step);

static bool enter(expression_reader *reader) {
    if (reader->depth == TN_EXPRESSION_MOST_DEPTH)
        return fail(reader, "nested more than %d deep", TN_EXPRESSION_MOST_DEPTH);
    reader->depth++;
    return true;
}

/* A power of ten beyond what a double holds is cut: the number is 0 or infinite all the same. */
static const char *read_exponent(const char *at, int *out_exponent) {
    const char *digits = at + 1;
    const bool is_negative = *digits == '-';
    int exponent = 0;
    if (*digits == '-' || *digits == '+') digits++;
    if (!is_digit(*digits)) return NULL;
    for (; is_digit(*digits); digits++)
        if (exponent < 10000) exponent = exponent * 10 + (*digits - '0');
    *out_exponent += is_negative ? -exponent : exponent;
    return digits;
}

/* Digits after the 18th change no double's value by more than a step. */
static bool read_number(expression_reader *reader, uint32_t *out_step) {
    const char *at = reader->at;
    uint64_t digits = 0;
    int exponent = 0;
    bool has_digits = false, is_fraction = false;
    for (; is_digit(*at) || (*at == '.' && !is_fraction); at++) {
        if (*at == '.') {
            is_fraction = true;
            continue;
        }
        has_digits = true;
        const bool is_kept = digits < UINT64_C(100000000000000000);
        if (is_kept) digits = digits * 10 + (uint64_t)(*at - '0');
        if (exponent > -10000 && exponent < 10000)
            exponent += is_kept ? -is_fraction : !is_fraction;
    }
    if (!has_digits) return fail(reader, "expected a number");
    if (*at == 'e' || *at == 'E') at = read_exponent(at, &exponent);
    if (!at || is_letter(*at) || *at == '.')
        return fail(reader, "expected a number like 0.5 or 1e-3");
    const double whole = (double)digits;
    const tn_expression_step step = {.kind = TN_EXPRESSION_NUMBER,
                                     .number = digits == 0 ? 0
                                               : exponent < -300
                                                   ? whole * pow(10, -300) * pow(10, exponent + 300)
                                               : exponent < 0 ? whole / pow(10, -exponent)
                                                              : whole * pow(10, exponent)};
    reader->at = at;
    skip_spaces(reader);
    return isfinite(step.number) ? add_step(reader, &step, out_step)
                                 : fail(reader, "a number beyond all doubles");
}

static bool read_arguments(expression_reader *reader, uint32_t function, uint32_t *out_step) {
    tn_expression_step step = {.kind = TN_EXPRESSION_CALL,
                               .function = function,
                               .operand_count = tn_expression_function_of(function)->operand_count};
    for (uint32_t i = 0; i < step.operand_count; i++) {
        if (i > 0 && !take_token(reader, ","))
            return fail(reader, "expected ',' and a second argument of %s",
                        tn_expression_function_name(function));
        if (!read_choice(reader, &step.operands[i])) return false;
    }
    if (!take_token(reader, ")"))
        return fail(reader, "expected ')' after the arguments of %s",
                    tn_expression_function_name(function));
    return add_step(reader, &step, out_step);
}

static bool read_name(expression_reader *reader, uint32_t *out_step) {
    const char *name = reader->at;
    size_t length = 0;
    while (is_letter(name[length]) || is_digit(name[length]))
        length++;
    const char *after = name + length;
    while (*after == ' ')
        after++;
    if (*after == '(') {
        const tn_expression_function *function;
        for (uint32_t i = 0; (function = tn_expression_function_of(i)) != NULL; i++) {
            if (strlen(function->name) != length || memcmp(function->name, name, length) != 0)
                continue;
            reader->at = after;
            return take_token(reader, "(") && read_arguments(reader, i, out_step);
        }
        return fail(reader, "'%.*s' is no function of the language",
                    (int)(length < 40 ? length : 40), name);
    }
    const tn_expression_step step = {.kind = TN_EXPRESSION_NAME,
                                     .name_at = (uint32_t)(name - reader->text),
                                     .name_length = (uint32_t)length};
    reader->at = name + length;
    skip_spaces(reader);
    return add_step(reader, &step, out_step);
}

static bool read_operand(expression_reader *reader, uint32_t *out_step) {
    if (take_token(reader, "(")) {
        if (!read_choice(reader, out_step)) return false;
        return take_token(reader, ")") || fail(reader, "expected ')'");
    }
    if (is_letter(*reader->at)) return read_name(reader, out_step);
    if (is_digit(*reader->at) || *reader->at == '.') return read_number(reader, out_step);
    return fail(reader, "expected a name, a number, a function or '('");
}

static bool read_signed(expression_reader *reader, uint32_t *out_step) {
    tn_expression_step step = {.operand_count = 1};
    if (strncmp(reader->at, "!=", 2) == 0) return fail(reader, "expected something before '!='");
    const bool is_negated = *reader->at == '-', is_not = *reader->at == '!';
    if (!is_negated && !is_not && *reader->at != '+') return read_operand(reader, out_step);
    if (strncmp(reader->at, "--", 2) == 0 || strncmp(reader->at, "++", 2) == 0)
        return fail(reader, "there are no '--' and '++'");
    reader->at++;
    skip_spaces(reader);
    if (!enter(reader) || !read_signed(reader, &step.operands[0])) return false;
    reader->depth--;
    *out_step = step.operands[0];
    if (!is_negated && !is_not) return true;
    step.kind = is_not ? TN_EXPRESSION_NOT : TN_EXPRESSION_NEGATE;
    return add_step(reader, &step, out_step);
}

/* Operators that bind alike, from left to right. A token is not taken where it begins a longer one
 * of another level. */
typedef struct expression_operator {
    uint32_t level;
    const char *token;
    tn_expression_kind kind;
} expression_operator;

static const expression_operator operators[] = {
    {0, "||", TN_EXPRESSION_OR},         {1, "&&", TN_EXPRESSION_AND},
    {2, "==", TN_EXPRESSION_EQUAL},      {2, "!=", TN_EXPRESSION_NOT_EQUAL},
    {3, "<=", TN_EXPRESSION_LESS_EQUAL}, {3, ">=", TN_EXPRESSION_GREATER_EQUAL},
    {3, "<", TN_EXPRESSION_LESS},        {3, ">", TN_EXPRESSION_GREATER},
    {4, "+", TN_EXPRESSION_ADD},         {4, "-", TN_EXPRESSION_SUBTRACT},
    {5, "*", TN_EXPRESSION_MULTIPLY},    {5, "/", TN_EXPRESSION_DIVIDE},
};
enum { OPERATOR_COUNT = sizeof(operators) / sizeof(operators[0]), LEVEL_COUNT = 6 };

static const expression_operator *take_operator(expression_reader *reader, uint32_t level) {
    const bool is_sign = reader->at[0] == '+' || reader->at[0] == '-';
    if (is_sign && reader->at[1] == reader->at[0]) return NULL; /* ++ and -- are not there */
    for (uint32_t i = 0; i < OPERATOR_COUNT; i++)
        if (operators[i].level == level && take_token(reader, operators[i].token))
            return &operators[i];
    return NULL;
}

static bool read_level(expression_reader *reader, uint32_t level, uint32_t *out_step) {
    const expression_operator *found;
    uint32_t right = 0;
    if (level == LEVEL_COUNT) return read_signed(reader, out_step);
    if (!read_level(reader, level + 1, out_step)) return false;
    while ((found = take_operator(reader, level)) != NULL)
        if (!read_level(reader, level + 1, &right) ||
            !add_binary(reader, found->kind, *out_step, right, out_step))
            return false;
    return true;
}

static bool read_choice(expression_reader *reader, uint32_t *out_step) {
    tn_expression_step step = {.kind = TN_EXPRESSION_CHOOSE, .operand_count = 3};
    if (!enter(reader) || !read_level(reader, 0, out_step)) return false;
    if (take_token(reader, "?")) {
        step.operands[0] = *out_step;
        if (!read_choice(reader, &step.operands[1])) return false;
        if (!take_token(reader, ":")) return fail(reader, "expected ':' after '?'");
        if (!read_choice(reader, &step.operands[2]) || !add_step(reader, &step, out_step))
            return false;
    }
    reader->depth--;
    return true;
}

bool tn_expression_read(const char *text, tn_expression *out_expression, char *out_why,
                        size_t why_bytes) {
    expression_reader reader = {
        .expression = out_expression, .text = text, .at = text, .why_bytes = why_bytes};
    uint32_t last = 0;
    reader.why = out_why;
    out_expression->text = text;
    out_expression->count = 0;
    skip_spaces(&reader);
    if (!read_choice(&reader, &last)) return false;
    if (*reader.at) return fail(&reader, "expected an operator or the end");
    return true;
}

bool tn_expression_is_name(const tn_expression *expression, uint32_t step, const char *name) {
    const tn_expression_step *s = &expression->steps[step];
    return s->kind == TN_EXPRESSION_NAME && strlen(name) == s->name_length &&
           memcmp(expression->text + s->name_at, name, s->name_length) == 0;
}
