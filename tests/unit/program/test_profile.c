/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: what a caller says against what the graph declares, and the shapes at the three points.
 */
#include "build_test.h"
#include "graph/body.h"

static tn_profile_input range(const char *name, uint32_t rank, const int64_t *minimum,
                              const int64_t *optimum, const int64_t *maximum) {
    return (tn_profile_input){.size = sizeof(tn_profile_input),
                              .rank = rank,
                              .name = name,
                              .minimum = minimum,
                              .optimum = optimum,
                              .maximum = maximum};
}

static tn_status make(build_stage *stage, tn_graph *graph, uint32_t count,
                      const tn_profile_input *const *ranges) {
    tn_builder_options options = {
        .size = sizeof options, .profile_input_count = count, .profile_inputs = ranges};
    *stage = (build_stage){.graph = graph};
    assert_int_equal(tn_arena_create(graph->allocator, &stage->arena), TN_OK);
    assert_int_equal(tn_graph_sort(graph), TN_OK);
    return tn_profile_make(graph, &options, stage->arena, &stage->profiles);
}

static void test_inputs_without_a_profile_keep_what_is_declared(void **state) {
    graph_test *test = *state;
    build_stage stage;
    add_input(test->graph, "fixed", TN_F32, 2, EXTENTS(3, 4));
    add_input(test->graph, "free", TN_F32, 2, EXTENTS(-1, 4));
    assert_int_equal(make(&stage, test->graph, 0, NULL), TN_OK);
    assert_true(tn_profile_is_fixed(&stage.profiles[0]));
    assert_int_equal(stage.profiles[0].optimum.extents[0], 3);
    assert_true(stage.profiles[1].is_free && !tn_profile_is_fixed(&stage.profiles[1]));
    assert_int_equal(stage.profiles[1].optimum.extents[0], 1);
    stage_end(&stage);
}

static void test_wrong_profiles_are_refused_with_the_reason(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    add_input(graph, "image", TN_F32, 2, EXTENTS(-1, 4));
    tn_profile_input ranges[] = {
        range("imago", 2, EXTENTS(1, 4), EXTENTS(2, 4), EXTENTS(3, 4)),
        range("image", 2, EXTENTS(3, 4), EXTENTS(2, 4), EXTENTS(4, 4)),
        range("image", 2, EXTENTS(1, 4), EXTENTS(5, 4), EXTENTS(4, 4)),
        range("image", 2, EXTENTS(1, 4), EXTENTS(2, 5), EXTENTS(3, 6)),
        range("image", 1, EXTENTS(1), EXTENTS(2), EXTENTS(3)),
        range("image", 2, EXTENTS(-1, 4), EXTENTS(2, 4), EXTENTS(3, 4)),
        range("image", 2, NULL, EXTENTS(2, 4), EXTENTS(3, 4)),
        range(NULL, 2, EXTENTS(1, 4), EXTENTS(2, 4), EXTENTS(3, 4)),
    };
    static const tn_status expected[] = {TN_ERROR_NOT_FOUND, TN_ERROR_RANGE,   TN_ERROR_RANGE,
                                         TN_ERROR_RANGE,     TN_ERROR_SHAPE,   TN_ERROR_SHAPE,
                                         TN_ERROR_ARGUMENT,  TN_ERROR_ARGUMENT};
    static const char *const parts[] = {"'image'", "3, 2 and 4", "1, 5 and 4", "axis 1",
                                        "rank 1",  "",           "three",      "no input"};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const tn_profile_input *given[] = {&ranges[i]};
        build_stage stage;
        assert_int_equal(make(&stage, graph, 1, given), expected[i]);
        assert_error(parts[i], NULL);
        stage_end(&stage);
    }
    const tn_profile_input good = range("image", 2, EXTENTS(1, 4), EXTENTS(2, 4), EXTENTS(3, 4));
    const tn_profile_input *twice[] = {&good, &good};
    build_stage stage;
    assert_int_equal(make(&stage, graph, 2, twice), TN_ERROR_ARGUMENT);
    stage_end(&stage);
}

static void test_shapes_are_inferred_at_three_points(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 2, EXTENTS(-1, 4));
    tn_tensor_id relu = add_unary(graph, "Relu", "relu", x);
    add_output(graph, relu);
    const tn_profile_input given = range("x", 2, EXTENTS(1, 4), EXTENTS(5, 4), EXTENTS(9, 4));
    const tn_profile_input *ranges[] = {&given};
    assert_int_equal(make(&stage, graph, 1, ranges), TN_OK);
    assert_int_equal(tn_profile_shapes_init(&stage.shapes, graph, stage.profiles, stage.arena),
                     TN_OK);
    for (int point = 0; point < 3; point++)
        assert_int_equal(stage.shapes.points[point]->tensors[relu].storage.shape.extents[0],
                         1 + 4 * point);
    assert_false(stage.shapes.is_partial);
    stage_end(&stage);
}

static void test_values_at_the_points_decide_shapes(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id count = add_input(graph, "count", TN_I64, 1, EXTENTS(1));
    tn_tensor_id filled = add_unary(graph, "Fill", "fill", count);
    add_output(graph, filled);
    static const int64_t values[] = {2, 4, 8};
    tn_profile_input given = range("count", 1, EXTENTS(1), EXTENTS(1), EXTENTS(1));
    given.minimum_value = &values[0];
    given.optimum_value = &values[1];
    given.maximum_value = &values[2];
    const tn_profile_input *ranges[] = {&given};
    assert_int_equal(make(&stage, graph, 1, ranges), TN_OK);
    assert_int_equal(tn_profile_shapes_init(&stage.shapes, graph, stage.profiles, stage.arena),
                     TN_OK);
    for (int point = 0; point < 3; point++)
        assert_int_equal(stage.shapes.points[point]->tensors[filled].storage.shape.extents[0],
                         values[point]);
    assert_false(stage.shapes.is_partial);
    stage_end(&stage);
    given.maximum_value = NULL;
    assert_int_equal(make(&stage, graph, 1, ranges), TN_ERROR_ARGUMENT);
    stage_end(&stage);
}

static void test_a_value_that_is_not_given_leaves_shapes_open(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id count = add_input(graph, "count", TN_I64, 1, EXTENTS(1));
    tn_tensor_id doubled = add_node(graph, "Add", "doubled", 2, TENSORS(count, count));
    tn_tensor_id filled = add_unary(graph, "Fill", "fill", doubled);
    add_output(graph, add_unary(graph, "Relu", "relu", filled));
    stage_infer(&stage, graph, NULL);
    assert_true(stage.shapes.is_partial);
    assert_false(stage.shapes.points[1]->tensors[filled].is_known);
    assert_true(stage.shapes.points[1]->tensors[doubled].is_known);
    for (size_t n = 0; n < graph->node_count; n++)
        assert_true(stage.shapes.plan.is_after_run[n]);
    stage_end(&stage);
}

static void test_an_extent_that_fails_at_1_asks_for_a_profile(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(-1));
    tn_tensor_id c = add_floats(graph, "c", 1, EXTENTS(5));
    add_output(graph, add_node(graph, "Add", "sum", 2, TENSORS(x, c)));
    assert_int_equal(make(&stage, graph, 0, NULL), TN_OK);
    assert_int_equal(tn_profile_shapes_init(&stage.shapes, graph, stage.profiles, stage.arena),
                     TN_ERROR_SHAPE);
    assert_error("differ", "without a profile");
    stage_end(&stage);
}

/* There is nothing to try of an input of which nothing is declared, or whose named extent is
 * fixed. */
static void test_points_that_do_not_differ_are_inferred_once(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id open, x = add_input(graph, "x", TN_F32, 2, EXTENTS(3, 4));
    assert_int_equal(tn_graph_add_body_input(graph, "open", TN_F32, &open), TN_OK);
    add_output(graph, add_unary(graph, "Relu", "one", x));
    add_output(graph, add_unary(graph, "Relu", "other", open));
    stage_infer(&stage, graph, NULL);
    for (int point = 0; point < TN_POINTS; point++)
        assert_ptr_equal(stage.shapes.points[point], stage.shapes.points[TN_POINT_OPTIMUM]);
    stage_end(&stage);
    add_output(graph,
               add_unary(graph, "Relu", "third", add_input(graph, "y", TN_F32, 2, EXTENTS(-1, 4))));
    stage_infer(&stage, graph, NULL);
    for (int point = 0; point < TN_POINTS; point++)
        if (point != TN_POINT_OPTIMUM && point != TN_POINT_APART)
            assert_ptr_not_equal(stage.shapes.points[point], stage.shapes.points[TN_POINT_OPTIMUM]);
    stage_end(&stage);
}

static int64_t extent_at(const build_stage *stage, int point, tn_tensor_id tensor) {
    return stage->shapes.points[point]->tensors[tensor].storage.shape.extents[0];
}

static tn_tensor_id add_named(tn_graph *graph, const char *name, const char *extent) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_input(graph, name, TN_F32, 1, EXTENTS(-1), &extent, &id), TN_OK);
    return id;
}

static void test_extents_with_different_names_are_apart(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    const tn_tensor_id n = add_named(graph, "a", "n"), m = add_named(graph, "b", "m"),
                       again = add_named(graph, "c", "n"), unnamed = add_named(graph, "d", NULL),
                       other = add_named(graph, "e", NULL);
    const tn_tensor_id all[] = {n, m, unnamed, other};
    for (size_t i = 0; i < 4; i++)
        add_output(graph, add_unary(graph, "Relu", NULL, all[i]));
    stage_infer(&stage, graph, NULL);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_int_not_equal(extent_at(&stage, TN_POINT_APART, all[i]),
                                 extent_at(&stage, TN_POINT_APART, all[k]));
    assert_int_equal(extent_at(&stage, TN_POINT_APART, n),
                     extent_at(&stage, TN_POINT_APART, again));
    stage_end(&stage);
}

static void test_extents_of_a_profile_are_apart_within_it(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    const tn_tensor_id n = add_named(graph, "a", "n"), m = add_named(graph, "b", "m"),
                       again = add_named(graph, "c", "n");
    add_output(graph, add_unary(graph, "Relu", NULL, n));
    const tn_profile_input given[] = {range("a", 1, EXTENTS(4), EXTENTS(6), EXTENTS(8)),
                                      range("b", 1, EXTENTS(4), EXTENTS(6), EXTENTS(8))};
    const tn_profile_input *ranges[] = {&given[0], &given[1]};
    assert_int_equal(make(&stage, graph, 2, ranges), TN_OK);
    assert_int_equal(tn_profile_shapes_init(&stage.shapes, graph, stage.profiles, stage.arena),
                     TN_OK);
    for (int point = 0; point < TN_POINTS; point++) {
        assert_in_range(extent_at(&stage, point, n), 4, 8);
        assert_in_range(extent_at(&stage, point, m), 4, 8);
        /* no profile of its own: that of its name */
        assert_int_equal(extent_at(&stage, point, again), extent_at(&stage, point, n));
    }
    assert_int_not_equal(extent_at(&stage, TN_POINT_APART, n),
                         extent_at(&stage, TN_POINT_APART, m));
    stage_end(&stage);
}

/* It works where both are equal, and that is all that is said of them. */
static void test_extents_that_must_be_equal_are_known_all_the_same(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    const tn_tensor_id n = add_named(graph, "a", "n"), m = add_named(graph, "b", "m");
    const tn_tensor_id sum = add_node(graph, "Add", "sum", 2, TENSORS(n, m));
    add_output(graph, sum);
    stage_infer(&stage, graph, NULL);
    assert_false(stage.shapes.is_partial);
    for (int point = 0; point < TN_POINTS; point++)
        assert_true(stage.shapes.points[point]->tensors[sum].is_known);
    stage_end(&stage);
}

/* Twelve rows of equal length: 1 element cannot be split. */
static void test_extents_that_cannot_be_1_are_tried_at_others(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    const tn_tensor_id x = add_named(graph, "x", NULL);
    const tn_tensor_id rows = add_unary(graph, "Twelfths", "rows", x);
    add_output(graph, rows);
    stage_infer(&stage, graph, NULL);
    assert_false(stage.shapes.is_partial);
    assert_int_equal(extent_at(&stage, TN_POINT_OPTIMUM, rows) * 12,
                     extent_at(&stage, TN_POINT_OPTIMUM, x));
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_inputs_without_a_profile_keep_what_is_declared),
        BUILD_TEST(test_wrong_profiles_are_refused_with_the_reason),
        BUILD_TEST(test_shapes_are_inferred_at_three_points),
        BUILD_TEST(test_values_at_the_points_decide_shapes),
        BUILD_TEST(test_a_value_that_is_not_given_leaves_shapes_open),
        BUILD_TEST(test_an_extent_that_fails_at_1_asks_for_a_profile),
        BUILD_TEST(test_points_that_do_not_differ_are_inferred_once),
        BUILD_TEST(test_extents_with_different_names_are_apart),
        BUILD_TEST(test_extents_of_a_profile_are_apart_within_it),
        BUILD_TEST(test_extents_that_must_be_equal_are_known_all_the_same),
        BUILD_TEST(test_extents_that_cannot_be_1_are_tried_at_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
