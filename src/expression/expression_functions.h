/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of expressions (docs/expressions.md) by their names, of floating-point values. */
#ifndef TN_EXPRESSION_EXPRESSION_FUNCTIONS_H
#define TN_EXPRESSION_EXPRESSION_FUNCTIONS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function of the language: one of C's library by its name there, or one of its own. */
typedef struct tn_expression_function {
    const char *name;
    uint32_t operand_count;
    double (*one)(double); /* with one operand; else null */
    double (*two)(double, double);
} tn_expression_function;
const tn_expression_function *tn_expression_function_of(uint32_t function); /* null: none */
const char *tn_expression_function_name(uint32_t function);

/* By a negative number of bits, or by all of them: what the sign alone leaves. */
static inline uint64_t tn_expression_shift_left(uint64_t a, uint64_t b) {
    return b < 64 ? a << b : 0;
}
static inline int64_t tn_expression_shift_right(int64_t a, uint64_t b) {
    const uint64_t sign = a < 0 ? UINT64_MAX : 0;
    return (int64_t)(b < 64 ? (((uint64_t)a ^ sign) >> b) ^ sign : sign);
}
static inline uint64_t tn_expression_shift_right_natural(uint64_t a, uint64_t b) {
    return b < 64 ? a >> b : 0;
}

#ifdef __cplusplus
}
#endif

#endif
