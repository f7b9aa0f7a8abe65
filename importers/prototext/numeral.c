/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the text format. Not the C library's functions: those read a point or a comma by the
 * program's locale. A decimal number is nineteen digits and a power of ten, put together in long
 * double, so that what becomes a float is the nearest one.
 */
#include "base/status.h"
#include "importers/prototext/lexer.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define DIGITS_AT_MOST   19
#define EXPONENT_AT_MOST 100000

typedef struct decimal {
    uint64_t digits;
    int64_t exponent;
    bool has_point, has_exponent;
} decimal;

/* Digits with at most one point in them. */
static const char *read_digits(const char *at, decimal *number, bool *out_any) {
    int count = 0;
    for (; tn_prototext_is_digit(*at) || (*at == '.' && !number->has_point); at++) {
        if (*at == '.') {
            number->has_point = true;
            continue;
        }
        *out_any = true;
        if (count < DIGITS_AT_MOST) {
            number->digits = number->digits * 10 + (uint64_t)(*at - '0');
            count += number->digits > 0;
            number->exponent -= number->has_point;
        } else {
            number->exponent += !number->has_point;
        }
    }
    return at;
}

/* null: it is no exponent. */
static const char *read_exponent(const char *at, decimal *number) {
    if (*at != 'e' && *at != 'E') return at;
    bool is_negative = *++at == '-';
    int64_t value = 0;
    if (*at == '-' || *at == '+') at++;
    if (!tn_prototext_is_digit(*at)) return NULL;
    for (; tn_prototext_is_digit(*at); at++)
        if (value < EXPONENT_AT_MOST) value = value * 10 + (*at - '0');
    number->exponent += is_negative ? -value : value;
    number->has_exponent = true;
    return at;
}

static bool read_decimal(const char *text, tn_prototext_token *token) {
    decimal number = {0};
    bool any = false;
    const char *at = read_digits(text, &number, &any);
    if (any) at = read_exponent(at, &number);
    if (!any || !at) return false;
    bool is_float = number.has_point || number.has_exponent;
    if (*at == 'f' || *at == 'F') {
        is_float = true;
        at++;
    }
    if (*at) return false;
    token->number =
        number.digits == 0
            ? 0
            : (double)((long double)number.digits * powl(10, (long double)number.exponent));
    token->is_integer = !is_float && number.exponent == 0 && number.digits <= INT64_MAX;
    token->integer = token->is_integer ? (int64_t)number.digits : 0;
    return true;
}

/* Hexadecimal and octal: integers alone. */
static bool read_whole(const char *text, uint32_t base, tn_prototext_token *token) {
    uint64_t value = 0;
    for (const char *at = text; *at; at++) {
        uint32_t digit =
            tn_prototext_is_digit(*at) ? (uint32_t)(*at - '0') : ((uint32_t)*at | 0x20) - 'a' + 10;
        if (digit >= base || value > (UINT64_MAX - digit) / base) return false;
        value = value * base + digit;
    }
    if (!*text || value > INT64_MAX) return false;
    token->number = (double)value;
    token->integer = (int64_t)value;
    token->is_integer = true;
    return true;
}

bool tn_prototext_numeral(const char *text, size_t length, tn_prototext_token *out_token) {
    if (strlen(text) != length) return false;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return read_whole(text + 2, 16, out_token);
    if (text[0] == '0' && length > 1 && strspn(text, "0123456789") == length)
        return read_whole(text + 1, 8, out_token);
    return read_decimal(text, out_token);
}

bool tn_prototext_special_number(const char *text, double *out_value) {
    bool is_infinite = strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0 ||
                       strcasecmp(text, "inff") == 0;
    if (!is_infinite && strcasecmp(text, "nan") != 0) return false;
    *out_value = is_infinite ? (double)INFINITY : (double)NAN;
    return true;
}
