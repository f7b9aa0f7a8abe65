/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise functions of rows of floats, compiled once a processor level: maps of one row,
 * combinations of two. Rows are contiguous, of any length and alignment; accuracy is that of
 * tenon/kit/vector_math.h where it has the function, else that of the C library. Nothing allocates
 * or fails. [thread: any]
 */
#ifndef TENON_KIT_ROWS_H
#define TENON_KIT_ROWS_H

#include <tenon/kit/levels.h>
#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Maps: the activations under their own numbers (TN_ACTIVATION_..., 1 to 15), and others after
 * them. `alpha` and `beta` are the function's parameters where it has any. */
enum {
    TN_MAP_EXP = 16,
    TN_MAP_ERF = 17,
    TN_MAP_SQRT = 18,
    TN_MAP_NEG = 19,
    TN_MAP_ABS = 20,
    TN_MAP_RECIPROCAL = 21,
    TN_MAP_LOG = 22,
    TN_MAP_FLOOR = 23,
    TN_MAP_CEIL = 24,
    TN_MAP_ROUND = 25,
    TN_MAP_SIGN = 26,
    TN_MAP_SELU = 27, /* beta * (x < 0 ? alpha * (exp(x) - 1) : x) */
    TN_MAP_CELU = 28, /* x < 0 ? alpha * (exp(x / alpha) - 1) : x */
    TN_MAP_SOFTPLUS = 29,
    TN_MAP_SOFTSIGN = 30,
    TN_MAP_MISH = 31,
    TN_MAP_THRESHOLDED_RELU = 32, /* x > alpha ? x : 0 */
    TN_MAP_THRESHOLD = 33,        /* x > alpha ? 1 : 0 */
    TN_MAP_SIN = 34,
    TN_MAP_COS = 35,
    TN_MAP_TAN = 36,
    TN_MAP_ASIN = 37,
    TN_MAP_ACOS = 38,
    TN_MAP_ATAN = 39,
    TN_MAP_SINH = 40,
    TN_MAP_COSH = 41,
    TN_MAP_ASINH = 42,
    TN_MAP_ACOSH = 43,
    TN_MAP_ATANH = 44,
    TN_MAP_EXPM1 = 45,
    TN_MAP_LOG1P = 46,
    TN_MAP_ERFC = 47,
    TN_MAP_NOT = 48, /* x == 0 ? 1 : 0 */
    TN_MAP_COUNT = 49
};

enum {
    TN_COMBINE_ADD = 0,
    TN_COMBINE_SUB = 1,
    TN_COMBINE_MUL = 2,
    TN_COMBINE_DIV = 3,
    TN_COMBINE_POW = 4,
    TN_COMBINE_MAX = 5, /* NaN where one of both is NaN */
    TN_COMBINE_MIN = 6,
    TN_COMBINE_PRELU = 7, /* a < 0 ? a * b : a */
    /* 1 or 0, as truths go in expressions */
    TN_COMBINE_LESS = 8,
    TN_COMBINE_LESS_EQUAL = 9,
    TN_COMBINE_EQUAL = 10,
    TN_COMBINE_NOT_EQUAL = 11,
    TN_COMBINE_AND = 12,
    TN_COMBINE_OR = 13,
    TN_COMBINE_FMAX = 14, /* the other one where one is NaN */
    TN_COMBINE_FMIN = 15,
    TN_COMBINE_FMOD = 16, /* the remainder with the dividend's sign */
    TN_COMBINE_MOD = 17,  /* with the divisor's */
    TN_COMBINE_COUNT = 18
};

/* y may be x. */
typedef void (*tn_map_function)(float alpha, float beta, int64_t count, const float *x, float *y);
/* Strides are 0 or 1; y may be a or b. */
typedef void (*tn_combine_function)(int64_t count, const float *a, int64_t a_stride, const float *b,
                                    int64_t b_stride, float *y);

/* condition != 0 ? a : b; strides are 0 or 1, by row; y may be any of the three. */
typedef void (*tn_choose_function)(int64_t count, const float *const rows[3],
                                   const int64_t strides[3], float *y);

/* 8-bit elements as floating-point values, y = x * scale, and back: x * inverse to nearest even,
 * saturated (NaN: -128). `step` is 0 or 1. */
typedef void (*tn_from_bytes_function)(int64_t count, const int8_t *x, int64_t step, float scale,
                                       float *y);
typedef void (*tn_to_bytes_function)(int64_t count, const float *x, float inverse, int8_t *y);
/* Two rows of bytes joined: y = a * a_scale + b * b_scale, or y = a * b * a_scale. */
typedef void (*tn_join_bytes_function)(int64_t count, const int8_t *a, float a_scale,
                                       const int8_t *b, float b_scale, int8_t *y);

typedef struct tn_rows_level {
    tn_map_function maps[TN_MAP_COUNT]; /* null: there is none of this number */
    tn_combine_function combines[TN_COMBINE_COUNT];
    tn_choose_function choose;
    tn_from_bytes_function from_bytes;
    tn_to_bytes_function to_bytes;
    tn_join_bytes_function add_bytes, multiply_bytes;
} tn_rows_level;

extern const tn_rows_level tn_rows_baseline, tn_rows_avx2, tn_rows_avx512;

/* A map at the processor's highest level, as a tn_row_function has it: `count` elements, the
 * input's stride is 0 or 1. `map` must be one of the table. */
void tn_rows_map(uint32_t map, float alpha, float beta, uint64_t count, const float *const *inputs,
                 const uint64_t *strides, float *output);
/* The same for a combination of two inputs. */
void tn_rows_combine(uint32_t combine, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output);

#ifdef __cplusplus
}
#endif

#endif
