/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether 16-bit floats were cut off in place of rounded to the nearest: each error is within what
 * is allowed then, but all of them point to one side, and their mean is up to half a unit in the
 * last place, where that of rounded ones is 0. Not the comparison itself, which bounds each error.
 */
#ifndef TN_CONFORMANCE_CASES_ROUNDING_H
#define TN_CONFORMANCE_CASES_ROUNDING_H

#include "tensor/type.h"

/* Errors in units in the last place: of the magnitudes, and with their signs. */
typedef struct tn_rounding {
    size_t count, beyond, larger, smaller, above, below;
    size_t halves, odd, up, away; /* of numbers halfway between two: how they were rounded */
    double magnitudes, values;    /* sums */
    bool is_other;                /* errors that no rounding makes */
} tn_rounding;

/* An element: as it should be, rounded or not, and as it is. Other types than f16 and bf16, and
 * numbers that are not finite or subnormal, do not count. */
void tn_rounding_add(tn_rounding *rounding, tn_type type, double wanted, double found);
/* "towards zero" and so on; null: the errors are those of rounding to the nearest, or too few. */
const char *tn_rounding_bias(const tn_rounding *rounding);

#endif
