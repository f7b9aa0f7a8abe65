/* SPDX-License-Identifier: Apache-2.0 */
/* Row functions that the host makes of expressions. */
#include "plugin/fields/expression_row.h"
#include "test.h"

#include <math.h>

typedef struct row_params {
    uint64_t present;
    float low;
    int64_t count;
} row_params;
static const tn_field row_fields[] = {
    TN_FIELD(row_params, low, TN_FIELD_F32, TN_OPTIONAL, "0.25", "a number"),
    TN_FIELD(row_params, count, TN_FIELD_I64, TN_OPTIONAL, "3", "another one")};
static const tn_port row_inputs[] = {TN_PORT("x", "T:float", 0, "numbers"),
                                     TN_PORT("z", "T", 0, "numbers")};

static tn_operator operator_of(const char *text) {
    return (tn_operator){.size = sizeof(tn_operator),
                         .traits = TN_OPERATOR_ELEMENTWISE,
                         .domain = "test",
                         .name = "It",
                         TN_FIELDS(row_params, row_fields),
                         TN_INPUTS(row_inputs),
                         .expression = text};
}

/* More elements than a block, one element for all of them, and none. */
static void test_an_expression_is_computed_by_rows(void **state) {
    enum { COUNT = 1000 };
    static float x[COUNT], y[COUNT], one[COUNT];
    const float *const inputs[] = {x};
    const uint64_t along = 1, still = 0;
    const tn_operator op = operator_of("count / 2 + (x < low ? 0 : x * x)");
    row_params params = {.low = -0.5f, .count = 3};
    const row_params before = params;
    tn_arena *arena = NULL;
    tn_facet_expression facet = {.size = sizeof(facet)};
    (void)state;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    assert_int_equal(tn_expression_row_make(arena, &op, &params, 0, &facet), TN_OK);
    params = (row_params){.low = 100}; /* has a copy */
    assert_memory_equal(facet.params, &before, sizeof(before));
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i - 500) / 128;
    facet.row(facet.params, COUNT, inputs, &along, y);
    facet.row(facet.params, COUNT, inputs, &still, one);
    for (int i = 0; i < COUNT; i++) {
        const float wanted = 1 + (x[i] < -0.5f ? 0 : x[i] * x[i]); /* 3 / 2 of integers is 1 */
        assert_true(fabsf(y[i] - wanted) <= 1e-6f * wanted);
        assert_true(one[i] == y[0]);
    }
    one[0] = -7;
    facet.row(facet.params, 0, inputs, &along, one);
    assert_true(one[0] == -7);
    tn_arena_destroy(arena);
}

static void test_a_truth_is_one_or_zero(void **state) {
    const float x[] = {-1, 0.25f, 2, NAN}, *const inputs[] = {x};
    const uint64_t along = 1;
    const tn_operator op = operator_of("x > low");
    const row_params params = {.low = 0.25f};
    float y[4];
    tn_arena *arena = NULL;
    tn_facet_expression facet = {.size = sizeof(facet)};
    (void)state;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    assert_int_equal(tn_expression_row_make(arena, &op, &params, 0, &facet), TN_OK);
    facet.row(facet.params, 4, inputs, &along, y);
    assert_true(y[0] == 0 && y[1] == 0 && y[2] == 1 && y[3] == 0);
    tn_arena_destroy(arena);
}

static void test_other_inputs_and_no_parameters_are_refused(void **state) {
    static const char *const texts[] = {"x * z", "z", "x + low", "x +"};
    tn_arena *arena = NULL;
    tn_facet_expression facet = {.size = sizeof(facet)};
    (void)state;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    for (size_t i = 0; i < TN_COUNT(texts); i++) {
        const tn_operator op = operator_of(texts[i]);
        assert_int_equal(tn_expression_row_make(arena, &op, NULL, 0, &facet), TN_ERROR_UNSUPPORTED);
        assert_null(facet.row);
    }
    tn_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_expression_is_computed_by_rows),
        cmocka_unit_test(test_a_truth_is_one_or_zero),
        cmocka_unit_test(test_other_inputs_and_no_parameters_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
