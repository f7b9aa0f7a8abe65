/* SPDX-License-Identifier: Apache-2.0 */
/* The next elements of a row: a whole vector, or the part that is left. */
#ifndef TN_KIT_MATH_VECTOR_SOME_H
#define TN_KIT_MATH_VECTOR_SOME_H

#include <tenon/kit/vector.h>

/* The first `left` floats, at most a vector; what is loaded has zeros behind them. */
TN_INLINE tn_vector tn_vector_load_some(const float *from, int64_t left) {
    return left >= TN_LANES ? tn_vector_load(from) : tn_vector_load_part(from, left);
}
TN_INLINE void tn_vector_store_some(float *to, tn_vector value, int64_t left) {
    if (left >= TN_LANES)
        tn_vector_store(to, value);
    else
        tn_vector_store_part(to, value, left);
}

#endif
