/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns that memory is filled with before a guarded call, so that what nobody wrote is known
 * afterwards: NaNs of a payload that no arithmetic makes, and for integers bytes that change from
 * element to element. And the look for values that are not finite.
 */
#ifndef TN_GUARD_POISON_H
#define TN_GUARD_POISON_H

#include "tensor/type.h"

/* Eight bytes of it, for memory of no certain element type, and around data of this type. */
uint64_t tn_poison_word(tn_type type);
void tn_poison_fill(void *data, size_t bytes, tn_type type);
/* Whether elements still hold it: *out_index is the first. Single elements of four bytes and more,
 * and of floats; of other types sixteen bytes in a row, or all there are, and then four at least.
 */
bool tn_poison_is_left(const void *data, size_t bytes, tn_type type, size_t *out_index);
/* Whether there is an infinity or a NaN among `bytes` of floats: *out_index is the first. False for
 * other types. */
bool tn_poison_is_not_finite(const void *data, size_t bytes, tn_type type, size_t *out_index);

#endif
