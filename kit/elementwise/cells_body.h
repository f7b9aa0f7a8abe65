/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of cells.h for one processor level. Included by a file a level, which names the
 * table as TN_CELLS_LEVEL. */
#include "kit/elementwise/cells.h"
#include "kit/math/element.h"
#include "kit/math/wide_math.h"

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * double precision */

static inline double larger_f64(double a, double b) {
    return isnan(a) || isnan(b) ? a + b : a > b ? a : b;
}
static inline double smaller_f64(double a, double b) {
    return isnan(a) || isnan(b) ? a + b : a < b ? a : b;
}
static inline double modulo_f64(double a, double b) {
    const double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

#define HAS_ARITHMETIC  1
#define HAS_TRUTHS      1
#define HAS_ROWS        1
#define WIDTH(name)     name##_f64
#define CELL            double
#define NEGATE(x)       (-(x))
#define MAGNITUDE(x)    fabs(x)
#define SIGN(x)         ((x) > 0 ? 1 : (x) < 0 ? -1 : (x))
#define FLOOR(x)        floor(x)
#define CEIL(x)         ceil(x)
#define ROUND(x)        nearbyint(x)
#define ADD(a, b)       ((a) + (b))
#define SUBTRACT(a, b)  ((a) - (b))
#define MULTIPLY(a, b)  ((a) * (b))
#define DIVIDE(a, b)    ((a) / (b))
#define POWER(a, b)     pow(a, b)
#define LARGER(a, b)    larger_f64(a, b)
#define SMALLER(a, b)   smaller_f64(a, b)
#define FMAX(a, b)      fmax(a, b)
#define FMIN(a, b)      fmin(a, b)
#define REMAINDER(a, b) fmod(a, b)
#define MODULO(a, b)    modulo_f64(a, b)
#include "kit/elementwise/cells_width.h"

#define MAP_F64(name, expression)                                                                  \
    static void map_##name##_f64(int64_t count, const void *from, void *to) {                      \
        const double *row = from;                                                                  \
        double *y = to;                                                                            \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const double x = row[i];                                                               \
            y[i] = expression;                                                                     \
        }                                                                                          \
    }
MAP_F64(expm1, expm1(x))
MAP_F64(log1p, log1p(x))
MAP_F64(sqrt, sqrt(x))
MAP_F64(erf, erf(x))
MAP_F64(erfc, erfc(x))
MAP_F64(sin, sin(x))
MAP_F64(cos, cos(x))
MAP_F64(tan, tan(x))
MAP_F64(asin, asin(x))
MAP_F64(acos, acos(x))
MAP_F64(atan, atan(x))
MAP_F64(sinh, sinh(x))
MAP_F64(cosh, cosh(x))
MAP_F64(asinh, asinh(x))
MAP_F64(acosh, acosh(x))
MAP_F64(atanh, atanh(x))
MAP_F64(softplus, fmax(x, 0) + log1p(exp(-fabs(x))))

#define MAP_WIDE(name)                                                                             \
    static void map_##name##_f64(int64_t count, const void *from, void *to) {                      \
        const double *x = from;                                                                    \
        double *y = to;                                                                            \
        int64_t i = 0;                                                                             \
        for (; i + TN_WIDE_LANES <= count; i += TN_WIDE_LANES)                                     \
            tn_wide_store(y + i, tn_wide_##name(tn_wide_load(x + i)));                             \
        tn_wide_store_part(y + i, tn_wide_##name(tn_wide_load_part(x + i, count - i)), count - i); \
    }
MAP_WIDE(exp)
MAP_WIDE(log)
MAP_WIDE(tanh)
MAP_WIDE(sigmoid)

/* ----------------------------------------------------------------------------------------------
 * integers, which wrap; division and remainders by zero are zero */

#undef WIDTH
#undef CELL
#undef NEGATE
#undef MAGNITUDE
#undef SIGN
#undef FLOOR
#undef CEIL
#undef ROUND
#undef ADD
#undef SUBTRACT
#undef MULTIPLY
#undef DIVIDE
#undef POWER
#undef LARGER
#undef SMALLER
#undef FMAX
#undef FMIN
#undef REMAINDER
#undef MODULO
#define NEGATE(x)      (0 - (uint64_t)(x))
#define FLOOR(x)       (x)
#define CEIL(x)        (x)
#define ROUND(x)       (x)
#define ADD(a, b)      ((uint64_t)(a) + (uint64_t)(b))
#define SUBTRACT(a, b) ((uint64_t)(a) - (uint64_t)(b))
#define MULTIPLY(a, b) ((uint64_t)(a) * (uint64_t)(b))
#define LARGER(a, b)   ((a) > (b) ? (a) : (b))
#define SMALLER(a, b)  ((a) < (b) ? (a) : (b))
#define FMAX           LARGER
#define FMIN           SMALLER

static inline uint64_t power_u64(uint64_t x, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, x *= x)
        if (exponent & 1) result *= x;
    return result;
}
/* Of a negative exponent the reciprocal without its fraction; of 0: 0. */
static inline uint64_t power_i64(int64_t x, int64_t exponent) {
    if (exponent >= 0) return power_u64((uint64_t)x, (uint64_t)exponent);
    if (x == 1) return 1;
    return x == -1 ? (exponent & 1 ? UINT64_MAX : 1) : 0;
}
/* Of signed CELLs, by zero 0; the lowest number by -1 wraps. */
#define DIVIDE_SIGNED(a, b)                                                                        \
    ((b) == 0 ? 0 : (b) == -1 ? (CELL)(0 - (UNSIGNED)(a)) : (a) / ((b) == 0 ? 1 : (b)))
#define REMAINDER_SIGNED(a, b) ((b) == 0 || (b) == -1 ? 0 : (a) % ((b) == 0 ? 1 : (b)))
#define MODULO_SIGNED(a, b)                                                                        \
    (REMAINDER_SIGNED(a, b) +                                                                      \
     (REMAINDER_SIGNED(a, b) != 0 && (REMAINDER_SIGNED(a, b) < 0) != ((b) < 0) ? (b) : 0))

/* The sign moves in. */
#define SHIFT_RIGHT(a, b) ((a) >> ((UNSIGNED)(b) >= (UNSIGNED)BITS ? BITS - 1 : (int)(b)))
#define MAGNITUDE(x)      ((x) < 0 ? 0 - (UNSIGNED)(x) : (UNSIGNED)(x))
#define SIGN(x)           (((x) > 0) - ((x) < 0))
#define DIVIDE(a, b)      DIVIDE_SIGNED(a, b)
#define POWER(a, b)       power_i64(a, b)
#define REMAINDER(a, b)   REMAINDER_SIGNED(a, b)
#define MODULO(a, b)      MODULO_SIGNED(a, b)
#define WIDTH(name)       name##_i64
#define CELL              int64_t
#define UNSIGNED          uint64_t
#include "kit/elementwise/cells_width.h"
#undef WIDTH
#undef CELL
#undef UNSIGNED
#define WIDTH(name) name##_i32
#define CELL        int32_t
#define UNSIGNED    uint32_t
#include "kit/elementwise/cells_width.h"

#undef WIDTH
#undef CELL
#undef UNSIGNED
#undef MAGNITUDE
#undef SIGN
#undef DIVIDE
#undef POWER
#undef REMAINDER
#undef MODULO
#undef SHIFT_RIGHT
#define SHIFT_RIGHT(a, b) ((UNSIGNED)(b) >= (UNSIGNED)BITS ? 0 : (a) >> (b))
#define MAGNITUDE(x)      (x)
#define SIGN(x)           ((x) != 0)
#define DIVIDE(a, b)      ((b) == 0 ? 0 : (a) / ((b) == 0 ? 1 : (b)))
#define POWER(a, b)       power_u64(a, b)
#define REMAINDER(a, b)   ((b) == 0 ? 0 : (a) % ((b) == 0 ? 1 : (b)))
#define MODULO            REMAINDER
#define WIDTH(name)       name##_u64
#define CELL              uint64_t
#define UNSIGNED          uint64_t
#include "kit/elementwise/cells_width.h"
#undef WIDTH
#undef CELL
#undef UNSIGNED
#define WIDTH(name) name##_u32
#define CELL        uint32_t
#define UNSIGNED    uint32_t
#include "kit/elementwise/cells_width.h"

/* Truths alone: as bytes, which are results as they are; and comparisons of floats. */
#undef WIDTH
#undef CELL
#undef UNSIGNED
#undef HAS_ARITHMETIC
#undef HAS_TRUTHS
#define HAS_ARITHMETIC 0
#define HAS_TRUTHS     0
#define WIDTH(name)    name##_bool
#define CELL           uint8_t
#include "kit/elementwise/cells_width.h"
#undef WIDTH
#undef CELL
#undef HAS_TRUTHS
#undef HAS_ROWS
#define HAS_TRUTHS  1
#define HAS_ROWS    0
#define WIDTH(name) name##_f32
#define CELL        float
#include "kit/elementwise/cells_width.h"

/* ----------------------------------------------------------------------------------------------
 * elements as cells */

#define CONVERT(to_type, from_type, value)                                                         \
    {                                                                                              \
        const from_type *x = from;                                                                 \
        to_type *y = to;                                                                           \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] = (to_type)(value);                                                               \
        return;                                                                                    \
    }

static inline float float_of_bf16(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

/* To nearest even; NaN keeps its upper bits and stays NaN. */
static inline uint16_t bf16_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(value == value ? rounded : (bits >> 16 | 0x40));
}

static void load_half(int64_t count, const uint16_t *from, float *to) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(from + i))));
#elif defined(__F16C__)
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + i))));
#endif
    for (; i < count; i++)
        to[i] = (float)tn_element_f64_from_f16(from[i]);
}

static void store_half(int64_t count, const float *from, uint16_t *to) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16)
        _mm256_storeu_si256((void *)(to + i), _mm512_cvtps_ph(_mm512_loadu_ps(from + i), 0));
#elif defined(__F16C__)
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((void *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0));
#endif
    for (; i < count; i++)
        tn_element_store_f64(to, TN_F16, i, (double)from[i]);
}

#define LOAD(cell)                                                                                 \
    switch (type) {                                                                                \
    case TN_I64:                                                                                   \
        CONVERT(cell, int64_t, x[i])                                                               \
    case TN_I32:                                                                                   \
        CONVERT(cell, int32_t, x[i])                                                               \
    case TN_I16:                                                                                   \
        CONVERT(cell, int16_t, x[i])                                                               \
    case TN_I8:                                                                                    \
        CONVERT(cell, int8_t, x[i])                                                                \
    case TN_U64:                                                                                   \
        CONVERT(cell, uint64_t, x[i])                                                              \
    case TN_U32:                                                                                   \
        CONVERT(cell, uint32_t, x[i])                                                              \
    case TN_U16:                                                                                   \
        CONVERT(cell, uint16_t, x[i])                                                              \
    case TN_U8:                                                                                    \
        CONVERT(cell, uint8_t, x[i])                                                               \
    case TN_BOOL:                                                                                  \
        CONVERT(cell, uint8_t, x[i] != 0)                                                          \
    default:                                                                                       \
        return;                                                                                    \
    }

static void load_f32(tn_type type, int64_t count, const void *from, void *to) {
    if (type == TN_F16) {
        load_half(count, from, to);
        return;
    }
    if (type == TN_BF16) CONVERT(float, uint16_t, float_of_bf16(x[i]))
    if (type == TN_F32) CONVERT(float, float, x[i])
    LOAD(float)
}

static void load_f64(tn_type type, int64_t count, const void *from, void *to) {
    if (type == TN_F64) CONVERT(double, double, x[i])
    if (type == TN_F32) CONVERT(double, float, x[i])
    if (type == TN_BF16) CONVERT(double, uint16_t, float_of_bf16(x[i]))
    if (type == TN_F16) CONVERT(double, uint16_t, tn_element_f64_from_f16(x[i]))
    LOAD(double)
}

static void load_i32(tn_type type, int64_t count, const void *from, void *to) {
    LOAD(uint32_t)
}

static void load_i64(tn_type type, int64_t count, const void *from, void *to) {
    LOAD(uint64_t)
}

static void load(tn_cell cell, tn_type type, int64_t count, const void *from, void *to) {
    switch (cell) {
    case TN_CELL_F32:
        load_f32(type, count, from, to);
        return;
    case TN_CELL_F64:
        load_f64(type, count, from, to);
        return;
    case TN_CELL_I32:
    case TN_CELL_U32:
        load_i32(type, count, from, to);
        return;
    case TN_CELL_BOOL: /* of bools alone */
        CONVERT(uint8_t, uint8_t, x[i] != 0)
    default:
        load_i64(type, count, from, to);
        return;
    }
}

/* ----------------------------------------------------------------------------------------------
 * cells as elements */

static void store_f32(tn_type type, int64_t count, const void *from, void *to) {
    const float *row = from;
    switch (type) {
    case TN_F16:
        store_half(count, from, to);
        return;
    case TN_BF16:
        CONVERT(uint16_t, float, bf16_of_float(x[i]))
    case TN_F32:
        CONVERT(float, float, x[i])
    case TN_F64:
        CONVERT(double, float, x[i])
    case TN_BOOL:
        CONVERT(uint8_t, float, x[i] != 0)
    default:
        for (int64_t i = 0; i < count; i++)
            tn_element_store_f64(to, type, i, trunc((double)row[i]));
        return;
    }
}

static void store_f64(tn_type type, int64_t count, const void *from, void *to) {
    const bool is_whole = !tn_element_is_real(type) && type != TN_BOOL;
    const double *row = from;
    if (type == TN_F64) CONVERT(double, double, x[i])
    if (type == TN_F32) CONVERT(float, double, x[i])
    for (int64_t i = 0; i < count; i++)
        tn_element_store_f64(to, type, i, is_whole ? trunc(row[i]) : row[i]);
}

#define STORE(cell)                                                                                \
    switch (tn_element_bytes(type)) {                                                              \
    case 1:                                                                                        \
        if (type == TN_BOOL) CONVERT(uint8_t, cell, x[i] != 0)                                     \
        CONVERT(uint8_t, cell, x[i])                                                               \
    case 2:                                                                                        \
        CONVERT(uint16_t, cell, x[i])                                                              \
    case 4:                                                                                        \
        CONVERT(uint32_t, cell, x[i])                                                              \
    default:                                                                                       \
        CONVERT(uint64_t, cell, x[i])                                                              \
    }

static void store_i64(tn_type type, int64_t count, const void *from, void *to) {
    STORE(uint64_t)
}

/* Of types of at most 32 bits. */
static void store_i32(tn_type type, int64_t count, const void *from, void *to) {
    STORE(uint32_t)
}

/* Integers as floats are rounded once. */
static void store_real(tn_cell cell, tn_type type, int64_t count, const void *from, void *to) {
    for (int64_t i = 0; i < count; i++)
        tn_element_store_f64(to, type, i,
                             cell == TN_CELL_U64 ? (double)((const uint64_t *)from)[i]
                                                 : (double)((const int64_t *)from)[i]);
}

static void store(tn_cell cell, tn_type type, int64_t count, const void *from, void *to) {
    switch (cell) {
    case TN_CELL_F32:
        store_f32(type, count, from, to);
        return;
    case TN_CELL_F64:
        store_f64(type, count, from, to);
        return;
    case TN_CELL_I32:
    case TN_CELL_U32:
        store_i32(type, count, from, to);
        return;
    case TN_CELL_BOOL: /* as bools alone */
        memcpy(to, from, (size_t)count);
        return;
    default:
        if (tn_element_is_real(type))
            store_real(cell, type, count, from, to);
        else
            store_i64(type, count, from, to);
        return;
    }
}

/* ----------------------------------------------------------------------------------------------
 * floats without their fraction */

static inline int64_t whole_of(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}
static inline int64_t whole_of_32(double x) {
    return x > -0x1p31 - 1 && x < 0x1p31 ? (int32_t)x : INT32_MIN;
}
static inline int64_t whole_of_u64(double x) {
    return x >= 0x1p63 && x < 0x1p64 ? (int64_t)(uint64_t)x : whole_of(x);
}

#define TRUNCATE(from_type)                                                                        \
    if (type == TN_I32) CONVERT(int64_t, from_type, whole_of_32((double)x[i]))                     \
    if (type == TN_U64) CONVERT(int64_t, from_type, whole_of_u64((double)x[i]))                    \
    CONVERT(int64_t, from_type, whole_of((double)x[i]))

/* What the processor's conversion answers for what is out of range is what is wanted. */
static bool truncate_32(int64_t count, const float *from, int32_t *to) {
    int32_t outside = 0;
    int64_t i = 0;
#if defined(__AVX2__)
    __m256i any = _mm256_setzero_si256();
    for (; i + 8 <= count; i += 8) {
        const __m256i whole = _mm256_cvttps_epi32(_mm256_loadu_ps(from + i));
        _mm256_storeu_si256((void *)(to + i), whole);
        any |= _mm256_cmpeq_epi32(whole, _mm256_set1_epi32(INT32_MIN));
    }
    outside = _mm256_movemask_epi8(any);
#elif defined(__SSE2__)
    __m128i any = _mm_setzero_si128();
    for (; i + 4 <= count; i += 4) {
        const __m128i whole = _mm_cvttps_epi32(_mm_loadu_ps(from + i));
        _mm_storeu_si128((void *)(to + i), whole);
        any |= _mm_cmpeq_epi32(whole, _mm_set1_epi32(INT32_MIN));
    }
    outside = _mm_movemask_epi8(any);
#endif
    for (; i < count; i++) {
        to[i] = (int32_t)whole_of_32((double)from[i]);
        outside |= to[i] == INT32_MIN;
    }
    return outside == 0;
}

static void truncate_f32(tn_type type, int64_t count, const void *from, int64_t *to) {
    TRUNCATE(float)
}
static void truncate_f64(tn_type type, int64_t count, const void *from, int64_t *to) {
    TRUNCATE(double)
}
static void truncate_cells(tn_cell cell, tn_type type, int64_t count, const void *from,
                           int64_t *to) {
    if (cell == TN_CELL_F32)
        truncate_f32(type, count, from, to);
    else
        truncate_f64(type, count, from, to);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

#define COMMON_MAPS(cell)                                                                          \
    [TN_MAP_NEG] = map_neg_##cell, [TN_MAP_ABS] = map_abs_##cell, [TN_MAP_SIGN] = map_sign_##cell, \
    [TN_MAP_NOT] = map_not_##cell, [TN_MAP_FLOOR] = map_floor_##cell,                              \
    [TN_MAP_CEIL] = map_ceil_##cell, [TN_MAP_ROUND] = map_round_##cell
#define LOGIC(cell)                                                                                \
    [TN_COMBINE_LESS] = combine_less_##cell, [TN_COMBINE_LESS_EQUAL] = combine_less_equal_##cell,  \
    [TN_COMBINE_EQUAL] = combine_equal_##cell, [TN_COMBINE_NOT_EQUAL] = combine_not_equal_##cell,  \
    [TN_COMBINE_AND] = combine_and_##cell, [TN_COMBINE_OR] = combine_or_##cell
#define ARITHMETIC(cell)                                                                           \
    [TN_COMBINE_ADD] = combine_add_##cell, [TN_COMBINE_SUB] = combine_sub_##cell,                  \
    [TN_COMBINE_MUL] = combine_mul_##cell, [TN_COMBINE_DIV] = combine_div_##cell,                  \
    [TN_COMBINE_POW] = combine_pow_##cell, [TN_COMBINE_MAX] = combine_max_##cell,                  \
    [TN_COMBINE_MIN] = combine_min_##cell, [TN_COMBINE_FMAX] = combine_fmax_##cell,                \
    [TN_COMBINE_FMIN] = combine_fmin_##cell, [TN_COMBINE_FMOD] = combine_fmod_##cell,              \
    [TN_COMBINE_MOD] = combine_mod_##cell
#define BITS(cell)                                                                                 \
    [TN_CELL_BIT_AND] = combine_bit_and_##cell, [TN_CELL_BIT_OR] = combine_bit_or_##cell,          \
    [TN_CELL_BIT_XOR] = combine_bit_xor_##cell, [TN_CELL_SHIFT_LEFT] = combine_shift_left_##cell,  \
    [TN_CELL_SHIFT_RIGHT] = combine_shift_right_##cell
#define TRUTHS(cell)                                                                               \
    .truths = {[TN_COMBINE_LESS] = truth_less_##cell,                                              \
               [TN_COMBINE_LESS_EQUAL] = truth_less_equal_##cell,                                  \
               [TN_COMBINE_EQUAL] = truth_equal_##cell,                                            \
               [TN_COMBINE_NOT_EQUAL] = truth_not_equal_##cell,                                    \
               [TN_COMBINE_AND] = truth_and_##cell,                                                \
               [TN_COMBINE_OR] = truth_or_##cell}
#define INTEGERS(cell)                                                                             \
    {                                                                                              \
        .maps = {COMMON_MAPS(cell), [TN_CELL_MAP_BIT_NOT] = map_bit_not_##cell},                   \
        .combines = {LOGIC(cell), ARITHMETIC(cell), BITS(cell)}, TRUTHS(cell),                     \
        .choose = choose_##cell                                                                    \
    }
const tn_cells_level TN_CELLS_LEVEL = {
    .wide = {[TN_CELL_F64] = {.maps = {COMMON_MAPS(f64),
                                       [TN_MAP_EXP] = map_exp_f64,
                                       [TN_MAP_EXPM1] = map_expm1_f64,
                                       [TN_MAP_LOG] = map_log_f64,
                                       [TN_MAP_LOG1P] = map_log1p_f64,
                                       [TN_MAP_SQRT] = map_sqrt_f64,
                                       [TN_MAP_ERF] = map_erf_f64,
                                       [TN_MAP_ERFC] = map_erfc_f64,
                                       [TN_MAP_SIN] = map_sin_f64,
                                       [TN_MAP_COS] = map_cos_f64,
                                       [TN_MAP_TAN] = map_tan_f64,
                                       [TN_MAP_ASIN] = map_asin_f64,
                                       [TN_MAP_ACOS] = map_acos_f64,
                                       [TN_MAP_ATAN] = map_atan_f64,
                                       [TN_MAP_SINH] = map_sinh_f64,
                                       [TN_MAP_COSH] = map_cosh_f64,
                                       [TN_MAP_ASINH] = map_asinh_f64,
                                       [TN_MAP_ACOSH] = map_acosh_f64,
                                       [TN_MAP_ATANH] = map_atanh_f64,
                                       [TN_ACTIVATION_TANH] = map_tanh_f64,
                                       [TN_ACTIVATION_SIGMOID] = map_sigmoid_f64,
                                       [TN_MAP_SOFTPLUS] = map_softplus_f64},
                              .combines = {LOGIC(f64), ARITHMETIC(f64)},
                              TRUTHS(f64),
                              .choose = choose_f64},
             [TN_CELL_I64] = INTEGERS(i64),
             [TN_CELL_U64] = INTEGERS(u64),
             [TN_CELL_I32] = INTEGERS(i32),
             [TN_CELL_U32] = INTEGERS(u32),
             [TN_CELL_BOOL] = {.maps = {[TN_MAP_NOT] = map_not_bool},
                               .combines = {LOGIC(bool)},
                               .choose = choose_bool},
             [TN_CELL_F32] = {TRUTHS(f32)}},
    .load = load,
    .store = store,
    .truncate = truncate_cells,
    .truncate_32 = truncate_32};
