/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a right kernel's numbers may lie from the reference's, because of the types in which it
 * stores and multiplies. Not the comparison itself, which is stored_compare.c's.
 *
 * Operators that are sums of products x * w, and a bias b, are bounded through the operator itself,
 * computed from other numbers: with the bias left out it gives the sums S; from |x| and |w| the
 * sums' magnitudes. With u the unit of rounding, 2^-11 for 16-bit floats of IEEE 754 and 2^-8 for
 * bf16:
 *
 *   weights:  W = reference(|x|, u * |w|, 0): each weight is rounded once. In 8 bits half of the
 *             largest step of a symmetric quantisation replaces u * |w|. Where x comes in
 *             32-bit floats and the kernel rounds it, too: W = reference(|x|, (2u + u^2) * |w|, 0).
 *   sums:     u * |S|: a sum may be stored once before bias, residual and activation follow.
 *   result:   2 * u * |y|: it is rounded, and so may be the bias.
 *   tf32:     T = 2^-9 * reference(|x|, |w|, 0): both factors keep 10 bits behind the first one,
 *             rounded or cut, so that each is off by 2^-10 of itself at most; sums and all that
 *             follows are 32-bit floats.
 */
#ifndef TN_CONFORMANCE_CASES_BOUND_H
#define TN_CONFORMANCE_CASES_BOUND_H

#include "conformance.h"

/* A case, and which of its inputs are stored in what type. */
typedef struct tn_bound_case {
    tn_runtime *runtime;
    const tn_operator *op;
    tn_arena *arena;
    const tn_case *c; /* inputs: as they are stored */
    tn_type stored;   /* TN_F16, TN_BF16, the combinations' 8 bits, or TN_NONE: as they are */
    uint64_t narrow;  /* bit i: input i is stored so */
} tn_bound_case;

/* Whether an input is a factor that the kernel converts into the stored type itself. */
bool tn_bound_is_weight(const tn_bound_case *bound, uint32_t index);
/* W, S and T: to be freed by tn_outcome_free. */
tn_status tn_bound_weights(const tn_bound_case *bound, tn_outcome *out_weights);
tn_status tn_bound_sums(const tn_bound_case *bound, tn_outcome *out_sums);
tn_status tn_bound_tf32(const tn_bound_case *bound, tn_outcome *out_products);

/* How far the result for `y` may be off: `weights`, `sum` and `largest` (of all y) are numbers of
 * the same element, `stored` the type of the output. */
double tn_bound_of(tn_type stored, double y, double weights, double sum, double largest);

#endif
