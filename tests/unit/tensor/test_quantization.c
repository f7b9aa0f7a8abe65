/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisations with axes and blocks, types of scales, zero points in the tensor's type. */
#include "tensor/quantization.h"
#include "base/memory.h"
#include "tensor/convert.h"

#include "test.h"

static void test_blocks_of_two_axes(void **state) {
    static const int64_t shape[] = {3, 5, 7};
    static const float scales[] = {1, 2, 4, 8, 16, 32};
    const tn_quantization q = {.scale_type = TN_F32,
                               .axis_count = 2,
                               .axes = {1, 2},
                               .blocks = {3, 3},
                               .count = 6,
                               .scales = scales};
    (void)state;
    assert_int_equal(tn_quantization_count(&q, 3, shape), 6); /* 2 blocks, 3 blocks */
    assert_int_equal(tn_quantization_index(&q, shape, (const int64_t[]){2, 0, 0}), 0);
    assert_int_equal(tn_quantization_index(&q, shape, (const int64_t[]){0, 2, 3}), 1);
    assert_int_equal(tn_quantization_index(&q, shape, (const int64_t[]){0, 3, 2}), 3);
    assert_int_equal(tn_quantization_index(&q, shape, (const int64_t[]){0, 4, 6}), 5);
    assert_false(tn_quantization_is_plain(&q));
}

static void test_axes_and_blocks_that_do_not_fit(void **state) {
    static const int64_t shape[] = {3, 5};
    tn_quantization q = {.scale_type = TN_F32, .axis_count = 2, .axes = {1, 1}, .blocks = {1, 1}};
    (void)state;
    assert_int_equal(tn_quantization_count(&q, 2, shape), 0);
    q.axes[0] = 0, q.axes[1] = 2;
    assert_int_equal(tn_quantization_count(&q, 2, shape), 0);
    q.axes[1] = 1, q.blocks[1] = 0;
    assert_int_equal(tn_quantization_count(&q, 2, shape), 0);
    q.blocks[1] = INT64_MAX;
    assert_int_equal(tn_quantization_count(&q, 2, shape), 3);
    q.axis_count = 3;
    assert_int_equal(tn_quantization_count(&q, 2, shape), 0);
    q.axis_count = 0;
    assert_int_equal(tn_quantization_count(&q, 2, shape), 1);
}

/* i4 weights in blocks of four with scales of 16 and 8 bits, as block-quantised networks have
 * them. */
static void test_blocks_are_dequantised(void **state) {
    static const tn_type scale_types[] = {TN_F32, TN_F16, TN_BF16, TN_F8E8M0};
    static const float scales[] = {0.5f, 2, 0.25f, 4};
    static const int32_t zeros[] = {1, 0, -2, 3};
    const tn_shape shape = {2, {2, 6}};
    tn_arena *arena;
    (void)state;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    for (size_t t = 0; t < TEST_COUNT(scale_types); t++) {
        const tn_quantization_parameters parameters = {.axis_count = 2,
                                                       .axes = {0, 1},
                                                       .blocks = {1, 4},
                                                       .scale_type = scale_types[t],
                                                       .count = 4,
                                                       .scales = scales,
                                                       .zero_points = zeros};
        tn_tensor_storage from, to;
        signed char bytes[12];
        float values[12];
        assert_int_equal(tn_tensor_init(&from, TN_I8, TN_LINEAR, &shape), TN_OK);
        assert_int_equal(tn_tensor_init(&to, TN_F32, TN_LINEAR, &shape), TN_OK);
        assert_int_equal(tn_quantization_make(arena, &parameters, TN_I8, &from.tensor.quantization),
                         TN_OK);
        for (int i = 0; i < 12; i++)
            bytes[i] = (signed char)(i - 4);
        from.tensor.data = bytes;
        to.tensor.data = values;
        assert_int_equal(
            tn_convert(&from.tensor, &to.tensor, 0, tn_convert_items(&from.tensor, &to.tensor)),
            TN_OK);
        for (int i = 0; i < 12; i++) {
            const int block = i / 6 * 2 + i % 6 / 4;
            assert_true(values[i] == (float)(i - 4 - zeros[block]) * scales[block]);
        }
    }
    tn_arena_destroy(arena);
}

static void test_zero_points_that_the_type_lacks(void **state) {
    static const float scale = 1;
    static const int32_t zero = 9;
    const tn_quantization_parameters parameters = {
        .scale_type = TN_F32, .count = 1, .scales = &scale, .zero_points = &zero};
    const tn_quantization *q = NULL;
    tn_arena *arena;
    (void)state;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    assert_failed(tn_quantization_make(arena, &parameters, TN_I4, &q), TN_ERROR_FORMAT,
                  "zero point 9 is none of type i4");
    assert_int_equal(tn_quantization_make(arena, &parameters, TN_U4, &q), TN_OK);
    assert_int_equal(tn_quantization_zero(q, TN_U4, 0), 9);
    tn_arena_destroy(arena);
}

static void test_equality_is_of_numbers(void **state) {
    static const float one[] = {1, 2};
    static const uint16_t same[] = {0x3c00, 0x4000}; /* binary16 */
    static const int8_t zeros[] = {0, 0};
    const tn_quantization a = {
        .scale_type = TN_F32, .axis_count = 1, .blocks = {1}, .count = 2, .scales = one};
    tn_quantization b = a;
    (void)state;
    b.zero_points = zeros;
    assert_true(tn_quantization_equal(&a, &b, TN_I8)); /* none is all zero */
    b.blocks[0] = 2;
    assert_false(tn_quantization_equal(&a, &b, TN_I8));
    b = a, b.scales = same, b.scale_type = TN_F16;
    assert_false(tn_quantization_equal(&a, &b, TN_I8)); /* another type of scales is another form */
    assert_false(tn_quantization_equal(&a, NULL, TN_I8));
    assert_true(tn_quantization_equal(NULL, NULL, TN_I8));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_of_two_axes),
        cmocka_unit_test(test_axes_and_blocks_that_do_not_fit),
        cmocka_unit_test(test_blocks_are_dequantised),
        cmocka_unit_test(test_zero_points_that_the_type_lacks),
        cmocka_unit_test(test_equality_is_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
