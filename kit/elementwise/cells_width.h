/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of cells.h in one arithmetic, for cells_body.h alone, which includes this once for
 * each: WIDTH(name), CELL, and the functions of one and two numbers, NEGATE to MODULO, are defined
 * there. The loops are written for the compiler to vectorise.
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

#define LOOP(a_of, b_of, expression)                                                               \
    for (int64_t i = 0; i < count; i++) {                                                          \
        const CELL a = a_of, b = b_of;                                                             \
        y[i] = (CELL)(expression);                                                                 \
    }
#define COMBINE(name, expression)                                                                  \
    static void WIDTH(combine_##name)(int64_t count, const void *left, int64_t a_stride,           \
                                      const void *right, int64_t b_stride, void *to) {             \
        const CELL *first = left, *second = right;                                                 \
        CELL *y = to;                                                                              \
        const CELL one = a_stride ? 0 : first[0], other = b_stride ? 0 : second[0];                \
        if (a_stride && b_stride)                                                                  \
            LOOP(first[i], second[i], expression)                                                  \
        else if (a_stride)                                                                         \
            LOOP(first[i], other, expression)                                                      \
        else if (b_stride)                                                                         \
            LOOP(one, second[i], expression)                                                       \
        else                                                                                       \
            LOOP(one, other, expression)                                                           \
    }

MAP(neg, NEGATE(x))
MAP(abs, MAGNITUDE(x))
MAP(sign, SIGN(x))
MAP(not, x == 0)
MAP(floor, FLOOR(x))
MAP(ceil, CEIL(x))
MAP(round, ROUND(x))

COMBINE(add, ADD(a, b))
COMBINE(sub, SUBTRACT(a, b))
COMBINE(mul, MULTIPLY(a, b))
COMBINE(div, DIVIDE(a, b))
COMBINE(pow, POWER(a, b))
COMBINE(max, LARGER(a, b))
COMBINE(min, SMALLER(a, b))
COMBINE(less, a < b)
COMBINE(less_equal, a <= b)
COMBINE(equal, a == b)
COMBINE(not_equal, a != b)
COMBINE(and, (a != 0) & (b != 0))
COMBINE(or, (a != 0) | (b != 0))
COMBINE(fmax, FMAX(a, b))
COMBINE(fmin, FMIN(a, b))
COMBINE(fmod, REMAINDER(a, b))
COMBINE(mod, MODULO(a, b))

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

#undef MAP
#undef LOOP
#undef COMBINE
