/* SPDX-License-Identifier: Apache-2.0 */
/* Computing expressions; see expression_compute.h. The arithmetic of integers is in
 * expression_integer.c. */
#include "src/expression/expression_compute.h"
#include "src/expression/expression_integer.h"

#include <math.h>
#include <string.h>

typedef tn_expression_value value;
typedef tn_expression_domain domain;

/* ----------------------------------------------------------------------------------------------
 * one element */

static double compute_step(const tn_expression_step *step, double a, double b, double c) {
    switch (step->kind) {
    case TN_EXPRESSION_NUMBER:
        return step->number;
    case TN_EXPRESSION_NAME:
        return 0;
    case TN_EXPRESSION_CALL:
        return step->operand_count == 1 ? tn_expression_function_of(step->function)->one(a)
                                        : tn_expression_function_of(step->function)->two(a, b);
    case TN_EXPRESSION_NEGATE:
        return -a;
    case TN_EXPRESSION_ADD:
        return a + b;
    case TN_EXPRESSION_SUBTRACT:
        return a - b;
    case TN_EXPRESSION_MULTIPLY:
        return a * b;
    case TN_EXPRESSION_DIVIDE:
        return a / b;
    case TN_EXPRESSION_CHOOSE:
        return a != 0 ? b : c;
    case TN_EXPRESSION_NOT:
        return a == 0;
    case TN_EXPRESSION_LESS:
        return a < b;
    case TN_EXPRESSION_LESS_EQUAL:
        return a <= b;
    case TN_EXPRESSION_GREATER:
        return a > b;
    case TN_EXPRESSION_GREATER_EQUAL:
        return a >= b;
    case TN_EXPRESSION_EQUAL:
        return a == b;
    case TN_EXPRESSION_NOT_EQUAL:
        return a != b;
    case TN_EXPRESSION_AND:
        return a != 0 && b != 0;
    case TN_EXPRESSION_OR:
        return a != 0 || b != 0;
    }
    return 0;
}

static double compute(const tn_expression *expression, bool is_f32, double *inout_values) {
    for (uint32_t i = 0; i < expression->count; i++) {
        const tn_expression_step *step = &expression->steps[i];
        double operands[3] = {0, 0, 0};
        for (uint32_t k = 0; k < step->operand_count; k++)
            operands[k] = inout_values[step->operands[k]];
        if (step->kind != TN_EXPRESSION_NAME)
            inout_values[i] = compute_step(step, operands[0], operands[1], operands[2]);
        if (is_f32) inout_values[i] = (double)(float)inout_values[i];
    }
    return inout_values[expression->count - 1];
}

double tn_expression_compute(const tn_expression *expression, double *inout_values) {
    return compute(expression, false, inout_values);
}

double tn_expression_compute_f32(const tn_expression *expression, double *inout_values) {
    return compute(expression, true, inout_values);
}

/* ----------------------------------------------------------------------------------------------
 * domains */

static domain join(domain a, domain b) {
    if (a == TN_EXPRESSION_FLOAT || b == TN_EXPRESSION_FLOAT) return TN_EXPRESSION_FLOAT;
    if (a == TN_EXPRESSION_LITERAL) return b;
    return b == TN_EXPRESSION_LITERAL || a == b ? a : TN_EXPRESSION_SIGNED;
}

static domain call_domain(const tn_expression_step *step, domain a, domain b) {
    const char *name = tn_expression_function_name(step->function);
    if (strcmp(name, "pow") == 0)
        return b == TN_EXPRESSION_FLOAT || a == TN_EXPRESSION_LITERAL ? TN_EXPRESSION_FLOAT : a;
    if (!tn_expression_is_whole(name)) return TN_EXPRESSION_FLOAT;
    return step->operand_count == 1 ? a : join(a, b);
}

static domain step_domain(const tn_expression_step *step, const domain *domains) {
    const domain a = step->operand_count > 0 ? domains[step->operands[0]] : TN_EXPRESSION_FLOAT;
    const domain b = step->operand_count > 1 ? domains[step->operands[1]] : a;
    if (tn_expression_is_truth(step->kind)) return TN_EXPRESSION_LITERAL;
    switch (step->kind) {
    case TN_EXPRESSION_NUMBER:
        return step->number == floor(step->number) && fabs(step->number) <= 0x1p53
                   ? TN_EXPRESSION_LITERAL
                   : TN_EXPRESSION_FLOAT;
    case TN_EXPRESSION_CALL:
        return call_domain(step, a, b);
    case TN_EXPRESSION_CHOOSE:
        return join(b, domains[step->operands[2]]);
    case TN_EXPRESSION_MULTIPLY: /* products of literals have no bound */
    case TN_EXPRESSION_DIVIDE:
        return join(a, b) == TN_EXPRESSION_LITERAL ? TN_EXPRESSION_FLOAT : join(a, b);
    default:
        return join(a, b);
    }
}

domain tn_expression_domains(const tn_expression *expression, domain *inout_domains) {
    for (uint32_t i = 0; i < expression->count; i++)
        if (expression->steps[i].kind != TN_EXPRESSION_NAME)
            inout_domains[i] = step_domain(&expression->steps[i], inout_domains);
    return inout_domains[expression->count - 1];
}

/* ----------------------------------------------------------------------------------------------
 * blocks */

/* A block of an operand in the arithmetic of the operation: itself, or converted in `scratch`. */
static const value *in_domain(domain from, domain to, uint32_t count, const value *block,
                              value *scratch) {
    if (to != TN_EXPRESSION_FLOAT || from == TN_EXPRESSION_FLOAT) return block;
    for (uint32_t k = 0; k < count; k++)
        scratch[k].real =
            from == TN_EXPRESSION_UNSIGNED ? (double)block[k].natural : (double)block[k].whole;
    return scratch;
}

#define EACH(member, expression_of_k)                                                              \
    for (uint32_t k = 0; k < count; k++)                                                           \
        y[k].member = (expression_of_k);                                                           \
    return

static void compute_float(const tn_expression_step *step, uint32_t count, const value *a,
                          const value *b, value *y) {
    switch (step->kind) {
    case TN_EXPRESSION_NEGATE:
        EACH(real, -a[k].real);
    case TN_EXPRESSION_ADD:
        EACH(real, a[k].real + b[k].real);
    case TN_EXPRESSION_SUBTRACT:
        EACH(real, a[k].real - b[k].real);
    case TN_EXPRESSION_MULTIPLY:
        EACH(real, a[k].real * b[k].real);
    case TN_EXPRESSION_DIVIDE:
        EACH(real, a[k].real / b[k].real);
    default:
        break;
    }
    const tn_expression_function *function = tn_expression_function_of(step->function);
    if (function->one) {
        EACH(real, function->one(a[k].real));
    }
    EACH(real, function->two(a[k].real, b[k].real));
}

/* ----------------------------------------------------------------------------------------------
 * truths */

/* -1, 0 or 1 as `a` is below, at or above `b`, whatever of both is signed. */
static int order(value a, bool is_a_signed, value b, bool is_b_signed) {
    const bool is_a_low = is_a_signed && a.whole < 0, is_b_low = is_b_signed && b.whole < 0;
    if (is_a_low != is_b_low) return is_a_low ? -1 : 1;
    return (a.natural > b.natural) - (a.natural < b.natural); /* of two negative ones as well */
}

static bool comparison_holds(tn_expression_kind kind, int order_of_both) {
    switch (kind) {
    case TN_EXPRESSION_LESS:
        return order_of_both < 0;
    case TN_EXPRESSION_LESS_EQUAL:
        return order_of_both <= 0;
    case TN_EXPRESSION_GREATER:
        return order_of_both > 0;
    case TN_EXPRESSION_GREATER_EQUAL:
        return order_of_both >= 0;
    case TN_EXPRESSION_EQUAL:
        return order_of_both == 0;
    default:
        return order_of_both != 0;
    }
}

static void compare_float(tn_expression_kind kind, uint32_t count, const value *a, const value *b,
                          value *y) {
    switch (kind) {
    case TN_EXPRESSION_LESS:
        EACH(whole, a[k].real < b[k].real);
    case TN_EXPRESSION_LESS_EQUAL:
        EACH(whole, a[k].real <= b[k].real);
    case TN_EXPRESSION_GREATER:
        EACH(whole, a[k].real > b[k].real);
    case TN_EXPRESSION_GREATER_EQUAL:
        EACH(whole, a[k].real >= b[k].real);
    case TN_EXPRESSION_EQUAL:
        EACH(whole, a[k].real == b[k].real);
    default:
        EACH(whole, a[k].real != b[k].real);
    }
}

/* Everything but 0 is true, NaN too. */
static inline bool is_true(domain of, value x) {
    return of == TN_EXPRESSION_FLOAT ? x.real != 0 : x.whole != 0;
}

static void compute_truth(const tn_expression_step *step, const domain *domains, uint32_t count,
                          const value *a, const value *b, value *scratch, value *y) {
    const domain of_a = domains[step->operands[0]];
    const domain of_b = step->operand_count > 1 ? domains[step->operands[1]] : of_a;
    switch (step->kind) {
    case TN_EXPRESSION_NOT:
        EACH(whole, !is_true(of_a, a[k]));
    case TN_EXPRESSION_AND:
        EACH(whole, is_true(of_a, a[k]) && is_true(of_b, b[k]));
    case TN_EXPRESSION_OR:
        EACH(whole, is_true(of_a, a[k]) || is_true(of_b, b[k]));
    default:
        break;
    }
    if (join(of_a, of_b) == TN_EXPRESSION_FLOAT) {
        a = in_domain(of_a, TN_EXPRESSION_FLOAT, count, a, scratch);
        b = in_domain(of_b, TN_EXPRESSION_FLOAT, count, b, scratch + TN_EXPRESSION_BLOCK);
        compare_float(step->kind, count, a, b, y);
        return;
    }
    EACH(whole, comparison_holds(step->kind, order(a[k], of_a != TN_EXPRESSION_UNSIGNED, b[k],
                                                   of_b != TN_EXPRESSION_UNSIGNED)));
}

/* ----------------------------------------------------------------------------------------------
 * steps */

static void compute_choice(domain condition_domain, uint32_t count, const value *condition,
                           const value *a, const value *b, value *y) {
    for (uint32_t k = 0; k < count; k++)
        y[k] = is_true(condition_domain, condition[k]) ? a[k] : b[k];
}

static void fill_number(double number, domain of, uint32_t count, value *y) {
    for (uint32_t k = 0; k < count; k++)
        if (of == TN_EXPRESSION_FLOAT)
            y[k].real = number;
        else
            y[k].whole = (int64_t)number;
}

static bool is_power(const tn_expression_step *step) {
    return step->kind == TN_EXPRESSION_CALL &&
           strcmp(tn_expression_function_name(step->function), "pow") == 0;
}

static void compute_step_block(const tn_expression *expression, uint32_t index,
                               const domain *domains, uint32_t count, value *values) {
    value scratch[2 * TN_EXPRESSION_BLOCK];
    const tn_expression_step *step = &expression->steps[index];
    const uint32_t *o = step->operands;
    const domain own = domains[index];
    const bool is_choice = step->kind == TN_EXPRESSION_CHOOSE;
    const uint32_t first = is_choice ? o[1] : o[0], second = is_choice ? o[2] : o[1];
    const value *a = &values[(size_t)first * count], *b = &values[(size_t)second * count];
    value *y = &values[(size_t)index * count];
    if (step->operand_count < 2) b = a;
    if (tn_expression_is_truth(step->kind)) {
        compute_truth(step, domains, count, a, b, scratch, y);
        return;
    }
    if (is_power(step) && own != TN_EXPRESSION_FLOAT) {
        EACH(natural, tn_expression_power(a[k], b[k], domains[first] == TN_EXPRESSION_SIGNED,
                                          domains[second] != TN_EXPRESSION_UNSIGNED));
    }
    a = in_domain(domains[first], own, count, a, scratch);
    if (step->operand_count > 1)
        b = in_domain(domains[second], own, count, b, scratch + TN_EXPRESSION_BLOCK);
    if (is_choice)
        compute_choice(domains[o[0]], count, &values[(size_t)o[0] * count], a, b, y);
    else if (own == TN_EXPRESSION_FLOAT)
        compute_float(step, count, a, b, y);
    else
        tn_expression_compute_integer(step, own == TN_EXPRESSION_UNSIGNED, count, a, b, y);
}

void tn_expression_compute_block(const tn_expression *expression, const domain *domains,
                                 uint32_t count, value *inout_values) {
    for (uint32_t i = 0; i < expression->count; i++) {
        const tn_expression_step *step = &expression->steps[i];
        if (step->kind == TN_EXPRESSION_NUMBER)
            fill_number(step->number, domains[i], count, &inout_values[(size_t)i * count]);
        else if (step->kind != TN_EXPRESSION_NAME)
            compute_step_block(expression, i, domains, count, inout_values);
    }
}
