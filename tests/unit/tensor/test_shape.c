/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and formats: counts, strides, bytes, overflow, names and texts. */
#include "tensor/shape.h"

#include "test.h"

#define EXTENTS(...)  ((const int64_t[]){__VA_ARGS__})
#define SHAPE_OF(...) shape_of(sizeof(EXTENTS(__VA_ARGS__)) / 8, EXTENTS(__VA_ARGS__))

static const tn_format formats[] = {TN_LINEAR, TN_NHWC, TN_C2,  TN_C4,
                                    TN_C8,     TN_C16,  TN_C32, TN_C64};

static tn_shape shape_of(size_t rank, const int64_t *extents) {
    tn_shape shape;
    assert_int_equal(tn_shape_set(&shape, (uint32_t)rank, extents), TN_OK);
    return shape;
}

static void test_shapes_are_set_and_compared(void **state) {
    (void)state;
    const tn_shape a = SHAPE_OF(2, 3), b = SHAPE_OF(2, 3, 1), c = SHAPE_OF(2, 4);
    tn_shape scalar;
    size_t count = 0;
    assert_true(tn_shape_equal(&a, &a));
    assert_false(tn_shape_equal(&a, &b));
    assert_false(tn_shape_equal(&a, &c));
    assert_int_equal(tn_shape_count(&c, &count), TN_OK);
    assert_int_equal(count, 8);
    assert_int_equal(tn_shape_set(&scalar, 0, NULL), TN_OK);
    assert_int_equal(tn_shape_count(&scalar, &count), TN_OK);
    assert_int_equal(count, 1);
}

static void test_shapes_out_of_range_are_refused(void **state) {
    (void)state;
    tn_shape shape = {.rank = 77};
    int64_t nine[TN_MAX_RANK + 1] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    assert_failed(tn_shape_set(&shape, TN_MAX_RANK + 1, nine), TN_ERROR_SHAPE, "rank 9");
    assert_failed(tn_shape_set(&shape, UINT32_MAX, nine), TN_ERROR_SHAPE, "rank");
    assert_failed(tn_shape_set(&shape, 2, EXTENTS(2, -1)), TN_ERROR_SHAPE, "negative");
    assert_failed(tn_shape_set(&shape, 2, EXTENTS(2, INT64_MIN)), TN_ERROR_SHAPE, "negative");
    assert_failed(tn_shape_set(&shape, 2, EXTENTS(INT64_MAX, 2)), TN_ERROR_SHAPE, "more elements");
    assert_failed(tn_shape_set(&shape, 1, EXTENTS(INT64_MAX)), TN_ERROR_SHAPE, "more elements");
    assert_failed(tn_shape_set(&shape, 3, EXTENTS(1 << 30, 1 << 30, 1 << 30)), TN_ERROR_SHAPE,
                  "1073741824");
    assert_int_equal(shape.rank, 77);
}

static void test_nothing_is_sound_beside_huge_extents(void **state) {
    (void)state;
    size_t count = 7;
    const tn_shape shape = SHAPE_OF(INT64_MAX, 0, INT64_MAX);
    assert_int_equal(tn_shape_count(&shape, &count), TN_OK);
    assert_int_equal(count, 0);
}

static void test_shapes_are_printed(void **state) {
    (void)state;
    char text[TN_SHAPE_TEXT_BYTES], small[12];
    int64_t longest[TN_MAX_RANK];
    for (int i = 0; i < TN_MAX_RANK; i++)
        longest[i] = INT64_MAX;
    assert_string_equal(tn_shape_print(0, NULL, text, sizeof(text)), "[]");
    assert_string_equal(tn_shape_print(1, EXTENTS(5), text, sizeof(text)), "[5]");
    assert_string_equal(tn_shape_print(3, EXTENTS(1, -1, 224), text, sizeof(text)), "[1, ?, 224]");
    tn_shape_print(TN_MAX_RANK, longest, text, sizeof(text));
    assert_int_equal(text[strlen(text) - 1], ']');
    for (size_t bytes = 1; bytes <= sizeof(small); bytes++) {
        memset(small, 'x', sizeof(small));
        tn_shape_print(3, EXTENTS(100, 200, 300), small, bytes);
        assert_true(strlen(small) < bytes);
        assert_memory_equal(small, "[100, 200, 300]", strlen(small));
    }
}

static void test_formats_have_names(void **state) {
    (void)state;
    static const char *const names[] = {"linear", "nhwc", "c2", "c4", "c8", "c16", "c32", "c64"};
    for (size_t i = 0; i < TEST_COUNT(formats); i++) {
        tn_format parsed = 99;
        assert_true(tn_format_is_valid(formats[i]));
        assert_string_equal(tn_format_name(formats[i]), names[i]);
        assert_true(tn_format_parse(names[i], strlen(names[i]), &parsed));
        assert_int_equal(parsed, formats[i]);
    }
    tn_format untouched = 99;
    assert_false(tn_format_parse("c5", 2, &untouched));
    assert_false(tn_format_parse("c16x", 4, &untouched));
    assert_false(tn_format_parse("", 0, &untouched));
    assert_int_equal(untouched, 99);
    assert_false(tn_format_is_valid(TN_FORMAT(TN_LAYOUT_BLOCKED, 1, 5)));
    assert_false(tn_format_is_valid(TN_FORMAT(TN_LAYOUT_BLOCKED, 0, 8)));
    assert_false(tn_format_is_valid(3));
    assert_false(tn_format_is_valid(UINT32_MAX));
    assert_string_equal(tn_format_name(3), "unknown");
}

static void test_formats_need_their_axes(void **state) {
    (void)state;
    for (uint32_t rank = 0; rank <= TN_MAX_RANK; rank++) {
        assert_true(tn_format_fits(TN_LINEAR, rank));
        assert_int_equal(tn_format_fits(TN_NHWC, rank), rank >= 3);
        assert_int_equal(tn_format_fits(TN_C16, rank), rank >= 2);
        assert_false(tn_format_fits(3, rank));
    }
    const tn_shape line = SHAPE_OF(5);
    size_t bytes = 7;
    int64_t strides[TN_MAX_RANK];
    assert_failed(tn_format_bytes(TN_C8, TN_F32, &line, &bytes), TN_ERROR_SHAPE, "c8");
    assert_failed(tn_format_strides(TN_NHWC, &line, strides), TN_ERROR_SHAPE, "rank 1");
    assert_int_equal(bytes, 7);
}

static void assert_layout(tn_format format, const tn_shape *shape, const int64_t *strides,
                          size_t elements) {
    int64_t found[TN_MAX_RANK];
    size_t bytes;
    assert_int_equal(tn_format_strides(format, shape, found), TN_OK);
    for (uint32_t i = 0; i < shape->rank; i++)
        assert_int_equal(found[i], strides[i]);
    assert_int_equal(tn_format_bytes(format, TN_F64, shape, &bytes), TN_OK);
    assert_int_equal(bytes, elements * 8);
    assert_int_equal(tn_format_bytes(format, TN_U8, shape, &bytes), TN_OK);
    assert_int_equal(bytes, elements);
}

static void test_strides_and_bytes_are_those_of_the_format(void **state) {
    (void)state;
    const tn_shape image = SHAPE_OF(2, 5, 3, 4), row = SHAPE_OF(3, 9), cube = SHAPE_OF(1, 17, 2);
    assert_layout(TN_LINEAR, &image, EXTENTS(60, 12, 4, 1), 120);
    assert_layout(TN_NHWC, &image, EXTENTS(60, 1, 20, 5), 120);
    assert_layout(TN_C4, &image, EXTENTS(96, 48, 16, 4), 192);
    assert_layout(TN_C8, &image, EXTENTS(96, 96, 32, 8), 192);
    assert_layout(TN_C16, &row, EXTENTS(16, 16), 48);
    assert_layout(TN_C16, &cube, EXTENTS(64, 32, 16), 64);
    assert_layout(TN_NHWC, &cube, EXTENTS(34, 1, 17), 34);
}

static void test_an_empty_tensor_has_no_bytes(void **state) {
    (void)state;
    const tn_shape no_channels = SHAPE_OF(2, 0, 3, 4), no_images = SHAPE_OF(0, 5, 3, 4);
    for (size_t i = 0; i < TEST_COUNT(formats); i++) {
        size_t bytes = 7;
        assert_int_equal(tn_format_bytes(formats[i], TN_F32, &no_channels, &bytes), TN_OK);
        assert_int_equal(bytes, 0);
        assert_int_equal(tn_format_bytes(formats[i], TN_F32, &no_images, &bytes), TN_OK);
        assert_int_equal(bytes, 0);
    }
}

static void test_padding_that_overflows_is_refused(void **state) {
    (void)state;
    const tn_shape flat = SHAPE_OF(INT64_C(1) << 56, 1);
    size_t bytes = 7;
    tn_tensor_storage storage = {.tensor = {.rank = 7}};
    assert_int_equal(tn_format_bytes(TN_LINEAR, TN_F64, &flat, &bytes), TN_OK);
    assert_int_equal(bytes, UINT64_C(1) << 59);
    bytes = 7;
    assert_failed(tn_format_bytes(TN_C64, TN_F64, &flat, &bytes), TN_ERROR_SHAPE, "larger");
    assert_failed(tn_tensor_init(&storage, TN_F32, TN_C32, &flat), TN_ERROR_SHAPE, "larger");
    assert_int_equal(bytes, 7);
    assert_int_equal(storage.tensor.rank, 7);
}

static void test_a_tensor_is_described_whole(void **state) {
    (void)state;
    const tn_shape shape = SHAPE_OF(1, 20, 3, 3);
    tn_tensor_storage storage;
    assert_int_equal(tn_tensor_init(&storage, TN_F16, TN_C16, &shape), TN_OK);
    assert_int_equal(storage.tensor.size, sizeof(tn_tensor));
    assert_int_equal(storage.tensor.type, TN_F16);
    assert_int_equal(storage.tensor.format, TN_C16);
    assert_int_equal(storage.tensor.rank, 4);
    assert_int_equal(storage.tensor.bytes, 32 * 9 * 2);
    assert_ptr_equal(storage.tensor.shape, storage.shape.extents);
    assert_ptr_equal(storage.tensor.strides, storage.strides);
    assert_null(storage.tensor.data);
    assert_null(storage.tensor.quantization);
    assert_int_equal(storage.tensor.shape[1], 20);
    assert_int_equal(storage.tensor.strides[1], 16 * 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_are_set_and_compared),
        cmocka_unit_test(test_shapes_out_of_range_are_refused),
        cmocka_unit_test(test_nothing_is_sound_beside_huge_extents),
        cmocka_unit_test(test_shapes_are_printed),
        cmocka_unit_test(test_formats_have_names),
        cmocka_unit_test(test_formats_need_their_axes),
        cmocka_unit_test(test_strides_and_bytes_are_those_of_the_format),
        cmocka_unit_test(test_an_empty_tensor_has_no_bytes),
        cmocka_unit_test(test_padding_that_overflows_is_refused),
        cmocka_unit_test(test_a_tensor_is_described_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
