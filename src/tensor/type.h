/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: names, sizes, classes, and the conversion of single numbers. */
#ifndef TN_TENSOR_TYPE_H
#define TN_TENSOR_TYPE_H

#include <tenon/plugin.h>

bool tn_type_is_valid(tn_type type);
uint32_t tn_type_bits(tn_type type); /* of an element; 0 for unknown ones */
/* Of an element that has bytes of its own; 0 for packed types and unknown ones. */
size_t tn_type_bytes(tn_type type);
bool tn_type_is_packed(tn_type type); /* several elements share a byte */
/* The bytes that `count` elements take one after another, SIZE_MAX when they are too many; and how
 * many elements lie in that many bytes (of a packed type, those of the last byte all). */
size_t tn_type_storage(tn_type type, size_t count);
size_t tn_type_elements(tn_type type, size_t bytes);
const char *tn_type_name(tn_type type);                 /* "f32"; "none"; "unknown" */
tn_type tn_type_parse(const char *name, size_t length); /* TN_NONE when there is no such */
bool tn_type_is_float(tn_type type);
static inline bool tn_type_is_half(tn_type type) { /* floats of 16 bits */
    return type == TN_F16 || type == TN_BF16;
}
bool tn_type_is_integer(tn_type type); /* bool is not */
bool tn_type_is_signed(tn_type type);
/* A set of types. */
typedef uint64_t tn_type_set;
#define TN_TYPE_BIT(type) (UINT64_C(1) << (type))
/* "f32|f16|integer"; 0 when it is not well-formed. Groups (any, number, float, integer, signed) as
 * they were in the minor version `minor` of the plugin ABI; later ones as in the newest. */
tn_type_set tn_type_set_parse(const char *text, size_t length, uint32_t minor);

float tn_f16_to_f32(uint16_t bits);
uint16_t tn_f32_to_f16(float value); /* to nearest even, overflow to infinity, NaN kept */
float tn_bf16_to_f32(uint16_t bits);
uint16_t tn_f32_to_bf16(float value);
uint16_t tn_f64_to_f16(double value); /* one rounding */

/* Element `index` of linear data as a double or an int64 (floats truncated, saturated), and back
 * (saturated, integers rounded to nearest even from doubles). */
double tn_element_get_f64(const void *data, tn_type type, size_t index);
int64_t tn_element_get_i64(const void *data, tn_type type, size_t index);
void tn_element_set_f64(void *data, tn_type type, size_t index, double value);
void tn_element_set_i64(void *data, tn_type type, size_t index, int64_t value);

#endif
