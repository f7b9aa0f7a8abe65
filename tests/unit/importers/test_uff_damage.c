/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged and hostile UFF files, and memory that runs out: an error each, no crash, no leak. */
#include "uff_test.h"

/* Parses; a graph that comes out is inferred with small shapes. Leaves nothing behind. */
static tn_status parse_and_infer(graph_test *test, const void *data, size_t bytes) {
    tn_graph *graph;
    tn_status status = import_uff(test->runtime, data, bytes, NULL, &graph);
    if (status != TN_OK) return status;
    status = infer_parsed(graph);
    tn_graph_destroy(graph);
    return status;
}

static void test_the_network_is_sound(void **state) {
    onnx_part file = uff_mixed_network();
    if (parse_and_infer(*state, file.data, file.bytes) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    onnx_part_free(&file);
}

static void test_a_file_cut_off_anywhere_is_an_error(void **state) {
    graph_test *test = *state;
    onnx_part file = uff_mixed_network();
    int64_t live = test->allocator.live;
    size_t refused = 0;
    for (size_t bytes = 0; bytes < file.bytes; bytes++) {
        unsigned char *cut = malloc(bytes + 1); /* so that a sanitizer sees its end */
        assert_non_null(cut);
        memcpy(cut, file.data, bytes);
        refused += parse_and_infer(test, cut, bytes) != TN_OK;
        free(cut);
        assert_int_equal(test->allocator.live, live);
    }
    assert_int_equal(refused, file.bytes); /* the last entry is needed, too */
    onnx_part_free(&file);
}

static void test_flipped_bits_do_no_harm(void **state) {
    graph_test *test = *state;
    onnx_part file = uff_mixed_network();
    int64_t live = test->allocator.live;
    size_t refused = 0;
    for (size_t i = 0; i < file.bytes * 8; i++) {
        file.data[i / 8] ^= (unsigned char)(1u << (i % 8));
        refused += parse_and_infer(test, file.data, file.bytes) != TN_OK;
        assert_int_equal(test->allocator.live, live);
        file.data[i / 8] ^= (unsigned char)(1u << (i % 8));
    }
    assert_true(refused > file.bytes);
    onnx_part_free(&file);
}

/* A slice from where the data says, times a constant of the type that has no name. */
static onnx_part open_slice_network(void) {
    static const int32_t ones[] = {1, 1};
    static const double factor = 2;
    uff_net net = {0};
    onnx_part node = uff_node("slice", "StridedSlice", "x,shape,shape,steps");
    uff_field_int(&node, "shrink_axis_mask", 1);
    uff_field_int(&node, "end_mask", 2);
    uff_add(&net, &node);
    node = uff_node("shape", "Shape", "small");
    uff_add(&net, &node);
    uff_const(&net, "steps", UFF_I32, "2", ones, sizeof(ones));
    uff_const(&net, "factor", 7, "", &factor, sizeof(factor));
    uff_add_function(&net, "y", "Binary", "slice,factor", "mul");
    uff_input(&net, "x", "-1,5,4");
    uff_input(&net, "small", "-1,3");
    uff_mark(&net, "y");
    return uff_file(&net);
}

static tn_status parse_alone(graph_test *test, const void *data, size_t bytes) {
    tn_graph *graph = NULL;
    tn_status status = import_uff(test->runtime, data, bytes, NULL, &graph);
    tn_graph_destroy(graph);
    return status;
}

static void fail_each_allocation(graph_test *test, onnx_part file,
                                 tn_status (*parse)(graph_test *, const void *, size_t)) {
    int64_t live = test->allocator.live;
    for (uint64_t n = 1;; n++) {
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        tn_status status = parse(test, file.data, file.bytes);
        test->allocator.fail_at = 0;
        assert_int_equal(test->allocator.live, live);
        if (status == TN_OK) {
            assert_true(n > 50);
            break;
        }
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
    onnx_part_free(&file);
}

static void test_each_failing_allocation_is_an_error_without_leak(void **state) {
    fail_each_allocation(*state, uff_mixed_network(), parse_and_infer);
    fail_each_allocation(*state, open_slice_network(), parse_alone);
}

/* A list joined to itself, again and again. */
static void test_lists_do_not_grow_without_bound(void **state) {
    static const int32_t number = 1;
    uff_net net = {0};
    char last[16] = "n", name[16], inputs[40];
    uff_const(&net, "n", UFF_I32, "1", &number, sizeof(number));
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "c%d", i);
        snprintf(inputs, sizeof(inputs), "%s,%s", last, last);
        onnx_part node = uff_node(name, "Concat", inputs);
        uff_field_int(&node, "axis", 0);
        uff_add(&net, &node);
        snprintf(last, sizeof(last), "%s", name);
    }
    uff_mark(&net, last);
    graph_test *test = *state;
    const tn_status status = parse_uff(test, &net, NULL);
    assert_int_equal(status, TN_OK);
    assert_true(test->allocator.allocations < 100000);
}

static void test_constants_are_not_permuted_without_bound(void **state) {
    static float values[256 * 1024];
    uff_net net = {0};
    char name[16], last[16] = "p";
    onnx_part node = uff_node("p", "Pool", "x");
    uff_field_text(&node, "func", "max");
    uff_field_ints(&node, "kernel", "1,1");
    uff_field_orders(&net, &node, "N+C");
    uff_add(&net, &node);
    uff_input(&net, "x", "4,512,512");
    uff_const(&net, "w", UFF_F32, "512,512,1", values, sizeof(values));
    for (int i = 0; i < 200; i++) {
        char inputs[40];
        snprintf(name, sizeof(name), "b%d", i);
        snprintf(inputs, sizeof(inputs), "%s,w", last);
        uff_add_function(&net, name, "Binary", inputs, "add");
        snprintf(last, sizeof(last), "%s", name);
    }
    uff_mark(&net, last);
    assert_int_equal(parse_uff(*state, &net, NULL), TN_ERROR_MEMORY);
    assert_error("too many orders", "node");
}

static void test_deep_nesting_is_refused(void **state) {
    graph_test *test = *state;
    onnx_part file = {0}, inner = {0};
    for (int i = 0; i < 1000; i++) { /* whatever the field: the traversal looks at known messages */
        onnx_part outer = {0};
        onnx_part_move(&outer, 4, &inner);
        inner = outer;
    }
    onnx_part_move(&file, 4, &inner);
    assert_int_not_equal(parse_uff_in(test, &file, NULL), TN_OK);
    onnx_part_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_the_network_is_sound),
        GRAPH_TEST(test_a_file_cut_off_anywhere_is_an_error),
        GRAPH_TEST(test_flipped_bits_do_no_harm),
        GRAPH_TEST(test_each_failing_allocation_is_an_error_without_leak),
        GRAPH_TEST(test_lists_do_not_grow_without_bound),
        GRAPH_TEST(test_constants_are_not_permuted_without_bound),
        GRAPH_TEST(test_deep_nesting_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
