/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of integers in expressions; see expression_integer.h. */
#include "src/expression/expression_integer.h"

#include <string.h>

typedef tn_expression_value value;

#define EACH(member, expression_of_k)                                                              \
    for (uint32_t k = 0; k < count; k++)                                                           \
        y[k].member = (expression_of_k);                                                           \
    return

static bool is_one_of(const char *name, const char *const *names) {
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* Functions that integers have; of others the value is a floating-point number. */
static const char *const whole_one[] = {"fabs", "floor", "ceil", "rint", "sign", "bitnot", NULL};
static const char *const whole_two[] = {"fmin",   "fmax",       "min",         "max",
                                        "mod",    "fmod",       "bitand",      "bitor",
                                        "bitxor", "shift_left", "shift_right", NULL};

bool tn_expression_is_whole(const char *name) {
    return is_one_of(name, whole_one) || is_one_of(name, whole_two);
}

/* Division by zero is zero; the lowest number over -1 wraps to itself. */
static int64_t divide_signed(int64_t a, int64_t b) {
    if (b == 0) return 0;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

/* With C's sign of the dividend, or the divisor's; by zero: zero. */
static int64_t remainder_signed(int64_t a, int64_t b, bool is_floor) {
    if (b == 0 || b == -1) return 0;
    const int64_t rest = a % b;
    return is_floor && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* By squaring; wraps. */
static uint64_t power_natural(uint64_t x, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, x *= x)
        if (exponent & 1) result *= x;
    return result;
}

uint64_t tn_expression_power(value x, value exponent, bool is_signed, bool is_exponent_signed) {
    const bool is_negative = is_exponent_signed && exponent.whole < 0;
    if (!is_negative) return power_natural(x.natural, exponent.natural);
    if (x.natural == 1) return 1;
    if (is_signed && x.whole == -1) return exponent.natural & 1 ? UINT64_MAX : 1;
    return 0;
}

/* ----------------------------------------------------------------------------------------------
 * bits */

static void call_shift(bool is_left, bool is_unsigned, uint32_t count, const value *a,
                       const value *b, value *y) {
    if (is_left) {
        EACH(natural, tn_expression_shift_left(a[k].natural, b[k].natural));
    }
    if (is_unsigned) {
        EACH(natural, tn_expression_shift_right_natural(a[k].natural, b[k].natural));
    }
    EACH(whole, tn_expression_shift_right(a[k].whole, b[k].natural));
}

static void call_bits(const char *name, uint32_t count, const value *a, const value *b, value *y) {
    if (strcmp(name, "bitnot") == 0) {
        EACH(natural, ~a[k].natural);
    }
    if (strcmp(name, "bitand") == 0) {
        EACH(natural, a[k].natural & b[k].natural);
    }
    if (strcmp(name, "bitor") == 0) {
        EACH(natural, a[k].natural | b[k].natural);
    }
    EACH(natural, a[k].natural ^ b[k].natural);
}

/* ----------------------------------------------------------------------------------------------
 * blocks */

static void call_unsigned(const char *name, uint32_t count, const value *a, const value *b,
                          value *y) {
    const bool is_min = strcmp(name, "min") == 0 || strcmp(name, "fmin") == 0;
    if (strcmp(name, "sign") == 0) {
        EACH(natural, a[k].natural != 0);
    }
    if (is_one_of(name, whole_one)) {
        EACH(natural, a[k].natural);
    }
    if (strcmp(name, "mod") == 0 || strcmp(name, "fmod") == 0) {
        EACH(natural, b[k].natural == 0 ? 0 : a[k].natural % b[k].natural);
    }
    EACH(natural, (a[k].natural < b[k].natural) == is_min ? a[k].natural : b[k].natural);
}

static void call_signed(const char *name, uint32_t count, const value *a, const value *b,
                        value *y) {
    const bool is_min = strcmp(name, "min") == 0 || strcmp(name, "fmin") == 0;
    const bool is_floor = strcmp(name, "mod") == 0;
    if (strcmp(name, "sign") == 0) {
        EACH(whole, (a[k].whole > 0) - (a[k].whole < 0));
    }
    if (strcmp(name, "fabs") == 0) {
        EACH(natural, a[k].whole < 0 ? 0 - a[k].natural : a[k].natural);
    }
    if (is_one_of(name, whole_one)) {
        EACH(whole, a[k].whole);
    }
    if (is_floor || strcmp(name, "fmod") == 0) {
        EACH(whole, remainder_signed(a[k].whole, b[k].whole, is_floor));
    }
    EACH(whole, (a[k].whole < b[k].whole) == is_min ? a[k].whole : b[k].whole);
}

void tn_expression_compute_integer(const tn_expression_step *step, bool is_unsigned, uint32_t count,
                                   const value *a, const value *b, value *y) {
    const char *name = tn_expression_function_name(step->function);
    switch (step->kind) {
    case TN_EXPRESSION_NEGATE:
        EACH(natural, 0 - a[k].natural);
    case TN_EXPRESSION_ADD:
        EACH(natural, a[k].natural + b[k].natural);
    case TN_EXPRESSION_SUBTRACT:
        EACH(natural, a[k].natural - b[k].natural);
    case TN_EXPRESSION_MULTIPLY:
        EACH(natural, a[k].natural * b[k].natural);
    case TN_EXPRESSION_DIVIDE:
        if (is_unsigned) {
            EACH(natural, b[k].natural == 0 ? 0 : a[k].natural / b[k].natural);
        }
        EACH(whole, divide_signed(a[k].whole, b[k].whole));
    default:
        break;
    }
    if (strncmp(name, "bit", 3) == 0)
        call_bits(name, count, a, b, y);
    else if (strncmp(name, "shift_", 6) == 0)
        call_shift(strcmp(name, "shift_left") == 0, is_unsigned, count, a, b, y);
    else if (is_unsigned)
        call_unsigned(name, count, a, b, y);
    else
        call_signed(name, count, a, b, y);
}
