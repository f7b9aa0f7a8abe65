/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expressions of elementwise operators (docs/expressions.md), read from text: a list of steps,
 * each over steps before it, so that who computes or prints them needs no recursion. The text is a
 * third party's: what is not of the language is refused with its column, and nesting and length are
 * bounded. Names are only looked up by those who use it.
 */
#ifndef TN_EXPRESSION_EXPRESSION_H
#define TN_EXPRESSION_EXPRESSION_H

#include "src/expression/expression_functions.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_EXPRESSION_MOST_STEPS = 256, TN_EXPRESSION_MOST_DEPTH = 64 };

typedef enum tn_expression_kind {
    TN_EXPRESSION_NUMBER,
    TN_EXPRESSION_NAME,
    TN_EXPRESSION_CALL, /* of `function`, with one or two operands */
    TN_EXPRESSION_NEGATE,
    TN_EXPRESSION_ADD,
    TN_EXPRESSION_SUBTRACT,
    TN_EXPRESSION_MULTIPLY,
    TN_EXPRESSION_DIVIDE,
    TN_EXPRESSION_CHOOSE, /* operand 0 ? operand 1 : operand 2 */
    /* from here on the value is a truth, 0 or 1 */
    TN_EXPRESSION_NOT,
    TN_EXPRESSION_LESS,
    TN_EXPRESSION_LESS_EQUAL,
    TN_EXPRESSION_GREATER,
    TN_EXPRESSION_GREATER_EQUAL,
    TN_EXPRESSION_EQUAL,
    TN_EXPRESSION_NOT_EQUAL,
    TN_EXPRESSION_AND,
    TN_EXPRESSION_OR
} tn_expression_kind;

typedef struct tn_expression_step {
    tn_expression_kind kind;
    uint32_t function; /* CALL: for tn_expression_function_name */
    uint32_t operand_count;
    uint32_t operands[3]; /* numbers of earlier steps */
    double number;
    uint32_t name_at, name_length; /* NAME: where in the text */
} tn_expression_step;

/* The value is that of the last step. */
typedef struct tn_expression {
    const char *text; /* the caller's */
    uint32_t count;
    tn_expression_step steps[TN_EXPRESSION_MOST_STEPS];
} tn_expression;

/* One element of a step; of integers in the text it is `whole`. */
typedef union tn_expression_value {
    double real;
    int64_t whole;
    uint64_t natural;
} tn_expression_value;

/* Reads the text, which must outlive what is read. False: it is no such expression, and
 * `out_why` (of `why_bytes`, may be null) says what was expected and where. */
bool tn_expression_read(const char *text, tn_expression *out_expression, char *out_why,
                        size_t why_bytes);

/* Whether a step is this name. */
bool tn_expression_is_name(const tn_expression *expression, uint32_t step, const char *name);

static inline bool tn_expression_is_truth(tn_expression_kind kind) {
    return kind >= TN_EXPRESSION_NOT;
}

#ifdef __cplusplus
}
#endif

#endif
