/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single elements of any type as a double or an int64, rows of them, and the half-width
 * conversions: what the references of all layers read and write through. Not for kernels, which
 * know their types; whole tensors between formats are the core's affair.
 */
#ifndef TN_KIT_MATH_ELEMENT_H
#define TN_KIT_MATH_ELEMENT_H

#include <string.h>
#include <tenon/plugin.h>

/* Bytes of one element; 0 for a type that is not known. */
static inline size_t tn_element_bytes(tn_type type) {
    static const uint8_t bytes[TN_TYPE_COUNT] = {0, 8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1,
                                                 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16};
    return type < TN_TYPE_COUNT ? bytes[type] : 0;
}

static inline bool tn_element_is_real(tn_type type) {
    return type >= TN_F64 && type <= TN_BF16;
}

/* The number of elements of a tensor. Shapes that reach a callback have been checked to fit, but
 * part of a product with a zero in it may not: hence the unsigned numbers. */
int64_t tn_element_count(const tn_tensor *tensor);

/* binary16 and bfloat16. */
double tn_element_f64_from_f16(uint16_t bits);
static inline double tn_element_f64_from_bf16(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return (double)value;
}

/* To an integer of this type: nearest, ties to even, saturated; NaN gives 0. */
int64_t tn_element_round_i64(double value, tn_type type);

/* Element `index` of linear data. Integers of 64 bits lose digits beyond 2^53 as doubles: use the
 * i64 pair for them. */
double tn_element_load_any_f64(const void *data, tn_type type, int64_t index);
/* The same: of the types that most elements have without a call. */
static inline double tn_element_load_f64(const void *data, tn_type type, int64_t index) {
    if (type == TN_F32) return (double)((const float *)data)[index];
    if (type == TN_F64) return ((const double *)data)[index];
    return type == TN_BF16 ? tn_element_f64_from_bf16(((const uint16_t *)data)[index])
                           : tn_element_load_any_f64(data, type, index);
}

/* Integers as they are (u64 as the int64 of the same bits), bool as 0 or 1, floats truncated and
 * saturated. */
int64_t tn_element_load_i64(const void *data, tn_type type, int64_t index);
/* Rounds once to the type (integers: tn_element_round_i64; bool: value != 0). */
void tn_element_store_f64(void *data, tn_type type, int64_t index, double value);
/* Integers keep the low bits (wrap), bool: value != 0, floats are rounded once. */
void tn_element_store_i64(void *data, tn_type type, int64_t index, int64_t value);

/* The same of a tensor. */
static inline double tn_element_f64(const tn_tensor *tensor, int64_t index) {
    return tn_element_load_f64(tensor->data, tensor->type, index);
}
static inline int64_t tn_element_i64(const tn_tensor *tensor, int64_t index) {
    return tn_element_load_i64(tensor->data, tensor->type, index);
}
static inline void tn_element_set_f64(const tn_tensor *tensor, int64_t index, double value) {
    tn_element_store_f64(tensor->data, tensor->type, index, value);
}
static inline void tn_element_set_i64(const tn_tensor *tensor, int64_t index, int64_t value) {
    tn_element_store_i64(tensor->data, tensor->type, index, value);
}

/* Copies of one element of 1, 2, 4, 8 or 16 bytes, `count` of them. */
void tn_element_fill(void *to, size_t element_bytes, int64_t count, const void *value);

/* `count` elements from `first` on, `step` apart, to and from doubles. */
void tn_element_read_f64(const void *data, tn_type type, int64_t first, int64_t step, int64_t count,
                         double *out_values);
void tn_element_write_f64(void *data, tn_type type, int64_t first, int64_t count,
                          const double *values);

/* Mean and variance (of the whole population) of `count` elements beside each other. */
void tn_element_moments(const tn_tensor *tensor, int64_t first, int64_t count, double *out_mean,
                        double *out_variance);

/* Copies all elements in linear order: same type and number of elements. */
static inline void tn_element_copy(const tn_tensor *from, const tn_tensor *to) {
    size_t bytes = (size_t)tn_element_count(to) * tn_element_bytes(to->type);
    if (bytes && to->data != from->data) memcpy(to->data, from->data, bytes);
}

#endif
