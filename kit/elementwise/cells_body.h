/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of cells.h for one processor level. Included by a file a level, which names the
 * table as TN_CELLS_LEVEL. */
#include "kit/elementwise/cells.h"
#include "kit/math/element.h"
#include "kit/math/wide_math.h"

#include <math.h>
#include <string.h>

/* Rows are apart from each other or the same: no element of a loop waits for another one's result.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define TN_CELLS_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TN_CELLS_INDEPENDENT
#endif

/* The row's first element in all of them. */
static __attribute__((noinline)) void repeat_first(void *row, size_t element_bytes, int64_t count) {
    const size_t bytes = (size_t)count * element_bytes;
    char *to = row;
    for (size_t done = element_bytes, more; done < bytes; done += more) {
        more = done < bytes - done ? done : bytes - done;
        memcpy(to + done, to, more);
    }
}

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
#define HAS_SIGNLESS    1
#define WIDTH(name)     name##_f64
#define RAW(name)       name##_f64
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
        TN_CELLS_INDEPENDENT                                                                       \
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
#undef RAW
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
#define ADD(a, b)      ((uint64_t)(a) + (uint64_t)(b))
#define SUBTRACT(a, b) ((uint64_t)(a) - (uint64_t)(b))
#define MULTIPLY(a, b) ((uint64_t)(a) * (uint64_t)(b))
#define LARGER(a, b)   ((a) > (b) ? (a) : (b))
#define SMALLER(a, b)  ((a) < (b) ? (a) : (b))

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

#define SHIFT_RIGHT(a, b) ((UNSIGNED)(b) >= (UNSIGNED)BITS ? 0 : (a) >> (b))
#define MAGNITUDE(x)      (x)
#define SIGN(x)           ((x) != 0)
#define DIVIDE(a, b)      ((b) == 0 ? 0 : (a) / ((b) == 0 ? 1 : (b)))
#define POWER(a, b)       power_u64(a, b)
#define REMAINDER(a, b)   ((b) == 0 ? 0 : (a) % ((b) == 0 ? 1 : (b)))
#define WIDTH(name)       name##_u64
#define RAW(name)         name##_u64
#define CELL              uint64_t
#define UNSIGNED          uint64_t
#include "kit/elementwise/cells_width.h"
#undef WIDTH
#undef RAW
#undef CELL
#undef UNSIGNED
#define WIDTH(name) name##_u32
#define RAW(name)   name##_u32
#define CELL        uint32_t
#define UNSIGNED    uint32_t
#include "kit/elementwise/cells_width.h"

#undef WIDTH
#undef RAW
#undef CELL
#undef UNSIGNED
#undef MAGNITUDE
#undef SIGN
#undef DIVIDE
#undef POWER
#undef REMAINDER
#undef SHIFT_RIGHT
#undef HAS_SIGNLESS
#define HAS_SIGNLESS 0

/* The sign moves in. */
#define SHIFT_RIGHT(a, b) ((a) >> ((UNSIGNED)(b) >= (UNSIGNED)BITS ? BITS - 1 : (int)(b)))
#define MAGNITUDE(x)      ((x) < 0 ? 0 - (UNSIGNED)(x) : (UNSIGNED)(x))
#define SIGN(x)           (((x) > 0) - ((x) < 0))
#define DIVIDE(a, b)      DIVIDE_SIGNED(a, b)
#define POWER(a, b)       power_i64(a, b)
#define REMAINDER(a, b)   REMAINDER_SIGNED(a, b)
#define MODULO(a, b)      MODULO_SIGNED(a, b)
#define WIDTH(name)       name##_i64
#define RAW(name)         name##_u64
#define CELL              int64_t
#define UNSIGNED          uint64_t
#include "kit/elementwise/cells_width.h"
#undef WIDTH
#undef RAW
#undef CELL
#undef UNSIGNED
#define WIDTH(name) name##_i32
#define RAW(name)   name##_u32
#define CELL        int32_t
#define UNSIGNED    uint32_t
#include "kit/elementwise/cells_width.h"

#undef HAS_SIGNLESS
#define HAS_SIGNLESS 1

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

/* Elements of any type as cells, and back. */
#include "kit/elementwise/cells_types.h"

/* ----------------------------------------------------------------------------------------------
 * tables */

/* `raw` has what a sign does not change: of integers the type without one. */
#define COMMON_MAPS(cell, raw)                                                                     \
    [TN_MAP_NEG] = map_neg_##raw, [TN_MAP_ABS] = map_abs_##cell, [TN_MAP_SIGN] = map_sign_##cell,  \
    [TN_MAP_NOT] = map_not_##raw, [TN_MAP_FLOOR] = map_floor_##raw
#define LOGIC(cell, raw)                                                                           \
    [TN_COMBINE_LESS] = combine_less_##cell, [TN_COMBINE_LESS_EQUAL] = combine_less_equal_##cell,  \
    [TN_COMBINE_EQUAL] = combine_equal_##raw, [TN_COMBINE_NOT_EQUAL] = combine_not_equal_##raw,    \
    [TN_COMBINE_AND] = combine_and_##raw, [TN_COMBINE_OR] = combine_or_##raw
#define ARITHMETIC(cell, raw, largest, smallest, modulo)                                           \
    [TN_COMBINE_ADD] = combine_add_##raw, [TN_COMBINE_SUB] = combine_sub_##raw,                    \
    [TN_COMBINE_MUL] = combine_mul_##raw, [TN_COMBINE_DIV] = combine_div_##cell,                   \
    [TN_COMBINE_POW] = combine_pow_##cell, [TN_COMBINE_MAX] = combine_max_##cell,                  \
    [TN_COMBINE_MIN] = combine_min_##cell, [TN_COMBINE_FMAX] = combine_##largest##_##cell,         \
    [TN_COMBINE_FMIN] = combine_##smallest##_##cell, [TN_COMBINE_FMOD] = combine_fmod_##cell,      \
    [TN_COMBINE_MOD] = combine_##modulo##_##cell
#define BITS(cell, raw)                                                                            \
    [TN_CELL_BIT_AND] = combine_bit_and_##raw, [TN_CELL_BIT_OR] = combine_bit_or_##raw,            \
    [TN_CELL_BIT_XOR] = combine_bit_xor_##raw, [TN_CELL_SHIFT_LEFT] = combine_shift_left_##raw,    \
    [TN_CELL_SHIFT_RIGHT] = combine_shift_right_##cell
#define TRUTHS(cell, raw)                                                                          \
    .truths = {                                                                                    \
        [TN_COMBINE_LESS] = truth_less_##cell,  [TN_COMBINE_LESS_EQUAL] = truth_less_equal_##cell, \
        [TN_COMBINE_EQUAL] = truth_equal_##raw, [TN_COMBINE_NOT_EQUAL] = truth_not_equal_##raw,    \
        [TN_COMBINE_AND] = truth_and_##raw,     [TN_COMBINE_OR] = truth_or_##raw}
#define INTEGERS(cell, raw, modulo)                                                                \
    {                                                                                              \
        .maps = {COMMON_MAPS(cell, raw), [TN_MAP_CEIL] = map_floor_##raw,                          \
                 [TN_MAP_ROUND] = map_floor_##raw, [TN_CELL_MAP_BIT_NOT] = map_bit_not_##raw},     \
        .combines = {LOGIC(cell, raw), ARITHMETIC(cell, raw, max, min, modulo), BITS(cell, raw)},  \
        TRUTHS(cell, raw), .choose = choose_##raw                                                  \
    }
const tn_cells_level TN_CELLS_LEVEL = {
    .wide = {[TN_CELL_F64] = {.maps = {COMMON_MAPS(f64, f64),
                                       [TN_MAP_CEIL] = map_ceil_f64,
                                       [TN_MAP_ROUND] = map_round_f64,
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
                              .combines = {LOGIC(f64, f64), ARITHMETIC(f64, f64, fmax, fmin, mod)},
                              TRUTHS(f64, f64),
                              .choose = choose_f64},
             [TN_CELL_I64] = INTEGERS(i64, u64, mod),
             [TN_CELL_U64] = INTEGERS(u64, u64, fmod),
             [TN_CELL_I32] = INTEGERS(i32, u32, mod),
             [TN_CELL_U32] = INTEGERS(u32, u32, fmod),
             [TN_CELL_BOOL] = {.maps = {[TN_MAP_NOT] = map_not_bool},
                               .combines = {LOGIC(bool, bool)},
                               .choose = choose_bool},
             [TN_CELL_F32] = {TRUTHS(f32, f32)}},
    .load = load,
    .store = store,
    .truncate = truncate_cells,
    .truncate_32 = truncate_32};
