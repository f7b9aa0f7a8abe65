/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of an expression (expression.h): of one element in floating-point, and of blocks of
 * elements in the arithmetic that their types have, which is exact for integers of 64 bits.
 */
#ifndef TN_EXPRESSION_EXPRESSION_COMPUTE_H
#define TN_EXPRESSION_EXPRESSION_COMPUTE_H

#include "src/expression/expression.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The value with 64-bit floats; `values[i]` is that of step i where it is a name, and is
 * overwritten for all others. Room for `count` of them. */
double tn_expression_compute(const tn_expression *expression, double *inout_values);
/* The same with 32-bit floats, as kernels compute it: every value is rounded to one, a name's too.
 */
double tn_expression_compute_f32(const tn_expression *expression, double *inout_values);

/* The arithmetic of a step. An operation on different ones is done in the first that is among
 * them, of those listed; SIGNED and UNSIGNED together are SIGNED. Integers wrap. */
typedef enum tn_expression_domain {
    TN_EXPRESSION_FLOAT,
    TN_EXPRESSION_SIGNED,
    TN_EXPRESSION_UNSIGNED,
    TN_EXPRESSION_LITERAL /* integers in the text, truths: of the other operand's arithmetic */
} tn_expression_domain;

/* Fills in the domains of all steps from those of the names; answers the last step's. */
tn_expression_domain tn_expression_domains(const tn_expression *expression,
                                           tn_expression_domain *inout_domains);

enum { TN_EXPRESSION_BLOCK = 256 };

/* Computes all steps for `count` elements, at most TN_EXPRESSION_BLOCK: element k of step i is
 * values[i * count + k], given where the step is a name. */
void tn_expression_compute_block(const tn_expression *expression,
                                 const tn_expression_domain *domains, uint32_t count,
                                 tn_expression_value *inout_values);

#ifdef __cplusplus
}
#endif

#endif
