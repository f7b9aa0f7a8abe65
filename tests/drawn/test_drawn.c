/* SPDX-License-Identifier: Apache-2.0 */
/* Values that the conformance suite draws, and what it lets differ on them. */
#include "worker/slack.h"
#include "worker/values.h"

#include "plugin/registry.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { COUNT = 4000 };

static void draw(void *data, tn_type type, uint32_t values, uint64_t seed) {
    tn_values_draw(data, type, COUNT, values, &seed);
}

static void test_bytes_have_all_values(void **state) {
    uint8_t values[COUNT];
    bool is_there[256] = {false};
    (void)state;
    draw(values, TN_U8, TN_VALUES_WIDE, 1);
    for (int i = 0; i < COUNT; i++)
        is_there[values[i]] = true;
    for (int i = 0; i < 256; i++)
        assert_true(is_there[i]);
}

/* Neighbours beyond what a double holds, of both signs; a hundred can be added. */
static void test_wide_integers_are_wider_than_doubles(void **state) {
    int64_t values[COUNT];
    int beyond = 0, neighbours = 0, negative = 0;
    (void)state;
    draw(values, TN_I64, TN_VALUES_WIDE, 1);
    for (int i = 0; i < COUNT; i++) {
        assert_true(values[i] <= INT64_MAX / 100 && values[i] >= -(INT64_MAX / 100));
        beyond += (int64_t)(double)values[i] != values[i];
        negative += values[i] < 0;
        neighbours +=
            i > 0 && values[i] != values[i - 1] && (double)values[i] == (double)values[i - 1];
    }
    assert_true(beyond > COUNT / 8 && negative > COUNT / 4 && neighbours > 5);
}

static void test_two_large_integers_can_be_multiplied(void **state) {
    int32_t values[COUNT];
    int32_t product = 0;
    int beyond = 0;
    (void)state;
    draw(values, TN_I32, TN_VALUES_LARGE, 1);
    for (int i = 1; i < COUNT; i++) {
        assert_false(__builtin_mul_overflow(values[i], values[i - 1], &product));
        beyond += product > (1 << 24);
    }
    assert_true(beyond > COUNT / 16);
}

/* The lowest one divided by -1 is a signal. */
static void test_ends_can_be_divided_by_each_other(void **state) {
    int64_t values[COUNT];
    bool has_lowest = false, has_highest = false;
    (void)state;
    draw(values, TN_I64, TN_VALUES_ENDS, 1);
    for (int i = 0; i < COUNT; i++) {
        assert_int_not_equal(values[i], -1);
        has_lowest = has_lowest || values[i] == INT64_MIN;
        has_highest = has_highest || values[i] == INT64_MAX;
    }
    assert_true(has_lowest && has_highest);
}

static void test_floats_are_finite(void **state) {
    static const tn_type types[] = {TN_F64, TN_F32, TN_F16, TN_BF16};
    (void)state;
    for (size_t t = 0; t < 4; t++)
        for (uint32_t kind = TN_VALUES_SMALL; kind < TN_VALUES_COUNT; kind++) {
            double data[COUNT], most = 0;
            if (!tn_values_apply(types[t], kind)) continue;
            draw(data, types[t], kind, 3);
            for (size_t i = 0; i < COUNT; i++)
                most = fmax(most, fabs(tn_element_get_f64(data, types[t], i)));
            assert_true(isfinite(most) && most > 0);
            if (kind == TN_VALUES_LARGE) assert_true(most > 50000);
        }
}

static void test_a_seed_gives_the_same_values(void **state) {
    float one[COUNT], again[COUNT], other[COUNT];
    (void)state;
    draw(one, TN_F32, TN_VALUES_LARGE, 1);
    draw(again, TN_F32, TN_VALUES_LARGE, 1);
    draw(other, TN_F32, TN_VALUES_LARGE, 2);
    assert_memory_equal(one, again, sizeof(one));
    assert_memory_not_equal(one, other, sizeof(one));
}

/* ----------------------------------------------------------------------------------------------
 * what may differ */

typedef struct computed {
    tn_runtime *runtime;
    tn_arena *arena;
    tn_case c;
    tn_outcome expected;
    tn_slack slack;
} computed;

static const tn_operator *operator_of(const tn_runtime *runtime, const char *name) {
    const tn_operator_entry *entry = NULL;
    assert_int_equal(tn_registry_find_operator(tn_runtime_registry(runtime), "", name, 0, &entry),
                     TN_OK);
    tn_library_release(entry->library); /* the runtime holds it, too */
    return entry->op;
}

static void compute(computed *it, const char *name, const char *text) {
    const tn_runtime_options options = {.size = sizeof options, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    *it = (computed){0};
    assert_int_equal(tn_runtime_create(&options, &it->runtime), TN_OK);
    assert_int_equal(tn_arena_create(tn_allocator_default(), &it->arena), TN_OK);
    const tn_operator *op = operator_of(it->runtime, name);
    assert_int_equal(tn_case_read(it->arena, op, text, &it->c), TN_OK);
    for (uint32_t i = 0; i < it->c.input_count; i++)
        it->c.inputs[i].has_values = false; /* they may be moved */
    assert_int_equal(tn_case_run(it->runtime, op, &it->c, &reference, &it->expected), TN_OK);
    assert_int_equal(tn_slack_create(op, &it->c, TN_VALUES_LARGE, false, &it->expected, &it->slack),
                     TN_OK);
    assert_int_equal(tn_slack_move(it->runtime, op, &it->c, &it->expected, &it->slack), TN_OK);
}

static void release(computed *it) {
    tn_slack_destroy(&it->slack);
    tn_outcome_free(&it->expected);
    tn_arena_destroy(it->arena);
    tn_runtime_release(it->runtime);
}

static void test_the_sine_of_a_large_number_is_not_compared(void **state) {
    computed it;
    (void)state;
    compute(&it, "Sin", "| input=f32[2]{0.5,8e9}");
    assert_true(it.slack.of[0][0] < 1e-4); /* as near as terms of 128 that cancel would be */
    assert_true(isinf(it.slack.of[0][1]));
    release(&it);
}

/* The difference of two large values is as near as they are. */
static void test_cancellation_widens_the_tolerance(void **state) {
    computed it;
    (void)state;
    compute(&it, "Sub", "| A=f32[2]{100001,100000} B=f32[2]{100000,2}");
    assert_true(it.slack.of[0][0] >= 0.01 || isinf(it.slack.of[0][0]));
    assert_true(it.slack.of[0][1] < 1);
    release(&it);
}

static void test_integers_are_compared_to_the_last_digit(void **state) {
    computed it;
    tn_outcome found = {0};
    char why[300];
    (void)state;
    compute(&it, "Add", "| A=i64[1]{9007199254740993} B=i64[1]{0}");
    assert_true(it.slack.of[0][0] == 0);
    found = it.expected;
    int64_t wrong = INT64_C(9007199254740992);
    assert_true(tn_results_near(&it.expected, &found, it.slack.of, false, why, sizeof(why)));
    found.data[0] = &wrong;
    assert_false(tn_results_near(&it.expected, &found, it.slack.of, false, why, sizeof(why)));
    assert_non_null(strstr(why, "9007199254740992, expected 9007199254740993"));
    release(&it);
}

static void test_infinity_is_no_number(void **state) {
    float wanted[] = {INFINITY}, found[] = {3e38f}, lower[] = {-INFINITY};
    tn_outcome a = {.count = 1,
                    .types = {TN_F32},
                    .shapes = {{.rank = 1, .extents = {1}}},
                    .data = {wanted},
                    .bytes = {sizeof(float)}};
    tn_outcome b = a;
    char why[300];
    (void)state;
    assert_true(tn_results_equal(&a, &b, false, why, sizeof(why)));
    b.data[0] = found;
    assert_false(tn_results_equal(&a, &b, false, why, sizeof(why)));
    b.data[0] = lower;
    assert_false(tn_results_equal(&a, &b, false, why, sizeof(why)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_have_all_values),
        cmocka_unit_test(test_wide_integers_are_wider_than_doubles),
        cmocka_unit_test(test_two_large_integers_can_be_multiplied),
        cmocka_unit_test(test_ends_can_be_divided_by_each_other),
        cmocka_unit_test(test_floats_are_finite),
        cmocka_unit_test(test_a_seed_gives_the_same_values),
        cmocka_unit_test(test_the_sine_of_a_large_number_is_not_compared),
        cmocka_unit_test(test_cancellation_widens_the_tolerance),
        cmocka_unit_test(test_integers_are_compared_to_the_last_digit),
        cmocka_unit_test(test_infinity_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
