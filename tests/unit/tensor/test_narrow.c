/* SPDX-License-Identifier: Apache-2.0 */
/* Types of 8 bits and less; the floats' expected values are those of the Python package ml_dtypes
 * 0.6.0. */
#include "tensor/narrow.h"
#include "tensor/convert.h"
#include "tensor/shape.h"

#include "test.h"

#include <math.h>

typedef struct float_case {
    tn_type type;
    int nans, infinities;
    double sum, weighted; /* of magnitudes, and of values times (pattern + 1), of finite patterns */
    double rounded[12];
} float_case;

static const double given[12] = {0.3, -0.3,  1.0625, 1.1875, 19, 447,
                                 463, 0.001, 2.5,    3.5,    -5, 0.25};
static const float_case cases[] = {
    {TN_F8E4M3,
     2,
     0,
     10815.75,
     -692208,
     {0.3125, -0.3125, 1, 1.25, 20, 448, 448, 0.001953125, 2.5, 3.5, -5, 0.25}},
    {TN_F8E4M3FNUZ,
     1,
     0,
     5887.875,
     -376824,
     {0.3125, -0.3125, 1, 1.25, 20, 240, 240, 0.0009765625, 2.5, 3.5, -5, 0.25}},
    {TN_F8E5M2,
     6,
     2,
     720895.99951171875,
     -46137343.96875,
     {0.3125, -0.3125, 1, 1.25, 20, 448, 448, 0.0009765625, 2.5, 3.5, -5, 0.25}},
    {TN_F8E5M2FNUZ,
     1,
     0,
     720895.99975585938,
     -46137343.984375,
     {0.3125, -0.3125, 1, 1.25, 20, 448, 448, 0.0009765625, 2.5, 3.5, -5, 0.25}},
    {TN_F8E8M0,
     1,
     0,
     3.4028236692093846e+38,
     8.643172119791837e+40,
     {0.25, NAN, 1, 1, 16, 512, 512, 0.0009765625, 2, 4, NAN, 0.25}},
    {TN_F4E2M1, 0, 0, 36, -144, {0.5, -0.5, 1, 1, 6, 6, 6, 0, 2, 4, -4, 0}},
};

/* The sum of powers loses its last bits in whatever order. */
static void assert_near(double found, double wanted) {
    if (!(fabs(found - wanted) <= fabs(wanted) * 1e-12))
        fail_msg("%.17g, not %.17g", found, wanted);
}

static void test_every_pattern_of_the_floats(void **state) {
    (void)state;
    for (size_t c = 0; c < TEST_COUNT(cases); c++) {
        const float_case *it = &cases[c];
        const uint32_t patterns = 1u << tn_type_bits(it->type);
        int nans = 0, infinities = 0;
        double sum = 0, weighted = 0;
        for (uint32_t i = 0; i < patterns; i++) {
            const uint8_t byte = (uint8_t)i;
            const double value = tn_narrow_get_float(&byte, it->type, 0);
            uint8_t back = 0;
            nans += isnan(value);
            infinities += isinf(value) != 0;
            tn_narrow_set_float(&back, it->type, 0, value);
            if (!isnan(value)) assert_int_equal(back, byte); /* -0 comes back, too */
            if (!isfinite(value)) continue;
            sum += fabs(value);
            weighted += value * (i + 1);
        }
        assert_int_equal(nans, it->nans);
        assert_int_equal(infinities, it->infinities);
        assert_near(sum, it->sum);
        assert_near(weighted, it->weighted);
    }
}

static void test_floats_are_rounded_to_the_nearest(void **state) {
    (void)state;
    for (size_t c = 0; c < TEST_COUNT(cases); c++)
        for (size_t i = 0; i < TEST_COUNT(given); i++) {
            uint8_t byte = 0;
            tn_narrow_set_float(&byte, cases[c].type, 0, given[i]);
            const double found = tn_narrow_get_float(&byte, cases[c].type, 0);
            if (!(found == cases[c].rounded[i] || (isnan(found) && isnan(cases[c].rounded[i]))))
                fail_msg("%s of %g is %g, not %g", tn_type_name(cases[c].type), given[i], found,
                         cases[c].rounded[i]);
        }
}

static double stored(tn_type type, double value) {
    uint8_t byte = 0;
    tn_element_set_f64(&byte, type, 0, value);
    return tn_element_get_f64(&byte, type, 0);
}

static void test_what_is_too_large_saturates(void **state) {
    (void)state;
    assert_true(stored(TN_F8E4M3, 1e6) == 448 && stored(TN_F8E4M3, (double)-INFINITY) == -448);
    assert_true(stored(TN_F8E4M3FNUZ, -1e6) == -240);
    assert_true(isnan(stored(TN_F8E4M3FNUZ, (double)INFINITY)));
    assert_true(stored(TN_F8E5M2, 1e6) == 57344 && isinf(stored(TN_F8E5M2, (double)INFINITY)));
    assert_true(isnan(stored(TN_F8E5M2FNUZ, (double)-INFINITY)));
    assert_true(stored(TN_F4E2M1, 1e6) == 6 && stored(TN_F4E2M1, (double)-INFINITY) == -6);
    assert_true(stored(TN_F4E2M1, (double)NAN) == 0);
    assert_true(stored(TN_F8E8M0, 1e300) == 0x1p127 && stored(TN_F8E8M0, 0) == 0x1p-127);
    assert_true(!signbit(stored(TN_F8E4M3FNUZ, -1e-9)) && signbit(stored(TN_F8E4M3, -1e-9)));
    assert_true(stored(TN_I4, 100) == 7 && stored(TN_I4, -100) == -8 && stored(TN_I4, 2.5) == 2);
    assert_true(stored(TN_U4, -1) == 0 && stored(TN_U4, 16) == 15);
    assert_true(stored(TN_I2, 2) == 1 && stored(TN_I2, -3) == -2 && stored(TN_U2, 9) == 3);
}

static void test_packed_elements_leave_their_neighbours(void **state) {
    static const tn_type types[] = {TN_I4, TN_U4, TN_I2, TN_U2, TN_F4E2M1};
    (void)state;
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        uint8_t bytes[3] = {0xff, 0xff, 0xff};
        const uint32_t bits = tn_type_bits(types[t]), count = 24 / bits;
        assert_true(tn_type_is_packed(types[t]));
        assert_int_equal(tn_type_bytes(types[t]), 0);
        for (uint32_t i = 0; i < count; i += 2)
            tn_element_set_i64(bytes, types[t], i, 0);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t field =
                (uint32_t)(bytes[i * bits / 8] >> (i * bits % 8)) & ((1u << bits) - 1);
            assert_int_equal(field, i % 2 ? (1u << bits) - 1 : 0); /* lowest bits first */
        }
        assert_int_equal(tn_type_storage(types[t], 0), 0);
        assert_int_equal(tn_type_storage(types[t], count + 1), 4);
        assert_int_equal(tn_type_elements(types[t], 3), count);
    }
    assert_int_equal(tn_type_storage(TN_F64, SIZE_MAX / 2), SIZE_MAX);
}

static void test_packed_tensors_are_linear(void **state) {
    static const tn_shape shape = {4, {1, 5, 3, 1}};
    tn_tensor_storage tensor;
    size_t bytes = 0;
    (void)state;
    assert_int_equal(tn_tensor_init(&tensor, TN_I4, TN_LINEAR, &shape), TN_OK);
    assert_int_equal(tensor.tensor.bytes, 8);
    assert_int_equal(tensor.strides[1], 3); /* elements */
    assert_failed(tn_tensor_init(&tensor, TN_I4, TN_C8, &shape), TN_ERROR_TYPE,
                  "linear order alone");
    assert_failed(tn_format_bytes(TN_NHWC, TN_U2, &shape, &bytes), TN_ERROR_TYPE, "u2");
}

static void convert_whole(const tn_tensor *from, const tn_tensor *to) {
    assert_int_equal(tn_convert(from, to, 0, tn_convert_items(from, to)), TN_OK);
}

/* Every narrow type to floats and back; 1,000 elements, so that several pieces are done. */
static void test_narrow_tensors_are_converted(void **state) {
    static const tn_shape shape = {2, {8, 125}};
    (void)state;
    for (tn_type type = TN_F8E4M3; type <= TN_U2; type++) {
        tn_tensor_storage narrow, wide, back;
        uint8_t first[1024] = {0}, second[1024] = {0};
        float values[1000];
        assert_int_equal(tn_tensor_init(&narrow, type, TN_LINEAR, &shape), TN_OK);
        assert_int_equal(tn_tensor_init(&wide, TN_F32, TN_LINEAR, &shape), TN_OK);
        assert_int_equal(tn_tensor_init(&back, type, TN_LINEAR, &shape), TN_OK);
        narrow.tensor.data = first;
        wide.tensor.data = values;
        back.tensor.data = second;
        for (size_t i = 0; i < 1000; i++)
            tn_element_set_f64(first, type, i, (double)(i % 5));
        convert_whole(&narrow.tensor, &wide.tensor);
        for (size_t i = 0; i < 1000; i++)
            assert_true((double)values[i] == tn_element_get_f64(first, type, i));
        convert_whole(&wide.tensor, &back.tensor);
        assert_memory_equal(first, second, sizeof first);
    }
}

static void test_integers_keep_their_lowest_bits(void **state) {
    static const tn_shape shape = {1, {4}};
    static const int32_t values[4] = {9, -9, 7, 24};
    tn_tensor_storage from, to;
    uint8_t bytes[2] = {0};
    (void)state;
    assert_int_equal(tn_tensor_init(&from, TN_I32, TN_LINEAR, &shape), TN_OK);
    assert_int_equal(tn_tensor_init(&to, TN_I4, TN_LINEAR, &shape), TN_OK);
    from.tensor.data = (void *)(uintptr_t)values;
    to.tensor.data = bytes;
    convert_whole(&from.tensor, &to.tensor);
    assert_int_equal(tn_element_get_i64(bytes, TN_I4, 0), -7);
    assert_int_equal(tn_element_get_i64(bytes, TN_I4, 1), 7);
    assert_int_equal(tn_element_get_i64(bytes, TN_I4, 2), 7);
    assert_int_equal(tn_element_get_i64(bytes, TN_I4, 3), -8);
}

static void test_packed_tensors_may_be_empty(void **state) {
    static const tn_shape shape = {3, {2, 0, 3}};
    tn_tensor_storage from, to;
    uint8_t bytes[1] = {0x5A};
    (void)state;
    assert_int_equal(tn_tensor_init(&from, TN_U4, TN_LINEAR, &shape), TN_OK);
    assert_int_equal(tn_tensor_init(&to, TN_U4, TN_LINEAR, &shape), TN_OK);
    from.tensor.data = to.tensor.data = bytes;
    convert_whole(&from.tensor, &to.tensor);
    assert_int_equal(bytes[0], 0x5A);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed_tensors_may_be_empty),
        cmocka_unit_test(test_every_pattern_of_the_floats),
        cmocka_unit_test(test_floats_are_rounded_to_the_nearest),
        cmocka_unit_test(test_what_is_too_large_saturates),
        cmocka_unit_test(test_packed_elements_leave_their_neighbours),
        cmocka_unit_test(test_packed_tensors_are_linear),
        cmocka_unit_test(test_narrow_tensors_are_converted),
        cmocka_unit_test(test_integers_keep_their_lowest_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
