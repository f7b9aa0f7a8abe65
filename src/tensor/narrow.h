/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of 8 bits and less that C has no type for: packed integers, and floats of 8 and 4 bits.
 * The floats' tables are ONNX's (its pages on float8, float4 and float8e8m0); what is stored is
 * rounded to the nearest, ties to even (f8e8m0: away from zero). A number that is too large becomes
 * the largest one; an infinity itself where the type has one, NaN in the FNUZ types, else the
 * largest number; a negative number in f8e8m0 NaN, and NaN in f4e2m1 zero, which have no other.
 */
#ifndef TN_TENSOR_NARROW_H
#define TN_TENSOR_NARROW_H

#include <tenon/plugin.h>

bool tn_narrow_is_float(tn_type type);   /* f8... and f4e2m1 */
bool tn_narrow_is_integer(tn_type type); /* i4, u4, i2, u2 */
/* Element `index` of linear data; a set leaves the neighbours in its byte as they are. Integers are
 * saturated. */
double tn_narrow_get_float(const void *data, tn_type type, size_t index);
void tn_narrow_set_float(void *data, tn_type type, size_t index, double value);
int64_t tn_narrow_get_integer(const void *data, tn_type type, size_t index);
void tn_narrow_set_integer(void *data, tn_type type, size_t index, int64_t value);

#endif
