/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of integers of 64 bits in expressions: blocks of steps, for expression_compute.c.
 */
#ifndef TN_EXPRESSION_EXPRESSION_INTEGER_H
#define TN_EXPRESSION_EXPRESSION_INTEGER_H

#include "src/expression/expression.h"

/* Whether integers have a function of this name; of others the value is floating-point. */
bool tn_expression_is_whole(const char *name);

/* The step, which is none of truths, choices, names, literals and powers, for `count` elements. */
void tn_expression_compute_integer(const tn_expression_step *step, bool is_unsigned, uint32_t count,
                                   const tn_expression_value *a, const tn_expression_value *b,
                                   tn_expression_value *y);
/* The power of an integer, which wraps; of a negative exponent the reciprocal without its fraction.
 */
uint64_t tn_expression_power(tn_expression_value x, tn_expression_value exponent, bool is_signed,
                             bool is_exponent_signed);

#endif
