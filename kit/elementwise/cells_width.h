/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of cells.h in one arithmetic, for cells_body.h alone, which includes this once for
 * each: WIDTH(name), CELL, and the functions of one and two numbers, NEGATE to MODULO, are defined
 * there; for integers UNSIGNED, the type without a sign. HAS_ROWS: not only truths as bytes, which
 * HAS_TRUTHS wants; HAS_ARITHMETIC: not only truths. The loops are written for the compiler to
 * vectorise.
 */

#define MAP(name, expression)                                                                      \
    static void WIDTH(map_##name)(int64_t count, const void *from, void *to) {                     \
        const CELL *row = from;                                                                    \
        CELL *y = to;                                                                              \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const CELL x = row[i];                                                                 \
            y[i] = (CELL)(expression);                                                             \
        }                                                                                          \
    }

#define LOOP(RESULT, a_of, b_of, expression)                                                       \
    for (int64_t i = 0; i < count; i++) {                                                          \
        const CELL a = a_of, b = b_of;                                                             \
        y[i] = (RESULT)(expression);                                                               \
    }
#define COMBINE(name, expression) COMBINE_TO(combine_##name, CELL, expression)
#define TRUTH(name, expression)   COMBINE_TO(truth_##name, uint8_t, expression)
#define COMBINE_TO(name, RESULT, expression)                                                       \
    static void WIDTH(name)(int64_t count, const void *left, int64_t a_stride, const void *right,  \
                            int64_t b_stride, void *to) {                                          \
        const CELL *first = left, *second = right;                                                 \
        RESULT *y = to;                                                                            \
        const CELL one = a_stride ? 0 : first[0], other = b_stride ? 0 : second[0];                \
        if (a_stride && b_stride)                                                                  \
            LOOP(RESULT, first[i], second[i], expression)                                          \
        else if (a_stride)                                                                         \
            LOOP(RESULT, first[i], other, expression)                                              \
        else if (b_stride)                                                                         \
            LOOP(RESULT, one, second[i], expression)                                               \
        else                                                                                       \
            LOOP(RESULT, one, other, expression)                                                   \
    }

#if HAS_TRUTHS
TRUTH(less, a < b)
TRUTH(less_equal, a <= b)
TRUTH(equal, a == b)
TRUTH(not_equal, a != b)
TRUTH(and, (a != 0) & (b != 0))
TRUTH(or, (a != 0) | (b != 0))
#endif

#if HAS_ARITHMETIC
MAP(neg, NEGATE(x))
MAP(abs, MAGNITUDE(x))
MAP(sign, SIGN(x))
MAP(floor, FLOOR(x))
MAP(ceil, CEIL(x))
MAP(round, ROUND(x))

COMBINE(add, ADD(a, b))
COMBINE(sub, SUBTRACT(a, b))
COMBINE(mul, MULTIPLY(a, b))
COMBINE(div, DIVIDE(a, b))
COMBINE(any_pow, POWER(a, b))
static void WIDTH(combine_pow)(int64_t count, const void *a, int64_t a_stride, const void *b,
                               int64_t b_stride, void *y) {
    if (b_stride == 0 && *(const CELL *)b == 2) /* the commonest power */
        WIDTH(combine_mul)(count, a, a_stride, a, a_stride, y);
    else
        WIDTH(combine_any_pow)(count, a, a_stride, b, b_stride, y);
}
COMBINE(max, LARGER(a, b))
COMBINE(min, SMALLER(a, b))
COMBINE(fmax, FMAX(a, b))
COMBINE(fmin, FMIN(a, b))
COMBINE(fmod, REMAINDER(a, b))
COMBINE(mod, MODULO(a, b))
#endif

#if HAS_ARITHMETIC && defined(UNSIGNED)
#define BITS ((int)sizeof(CELL) * 8)
MAP(bit_not, ~x)
COMBINE(bit_and, (a) & (b))
COMBINE(bit_or, (a) | (b))
COMBINE(bit_xor, (a) ^ (b))
COMBINE(shift_left, (UNSIGNED)(b) >= (UNSIGNED)BITS ? 0 : (UNSIGNED)(a) << (b))
COMBINE(shift_right, SHIFT_RIGHT(a, b))
#undef BITS
#endif

#if HAS_ROWS
MAP(not, x == 0)
COMBINE(less, a < b)
COMBINE(less_equal, a <= b)
COMBINE(equal, a == b)
COMBINE(not_equal, a != b)
COMBINE(and, (a != 0) & (b != 0))
COMBINE(or, (a != 0) | (b != 0))

static void WIDTH(choose)(int64_t count, const void *const rows[3], const int64_t strides[3],
                          void *to) {
    const CELL *condition = rows[0], *a = rows[1], *b = rows[2];
    const int64_t c_step = strides[0], a_step = strides[1], b_step = strides[2];
    CELL *y = to;
    if (c_step && a_step && b_step) {
        for (int64_t i = 0; i < count; i++)
            y[i] = condition[i] != 0 ? a[i] : b[i];
        return;
    }
    if (c_step && !(a_step && b_step)) {
        const CELL one = a[0], other = b[0];
        for (int64_t i = 0; i < count; i++) {
            const CELL x = a_step ? a[i] : one, z = b_step ? b[i] : other;
            y[i] = condition[i] != 0 ? x : z;
        }
        return;
    }
    const CELL *chosen = condition[0] != 0 ? a : b;
    const int64_t step = condition[0] != 0 ? a_step : b_step;
    const CELL first = chosen[0];
    for (int64_t i = 0; i < count; i++)
        y[i] = step ? chosen[i] : first;
}
#endif

#undef MAP
#undef LOOP
#undef COMBINE
#undef TRUTH
#undef COMBINE_TO
