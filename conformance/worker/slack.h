/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a right kernel may be from the reference on drawn values (values.h), beyond the tolerance
 * of all results: as far as the reference itself moves when its inputs are rounded otherwise, and a
 * few units in the last digit of the inputs and the fields, which terms that cancel leave behind.
 * Where the reference moves far (sin(1e9), a tie of rint), or a result is not representable,
 * nothing is compared.
 */
#ifndef TN_CONFORMANCE_WORKER_SLACK_H
#define TN_CONFORMANCE_WORKER_SLACK_H

#include "cases/conformance.h"

typedef struct tn_slack {
    uint32_t count;
    double *of[16];  /* an output's; INFINITY: the element is not compared */
    bool are_finite; /* all floats that went in */
    bool asks_all;   /* the outputs are the optional ones, too */
    bool are_huge;   /* their squares overflow in 32-bit floats */
    bool is_moved;   /* what the reference moves is in it */
    uint32_t values; /* TN_VALUES_... */
} tn_slack;

/* For values of a kind, TN_VALUES_..., and the outputs that `expected` has: optional ones, too,
 * where all are asked for. TN_ERROR_UNSUPPORTED: nothing can be compared. To be freed by
 * tn_slack_destroy in any case. */
tn_status tn_slack_create(const tn_operator *op, const tn_case *c, uint32_t values, bool asks_all,
                          const tn_outcome *expected, tn_slack *out_slack);
/* The rest of it, which takes a while: the reference runs again on `c` with its floats moved.
 * TN_ERROR_UNSUPPORTED: nothing can be compared. */
tn_status tn_slack_move(tn_runtime *runtime, const tn_operator *op, const tn_case *c,
                        const tn_outcome *expected, tn_slack *slack);
/* From finite inputs a reference may overflow in a step, as the plainest formula does in the end:
 * where it has NaN, or an infinity, a number of that sign is right, too. And where it computes huge
 * values in wider floats than the kernel, the kernel's may overflow where the result is as large,
 * or cancels to 0; a wrong number is not right for that. */
void tn_slack_allow_values(tn_slack *slack, const tn_outcome *expected, const tn_outcome *found);
/* Whether a number that 16 bits do not hold became the largest one of them in place of the infinity
 * that rounding gives. */
bool tn_slack_is_cut(tn_type type, double expected, double found);
/* Whether all elements of an output are some input's, bit by bit, or truths. */
bool tn_slack_is_selected(const tn_case *c, const tn_outcome *expected, uint32_t output);
void tn_slack_destroy(tn_slack *slack);

#endif
