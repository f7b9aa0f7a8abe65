/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans with several profiles: each has kernels of its own, runs take the one that has their shapes
 * and whose optimum is nearest, and going from one to another costs nothing once both were there.
 */
#include "profile_layers.h" /* before cmocka's macro `fail` */
#include "run_test.h"

#include <tenon/profiles.h>

static int lot_setup(void **state) {
    run_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    lot_forget();
    test->runtime = run_runtime(&test->allocator.functions, lot_entry);
    if (test->runtime) run_must(tn_runtime_register_library(test->runtime, run_entry));
    *state = test;
    return test->runtime && tn_graph_create(test->runtime, "net", &test->graph) == TN_OK ? 0 : -1;
}
#define LOT_TEST(function) cmocka_unit_test_setup_teardown(function, lot_setup, run_test_teardown)

/* y = x * (1, 10), x of any number of rows. */
static void make_weigh(run_test *test) {
    static const float weights[] = {1, 10};
    const int64_t two = 2;
    tn_tensor_id w = TN_NO_TENSOR;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(-1, 2));
    run_must(
        tn_graph_add_constant(test->graph, "w", TN_F32, 1, &two, weights, sizeof(weights), &w));
    const tn_tensor_id inputs[] = {x, w};
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "lot",
                                      .op = "Weigh",
                                      .name = "weigh",
                                      .input_count = 2,
                                      .inputs = inputs,
                                      .output_count = 1};
    tn_tensor_id y = TN_NO_TENSOR;
    run_must(tn_graph_add_node(test->graph, &node, &y));
    run_output(test->graph, y, "y");
}

/* The rows of x, from, usually, to. */
#define ROWS(low, best, high)                                                                      \
    (&(const tn_profile){.size = sizeof(tn_profile),                                               \
                         .input_count = 1,                                                         \
                         .inputs = RUN_PROFILES(RUN_PROFILE("x", 2, EXTENTS(low, 2),               \
                                                            EXTENTS(best, 2), EXTENTS(high, 2)))})
#define SETS(...) ((const tn_profile *const[]){__VA_ARGS__})

static tn_status build_flagged(run_test *test, uint32_t flags, uint32_t count,
                               const tn_profile *const *profiles) {
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING | flags,
                                        .profile_count = count,
                                        .profiles = profiles};
    return tn_build(test->graph, &options, &test->plan);
}

static tn_status build_sets(run_test *test, uint32_t count, const tn_profile *const *profiles) {
    return build_flagged(test, 0, count, profiles);
}

static void start_sets(run_test *test, uint32_t count, const tn_profile *const *profiles) {
    run_must(build_sets(test, count, profiles));
    lot_forget(); /* the builder prepares, too */
    run_load(test);
    run_must(tn_context_create(test->engine, &test->context));
}

/* Runs so many rows and checks the result. */
static void run_rows(tn_context *context, int64_t rows) {
    static const _Alignas(64) float x[128] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int64_t shape[] = {rows, 2};
    const tn_tensor *y = NULL;
    run_must(tn_context_set_shape(context, 0, 2, shape));
    run_must(tn_context_bind_input(context, 0, x, sizeof(x)));
    run_must(tn_context_run(context));
    run_must(tn_context_output(context, 0, &y));
    assert_int_equal(y->shape[0], rows);
    for (int64_t i = 0; i < rows * 2; i++)
        assert_true(((const float *)y->data)[i] == x[i] * (i % 2 ? 10 : 1));
}

static void test_each_profile_has_kernels_of_its_own(void **state) {
    run_test *test = *state;
    make_weigh(test);
    start_sets(test, 3, SETS(ROWS(1, 1, 4), ROWS(8, 32, 32), ROWS(40, 40, 50)));
    assert_int_equal(tn_engine_profile_count(test->engine), 3);
    assert_int_equal(lot_prepared[LOT_SMALL], 1);
    assert_int_equal(lot_prepared[LOT_LARGE], 2);
    assert_int_equal(lot_packed, 0); /* the plan has it */
    run_rows(test->context, 1);
    assert_int_equal(tn_context_get_profile(test->context), 0);
    assert_int_equal(lot_ran[LOT_SMALL], 1);
    run_rows(test->context, 32);
    assert_int_equal(tn_context_get_profile(test->context), 1);
    run_rows(test->context, 50);
    assert_int_equal(tn_context_get_profile(test->context), 2);
    assert_int_equal(lot_ran[LOT_LARGE], 2);
    assert_int_equal(lot_ran[LOT_REFERENCE], 0);
}

static void test_profiles_share_what_kernels_pack(void **state) {
    run_test *test = *state;
    uint64_t with = 0, without = 0;
    make_weigh(test);
    const tn_profile *const sets[] = {ROWS(1, 1, 4), ROWS(8, 32, 32), ROWS(40, 40, 50)};
    start_sets(test, 3, sets);
    tn_plan_bytes(test->plan, &with);
    tn_context_destroy(test->context);
    tn_engine_release(test->engine);
    tn_plan_destroy(test->plan);
    run_must(build_flagged(test, TN_BUILD_NO_PACKED_WEIGHTS, 3, sets));
    tn_plan_bytes(test->plan, &without);
    assert_true(without < with);
    lot_forget();
    run_load(test);
    assert_int_equal(lot_packed, 2); /* by kernel: both profiles of the second one share it */
    run_must(tn_context_create(test->engine, &test->context));
    run_rows(test->context, 50);
}

static void test_profiles_are_told(void **state) {
    run_test *test = *state;
    make_weigh(test);
    start_sets(test, 2, SETS(ROWS(1, 2, 4), ROWS(8, 16, 32)));
    const tn_profile_input *second = tn_engine_profile_of(test->engine, 1, 0);
    assert_non_null(second);
    assert_string_equal(second->name, "x");
    assert_int_equal(second->minimum[0], 8);
    assert_int_equal(second->optimum[0], 16);
    assert_int_equal(second->maximum[0], 32);
    assert_ptr_equal(tn_engine_profile_of(test->engine, 0, 0), tn_engine_profile(test->engine, 0));
    assert_int_equal(tn_engine_profile(test->engine, 0)->optimum[0], 2);
    assert_null(tn_engine_profile_of(test->engine, 2, 0));
    assert_null(tn_engine_profile_of(test->engine, 1, 1));
    assert_null(tn_engine_profile_of(NULL, 0, 0));
    assert_int_equal(tn_engine_profile_count(NULL), 0);
    assert_non_null(strstr(tn_engine_report(test->engine), "\"profiles\": ["));
    assert_non_null(strstr(tn_engine_report(test->engine), "\"kernel\": \"few\""));
    assert_non_null(strstr(tn_engine_report(test->engine), "\"kernel\": \"many\""));
    assert_non_null(strstr(tn_plan_report(test->plan), "\"profiles\": ["));
}

static void test_one_profile_is_as_it_was(void **state) {
    run_test *test = *state;
    uint64_t bytes = 0, other_bytes = 0;
    tn_plan *other = NULL;
    make_weigh(test);
    run_build_with(
        test, 1, RUN_PROFILES(RUN_PROFILE("x", 2, EXTENTS(1, 2), EXTENTS(2, 2), EXTENTS(3, 2))), 0);
    other = test->plan;
    run_must(build_sets(test, 1, SETS(ROWS(1, 2, 3))));
    const void *data = tn_plan_bytes(test->plan, &bytes);
    const void *other_data = tn_plan_bytes(other, &other_bytes);
    assert_int_equal(bytes, other_bytes);
    assert_memory_equal(data, other_data, bytes);
    assert_string_equal(tn_plan_report(test->plan), tn_plan_report(other));
    tn_plan_destroy(other);
    run_load(test);
    assert_int_equal(tn_engine_profile_count(test->engine), 1);
    run_must(tn_context_create(test->engine, &test->context));
    assert_int_equal(tn_context_get_profile(test->context), TN_PROFILE_AUTOMATIC);
    run_rows(test->context, 3);
    assert_int_equal(tn_context_get_profile(test->context), 0);
    run_must(tn_context_set_profile(test->context, 0));
    run_rows(test->context, 1);
    assert_int_equal(tn_context_set_profile(test->context, 1), TN_ERROR_ARGUMENT);
    assert_error("there is no profile 1: the plan has one, profile 0", NULL);
}

static void test_shapes_in_a_gap_are_refused(void **state) {
    run_test *test = *state;
    make_weigh(test);
    start_sets(test, 2, SETS(ROWS(1, 1, 4), ROWS(8, 8, 32)));
    run_rows(test->context, 3);
    assert_int_equal(tn_context_set_shape(test->context, 0, 2, EXTENTS(6, 2)), TN_ERROR_RANGE);
    assert_error("no profile has this shape; profile 0: input 'x' has shape [6, 2]: axis 0 is 6, "
                 "the plan was built for 1 to 4; profile 1: input 'x' has shape [6, 2]: axis 0 is "
                 "6, the plan was built for 8 to 32",
                 NULL);
    run_must(tn_context_run(test->context)); /* it keeps the shape that it had */
    assert_int_equal(run_result(test, 0)->shape[0], 3);
}

static void test_the_nearest_optimum_is_taken(void **state) {
    static const struct {
        int64_t rows;
        uint32_t profile;
    } cases[] = {{1, 0}, {2, 0}, {3, 1}, {5, 1}, {7, 1}, {8, 2}, {20, 2}};
    run_test *test = *state;
    make_weigh(test);
    /* 1 + 2 is as far from 1 + 1 as from 1 + 3.5: nearer to the first of 1 and 4. */
    start_sets(test, 3, SETS(ROWS(1, 1, 20), ROWS(1, 4, 20), ROWS(1, 12, 20)));
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        run_rows(test->context, cases[i].rows);
        assert_int_equal(tn_context_get_profile(test->context), cases[i].profile);
    }
}

static void test_of_equal_profiles_the_first_is_taken(void **state) {
    run_test *test = *state;
    make_weigh(test);
    start_sets(test, 2, SETS(ROWS(1, 2, 4), ROWS(1, 2, 4)));
    run_rows(test->context, 4);
    assert_int_equal(tn_context_get_profile(test->context), 0);
}

static void test_going_back_and_forth_allocates_nothing(void **state) {
    run_test *test = *state;
    make_weigh(test);
    start_sets(test, 2, SETS(ROWS(1, 1, 4), ROWS(8, 8, 32)));
    assert_int_equal(lot_opened[LOT_SMALL], 1);
    assert_int_equal(lot_opened[LOT_LARGE], 0); /* not before it is needed */
    for (int i = 0; i < 2; i++)
        for (int64_t rows = 1; rows <= 2; rows++) {
            run_rows(test->context, rows);
            run_rows(test->context, rows * 8);
        }
    assert_int_equal(lot_opened[LOT_LARGE], 1);
    const uint64_t before = run_allocations(test);
    const int64_t live = test->allocator.live;
    tn_context_statistics first = {.size = sizeof(first)}, last = first;
    tn_context_get_statistics(test->context, &first);
    for (int i = 0; i < 8; i++) {
        run_rows(test->context, 1 + i % 2);
        run_rows(test->context, 8 + 8 * (i % 2));
    }
    tn_context_get_statistics(test->context, &last);
    assert_int_equal(run_allocations(test), before);
    assert_int_equal(test->allocator.live, live);
    assert_int_equal(last.runs - first.runs, 16);
    assert_int_equal(last.reshapes - first.reshapes, 16);
    assert_int_equal(last.shape_cache_hits - first.shape_cache_hits, 16);
}

/* x, and what is between its two nodes: as large as it is. */
static void test_profiles_have_one_arena(void **state) {
    run_test *test = *state;
    tn_context_statistics small = {.size = sizeof(small)}, large = small, last = small;
    static _Alignas(64) float x[64];
    const tn_tensor_id in = add_input(test->graph, "x", TN_F32, 2, EXTENTS(-1, 2));
    const tn_tensor_id step = run_unary(test->graph, "Step", "first", in);
    run_output(test->graph, run_unary(test->graph, "Step", "second", step), "y");
    start_sets(test, 3, SETS(ROWS(1, 1, 8), ROWS(9, 9, 16), ROWS(17, 32, 32)));
    run_bind(test, "x", x, sizeof(x));
    for (int i = 0; i < 3; i++) {
        static const int64_t rows[] = {1, 16, 32};
        for (int round = 0; round < 3; round++) { /* forwards, backwards, forwards */
            const int64_t now = rows[round == 1 ? 2 - i : i];
            x[now * 2 - 1] = (float)(now + round);
            run_shape(test, "x", 2, EXTENTS(now, 2));
            run_must(tn_context_run(test->context));
            const tn_tensor *y = run_result(test, 0);
            assert_int_equal(y->shape[0], now);
            for (int64_t k = 0; k < now * 2; k++)
                assert_true(((const float *)y->data)[k] == x[k] + 2);
            tn_context_get_statistics(test->context, now == 1    ? &small
                                                     : now == 32 ? &large
                                                                 : &last);
        }
    }
    tn_context_get_statistics(test->context, &last);
    assert_true(small.arena_bytes > 0);
    assert_int_equal(last.arena_bytes, large.arena_bytes);
    assert_in_range(last.arena_bytes, 32 * 2 * sizeof(float), 2 * 32 * 2 * sizeof(float) - 1);
}

static void test_a_run_of_the_same_shapes_does_not_reshape(void **state) {
    run_test *test = *state;
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    static _Alignas(64) float other[16], y[16];
    make_weigh(test);
    start_sets(test, 2, SETS(ROWS(1, 1, 4), ROWS(8, 8, 32)));
    run_rows(test->context, 8);
    for (int i = 0; i < 3; i++)
        run_must(tn_context_run(test->context));
    tn_context_get_statistics(test->context, &statistics);
    assert_int_equal(statistics.reshapes, 1);
    assert_int_equal(statistics.runs, 4);
    other[3] = 5; /* what is bound anew is seen */
    run_must(tn_context_bind_input(test->context, 0, other, sizeof(other)));
    run_must(tn_context_bind_output(test->context, 0, y, sizeof(y)));
    run_must(tn_context_run(test->context));
    assert_true(y[3] == 50);
    assert_ptr_equal(run_result(test, 0)->data, y);
    run_must(tn_context_bind_output(test->context, 0, y, 4));
    assert_int_equal(tn_context_run(test->context), TN_ERROR_ARGUMENT);
    run_must(tn_context_bind_output(test->context, 0, NULL, 0));
    run_rows(test->context, 8);
    run_rows(test->context, 2);
}

static void test_the_callers_choice_wins(void **state) {
    run_test *test = *state;
    make_weigh(test);
    start_sets(test, 3, SETS(ROWS(1, 1, 20), ROWS(8, 8, 32), ROWS(5, 5, 5)));
    run_rows(test->context, 8);
    assert_int_equal(tn_context_get_profile(test->context), 1);
    run_must(tn_context_set_profile(test->context, 0));
    assert_int_equal(tn_context_get_profile(test->context), 0);
    run_rows(test->context, 8);
    assert_int_equal(tn_context_get_profile(test->context), 0);
    assert_int_equal(tn_context_set_shape(test->context, 0, 2, EXTENTS(32, 2)), TN_ERROR_RANGE);
    assert_error("input 'x' has shape [32, 2]: axis 0 is 32, the plan was built for 1 to 20; "
                 "profile 1 has it, and profile 0 is chosen",
                 NULL);
    run_rows(test->context, 2);
    run_must(tn_context_set_profile(test->context, 1)); /* 2 rows are not within it */
    assert_int_equal(tn_context_run(test->context), TN_ERROR_RANGE);
    assert_error("input 'x' has shape [2, 2]: axis 0 is 2, the plan was built for 8 to 32 in "
                 "profile 1, which is chosen",
                 NULL);
    assert_int_equal(tn_context_reshape(test->context), TN_ERROR_RANGE);
    run_must(tn_context_set_profile(test->context, 2)); /* one shape: the input gets it */
    run_must(tn_context_run(test->context));
    assert_int_equal(run_result(test, 0)->shape[0], 5);
    assert_int_equal(tn_context_set_profile(test->context, 3), TN_ERROR_ARGUMENT);
    assert_error("there is no profile 3: the plan has 3", NULL);
    assert_int_equal(tn_context_set_profile(NULL, 0), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_get_profile(NULL), TN_PROFILE_AUTOMATIC);
    run_must(tn_context_set_profile(test->context, TN_PROFILE_AUTOMATIC));
    run_rows(test->context, 2);
    assert_int_equal(tn_context_get_profile(test->context), 0);
}

static void test_inputs_with_one_shape_in_all_profiles_need_no_call(void **state) {
    run_test *test = *state;
    make_weigh(test);
    start_sets(test, 2, SETS(ROWS(3, 3, 3), ROWS(3, 3, 3)));
    run_buffer in = {.aligned = {1, 2, 3, 4, 5, 6}};
    run_bind(test, "x", in.aligned, 24);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 6, FLOATS(1, 20, 3, 40, 5, 60));
}

static void test_inputs_with_other_shapes_in_each_must_be_set(void **state) {
    run_test *test = *state;
    make_weigh(test);
    start_sets(test, 2, SETS(ROWS(3, 3, 3), ROWS(5, 5, 5)));
    run_buffer in = {0};
    run_bind(test, "x", in.aligned, 80);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_STATE);
    assert_error("the shape of input 'x' is not set", NULL);
    run_rows(test->context, 5);
    run_rows(test->context, 3);
}

/* --- two inputs --- */

static void make_both(run_test *test) {
    const tn_tensor_id inputs[] = {add_input(test->graph, "a", TN_F32, 2, EXTENTS(-1, 2)),
                                   add_input(test->graph, "b", TN_F32, 2, EXTENTS(-1, 2))};
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "lot",
                                      .op = "Both",
                                      .name = "both",
                                      .input_count = 2,
                                      .inputs = inputs,
                                      .output_count = 1};
    tn_tensor_id y = TN_NO_TENSOR;
    run_must(tn_graph_add_node(test->graph, &node, &y));
    run_output(test->graph, y, "y");
}

#define PAIR(rows)                                                                                 \
    (&(const tn_profile){                                                                          \
        .size = sizeof(tn_profile),                                                                \
        .input_count = 2,                                                                          \
        .inputs = RUN_PROFILES(                                                                    \
            RUN_PROFILE("a", 2, EXTENTS(rows, 2), EXTENTS(rows, 2), EXTENTS(rows, 2)),             \
            RUN_PROFILE("b", 2, EXTENTS(rows, 2), EXTENTS(rows, 2), EXTENTS(rows, 2)))})

static void test_one_profile_must_have_all_inputs(void **state) {
    run_test *test = *state;
    run_buffer a = {.aligned = {1, 2, 3, 4}}, b = {.aligned = {10, 20, 30, 40}};
    make_both(test);
    start_sets(test, 2, SETS(PAIR(1), PAIR(2)));
    run_bind(test, "a", a.aligned, 16);
    run_bind(test, "b", b.aligned, 16);
    run_shape(test, "a", 2, EXTENTS(1, 2));
    run_shape(test, "b", 2, EXTENTS(2, 2));
    assert_int_equal(tn_context_run(test->context), TN_ERROR_RANGE);
    assert_error("no profile has all that the inputs have; profile 0: input 'b' has shape [2, 2]: "
                 "axis 0 is 2, the plan was built for 1 to 1; profile 1: input 'a' has shape [1, "
                 "2]: axis 0 is 1, the plan was built for 2 to 2",
                 NULL);
    run_shape(test, "a", 2, EXTENTS(2, 2));
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 4, FLOATS(11, 22, 33, 44));
    run_shape(test, "a", 2, EXTENTS(1, 2));
    run_shape(test, "b", 2, EXTENTS(1, 2));
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 2, FLOATS(11, 22));
}

#define SHAPE(a, b)                                                                                \
    (&(const tn_profile){                                                                          \
        .size = sizeof(tn_profile),                                                                \
        .input_count = 1,                                                                          \
        .inputs = RUN_PROFILES(RUN_PROFILE("x", 2, EXTENTS(a, b), EXTENTS(a, b), EXTENTS(a, b)))})

/* The range that holds both has shapes that the network refuses. */
static void test_shapes_between_the_profiles_need_not_be_possible(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    const tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(-1, -1));
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "lot",
                                      .op = "Dozen",
                                      .name = "dozen",
                                      .input_count = 1,
                                      .inputs = &x,
                                      .output_count = 1};
    tn_tensor_id y = TN_NO_TENSOR;
    run_must(tn_graph_add_node(test->graph, &node, &y));
    run_output(test->graph, run_unary(test->graph, "Step", NULL, y), "y");
    start_sets(test, 2, SETS(SHAPE(3, 4), SHAPE(2, 6)));
    run_bind(test, "x", in.aligned, 48);
    for (int i = 0; i < 4; i++) {
        run_shape(test, "x", 2, i % 2 ? EXTENTS(2, 6) : EXTENTS(3, 4));
        run_must(tn_context_run(test->context));
        assert_int_equal(run_result(test, 0)->shape[0], i % 2 ? 2 : 3);
        assert_floats(run_result(test, 0), 12, FLOATS(2, 3, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1));
    }
    tn_plan_destroy(test->plan);
    test->plan = NULL;
    assert_int_equal(build_sets(test, 2, SETS(SHAPE(3, 4), SHAPE(2, 5))), TN_ERROR_SHAPE);
    assert_error("expected 12 elements", "profile 1: ");
    assert_int_equal(build_sets(test, 2, SETS(SHAPE(3, 3), SHAPE(2, 6))), TN_ERROR_SHAPE);
    assert_error("expected 12 elements", "profile 0: ");
}

/* --- options --- */

static void refuse(run_test *test, const tn_builder_options *options, tn_status status,
                   const char *part, const char *where) {
    tn_builder_options all = *options;
    all.size = sizeof(all);
    all.threads = 1;
    all.flags = TN_BUILD_NO_TIMING;
    test->plan = NULL;
    if (tn_build(test->graph, &all, &test->plan) != status) fail_msg("not refused: %s", part);
    assert_error(part, where);
    assert_null(test->plan);
}

static void test_what_is_no_profile_is_refused(void **state) {
    run_test *test = *state;
    const tn_profile *many[65], sizeless = {.size = 4};
    const tn_profile *const one = ROWS(1, 1, 4), *const backwards = ROWS(4, 2, 1);
    const tn_profile *const *const inputs_lacking =
        SETS(&(const tn_profile){.size = sizeof(tn_profile), .input_count = 1});
    for (size_t i = 0; i < TN_COUNT(many); i++)
        many[i] = one;
    make_weigh(test);
    refuse(test,
           &(tn_builder_options){.profile_count = 1,
                                 .profiles = &one,
                                 .profile_input_count = 1,
                                 .profile_inputs = one->inputs},
           TN_ERROR_ARGUMENT, "both `profiles` and `profile_inputs` are given", NULL);
    refuse(test, &(tn_builder_options){.profile_count = 1}, TN_ERROR_ARGUMENT,
           "profiles are counted but not given", NULL);
    refuse(test, &(tn_builder_options){.profiles = &one}, TN_ERROR_ARGUMENT,
           "profiles are given but not counted", NULL);
    refuse(test, &(tn_builder_options){.profile_count = 65, .profiles = many}, TN_ERROR_RANGE,
           "65 profiles: expected at most 64", NULL);
    refuse(test, &(tn_builder_options){.profile_count = 2, .profiles = SETS(one, NULL)},
           TN_ERROR_ARGUMENT, "its `size` is not set", "profile 1");
    refuse(test, &(tn_builder_options){.profile_count = 1, .profiles = SETS(&sizeless)},
           TN_ERROR_ARGUMENT, "its `size` is not set", "profile 0");
    refuse(test, &(tn_builder_options){.profile_count = 1, .profiles = inputs_lacking},
           TN_ERROR_ARGUMENT, "its inputs are counted but not given", "profile 0");
    refuse(test, &(tn_builder_options){.profile_count = 2, .profiles = SETS(one, backwards)},
           TN_ERROR_RANGE, "is not min <= opt <= max", "profile 1: profile of input 'x'");
}

/* --- values --- */

static const tn_profile_input *sizes_range(tn_profile_input *out, const int64_t *low,
                                           const int64_t *best, const int64_t *high) {
    static const int64_t two = 2;
    *out = (tn_profile_input){.size = sizeof(*out),
                              .rank = 1,
                              .name = "sizes",
                              .minimum = &two,
                              .optimum = &two,
                              .maximum = &two,
                              .minimum_value = low,
                              .optimum_value = best,
                              .maximum_value = high};
    return out;
}

static void test_values_choose_the_profile_at_each_run(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {7}};
    int64_t sizes[2] = {2, 2};
    tn_profile_input ranges[2];
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(1));
    tn_tensor_id list = add_input(test->graph, "sizes", TN_I64, 1, EXTENTS(2));
    tn_tensor_id fill = run_node(test->graph, "Fill", "fill", 2, TENSORS(x, list));
    run_output(test->graph, run_unary(test->graph, "Step", NULL, fill), "y");
    const tn_profile_input *small =
        sizes_range(&ranges[0], EXTENTS(1, 1), EXTENTS(2, 2), EXTENTS(3, 3));
    const tn_profile_input *large =
        sizes_range(&ranges[1], EXTENTS(5, 5), EXTENTS(8, 8), EXTENTS(9, 9));
    const tn_profile profiles[] = {{sizeof(tn_profile), 1, &small},
                                   {sizeof(tn_profile), 1, &large}};
    start_sets(test, 2, SETS(&profiles[0], &profiles[1]));
    run_bind(test, "x", in.aligned, 4);
    run_bind(test, "sizes", sizes, 16);
    uint64_t before = 0;
    for (int i = 0; i < 8; i++) {
        sizes[0] = i % 2 ? 6 : 2; /* in the same memory, without a call */
        sizes[1] = i % 2 ? 7 : 3;
        run_must(tn_context_run(test->context));
        assert_int_equal(tn_context_get_profile(test->context), i % 2);
        assert_int_equal(run_result(test, 0)->shape[0], sizes[0]);
        assert_int_equal(run_result(test, 0)->shape[1], sizes[1]);
        assert_true(((const float *)run_result(test, 0)->data)[0] == 8);
        if (i == 1) before = run_allocations(test);
    }
    assert_int_equal(run_allocations(test), before);
    sizes[0] = 9;
    run_must(tn_context_run(test->context)); /* within the profile that it has */
    assert_int_equal(run_result(test, 0)->shape[0], 9);
    sizes[0] = 4;
    assert_int_equal(tn_context_run(test->context), TN_ERROR_RANGE);
    assert_error(
        "profile 1: element 0 of the value of input 'sizes' is 4, the plan was built for 5 "
        "to 9",
        NULL);
    sizes[0] = 2, sizes[1] = 2;
    run_must(tn_context_run(test->context));
    assert_int_equal(run_result(test, 0)->bytes, 16);
}

/* --- engines --- */

static void test_kernels_are_chosen_again_for_all_profiles(void **state) {
    run_test *test = *state;
    const tn_engine_options options = {.size = sizeof(options), .threads = 2};
    uint64_t bytes = 0;
    make_weigh(test);
    run_must(build_sets(test, 2, SETS(ROWS(1, 1, 4), ROWS(8, 8, 32))));
    const void *data = tn_plan_bytes(test->plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &test->engine));
    assert_non_null(strstr(run_log, "kernels are chosen again"));
    run_must(tn_context_create(test->engine, &test->context));
    run_rows(test->context, 2);
    run_rows(test->context, 16);
    assert_int_equal(lot_ran[LOT_SMALL], 1);
    assert_int_equal(lot_ran[LOT_LARGE], 1);
    const tn_engine_options exact = {.size = sizeof(exact), .threads = 2, .flags = TN_ENGINE_EXACT};
    tn_engine *engine = NULL;
    assert_int_equal(tn_engine_load_bytes(test->runtime, data, bytes, &exact, &engine),
                     TN_ERROR_NOT_FOUND);
}

static void test_guarded_runs_change_profiles(void **state) {
    run_test *test = *state;
    const tn_engine_options options = {.size = sizeof(options), .flags = TN_ENGINE_CHECKED};
    uint64_t bytes = 0;
    make_weigh(test);
    run_must(build_sets(test, 2, SETS(ROWS(1, 1, 4), ROWS(8, 8, 32))));
    const void *data = tn_plan_bytes(test->plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &test->engine));
    run_must(tn_context_create(test->engine, &test->context));
    for (int i = 0; i < 2; i++) {
        run_rows(test->context, 2);
        run_rows(test->context, 16);
    }
}

static void test_times_and_reports_are_those_of_the_profile(void **state) {
    run_test *test = *state;
    char *report = NULL;
    make_weigh(test);
    start_sets(test, 2, SETS(ROWS(1, 1, 4), ROWS(8, 8, 32)));
    run_must(tn_context_set_profiling(test->context, true));
    run_rows(test->context, 2);
    assert_int_equal(tn_context_profile_count(test->context), 1);
    assert_string_equal(tn_context_profile(test->context, 0)->kernel, "few");
    run_rows(test->context, 9);
    assert_int_equal(tn_context_profile_count(test->context), 1);
    assert_string_equal(tn_context_profile(test->context, 0)->kernel, "many");
    run_must(tn_context_report(test->context, &report));
    assert_non_null(strstr(report, "\"shape\": [9, 2]"));
    tn_text_free(test->runtime, report);
}

static void test_failed_allocations_leave_nothing_behind(void **state) {
    run_test *test = *state;
    int64_t failures = 0;
    make_weigh(test);
    run_must(build_sets(test, 2, SETS(ROWS(1, 1, 4), ROWS(8, 8, 32))));
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(test->plan, &bytes);
    const float x[64] = {0};
    for (uint64_t number = 1;; number++) {
        tn_engine *engine = NULL;
        tn_context *context = NULL;
        const int64_t live = test->allocator.live;
        test->allocator.fail_at = test->allocator.allocations + number;
        tn_status status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine);
        if (status == TN_OK) status = tn_context_create(engine, &context);
        for (int i = 0; i < 2 && status == TN_OK; i++) {
            status = tn_context_set_shape(context, 0, 2, EXTENTS(i ? 16 : 2, 2));
            if (status == TN_OK) status = tn_context_bind_input(context, 0, x, sizeof(x));
            if (status == TN_OK) status = tn_context_run(context);
        }
        test->allocator.fail_at = 0;
        if (status != TN_OK && context) { /* the context works on */
            run_rows(context, 16);
            run_rows(context, 1);
        }
        tn_context_destroy(context);
        tn_engine_release(engine);
        assert_int_equal(test->allocator.live, live);
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
        failures++;
    }
    assert_true(failures > 20);
}

/* --- threads --- */

typedef struct lot_thread {
    tn_engine *engine;
    int64_t rows;
    pthread_t thread;
} lot_thread;

static void *run_in_thread(void *user) {
    const lot_thread *own = user;
    tn_context *context = NULL;
    run_must(tn_context_create(own->engine, &context));
    for (int i = 0; i < 200; i++)
        run_rows(context, i % 8 ? own->rows : 3);
    tn_context_destroy(context);
    return NULL;
}

static void test_contexts_run_other_profiles_side_by_side(void **state) {
    run_test whole = {0}, *test = &whole;
    (void)state;
    lot_forget();
    test->runtime = run_runtime(NULL, lot_entry); /* whose allocator is for several threads */
    run_must(tn_graph_create(test->runtime, "net", &test->graph));
    make_weigh(test);
    run_must(build_sets(test, 3, SETS(ROWS(1, 1, 4), ROWS(8, 8, 16), ROWS(20, 20, 32))));
    run_load(test);
    lot_thread threads[] = {{test->engine, 2, 0}, {test->engine, 8, 0}, {test->engine, 30, 0}};
    for (size_t i = 0; i < TN_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i].thread, NULL, run_in_thread, &threads[i]), 0);
    for (size_t i = 0; i < TN_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
    assert_int_equal(lot_ran[LOT_SMALL] + lot_ran[LOT_LARGE], 600);
    assert_int_equal(lot_opened[LOT_SMALL] + lot_opened[LOT_LARGE], 0);
    tn_engine_release(test->engine);
    tn_plan_destroy(test->plan);
    tn_graph_destroy(test->graph);
    tn_runtime_release(test->runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LOT_TEST(test_each_profile_has_kernels_of_its_own),
        LOT_TEST(test_profiles_share_what_kernels_pack),
        LOT_TEST(test_profiles_are_told),
        LOT_TEST(test_one_profile_is_as_it_was),
        LOT_TEST(test_shapes_in_a_gap_are_refused),
        LOT_TEST(test_the_nearest_optimum_is_taken),
        LOT_TEST(test_of_equal_profiles_the_first_is_taken),
        LOT_TEST(test_going_back_and_forth_allocates_nothing),
        LOT_TEST(test_profiles_have_one_arena),
        LOT_TEST(test_a_run_of_the_same_shapes_does_not_reshape),
        LOT_TEST(test_the_callers_choice_wins),
        LOT_TEST(test_inputs_with_one_shape_in_all_profiles_need_no_call),
        LOT_TEST(test_inputs_with_other_shapes_in_each_must_be_set),
        LOT_TEST(test_one_profile_must_have_all_inputs),
        LOT_TEST(test_shapes_between_the_profiles_need_not_be_possible),
        LOT_TEST(test_what_is_no_profile_is_refused),
        LOT_TEST(test_values_choose_the_profile_at_each_run),
        LOT_TEST(test_kernels_are_chosen_again_for_all_profiles),
        LOT_TEST(test_guarded_runs_change_profiles),
        LOT_TEST(test_times_and_reports_are_those_of_the_profile),
        LOT_TEST(test_failed_allocations_leave_nothing_behind),
        cmocka_unit_test(test_contexts_run_other_profiles_side_by_side)};
    return cmocka_run_group_tests_name("profiles", tests, NULL, NULL);
}
