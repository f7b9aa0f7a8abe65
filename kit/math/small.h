/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of 8 bits and less that C has no type for, as references read and write them: floats of
 * 8 and 4 bits, of which several may share a byte, exponents alone, and integers of 4 and 2 bits.
 * The floats' tables are ONNX's (its pages on float8, float4 and float8e8m0).
 */
#ifndef TN_KIT_MATH_SMALL_H
#define TN_KIT_MATH_SMALL_H

#include <tenon/plugin.h>

/* How exponents alone (f8e8m0) are rounded. */
typedef enum tn_small_rounding {
    TN_SMALL_UP = 0,
    TN_SMALL_DOWN = 1,
    TN_SMALL_NEAREST = 2
} tn_small_rounding;

/* What is beyond a float's largest number becomes that number where `is_saturated`, else an
 * infinity in f8e5m2 and NaN in the others (f4e2m1 has neither: always the largest number, and
 * NaN becomes -0 there). */
typedef struct tn_small_mode {
    bool is_saturated;
    tn_small_rounding rounding;
} tn_small_mode;

#define TN_SMALL_FLOATS "f8e4m3|f8e4m3fnuz|f8e5m2|f8e5m2fnuz"
#define TN_SMALL_TYPES  TN_SMALL_FLOATS "|f8e8m0|f4e2m1|i4|u4|i2|u2"

static inline bool tn_small_is(tn_type type) {
    return type >= TN_F8E4M3 && type <= TN_U2;
}
static inline bool tn_small_is_float(tn_type type) {
    return type >= TN_F8E4M3 && type <= TN_F4E2M1;
}

/* Element `index` of linear data of a small type; any of them fits a double. */
double tn_small_load(const void *data, tn_type type, int64_t index);
/* The nearest number, ties to even. The neighbours in its byte stay, so that threads must not share
 * one. */
void tn_small_store_float(void *data, tn_type type, int64_t index, double value,
                          tn_small_mode mode);
/* An integer's low bits. */
void tn_small_store_integer(void *data, tn_type type, int64_t index, int64_t value);
/* The ends of an integer type of any size up to 16 bits. */
void tn_small_range(tn_type type, int64_t *out_low, int64_t *out_high);

#endif
