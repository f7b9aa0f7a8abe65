/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 32-bit floats to and from what stands for them in less memory, in all formats and sizes, against
 * the words of plugin.h; and that all levels of processors answer the same bits.
 */
#include "convert_test.h"

#include "tensor/convert_private.h"

static const float scale_a = 0.0371f;
static const int8_t zero_a = 3;

typedef struct lower_case {
    tn_type type;
    tn_quantization quantization;
} lower_case;

static const lower_case lower_cases[] = {
    {TN_F16, {0}},
    {TN_BF16, {0}},
    {TN_I8, {.scale_type = TN_F32, .count = 1, .scales = &scale_a}},
    {TN_U8, {.scale_type = TN_F32, .count = 1, .scales = &scale_a}},
    {TN_I8, {.scale_type = TN_F32, .count = 1, .scales = &scale_a, .zero_points = &zero_a}},
};

static const tn_shape shapes[] = {
    {4, {1, 16, 5, 7}}, {4, {2, 19, 16, 17}}, {4, {1, 64, 3, 3}}, {4, {3, 1, 4, 33}},
    {2, {5, 37}},       {4, {2, 35, 1, 1}},   {3, {2, 16, 600}},  {1, {1000}},
};

static void fill_floats(const tn_tensor *tensor, test_random *random) {
    int64_t index[TN_MAX_RANK] = {0};
    memset(tensor->data, 0, (size_t)tensor->bytes);
    do {
        const uint64_t bits = random_u64(random);
        float value = ((float)(bits & 0xffff) / 65536 - 0.5f) * 12;
        if ((bits >> 16 & 31) == 0) value = NAN;
        if ((bits >> 16 & 31) == 1) value = INFINITY;
        if ((bits >> 16 & 31) == 2) value = -1e30f;
        if ((bits >> 16 & 31) == 3) value = ((float)(bits >> 32 & 15) + 0.5f) * scale_a; /* a tie */
        ((float *)tensor->data)[naive_offset(tensor, index)] = value;
    } while (naive_next(tensor, index));
}

/* What the float stands for in 8 bits: divided in 32-bit floats, halves to even. */
static long double naive_quantize(float value, const lower_case *lower) {
    const long double low = lower->type == TN_I8 ? -128 : 0, high = low + 255;
    const float quotient = value / scale_a;
    const long double zero = lower->quantization.zero_points ? zero_a : 0;
    const long double stored = (isnan(quotient) ? 0 : nearbyintl((long double)quotient)) + zero;
    return stored < low ? low : stored > high ? high : stored;
}

static long double wanted_of(const tn_tensor *from, size_t at, const tn_tensor *to,
                             const lower_case *lower) {
    const long double value = naive_load(from->data, from->type, at);
    const long double zero = lower->quantization.zero_points ? zero_a : 0;
    if (!lower->quantization.scales) return naive_to_float(value, to->type);
    if (from->type != TN_F32) return naive_to_float((value - zero) * (long double)scale_a, TN_F32);
    return naive_quantize((float)value, lower);
}

static void assert_right(const tn_tensor *from, const tn_tensor *to, const lower_case *lower) {
    int64_t index[TN_MAX_RANK] = {0};
    const size_t bytes = tn_type_bytes(to->type), stored = (size_t)to->bytes / bytes;
    bool *is_element = calloc(stored + 1, 1);
    assert_non_null(is_element);
    do {
        const size_t source = naive_offset(from, index), target = naive_offset(to, index);
        const long double wanted = wanted_of(from, source, to, lower);
        const long double found = naive_load(to->data, to->type, target);
        if (!(wanted == found || (isnan(wanted) && isnan(found))))
            fail_msg("%s %s to %s %s: element at %zu is %.9Lg: expected %.9Lg of %.9Lg",
                     tn_type_name(from->type), tn_format_name(from->format), tn_type_name(to->type),
                     tn_format_name(to->format), target, found, wanted,
                     naive_load(from->data, from->type, source));
        is_element[target] = true;
    } while (naive_next(from, index));
    for (size_t i = 0; i < stored * bytes; i++)
        if (!is_element[i / bytes]) assert_int_equal(((const unsigned char *)to->data)[i], 0);
    free(is_element);
}

static void check_pair(const tn_shape *shape, tn_format a, tn_format b, const lower_case *lower,
                       test_random *random) {
    guarded_tensor real, low, back;
    guarded_create(&real, TN_F32, a, shape);
    guarded_create(&low, lower->type, b, shape);
    guarded_create(&back, TN_F32, a, shape);
    if (lower->quantization.scales) low.storage.tensor.quantization = &lower->quantization;
    fill_floats(&real.storage.tensor, random);
    convert_whole(&real.storage.tensor, &low.storage.tensor);
    assert_right(&real.storage.tensor, &low.storage.tensor, lower);
    convert_whole(&low.storage.tensor, &back.storage.tensor);
    assert_right(&low.storage.tensor, &back.storage.tensor, lower);
    guarded_destroy(&real);
    guarded_destroy(&low);
    guarded_destroy(&back);
}

static void test_every_lower_type_in_every_pair_of_formats(void **state) {
    test_random random = {.state = 11};
    (void)state;
    for (size_t l = 0; l < TEST_COUNT(lower_cases); l++)
        for (size_t s = 0; s < TEST_COUNT(shapes); s++)
            for (size_t a = 0; a < TEST_COUNT(all_formats); a++)
                for (size_t b = 0; b < TEST_COUNT(all_formats); b++)
                    if (tn_format_fits(all_formats[a], shapes[s].rank) &&
                        tn_format_fits(all_formats[b], shapes[s].rank) &&
                        (!lower_cases[l].quantization.zero_points ||
                         all_formats[b] <=
                             TN_NHWC)) /* a padding lane is zero, which is no real 0 */
                        check_pair(&shapes[s], all_formats[a], all_formats[b], &lower_cases[l],
                                   &random);
}

static void test_items_can_be_split_anywhere(void **state) {
    static const tn_shape shape = {4, {2, 35, 20, 31}};
    test_random random = {.state = 12};
    (void)state;
    guarded_tensor real, whole, parts;
    guarded_create(&real, TN_F32, TN_LINEAR, &shape);
    guarded_create(&whole, TN_I8, TN_C16, &shape);
    guarded_create(&parts, TN_I8, TN_C16, &shape);
    whole.storage.tensor.quantization = parts.storage.tensor.quantization =
        &lower_cases[2].quantization;
    fill_floats(&real.storage.tensor, &random);
    convert_whole(&real.storage.tensor, &whole.storage.tensor);
    const int64_t items = tn_convert_items(&real.storage.tensor, &parts.storage.tensor);
    assert_true(items > 3);
    for (int64_t item = items; item-- > 0;)
        assert_int_equal(tn_convert(&real.storage.tensor, &parts.storage.tensor, item, item + 1),
                         TN_OK);
    assert_memory_equal(whole.storage.tensor.data, parts.storage.tensor.data,
                        whole.storage.tensor.bytes);
    guarded_destroy(&real);
    guarded_destroy(&whole);
    guarded_destroy(&parts);
}

static void test_levels_of_processors_answer_the_same_bits(void **state) {
    enum { COUNT = 3001 };
    static float floats[COUNT];
    static unsigned char low[3][COUNT * 2], bits[COUNT * 2], up[3][COUNT * 4];
    static const tn_shape shape = {1, {COUNT}};
    test_random random = {.state = 13};
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        const uint64_t drawn = random_u64(&random);
        memcpy(&floats[i], &drawn, sizeof(float));
        if (i % 2) floats[i] = (float)(int32_t)(drawn & 0xffff) / 1000 - 32;
        memcpy(bits + 2 * i, &(const uint16_t){(uint16_t)(drawn >> 40)}, 2);
    }
    for (size_t l = 0; l < TEST_COUNT(lower_cases); l++) {
        tn_tensor_storage from, to;
        tn_float_conversion narrowing, widening;
        assert_int_equal(tn_tensor_init(&from, TN_F32, TN_LINEAR, &shape), TN_OK);
        assert_int_equal(tn_tensor_init(&to, lower_cases[l].type, TN_LINEAR, &shape), TN_OK);
        if (lower_cases[l].quantization.scales)
            to.tensor.quantization = &lower_cases[l].quantization;
        assert_true(tn_float_conversion_init(&narrowing, &from.tensor, &to.tensor));
        assert_true(tn_float_conversion_init(&widening, &to.tensor, &from.tensor));
        const int highest = narrowing.level;
        for (int level = 0; level <= highest; level++) {
            narrowing.level = widening.level = level;
            tn_float_conversion_line(&narrowing, floats, low[level], COUNT);
            tn_float_conversion_line(&widening, bits, up[level], COUNT);
            assert_memory_equal(low[level], low[0], COUNT * tn_type_bytes(lower_cases[l].type));
            assert_memory_equal(up[level], up[0], COUNT * sizeof(float));
        }
    }
}

/* Against the conversion of single numbers in half.c. */
static void test_halves_are_converted_as_single_ones_are(void **state) {
    enum { COUNT = 65536 };
    static uint16_t halves[COUNT], back[COUNT];
    static float floats[COUNT], near[COUNT];
    static const tn_shape shape = {1, {COUNT}};
    tn_tensor_storage real, half;
    (void)state;
    assert_int_equal(tn_tensor_init(&real, TN_F32, TN_LINEAR, &shape), TN_OK);
    assert_int_equal(tn_tensor_init(&half, TN_F16, TN_LINEAR, &shape), TN_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        halves[i] = (uint16_t)i;
    half.tensor.data = halves;
    real.tensor.data = floats;
    convert_whole(&half.tensor, &real.tensor);
    for (uint32_t i = 0; i < COUNT; i++) {
        const float single = tn_f16_to_f32((uint16_t)i);
        assert_memory_equal(&floats[i], &single, sizeof single);
    }
    for (int step = -2; step <= 2; step++) { /* at, and beside, the middle of two halves */
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t bits;
            memcpy(&bits, &floats[i], sizeof bits);
            bits += step == -2 ? 0 : 0x1000u + (uint32_t)step;
            memcpy(&near[i], &bits, sizeof bits);
        }
        real.tensor.data = near;
        half.tensor.data = back;
        convert_whole(&real.tensor, &half.tensor);
        for (uint32_t i = 0; i < COUNT; i++)
            assert_int_equal(back[i], tn_f32_to_f16(near[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_lower_type_in_every_pair_of_formats),
        cmocka_unit_test(test_items_can_be_split_anywhere),
        cmocka_unit_test(test_halves_are_converted_as_single_ones_are),
        cmocka_unit_test(test_levels_of_processors_answer_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
