/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between formats against the naive one: all pairs, odd shapes, splits, strides,
 * scales, and what is refused. Types are in test_convert_types.c. */
#include "convert_test.h"

#include <pthread.h>

static const tn_shape shapes[] = {
    {0, {0}},
    {1, {7}},
    {2, {3, 5}},
    {2, {1, 33}},
    {3, {2, 16, 9}},
    {3, {1, 3, 300}},
    {4, {1, 1, 5, 7}},
    {4, {2, 3, 5, 7}},
    {4, {1, 8, 4, 4}},
    {4, {1, 17, 17, 18}},
    {4, {2, 64, 1, 1}},
    {4, {2, 37, 1, 1}},
    {4, {1, 32, 16, 17}},
    {4, {0, 3, 2, 2}},
    {4, {2, 0, 2, 2}},
    {5, {2, 5, 2, 3, 2}},
    {8, {1, 6, 1, 2, 1, 2, 1, 3}},
};
static const tn_type sizes[] = {TN_F64, TN_F32, TN_I16, TN_U8}; /* one type of each size */

typedef void (*pair_test)(const tn_tensor *from, guarded_tensor *to);

/* Calls `test` on every shape and pair of formats that fit, `from` with random contents. */
static void for_each_pair(tn_type type, pair_test test) {
    test_random random = {.state = type};
    for (size_t s = 0; s < TEST_COUNT(shapes); s++) {
        for (size_t a = 0; a < TEST_COUNT(all_formats); a++) {
            if (!tn_format_fits(all_formats[a], shapes[s].rank)) continue;
            guarded_tensor from;
            guarded_create(&from, type, all_formats[a], &shapes[s]);
            fill_bits(&from.storage.tensor, &random);
            for (size_t b = 0; b < TEST_COUNT(all_formats); b++) {
                if (!tn_format_fits(all_formats[b], shapes[s].rank)) continue;
                guarded_tensor to;
                guarded_create(&to, type, all_formats[b], &shapes[s]);
                test(&from.storage.tensor, &to);
                guarded_destroy(&to);
            }
            guarded_destroy(&from);
        }
    }
}

static void check_whole(const tn_tensor *from, guarded_tensor *to) {
    convert_whole(from, &to->storage.tensor);
    assert_converted(from, &to->storage.tensor);
}

static void test_every_pair_of_formats_at_every_size(void **state) {
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++)
        for_each_pair(sizes[i], check_whole);
}

static void check_each_item_alone(const tn_tensor *from, guarded_tensor *to) {
    const int64_t items = tn_convert_items(from, &to->storage.tensor);
    for (int64_t item = items; item-- > 0;)
        assert_int_equal(tn_convert(from, &to->storage.tensor, item, item + 1), TN_OK);
    assert_converted(from, &to->storage.tensor);
}

static void test_items_can_be_done_in_any_order(void **state) {
    (void)state;
    for_each_pair(TN_F32, check_each_item_alone);
    for_each_pair(TN_U8, check_each_item_alone);
}

/* An item must not write what belongs to another: a second round changes nothing. */
static void check_items_do_not_overlap(const tn_tensor *from, guarded_tensor *to) {
    const tn_tensor *tensor = &to->storage.tensor;
    const int64_t items = tn_convert_items(from, tensor);
    size_t written = 0;
    for (int64_t item = 0; item < items; item++) {
        memset(tensor->data, GUARD_VALUE, (size_t)tensor->bytes);
        assert_int_equal(tn_convert(from, tensor, item, item + 1), TN_OK);
        for (size_t i = 0; i < tensor->bytes; i++)
            written += ((const unsigned char *)tensor->data)[i] != GUARD_VALUE;
    }
    assert_int_equal(written, tensor->bytes);
}

static void test_items_write_every_byte_once(void **state) {
    (void)state;
    static const tn_shape some[] = {{4, {2, 3, 5, 7}}, {4, {1, 17, 17, 18}}, {4, {2, 37, 1, 1}}};
    for (size_t s = 0; s < TEST_COUNT(some); s++) {
        for (size_t pair = 0; pair < TEST_COUNT(all_formats) * TEST_COUNT(all_formats); pair++) {
            guarded_tensor from, to;
            guarded_create(&from, TN_F32, all_formats[pair / TEST_COUNT(all_formats)], &some[s]);
            guarded_create(&to, TN_F32, all_formats[pair % TEST_COUNT(all_formats)], &some[s]);
            memset(from.storage.tensor.data, 0, (size_t)from.storage.tensor.bytes);
            check_items_do_not_overlap(&from.storage.tensor, &to);
            guarded_destroy(&from);
            guarded_destroy(&to);
        }
    }
}

typedef struct half_of_items {
    const tn_tensor *from, *to;
    int64_t begin, end;
    tn_status status;
} half_of_items;

static void *convert_half(void *user) {
    half_of_items *half = user;
    half->status = tn_convert(half->from, half->to, half->begin, half->end);
    return NULL;
}

static void check_two_threads(const tn_tensor *from, guarded_tensor *to) {
    const tn_tensor *tensor = &to->storage.tensor;
    const int64_t items = tn_convert_items(from, tensor);
    half_of_items halves[2] = {{from, tensor, 0, items / 2, TN_ERROR_STATE},
                               {from, tensor, items / 2, items, TN_ERROR_STATE}};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, convert_half, &halves[0]), 0);
    convert_half(&halves[1]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(halves[0].status, TN_OK);
    assert_int_equal(halves[1].status, TN_OK);
    assert_converted(from, tensor);
}

static void test_two_threads_do_halves(void **state) {
    (void)state;
    for_each_pair(TN_F32, check_two_threads);
}

/* A tensor of which only every other row and every third column is used. */
static void test_gaps_are_left_alone(void **state) {
    (void)state;
    static const tn_shape wide = {4, {2, 6, 4, 9}}, narrow = {4, {2, 6, 2, 3}};
    test_random random = {.state = 5};
    guarded_tensor from, to;
    guarded_create(&from, TN_F32, TN_LINEAR, &wide);
    from.storage.shape = narrow;
    from.storage.strides[2] *= 2;
    from.storage.strides[3] *= 3;
    for (size_t b = 0; b < TEST_COUNT(all_formats); b++) {
        guarded_create(&to, TN_F32, all_formats[b], &narrow);
        fill_bits(&from.storage.tensor, &random);
        convert_whole(&from.storage.tensor, &to.storage.tensor);
        assert_converted(&from.storage.tensor, &to.storage.tensor);
        memset(from.storage.tensor.data, GUARD_VALUE, (size_t)from.storage.tensor.bytes);
        convert_whole(&to.storage.tensor, &from.storage.tensor); /* and back into the gaps */
        int64_t index[4] = {0};
        size_t others = (size_t)from.storage.tensor.bytes / 4;
        do {
            const size_t offset = naive_offset(&from.storage.tensor, index);
            const size_t other = naive_offset(&to.storage.tensor, index);
            assert_memory_equal((uint32_t *)from.storage.tensor.data + offset,
                                (uint32_t *)to.storage.tensor.data + other, 4);
            memset((uint32_t *)from.storage.tensor.data + offset, GUARD_VALUE, 4);
            others--;
        } while (naive_next(&to.storage.tensor, index));
        assert_int_equal(others, 2 * 6 * (4 * 9 - 2 * 3));
        for (size_t i = 0; i < from.storage.tensor.bytes; i++)
            assert_int_equal(((unsigned char *)from.storage.tensor.data)[i], GUARD_VALUE);
        guarded_destroy(&to);
    }
    guarded_destroy(&from);
}

static void test_scales_lead_through_real_numbers(void **state) {
    (void)state;
    static const tn_shape shape = {4, {1, 3, 1, 2}};
    static const float coarse[3] = {0.5f, 1, 2}, fine = 0.25f;
    static const int8_t zeros[3] = {10, 0, -4};
    static const uint8_t shift = 5;
    const tn_quantization by_channel = {.scale_type = TN_F32,
                                        .axis_count = 1,
                                        .axes = {1},
                                        .blocks = {1},
                                        .count = 3,
                                        .scales = coarse,
                                        .zero_points = zeros};
    const tn_quantization whole = {
        .scale_type = TN_F32, .count = 1, .scales = &fine, .zero_points = &shift};
    guarded_tensor from, to, back;
    guarded_create(&from, TN_I8, TN_LINEAR, &shape);
    guarded_create(&to, TN_U8, TN_C4, &shape);
    guarded_create(&back, TN_I8, TN_NHWC, &shape);
    from.storage.tensor.quantization = back.storage.tensor.quantization = &by_channel;
    to.storage.tensor.quantization = &whole;
    memcpy(from.storage.tensor.data, ((const int8_t[]){10, 20, 7, -7, -4, 127}), 6);
    convert_whole(&from.storage.tensor, &to.storage.tensor);
    /* values: 0, 5, 7, -7, 0, 262; stored: real / 0.25 + 5 */
    assert_memory_equal(to.storage.tensor.data, ((const uint8_t[]){5, 33, 5, 0, 25, 0, 255, 0}), 8);
    convert_whole(&to.storage.tensor, &back.storage.tensor);
    /* values: 0, 7, 0 | 5, -1.25, 62.5 */
    assert_memory_equal(back.storage.tensor.data, ((const int8_t[]){10, 7, -4, 20, -1, 27}), 6);
    guarded_destroy(&from);
    guarded_destroy(&to);
    guarded_destroy(&back);
}

static void test_without_scales_values_are_real(void **state) {
    (void)state;
    static const tn_shape shape = {1, {3}};
    static const float scale = 0.5f;
    const tn_quantization halves = {.scale_type = TN_F32, .count = 1, .scales = &scale};
    guarded_tensor stored, real;
    guarded_create(&stored, TN_I8, TN_LINEAR, &shape);
    guarded_create(&real, TN_F32, TN_LINEAR, &shape);
    stored.storage.tensor.quantization = &halves;
    memcpy(stored.storage.tensor.data, ((const int8_t[]){-3, 0, 5}), 3);
    convert_whole(&stored.storage.tensor, &real.storage.tensor);
    assert_memory_equal(real.storage.tensor.data, ((const float[]){-1.5f, 0, 2.5f}), 12);
    memcpy(real.storage.tensor.data, ((const float[]){0.6f, NAN, 1000}), 12);
    convert_whole(&real.storage.tensor, &stored.storage.tensor);
    assert_memory_equal(stored.storage.tensor.data, ((const int8_t[]){1, 0, 127}), 3);
    guarded_destroy(&stored);
    guarded_destroy(&real);
}

static void test_equal_scales_move_values_as_they_are(void **state) {
    (void)state;
    static const float one[2] = {0.1f, 0.3f}, same[2] = {0.1f, 0.3f};
    const tn_quantization a = {.scale_type = TN_F32,
                               .axis_count = 1,
                               .axes = {1},
                               .blocks = {1},
                               .count = 2,
                               .scales = one},
                          b = {.scale_type = TN_F32,
                               .axis_count = 1,
                               .axes = {1},
                               .blocks = {1},
                               .count = 2,
                               .scales = same};
    static const tn_shape shape = {4, {1, 2, 3, 50}};
    test_random random = {.state = 6};
    guarded_tensor from, to;
    guarded_create(&from, TN_I8, TN_LINEAR, &shape);
    guarded_create(&to, TN_I8, TN_C8, &shape);
    fill_bits(&from.storage.tensor, &random);
    from.storage.tensor.quantization = &a;
    to.storage.tensor.quantization = &b;
    convert_whole(&from.storage.tensor, &to.storage.tensor);
    assert_converted(&from.storage.tensor, &to.storage.tensor);
    guarded_destroy(&from);
    guarded_destroy(&to);
}

static void assert_refused(const tn_tensor *from, const tn_tensor *to, tn_status status,
                           const char *part) {
    assert_true(tn_convert_items(from, to) > 0); /* so that who splits gets the error */
    assert_failed(tn_convert(from, to, 0, 1), status, part);
}

static void test_what_cannot_be_converted_is_refused(void **state) {
    (void)state;
    static const tn_shape shape = {3, {2, 3, 4}}, other = {3, {2, 3, 5}}, fewer = {2, {2, 12}};
    static const float scales[3] = {1, 1, 1};
    guarded_tensor from, to, longer, flat;
    guarded_create(&from, TN_F32, TN_LINEAR, &shape);
    guarded_create(&to, TN_F32, TN_NHWC, &shape);
    guarded_create(&longer, TN_F32, TN_LINEAR, &other);
    guarded_create(&flat, TN_F32, TN_LINEAR, &fewer);
    tn_tensor *a = &from.storage.tensor, *b = &to.storage.tensor;
    assert_refused(a, &longer.storage.tensor, TN_ERROR_SHAPE, "[2, 3, 5]");
    assert_refused(a, &flat.storage.tensor, TN_ERROR_SHAPE, "[2, 12]");
    b->type = TN_TYPE_COUNT;
    assert_refused(a, b, TN_ERROR_TYPE, "unknown");
    b->type = TN_F32;
    b->format = 3;
    assert_refused(a, b, TN_ERROR_SHAPE, "unknown");
    b->format = TN_NHWC;
    const tn_quantization wrong_count = {.scale_type = TN_F32,
                                         .axis_count = 1,
                                         .axes = {2},
                                         .blocks = {1},
                                         .count = 3,
                                         .scales = scales};
    const tn_quantization wrong_axis = {.scale_type = TN_F32,
                                        .axis_count = 1,
                                        .axes = {3},
                                        .blocks = {1},
                                        .count = 3,
                                        .scales = scales};
    b->quantization = &wrong_count;
    assert_refused(a, b, TN_ERROR_SHAPE, "has 3 scales along 1 axes, the first of them 2");
    b->quantization = &wrong_axis;
    assert_refused(a, b, TN_ERROR_SHAPE, "the first of them 3");
    b->quantization = NULL;
    const int64_t items = tn_convert_items(a, b);
    assert_failed(tn_convert(a, b, 0, items + 1), TN_ERROR_ARGUMENT, "not within");
    assert_failed(tn_convert(a, b, -1, items), TN_ERROR_ARGUMENT, "not within");
    for (size_t i = 0; i < b->bytes; i++)
        assert_int_equal(((unsigned char *)b->data)[i], GUARD_VALUE);
    guarded_destroy(&from);
    guarded_destroy(&to);
    guarded_destroy(&longer);
    guarded_destroy(&flat);
}

static void test_empty_tensors_with_huge_extents_are_sound(void **state) {
    (void)state;
    static const tn_shape shape = {4, {0, INT64_MAX, 1, 1}};
    int64_t strides[4] = {1, 1, 1, 1};
    int64_t extents[4];
    memcpy(extents, shape.extents, sizeof(extents));
    char nothing = 0;
    const tn_tensor from = {.size = sizeof(from),
                            .type = TN_F32,
                            .rank = 4,
                            .data = &nothing,
                            .shape = extents,
                            .strides = strides};
    tn_tensor to = from;
    to.format = TN_C16;
    assert_int_equal(tn_convert_items(&from, &to), 0);
    assert_int_equal(tn_convert(&from, &to, 0, 0), TN_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair_of_formats_at_every_size),
        cmocka_unit_test(test_items_can_be_done_in_any_order),
        cmocka_unit_test(test_items_write_every_byte_once),
        cmocka_unit_test(test_two_threads_do_halves),
        cmocka_unit_test(test_gaps_are_left_alone),
        cmocka_unit_test(test_scales_lead_through_real_numbers),
        cmocka_unit_test(test_without_scales_values_are_real),
        cmocka_unit_test(test_equal_scales_move_values_as_they_are),
        cmocka_unit_test(test_what_cannot_be_converted_is_refused),
        cmocka_unit_test(test_empty_tensors_with_huge_extents_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
