/* SPDX-License-Identifier: Apache-2.0 */
/* What the rule about other shapes knows of its case, for its parts. */
#ifndef TN_CONFORMANCE_RULES_DECLARED_RULES_SHAPES_H
#define TN_CONFORMANCE_RULES_DECLARED_RULES_SHAPES_H

#include "rules/rules.h"

typedef struct tn_shapes {
    const tn_test *test;
    uint32_t count, tried;
    tn_shape base[TN_PROBE_PORTS];  /* the case's */
    bool is_fixed[TN_PROBE_PORTS];  /* inputs that keep their shapes */
    bool has_codes;                 /* an output is of no floats: of counts, positions, texts */
    bool is_needed[TN_PROBE_PORTS]; /* by the shape rule, which computes extents of the values */
    uint64_t random;
} tn_shapes;

/* Whether no case before this one has a first input of its type, and the same fields or any. */
bool tn_shapes_are_first(const tn_test *test, bool has_any_fields);

/* --- rules_shapes.c --- */
/* Runs on what the change makes of the case, where it is taken; answers whether it is. */
bool tn_shapes_attempt(const tn_test *test, const tn_change *change, tn_verdict *verdict);
/* The same on other extents than the case's, which are as many as it has inputs. */
bool tn_shapes_try(tn_shapes *all, const tn_shape *of, tn_verdict *verdict);
bool tn_shapes_are_small(const tn_shapes *all, const tn_shape *of);

/* --- rules_alike.c --- */
/* An extent wherever the case has it, and with it those that are multiples of it. */
void tn_shapes_try_alike(tn_shapes *all, tn_verdict *verdict);
/* Indices in other shapes, and many of them. */
void tn_shapes_try_indices(tn_shapes *all, tn_verdict *verdict);

/* --- rules_many.c --- */
/* Long rows of equal and of sorted values, and many rows. More than 16 bits count are too many for
 * recursions over what is sorted; a reference agrees with itself whatever it computes. */
void tn_shapes_try_numbers(const tn_shapes *all, tn_verdict *verdict);

#endif
