/* SPDX-License-Identifier: Apache-2.0 */
/* Values that decide shapes: which nodes are computed during inference, views, outputs that a run
 * sizes, and what happens when memory runs out in between. */
#include "graph_test.h"

static void test_only_what_a_value_needs_is_computed(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 2, EXTENTS(-1, 3));
    tn_tensor_id big = add_unary(graph, "Copy", "big", x);
    tn_tensor_id shape = add_unary(graph, "Shape", "shape", big);
    tn_tensor_id list = add_node(graph, "Join", "join", 1, &shape);
    tn_tensor_id y = add_node(graph, "Reshape", "reshape", 2, TENSORS(x, list));
    add_unary(graph, "Shape", "unused", y);
    inference_test test;
    inference_begin(&test, graph);
    assert_false(test.plan.is_host_node[0]); /* only its shape is read */
    assert_true(test.plan.is_host_node[1]);
    assert_true(test.plan.is_host_node[2]);
    assert_false(test.plan.is_host_node[3]);
    assert_false(test.plan.is_host_node[4]);
    assert_true(test.plan.is_host_tensor[list]);
    assert_false(test.plan.is_value_input[0]);
    assert_false(test.plan.is_sized_by_run);
    tn_shape given = {.rank = 2, .extents = {5, 3}};
    assert_int_equal(tn_inference_run(&test.inference, &given, NULL), TN_OK);
    assert_shape(&test, y, 2, EXTENTS(5, 3));
    assert_null(test.inference.tensors[big].storage.tensor.data);
    inference_end(&test);
}

static void test_a_value_input_is_needed_and_copied(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6));
    tn_tensor_id size = add_input(graph, "size", TN_I64, 1, EXTENTS(2));
    tn_tensor_id copied = add_unary(graph, "Copy", "copy", size);
    tn_tensor_id y = add_node(graph, "Reshape", "reshape", 2, TENSORS(x, copied));
    inference_test test;
    inference_begin(&test, graph);
    assert_true(test.plan.is_value_input[1]);
    tn_shape shapes[] = {{.rank = 1, .extents = {6}}, {.rank = 1, .extents = {2}}};
    assert_int_equal(tn_inference_run(&test.inference, shapes, NULL), TN_ERROR_ARGUMENT);
    assert_error("value of input 'size'", NULL);
    int64_t wanted[] = {2, 3};
    const void *values[] = {NULL, wanted};
    assert_int_equal(tn_inference_run(&test.inference, shapes, values), TN_OK);
    assert_shape(&test, y, 2, EXTENTS(2, 3));
    wanted[0] = 3;
    wanted[1] = 2;
    assert_int_equal(((int64_t *)test.inference.tensors[copied].storage.tensor.data)[0], 2);
    assert_int_equal(tn_inference_run(&test.inference, shapes, values), TN_OK);
    assert_shape(&test, y, 2, EXTENTS(3, 2));
    inference_end(&test);
}

static void test_a_view_shares_the_value(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6));
    tn_tensor_id c = add_i64s(graph, "c", 2, EXTENTS(2, 3));
    tn_tensor_id two = add_i64s(graph, "two", 1, EXTENTS(2));
    tn_tensor_id list = add_node(graph, "Reshape", "view", 2, TENSORS(c, two));
    tn_tensor_id y = add_node(graph, "Reshape", "reshape", 2, TENSORS(x, list));
    inference_test test;
    inference_begin(&test, graph);
    tn_shape shape = {.rank = 1, .extents = {6}};
    assert_int_equal(tn_inference_run(&test.inference, &shape, NULL), TN_OK);
    assert_ptr_equal(test.inference.tensors[list].storage.tensor.data, graph->tensors[c].data);
    assert_shape(&test, y, 2, EXTENTS(2, 3));
    inference_end(&test);
}

static void test_a_view_is_copied_when_a_node_is_computed_alone(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id c = add_i64s(graph, "c", 4, EXTENTS(1, 2, 3, 4));
    tn_tensor_id two = add_i64s(graph, "two", 2, EXTENTS(2, 2));
    add_node(graph, "Reshape", "view", 2, TENSORS(c, two));
    tn_tensor_storage data, shape, output;
    int64_t numbers[] = {5, 6, 7, 8}, extents[] = {2, 2}, result[4] = {0};
    tn_shape four = {.rank = 1, .extents = {4}}, pair = {.rank = 1, .extents = {2}};
    tn_shape square = {.rank = 2, .extents = {2, 2}};
    assert_int_equal(tn_tensor_init(&data, TN_I64, TN_LINEAR, &four), TN_OK);
    assert_int_equal(tn_tensor_init(&shape, TN_I64, TN_LINEAR, &pair), TN_OK);
    assert_int_equal(tn_tensor_init(&output, TN_I64, TN_LINEAR, &square), TN_OK);
    data.tensor.data = numbers;
    shape.tensor.data = extents;
    output.tensor.data = result;
    const tn_tensor *inputs[] = {&data.tensor, &shape.tensor};
    tn_tensor *outputs[] = {&output.tensor};
    assert_int_equal(tn_evaluate_node(graph, 0, inputs, outputs), TN_OK);
    assert_memory_equal(result, numbers, sizeof(numbers));
}

static void test_what_only_its_shape_is_read_of_is_hidden(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id c = add_i64s(graph, "c", 4, EXTENTS(1, 2, 3, 4));
    add_unary(graph, "Shape", "shape", c);
    tn_tensor_storage data, output;
    int64_t numbers[] = {5, 6, 7, 8}, result = 0;
    tn_shape four = {.rank = 1, .extents = {4}}, one = {.rank = 1, .extents = {1}};
    assert_int_equal(tn_tensor_init(&data, TN_I64, TN_LINEAR, &four), TN_OK);
    assert_int_equal(tn_tensor_init(&output, TN_I64, TN_LINEAR, &one), TN_OK);
    data.tensor.data = numbers;
    output.tensor.data = &result;
    const tn_tensor *inputs[] = {&data.tensor};
    tn_tensor *outputs[] = {&output.tensor};
    assert_int_equal(tn_evaluate_node(graph, 0, inputs, outputs), TN_OK); /* it looks */
    assert_int_equal(result, 4);
    assert_ptr_equal(data.tensor.data, numbers);
}

static void test_a_view_keeps_its_elements(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(7));
    tn_tensor_id c = add_i64s(graph, "c", 2, EXTENTS(2, 3));
    add_node(graph, "Reshape", "reshape", 2, TENSORS(x, c));
    inference_test test;
    inference_begin(&test, graph);
    tn_shape shape = {.rank = 1, .extents = {7}};
    assert_int_equal(tn_inference_run(&test.inference, &shape, NULL), TN_ERROR_PLUGIN);
    assert_error("24 bytes of f32 instead of 28", "node 'reshape'");
    inference_end(&test);
}

static void test_a_value_without_reference_is_unsupported(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id c = add_i64s(graph, "c", 2, EXTENTS(2, 2));
    tn_tensor_id list = add_unary(graph, "NoReference", "none", c);
    add_node(graph, "Reshape", "reshape", 2, TENSORS(x, list));
    inference_test test;
    inference_begin(&test, graph);
    tn_shape shape = {.rank = 1, .extents = {4}};
    assert_int_equal(tn_inference_run(&test.inference, &shape, NULL), TN_ERROR_UNSUPPORTED);
    assert_error("reference", "node 'none': operator NoReference");
    inference_end(&test);
}

static void test_a_host_node_sized_by_run_has_its_true_shape(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 2, EXTENTS(1, 3));
    tn_tensor_id c = add_i64s(graph, "c", 4, EXTENTS(0, 7, 0, 7));
    tn_tensor_id indices = add_unary(graph, "NonZero", "indices", c);
    tn_tensor_id y = add_node(graph, "Reshape", "reshape", 2, TENSORS(x, indices));
    inference_test test;
    inference_begin(&test, graph);
    assert_false(test.plan.is_sized_by_run);
    tn_shape shape = {.rank = 2, .extents = {1, 3}};
    assert_int_equal(tn_inference_run(&test.inference, &shape, NULL), TN_OK);
    assert_shape(&test, indices, 1, EXTENTS(2));
    assert_shape(&test, y, 2, EXTENTS(1, 3));
    inference_end(&test);
}

static void test_nodes_after_an_output_sized_by_run_are_marked_and_inferred_later(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_I64, 1, EXTENTS(4));
    tn_tensor_id z = add_input(graph, "z", TN_F32, 1, EXTENTS(2));
    tn_tensor_id before = add_unary(graph, "Copy", "before", x);
    tn_tensor_id indices = add_unary(graph, "NonZero", "indices", before);
    tn_tensor_id shape = add_unary(graph, "Shape", "shape", indices);
    tn_tensor_id y = add_node(graph, "Reshape", "reshape", 2, TENSORS(z, shape));
    inference_test test;
    inference_begin(&test, graph);
    assert_true(test.plan.is_sized_by_run);
    assert_false(test.plan.is_after_run[0]);
    assert_false(test.plan.is_after_run[1]);
    assert_true(test.plan.is_after_run[2]);
    assert_true(test.plan.is_after_run[3]);
    tn_shape shapes[] = {{.rank = 1, .extents = {4}}, {.rank = 1, .extents = {2}}};
    assert_int_equal(tn_inference_run(&test.inference, shapes, NULL), TN_OK);
    assert_shape(&test, indices, 1, EXTENTS(4));      /* the bound */
    assert_false(test.inference.tensors[y].is_known); /* [2] does not fit the bound */
    tn_shape truth = {.rank = 1, .extents = {2}};
    assert_int_equal(tn_inference_set(&test.inference, indices, &truth, NULL), TN_OK);
    assert_int_equal(tn_inference_node(&test.inference, 2), TN_OK);
    assert_int_equal(tn_inference_node(&test.inference, 3), TN_OK);
    assert_shape(&test, y, 1, EXTENTS(2));
    inference_end(&test);
}

static void test_a_value_that_a_step_computes_is_guessed_until_the_run_has_it(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6));
    tn_tensor_id size = add_input(graph, "size", TN_I64, 1, EXTENTS(2));
    tn_tensor_id made = add_unary(graph, "Copy", "made", size);
    tn_tensor_id other = add_unary(graph, "Copy", "other", made);
    tn_tensor_id list = add_unary(graph, "Copy", "list", made);
    tn_tensor_id y = add_node(graph, "Reshape", "reshape", 2, TENSORS(x, list));
    graph->nodes[0].is_value_step = true;
    inference_test test;
    inference_begin(&test, graph);
    assert_true(test.plan.is_sized_by_run);
    assert_false(test.plan.is_value_input[1]); /* the step reads it */
    assert_false(test.plan.is_host_node[0]);
    assert_true(test.plan.is_run_value[made]);
    assert_false(test.plan.is_after_run[1]); /* its shape follows from no value */
    assert_true(test.plan.is_host_node[2] && test.plan.is_after_run[2]);
    assert_true(test.plan.is_after_run[3]);
    tn_shape shapes[] = {{.rank = 1, .extents = {6}}, {.rank = 1, .extents = {2}}};
    assert_int_equal(tn_inference_run(&test.inference, shapes, NULL), TN_OK);
    assert_shape(&test, other, 1, EXTENTS(2));
    assert_false(tn_inference_has_values(&test.inference, 2));
    assert_false(tn_inference_has_values(&test.inference, 3));
    const int64_t truth[] = {3, 2};
    assert_int_equal(tn_inference_set(&test.inference, made, &shapes[1], truth), TN_OK);
    assert_true(tn_inference_has_values(&test.inference, 2));
    assert_false(tn_inference_has_values(&test.inference, 3)); /* made of what was guessed */
    assert_int_equal(tn_inference_node(&test.inference, 2), TN_OK);
    assert_true(tn_inference_has_values(&test.inference, 3));
    assert_int_equal(tn_inference_node(&test.inference, 3), TN_OK);
    assert_shape(&test, y, 2, EXTENTS(3, 2));
    inference_end(&test);
}

static void test_a_value_as_large_as_a_picture_is_refused(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6));
    tn_tensor_id huge = add_input(graph, "huge", TN_I64, 1, EXTENTS(-1));
    add_node(graph, "Reshape", "reshape", 2, TENSORS(x, huge));
    inference_test test;
    inference_begin(&test, graph);
    tn_shape shapes[] = {{.rank = 1, .extents = {6}}, {.rank = 1, .extents = {1 << 30}}};
    const void *values[] = {NULL, shapes}; /* not looked at */
    assert_int_equal(tn_inference_run(&test.inference, shapes, values), TN_ERROR_MEMORY);
    assert_error("'huge'", NULL);
    inference_end(&test);
}

/* Builds, sorts, copies and infers a network; any step may fail. */
static tn_status whole_life(tn_runtime *runtime) {
    tn_graph *graph = NULL, *copy = NULL;
    tn_arena *arena = NULL;
    tn_inference inference = {0};
    tn_inference_plan plan;
    tn_tensor_id x, c, shape, y;
    int64_t extents[] = {-1, 3}, count = 2, values[] = {3, -1};
    const char *names[] = {"N", NULL};
    tn_shape given = {.rank = 2, .extents = {2, 3}};
    tn_status status = tn_graph_create(runtime, "net", &graph);
    if (status == TN_OK) status = tn_graph_add_input(graph, "x", TN_F32, 2, extents, names, &x);
    if (status == TN_OK)
        status = tn_graph_add_constant(graph, "c", TN_I64, 1, &count, values, 16, &c);
    if (status == TN_OK) status = try_node(graph, "Shape", "s", 1, &x, 1, &shape);
    if (status == TN_OK) status = try_node(graph, "Reshape", "r", 2, TENSORS(x, shape), 1, &y);
    if (status == TN_OK) status = tn_graph_add_output(graph, y, "out");
    if (status == TN_OK) status = tn_graph_sort(graph);
    if (status == TN_OK) status = tn_graph_copy(graph, &copy);
    if (status == TN_OK) status = tn_arena_create(tn_runtime_allocator(runtime), &arena);
    if (status == TN_OK) status = tn_inference_plan_create(copy, arena, &plan);
    if (status == TN_OK) status = tn_inference_init(&inference, copy, &plan);
    if (status == TN_OK) status = tn_inference_run(&inference, &given, NULL);
    tn_inference_deinit(&inference);
    tn_arena_destroy(arena);
    tn_graph_destroy(copy);
    tn_graph_destroy(graph);
    return status;
}

static void test_each_failing_allocation_is_an_error_without_leak(void **state) {
    graph_test *own = *state;
    int64_t live = own->allocator.live;
    for (uint64_t n = 1;; n++) {
        own->allocator.allocations = 0;
        own->allocator.fail_at = n;
        tn_status status = whole_life(own->runtime);
        own->allocator.fail_at = 0;
        assert_int_equal(own->allocator.live, live);
        if (status == TN_OK) {
            assert_true(n > 10);
            break;
        }
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_only_what_a_value_needs_is_computed),
        GRAPH_TEST(test_a_value_input_is_needed_and_copied),
        GRAPH_TEST(test_a_view_shares_the_value),
        GRAPH_TEST(test_a_view_is_copied_when_a_node_is_computed_alone),
        GRAPH_TEST(test_what_only_its_shape_is_read_of_is_hidden),
        GRAPH_TEST(test_a_view_keeps_its_elements),
        GRAPH_TEST(test_a_value_without_reference_is_unsupported),
        GRAPH_TEST(test_a_host_node_sized_by_run_has_its_true_shape),
        GRAPH_TEST(test_nodes_after_an_output_sized_by_run_are_marked_and_inferred_later),
        GRAPH_TEST(test_a_value_that_a_step_computes_is_guessed_until_the_run_has_it),
        GRAPH_TEST(test_a_value_as_large_as_a_picture_is_refused),
        GRAPH_TEST(test_each_failing_allocation_is_an_error_without_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
