/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions; see expression_functions.h. */
#include "src/expression/expression_functions.h"

#include <math.h>
#include <stddef.h>

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double softplus(double x) {
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

/* NaN where one of both is, which C's functions take for a missing value. */
static double smaller(double a, double b) {
    return isnan(a) || a < b ? a : b;
}
static double larger(double a, double b) {
    return isnan(a) || a > b ? a : b;
}

/* The remainder with the divisor's sign. */
static double floor_mod(double a, double b) {
    const double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* Functions of bits are of values without their fraction. */
static int64_t whole_of(double x) {
    if (!(x >= -0x1p63)) return INT64_MIN;
    return x < 0x1p63 ? (int64_t)x : INT64_MAX;
}
static double bit_and(double a, double b) {
    return (double)(whole_of(a) & whole_of(b));
}
static double bit_or(double a, double b) {
    return (double)(whole_of(a) | whole_of(b));
}
static double bit_xor(double a, double b) {
    return (double)(whole_of(a) ^ whole_of(b));
}
static double bit_not(double a) {
    return (double)~whole_of(a);
}
static double shift_left(double a, double b) {
    return (double)(int64_t)tn_expression_shift_left((uint64_t)whole_of(a), (uint64_t)whole_of(b));
}
static double shift_right(double a, double b) {
    return (double)tn_expression_shift_right(whole_of(a), (uint64_t)whole_of(b));
}

static const tn_expression_function functions[] = {
    {"exp", 1, exp, NULL},
    {"expm1", 1, expm1, NULL},
    {"log", 1, log, NULL},
    {"log1p", 1, log1p, NULL},
    {"sqrt", 1, sqrt, NULL},
    {"erf", 1, erf, NULL},
    {"erfc", 1, erfc, NULL},
    {"pow", 2, NULL, pow},
    {"sin", 1, sin, NULL},
    {"cos", 1, cos, NULL},
    {"tan", 1, tan, NULL},
    {"asin", 1, asin, NULL},
    {"acos", 1, acos, NULL},
    {"atan", 1, atan, NULL},
    {"sinh", 1, sinh, NULL},
    {"cosh", 1, cosh, NULL},
    {"tanh", 1, tanh, NULL},
    {"asinh", 1, asinh, NULL},
    {"acosh", 1, acosh, NULL},
    {"atanh", 1, atanh, NULL},
    {"floor", 1, floor, NULL},
    {"ceil", 1, ceil, NULL},
    {"rint", 1, rint, NULL},
    {"fabs", 1, fabs, NULL},
    {"fmin", 2, NULL, fmin},
    {"fmax", 2, NULL, fmax},
    {"fmod", 2, NULL, fmod},
    {"mod", 2, NULL, floor_mod},
    {"min", 2, NULL, smaller},
    {"max", 2, NULL, larger},
    {"sign", 1, sign, NULL},
    {"sigmoid", 1, sigmoid, NULL},
    {"softplus", 1, softplus, NULL},
    {"bitand", 2, NULL, bit_and},
    {"bitor", 2, NULL, bit_or},
    {"bitxor", 2, NULL, bit_xor},
    {"bitnot", 1, bit_not, NULL},
    {"shift_left", 2, NULL, shift_left},
    {"shift_right", 2, NULL, shift_right},
};
enum { FUNCTION_COUNT = sizeof(functions) / sizeof(functions[0]) };

const tn_expression_function *tn_expression_function_of(uint32_t function) {
    return function < FUNCTION_COUNT ? &functions[function] : NULL;
}

const char *tn_expression_function_name(uint32_t function) {
    return function < FUNCTION_COUNT ? functions[function].name : "";
}
