/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trigonometric and hyperbolic functions of rows and their inverses, at every level of this
 * processor, against those of double precision: all exponents, both signs, angles of any size, and
 * what no number is.
 */
#include <tenon/kit/rows.h>

#include "test.h"

#include <math.h>
#include <string.h>

typedef struct function {
    const char *name;
    uint32_t map;
    double (*exact)(double);
} function;

static const function functions[] = {
    {"sin", TN_MAP_SIN, sin},       {"cos", TN_MAP_COS, cos},       {"tan", TN_MAP_TAN, tan},
    {"asin", TN_MAP_ASIN, asin},    {"acos", TN_MAP_ACOS, acos},    {"atan", TN_MAP_ATAN, atan},
    {"sinh", TN_MAP_SINH, sinh},    {"cosh", TN_MAP_COSH, cosh},    {"asinh", TN_MAP_ASINH, asinh},
    {"acosh", TN_MAP_ACOSH, acosh}, {"atanh", TN_MAP_ATANH, atanh},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]), COUNT = 4099 /* no whole vectors */ };

static const tn_rows_level *const levels[] = {&tn_rows_baseline, &tn_rows_avx2, &tn_rows_avx512};

/* The distance in units in the last place of a float that is `exact`; of results below the normal
 * numbers, in the smallest normal number's. */
static double distance(double exact, float value) {
    const float rounded = (float)exact;
    if (isnan(rounded)) return isnan(value) ? 0 : INFINITY;
    if (isinf(rounded)) return value == rounded ? 0 : INFINITY;
    if (!isfinite(value)) return INFINITY;
    if (exact == 0 && !signbit(exact) != !signbit(value)) return INFINITY;
    const double size = fabs((double)rounded) < 0x1p-126 ? 0x1p-126 : fabs((double)rounded);
    return fabs((double)value - exact) / ldexp(1, ilogb(size) - 23);
}

static void check(const function *of, const float *x, int count, bool in_place) {
    float y[COUNT];
    for (int level = 0; level <= (int)tn_kit_level(); level++) {
        if (in_place) memcpy(y, x, (size_t)count * sizeof(float));
        levels[level]->maps[of->map](0, 0, count, in_place ? y : x, y);
        for (int i = 0; i < count; i++) {
            const double units = distance(of->exact((double)x[i]), y[i]);
            if (!(units <= 4))
                fail_msg("%s(%a) is %a at level %d: %g units from %a", of->name, (double)x[i],
                         (double)y[i], level, units, of->exact((double)x[i]));
        }
    }
}

static float of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void test_functions_of_every_exponent(void **state) {
    (void)state;
    static float x[COUNT];
    for (int i = 0; i < COUNT; i++) /* 16 of each of 256 exponents, one after the other */
        x[i] = of_bits((uint32_t)(i % 4096) << 19 | (uint32_t)i * 2654435u % 0x7ffff);
    for (int sign = 0; sign < 2; sign++) {
        for (int k = 0; k < FUNCTIONS; k++)
            check(&functions[k], x, COUNT, sign == 1);
        for (int i = 0; i < COUNT; i++)
            x[i] = -x[i];
    }
}

/* Of the inverse functions: where they begin, end and change their formula. */
static void test_functions_about_one(void **state) {
    (void)state;
    static float x[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = -3.0f + 6.0f * (float)i / COUNT;
    const float ends[] = {1, -1, 0.5f, -0.5f, 0.99999994f, -0.99999994f, 1.0000001f, -1.0000001f};
    memcpy(x, ends, sizeof(ends));
    for (int k = 0; k < FUNCTIONS; k++)
        check(&functions[k], x, COUNT, false);
}

/* Multiples of pi / 2 as near as floats are to them, and angles about the limit of the reduction.
 */
static void test_angles(void **state) {
    (void)state;
    static float x[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(1.5707963267948966 * (i < COUNT / 2 ? i : i * 997 - 2000000));
    for (int k = 0; k < 3; k++)
        check(&functions[k], x, COUNT, false);
}

/* An element's result is its own, whatever its neighbours: a large angle beside small ones. */
static void test_elements_do_not_hang_on_their_row(void **state) {
    (void)state;
    float row[37], y[37], one;
    for (int i = 0; i < 37; i++)
        row[i] = i % 5 == 3 ? 1e30f * (float)i : 0.37f * (float)i;
    for (int level = 0; level <= (int)tn_kit_level(); level++) {
        for (int k = 0; k < FUNCTIONS; k++) {
            levels[level]->maps[functions[k].map](0, 0, 37, row, y);
            for (int i = 0; i < 37; i++) {
                levels[level]->maps[functions[k].map](0, 0, 1, row + i, &one);
                assert_memory_equal(&one, &y[i], sizeof(one));
            }
        }
    }
}

/* Nothing behind the last element is written. */
static void test_rows_of_any_length(void **state) {
    (void)state;
    float x[40], y[40];
    for (int i = 0; i < 40; i++)
        x[i] = 0.01f * (float)i;
    for (int level = 0; level <= (int)tn_kit_level(); level++) {
        for (int count = 0; count < 39; count++) {
            y[count] = 77;
            levels[level]->maps[TN_MAP_SIN](0, 0, count, x, y);
            assert_true(y[count] == 77);
            for (int i = 0; i < count; i++)
                assert_true(distance(sin((double)x[i]), y[i]) <= 4);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_of_every_exponent),
        cmocka_unit_test(test_functions_about_one),
        cmocka_unit_test(test_angles),
        cmocka_unit_test(test_elements_do_not_hang_on_their_row),
        cmocka_unit_test(test_rows_of_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
