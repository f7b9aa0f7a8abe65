/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of cells.h in one arithmetic, for cells_body.h alone, which includes this once for
 * each: WIDTH(name), CELL, and the functions of one and two numbers, NEGATE to MODULO, are defined
 * there; for integers UNSIGNED, the type without a sign, whose functions RAW(name) names. HAS_ROWS:
 * not only truths as bytes, which HAS_TRUTHS wants; HAS_ARITHMETIC: not only truths; HAS_SIGNLESS:
 * also what is the same, bit by bit, for integers with and without a sign. The loops are written
 * for the compiler to vectorise.
 */

#define MAP(name, expression)                                                                      \
    static void WIDTH(map_##name)(int64_t count, const void *from, void *to) {                     \
        const CELL *row = from;                                                                    \
        CELL *y = to;                                                                              \
        TN_CELLS_INDEPENDENT                                                                       \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const CELL x = row[i];                                                                 \
            y[i] = (CELL)(expression);                                                             \
        }                                                                                          \
    }

#define LOOP(RESULT, a_of, b_of, expression)                                                       \
    {                                                                                              \
        TN_CELLS_INDEPENDENT                                                                       \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const CELL a = a_of, b = b_of;                                                         \
            y[i] = (RESULT)(expression);                                                           \
        }                                                                                          \
    }
/* An operand whose stride is 0 is the same everywhere. Where both are, so is the result: one
 * element is computed and repeated. */
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
        else if (count > 0) {                                                                      \
            WIDTH(name)(1, left, 1, right, 1, to);                                                 \
            repeat_first(to, sizeof(RESULT), count);                                               \
        }                                                                                          \
    }
/* The same of operands that may be swapped. */
#define SYMMETRIC_TO(name, RESULT, expression)                                                     \
    static void WIDTH(name)(int64_t count, const void *left, int64_t a_stride, const void *right,  \
                            int64_t b_stride, void *to) {                                          \
        const CELL *first = a_stride ? left : right, *second = a_stride ? right : left;            \
        RESULT *y = to;                                                                            \
        const CELL other = a_stride && b_stride ? 0 : second[0];                                   \
        if (a_stride && b_stride)                                                                  \
            LOOP(RESULT, first[i], second[i], expression)                                          \
        else if (a_stride || b_stride)                                                             \
            LOOP(RESULT, first[i], other, expression)                                              \
        else if (count > 0) {                                                                      \
            WIDTH(name)(1, left, 1, right, 1, to);                                                 \
            repeat_first(to, sizeof(RESULT), count);                                               \
        }                                                                                          \
    }
#define COMBINE(name, expression)         COMBINE_TO(combine_##name, CELL, expression)
#define SYMMETRIC(name, expression)       SYMMETRIC_TO(combine_##name, CELL, expression)
#define TRUTH(name, expression)           COMBINE_TO(truth_##name, uint8_t, expression)
#define SYMMETRIC_TRUTH(name, expression) SYMMETRIC_TO(truth_##name, uint8_t, expression)

#if HAS_TRUTHS
TRUTH(less, a < b)
TRUTH(less_equal, a <= b)
#if HAS_SIGNLESS
SYMMETRIC_TRUTH(equal, a == b)
SYMMETRIC_TRUTH(not_equal, a != b)
SYMMETRIC_TRUTH(and, (a != 0) & (b != 0))
SYMMETRIC_TRUTH(or, (a != 0) | (b != 0))
#endif
#endif

#if HAS_ARITHMETIC
MAP(abs, MAGNITUDE(x))
MAP(sign, SIGN(x))

COMBINE(div, DIVIDE(a, b))
#ifdef UNSIGNED
SYMMETRIC(max, LARGER(a, b))
SYMMETRIC(min, SMALLER(a, b))
#else /* zeros differ by their signs */
COMBINE(max, LARGER(a, b))
COMBINE(min, SMALLER(a, b))
#endif
COMBINE(fmod, REMAINDER(a, b))
#if HAS_SIGNLESS
MAP(neg, NEGATE(x))
MAP(floor, FLOOR(x))
SYMMETRIC(add, ADD(a, b))
COMBINE(sub, SUBTRACT(a, b))
SYMMETRIC(mul, MULTIPLY(a, b))
#endif
#endif

#if HAS_ARITHMETIC
COMBINE(any_pow, POWER(a, b))
static void WIDTH(combine_pow)(int64_t count, const void *a, int64_t a_stride, const void *b,
                               int64_t b_stride, void *y) {
    if (b_stride == 0 && *(const CELL *)b == 2) /* the commonest power */
        RAW(combine_mul)(count, a, a_stride, a, a_stride, y);
    else
        WIDTH(combine_any_pow)(count, a, a_stride, b, b_stride, y);
}
#endif

#if HAS_ARITHMETIC && !defined(UNSIGNED) /* integers are whole, and no NaN */
MAP(ceil, CEIL(x))
MAP(round, ROUND(x))
COMBINE(fmax, FMAX(a, b))
COMBINE(fmin, FMIN(a, b))
#endif
#if HAS_ARITHMETIC && defined(MODULO) /* else it is the remainder */
COMBINE(mod, MODULO(a, b))
#endif

#if HAS_ARITHMETIC && defined(UNSIGNED)
#define BITS ((int)sizeof(CELL) * 8)
COMBINE(shift_right, SHIFT_RIGHT(a, b))
#if HAS_SIGNLESS
MAP(bit_not, ~x)
SYMMETRIC(bit_and, (a) & (b))
SYMMETRIC(bit_or, (a) | (b))
SYMMETRIC(bit_xor, (a) ^ (b))
COMBINE(shift_left, (UNSIGNED)(b) >= (UNSIGNED)BITS ? 0 : (UNSIGNED)(a) << (b))
#endif
#undef BITS
#endif

#if HAS_ROWS
COMBINE(less, a < b)
COMBINE(less_equal, a <= b)
#endif
#if HAS_ROWS && HAS_SIGNLESS
MAP(not, x == 0)
SYMMETRIC(equal, a == b)
SYMMETRIC(not_equal, a != b)
SYMMETRIC(and, (a != 0) & (b != 0))
SYMMETRIC(or, (a != 0) | (b != 0))

#define CHOOSE(a_of, b_of)                                                                         \
    {                                                                                              \
        TN_CELLS_INDEPENDENT                                                                       \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const CELL x = a_of, z = b_of; /* both are there: a vector chooses */                  \
            y[i] = condition[i] != 0 ? x : z;                                                      \
        }                                                                                          \
    }
static void WIDTH(choose)(int64_t count, const void *const rows[3], const int64_t strides[3],
                          void *to) {
    const CELL *condition = rows[0], *a = rows[1], *b = rows[2];
    const CELL one = a[0], other = b[0];
    CELL *y = to;
    if (!strides[0]) {
        const CELL *chosen = condition[0] != 0 ? a : b;
        const CELL first = chosen[0];
        if (strides[condition[0] != 0 ? 1 : 2])
            memmove(y, chosen, (size_t)count * sizeof(CELL));
        else
            for (int64_t i = 0; i < count; i++)
                y[i] = first;
    } else if (strides[1] && strides[2])
        CHOOSE(a[i], b[i])
    else if (strides[1])
        CHOOSE(a[i], other)
    else if (strides[2])
        CHOOSE(one, b[i])
    else
        CHOOSE(one, other)
}
#undef CHOOSE
#endif

#undef MAP
#undef LOOP
#undef COMBINE
#undef SYMMETRIC
#undef TRUTH
#undef SYMMETRIC_TRUTH
#undef SYMMETRIC_TO
#undef COMBINE_TO
