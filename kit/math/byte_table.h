/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8-bit tensors that stand for floating-point values, element by element: scales, rounding, and
 * functions of one element as a table of 256 bytes.
 */
#ifndef TN_KIT_MATH_BYTE_TABLE_H
#define TN_KIT_MATH_BYTE_TABLE_H

#include <tenon/plugin.h>

/* The scale of a tensor of TN_I8 that stands for floating-point values; 0 when it has none, more
 * than one, or a zero point. */
float tn_byte_scale(const tn_tensor *tensor);

/* Element v of a tensor lies at index v + 128. */
typedef struct tn_byte_table {
    int8_t values[256];
} tn_byte_table;

/* From one in the order of unsigned bytes. */
void tn_byte_table_read(tn_byte_table *table, const uint8_t *values);
/* value / scale to nearest even, saturated; NaN is -128. */
int8_t tn_byte_round(float value, float scale);
/* From one scale to another. */
void tn_byte_table_rescale(tn_byte_table *table, float from_scale, float to_scale);
/* `to` may be `from`. */
void tn_byte_table_apply(const tn_byte_table *table, int64_t count, const int8_t *from, int8_t *to);
/* The same for processors that have AVX2, and AVX-512 with instructions for bytes. */
void tn_byte_table_apply_avx2(const tn_byte_table *table, int64_t count, const int8_t *from,
                              int8_t *to);
void tn_byte_table_apply_avx512(const tn_byte_table *table, int64_t count, const int8_t *from,
                                int8_t *to);

#endif
