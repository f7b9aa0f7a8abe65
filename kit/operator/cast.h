/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same elements in another type, for Cast and CastLike. Floating-point values lose what is
 * behind the point when they become integers, and integers keep their low bits in narrower ones, as
 * NumPy and the machine's conversions have it: what is beyond 64 bits, and NaN, becomes the lowest
 * integer.
 */
#ifndef TN_KIT_OPERATOR_CAST_H
#define TN_KIT_OPERATOR_CAST_H

#include <tenon/plugin.h>

#include "kit/math/small.h"

/* Linear tensors of as many elements. `mode`: of floats of 8 bits and less. */
void tn_cast_elements(const tn_tensor *x, const tn_tensor *y, tn_small_mode mode);

#endif
