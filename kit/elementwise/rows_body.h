/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of rows.h for one processor level. Included by a file a level, which names the
 * table as TN_ROWS_LEVEL. Vectors are loaded before they are stored, so that rows may be
 * changed in place.
 */
#include <tenon/kit/rows.h>
#include "kit/math/trigonometry.h"
#include <tenon/kit/byte_vector.h>

#include <math.h>

/* All elements by whole vectors, the last ones by way of `part`, so that `value` is here once. */
TN_INLINE void map_row(tn_vector (*value)(float, float, tn_vector), float alpha, float beta,
                       int64_t count, const float *from, float *to) {
    const int64_t rest = count % TN_LANES, whole = count - rest;
    float part[TN_LANES] = {0};
    const float *x = from;
    float *y = to;
    for (int64_t end = whole;; end = TN_LANES) {
        for (int64_t i = 0; i < end; i += TN_LANES)
            tn_vector_store(y + i, value(alpha, beta, tn_vector_load(x + i)));
        if (rest == 0 || y == part) break;
        memcpy(part, from + whole, (size_t)rest * sizeof(float));
        x = y = part;
    }
    memcpy(to + whole, part, (size_t)rest * sizeof(float));
}

/* Defines map_NAME, whose value of x (with alpha and beta at hand) is `expression`. */
#define MAP(name, expression)                                                                      \
    TN_INLINE tn_vector value_##name(float alpha, float beta, tn_vector x) {                       \
        (void)alpha, (void)beta;                                                                   \
        return expression;                                                                         \
    }                                                                                              \
    static void map_##name(float alpha, float beta, int64_t count, const float *from, float *to) { \
        map_row(value_##name, alpha, beta, count, from, to);                                       \
    }

TN_INLINE tn_vector within(tn_vector x, float low, float high) {
    return tn_vector_min(tn_vector_max(x, tn_vector_all(low)), tn_vector_all(high));
}
TN_INLINE tn_vector where_negative(tn_vector x, tn_vector then) {
    return tn_vector_select((tn_vector_bits)(x < 0.0f), then, x);
}

TN_INLINE tn_vector truth(tn_vector_bits mask) {
    return tn_vector_select(mask, tn_vector_all(1.0f), tn_vector_all(0.0f));
}

MAP(relu, tn_vector_max(x, tn_vector_all(0.0f)))
MAP(leaky_relu, where_negative(x, x *alpha))
MAP(clip, within(x, alpha, beta))
MAP(sigmoid, tn_vector_sigmoid(x))
MAP(tanh, tn_vector_tanh(x))
MAP(hard_sigmoid, within(x *alpha + beta, 0.0f, 1.0f))
MAP(hard_swish, x *within(x *(1.0f / 6.0f) + 0.5f, 0.0f, 1.0f))
MAP(gelu_erf, tn_vector_gelu_erf(x))
MAP(gelu_tanh, tn_vector_gelu_tanh(x))
MAP(swish, x *tn_vector_sigmoid(x *alpha))
MAP(exp, tn_vector_exp(x))
MAP(erf, tn_vector_erf(x))
MAP(sqrt, tn_vector_square_root(x))
MAP(square, x *x)
MAP(cube, x *x *x)
MAP(neg, -x)
MAP(abs, tn_vector_absolute(x))
MAP(reciprocal, 1.0f / x)
MAP(log, tn_vector_log(x))
MAP(sign, tn_vector_select((tn_vector_bits)(tn_vector_absolute(x) > 0.0f),
                           tn_vector_with_sign(tn_vector_all(1.0f), x), x))
MAP(elu, where_negative(x, alpha *tn_vector_expm1(x)))
MAP(selu, beta *where_negative(x, alpha *tn_vector_expm1(x)))
MAP(celu, where_negative(x, alpha *tn_vector_expm1(x / alpha)))
MAP(softplus, tn_vector_softplus(x))
MAP(softsign, x / (1.0f + tn_vector_absolute(x)))
MAP(mish, tn_vector_mish(x))
MAP(thresholded_relu, tn_vector_select((tn_vector_bits)(x > alpha), x, tn_vector_all(0.0f)))
MAP(threshold,
    tn_vector_select((tn_vector_bits)(x > alpha), tn_vector_all(1.0f), tn_vector_all(0.0f)))

MAP(expm1,
    tn_vector_select((tn_vector_bits)(x > 0.25f), tn_vector_exp(x) - 1.0f, tn_vector_expm1(x)))
MAP(log1p, tn_vector_log1p(x))
MAP(erfc, tn_vector_erfc(x))
MAP(not, truth((tn_vector_bits)(x == 0.0f)))

/* Lane by lane by the function of libm, which becomes an instruction. */
#define MAP_LANES(name, function)                                                                  \
    TN_INLINE tn_vector lanes_##name(tn_vector x) {                                                \
        for (int i = 0; i < TN_LANES; i++)                                                         \
            x[i] = function(x[i]);                                                                 \
        return x;                                                                                  \
    }                                                                                              \
    MAP(name, lanes_##name(x))
MAP_LANES(floor, floorf)
MAP_LANES(ceil, ceilf)
MAP_LANES(round, nearbyintf)

/* Lanes that are no angle below the limit, by the function of libm; few rows have any. */
static __attribute__((noinline)) tn_vector far_angles(tn_vector x, tn_vector y,
                                                      float (*function)(float)) {
    float angle[TN_LANES], value[TN_LANES];
    tn_vector_store(angle, x);
    tn_vector_store(value, y);
    for (int i = 0; i < TN_LANES; i++)
        if (!(fabsf(angle[i]) < TN_ANGLE_LIMIT)) value[i] = function(angle[i]);
    return tn_vector_load(value);
}
TN_INLINE tn_vector angles(tn_vector x, tn_vector y, float (*function)(float)) {
    const tn_vector_bits is_near = (tn_vector_bits)(tn_vector_absolute(x) < TN_ANGLE_LIMIT);
    return tn_vector_are_all(is_near) ? y : far_angles(x, y, function);
}
MAP(sin, angles(x, tn_vector_sin(x), sinf))
MAP(cos, angles(x, tn_vector_cos(x), cosf))
MAP(tan, angles(x, tn_vector_tan(x), tanf))
MAP(asin, tn_vector_asin(x))
MAP(acos, tn_vector_acos(x))
MAP(atan, tn_vector_atan(x))
MAP(sinh, tn_vector_sinh(x))
MAP(cosh, tn_vector_cosh(x))
MAP(asinh, tn_vector_asinh(x))
MAP(acosh, tn_vector_acosh(x))
MAP(atanh, tn_vector_atanh(x))

/* One operand's vector: from its row, or the same everywhere. */
TN_INLINE tn_vector operand(const float *row, int64_t stride, int64_t at, int64_t left) {
    if (stride == 0) return tn_vector_all(row[0]);
    return left >= TN_LANES ? tn_vector_load(row + at) : tn_vector_load_part(row + at, left);
}

/* The loop for strides that are known here. */
#define COMBINE_LOOP(a_step, b_step, expression)                                                   \
    {                                                                                              \
        int64_t i = 0;                                                                             \
        for (; i + TN_LANES <= count; i += TN_LANES) {                                             \
            const tn_vector a = operand(left, a_step, i, TN_LANES);                                \
            const tn_vector b = operand(right, b_step, i, TN_LANES);                               \
            tn_vector_store(to + i, expression);                                                   \
        }                                                                                          \
        if (i < count) {                                                                           \
            const tn_vector a = operand(left, a_step, i, count - i);                               \
            const tn_vector b = operand(right, b_step, i, count - i);                              \
            tn_vector_store_part(to + i, expression, count - i);                                   \
        }                                                                                          \
    }

#define COMBINE(name, expression)                                                                  \
    static void combine_##name(int64_t count, const float *left, int64_t a_stride,                 \
                               const float *right, int64_t b_stride, float *to) {                  \
        if (a_stride && b_stride)                                                                  \
            COMBINE_LOOP(1, 1, expression)                                                         \
        else if (a_stride)                                                                         \
            COMBINE_LOOP(1, 0, expression)                                                         \
        else                                                                                       \
            COMBINE_LOOP(0, b_stride, expression)                                                  \
    }

COMBINE(add, a + b)
COMBINE(sub, a - b)
COMBINE(mul, a *b)
COMBINE(div, a / b)
COMBINE(max, tn_vector_larger(a, b))
COMBINE(min, tn_vector_select((tn_vector_bits)(b != b), b, tn_vector_min(a, b)))
COMBINE(prelu, tn_vector_select((tn_vector_bits)(a < 0.0f), a *b, a))

COMBINE(less, truth((tn_vector_bits)(a < b)))
COMBINE(less_equal, truth((tn_vector_bits)(a <= b)))
COMBINE(equal, truth((tn_vector_bits)(a == b)))
COMBINE(not_equal, truth((tn_vector_bits)(a != b)))
COMBINE(and, truth((tn_vector_bits)(a != 0.0f) & (tn_vector_bits)(b != 0.0f)))
COMBINE(or, truth((tn_vector_bits)(a != 0.0f) | (tn_vector_bits)(b != 0.0f)))
COMBINE(fmax, tn_vector_select((tn_vector_bits)(a != a), b, tn_vector_max(a, b)))
COMBINE(fmin, tn_vector_select((tn_vector_bits)(a != a), b, tn_vector_min(a, b)))

static void choose(int64_t count, const float *const rows[3], const int64_t strides[3], float *y) {
    const int64_t condition_step = strides[0], a_step = strides[1], b_step = strides[2];
    for (int64_t i = 0; i < count; i += TN_LANES) {
        const int64_t left = count - i;
        const tn_vector condition = operand(rows[0], condition_step, i, left);
        const tn_vector value =
            tn_vector_select((tn_vector_bits)(condition != 0.0f), operand(rows[1], a_step, i, left),
                             operand(rows[2], b_step, i, left));
        if (left >= TN_LANES)
            tn_vector_store(y + i, value);
        else
            tn_vector_store_part(y + i, value, left);
    }
}

/* One operand's floats as doubles. */
TN_INLINE tn_wide wide_operand(const float *row, int64_t stride, int64_t at, int64_t left) {
    float part[TN_WIDE_LANES] = {0};
    if (stride == 0) return tn_wide_all((double)row[0]);
    if (left >= TN_WIDE_LANES) return tn_wide_load_floats(row + at);
    memcpy(part, row + at, (size_t)left * sizeof(float));
    return tn_wide_load_floats(part);
}

/* The commonest powers at once, the others in double precision. */
static void combine_pow(int64_t count, const float *left, int64_t a_stride, const float *right,
                        int64_t b_stride, float *to) {
    const bool is_one_power = a_stride && !b_stride && count > 0;
    if (is_one_power && right[0] == 2.0f) {
        map_square(0, 0, count, left, to);
        return;
    }
    if (is_one_power && right[0] == 3.0f) {
        map_cube(0, 0, count, left, to);
        return;
    }
    for (int64_t i = 0; i < count; i += TN_WIDE_LANES) {
        float part[TN_WIDE_LANES];
        const int64_t rest = count - i;
        const tn_wide power = tn_wide_pow_of_floats(wide_operand(left, a_stride, i, rest),
                                                    wide_operand(right, b_stride, i, rest));
        tn_wide_store_floats(rest < TN_WIDE_LANES ? part : to + i, power);
        if (rest < TN_WIDE_LANES) memcpy(to + i, part, (size_t)rest * sizeof(float));
    }
}

/* Remainders are exact in 32 bits: they have no rounding that vectors would save. */
static void combine_fmod(int64_t count, const float *left, int64_t a_stride, const float *right,
                         int64_t b_stride, float *to) {
    for (int64_t i = 0; i < count; i++)
        to[i] = fmodf(left[i * a_stride], right[i * b_stride]);
}

static void combine_mod(int64_t count, const float *left, int64_t a_stride, const float *right,
                        int64_t b_stride, float *to) {
    for (int64_t i = 0; i < count; i++) {
        const float divisor = right[i * b_stride], rest = fmodf(left[i * a_stride], divisor);
        to[i] = rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest;
    }
}

TN_INLINE void row_store_bytes(int8_t *to, tn_vector value, int64_t count) {
    tn_byte_store(to, tn_byte_clamp(value, tn_vector_all(-128.0f), tn_vector_all(127.0f)), count);
}

static void from_bytes(int64_t count, const int8_t *x, int64_t step, float scale, float *y) {
    int64_t i = 0;
    for (; step == 0 && i < count; i++)
        y[i] = (float)x[0] * scale;
    for (; i + TN_LANES <= count; i += TN_LANES)
        tn_vector_store(y + i, tn_byte_load(x + i, TN_LANES) * scale);
    for (; i < count; i++)
        y[i] = (float)x[i] * scale;
}

static void to_bytes(int64_t count, const float *x, float inverse, int8_t *y) {
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES)
        row_store_bytes(y + i, tn_vector_load(x + i) * inverse, TN_LANES);
    if (i < count)
        row_store_bytes(y + i, tn_vector_load_part(x + i, count - i) * inverse, count - i);
}

static void add_bytes(int64_t count, const int8_t *a, float a_scale, const int8_t *b, float b_scale,
                      int8_t *y) {
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES)
        row_store_bytes(y + i,
                        tn_byte_load(a + i, TN_LANES) * a_scale +
                            tn_byte_load(b + i, TN_LANES) * b_scale,
                        TN_LANES);
    if (i < count)
        row_store_bytes(y + i,
                        tn_byte_load(a + i, count - i) * a_scale +
                            tn_byte_load(b + i, count - i) * b_scale,
                        count - i);
}

static void multiply_bytes(int64_t count, const int8_t *a, float a_scale, const int8_t *b,
                           float b_scale, int8_t *y) {
    int64_t i = 0;
    (void)b_scale;
    for (; i + TN_LANES <= count; i += TN_LANES)
        row_store_bytes(y + i,
                        tn_byte_load(a + i, TN_LANES) * tn_byte_load(b + i, TN_LANES) * a_scale,
                        TN_LANES);
    if (i < count)
        row_store_bytes(y + i,
                        tn_byte_load(a + i, count - i) * tn_byte_load(b + i, count - i) * a_scale,
                        count - i);
}

const tn_rows_level TN_ROWS_LEVEL = {
    .maps = {[TN_ACTIVATION_RELU] = map_relu,
             [TN_ACTIVATION_LEAKY_RELU] = map_leaky_relu,
             [TN_ACTIVATION_CLIP] = map_clip,
             [TN_ACTIVATION_SIGMOID] = map_sigmoid,
             [TN_ACTIVATION_TANH] = map_tanh,
             [TN_ACTIVATION_HARD_SIGMOID] = map_hard_sigmoid,
             [TN_ACTIVATION_HARD_SWISH] = map_hard_swish,
             [TN_ACTIVATION_GELU_ERF] = map_gelu_erf,
             [TN_ACTIVATION_GELU_TANH] = map_gelu_tanh,
             [TN_ACTIVATION_SWISH] = map_swish,
             [TN_ACTIVATION_ELU] = map_elu,
             [TN_MAP_EXP] = map_exp,
             [TN_MAP_ERF] = map_erf,
             [TN_MAP_SQRT] = map_sqrt,
             [TN_MAP_NEG] = map_neg,
             [TN_MAP_ABS] = map_abs,
             [TN_MAP_RECIPROCAL] = map_reciprocal,
             [TN_MAP_LOG] = map_log,
             [TN_MAP_FLOOR] = map_floor,
             [TN_MAP_CEIL] = map_ceil,
             [TN_MAP_ROUND] = map_round,
             [TN_MAP_SIGN] = map_sign,
             [TN_MAP_SELU] = map_selu,
             [TN_MAP_CELU] = map_celu,
             [TN_MAP_SOFTPLUS] = map_softplus,
             [TN_MAP_SOFTSIGN] = map_softsign,
             [TN_MAP_MISH] = map_mish,
             [TN_MAP_THRESHOLDED_RELU] = map_thresholded_relu,
             [TN_MAP_THRESHOLD] = map_threshold,
             [TN_MAP_SIN] = map_sin,
             [TN_MAP_COS] = map_cos,
             [TN_MAP_TAN] = map_tan,
             [TN_MAP_ASIN] = map_asin,
             [TN_MAP_ACOS] = map_acos,
             [TN_MAP_ATAN] = map_atan,
             [TN_MAP_SINH] = map_sinh,
             [TN_MAP_COSH] = map_cosh,
             [TN_MAP_ASINH] = map_asinh,
             [TN_MAP_ACOSH] = map_acosh,
             [TN_MAP_ATANH] = map_atanh,
             [TN_MAP_EXPM1] = map_expm1,
             [TN_MAP_LOG1P] = map_log1p,
             [TN_MAP_ERFC] = map_erfc,
             [TN_MAP_NOT] = map_not},
    .combines = {combine_add, combine_sub, combine_mul, combine_div, combine_pow, combine_max,
                 combine_min, combine_prelu, combine_less, combine_less_equal, combine_equal,
                 combine_not_equal, combine_and, combine_or, combine_fmax, combine_fmin,
                 combine_fmod, combine_mod},
    .choose = choose,
    .from_bytes = from_bytes,
    .to_bytes = to_bytes,
    .add_bytes = add_bytes,
    .multiply_bytes = multiply_bytes,
};
