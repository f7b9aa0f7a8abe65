/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged and hostile ONNX files, and memory that runs out: an error each, no crash, no leak. */
#include "onnx_test.h"

#include "importers/onnx/onnx.pb-c.h"
#include "base/wire.h"

/* Parses; a graph that comes out is inferred with small shapes. Leaves nothing behind. */
static tn_status parse_and_infer(graph_test *test, const void *data, size_t bytes) {
    tn_graph *graph;
    tn_status status = tn_graph_parse_onnx(test->runtime, data, bytes, NULL, &graph);
    if (status != TN_OK) return status;
    status = infer_parsed(graph);
    tn_graph_destroy(graph);
    return status;
}

static void test_a_file_cut_off_anywhere_is_an_error(void **state) {
    graph_test *test = *state;
    onnx_part model = mixed_model();
    assert_int_equal(parse_and_infer(test, model.data, model.bytes), TN_OK);
    int64_t live = test->allocator.live;
    size_t refused = 0;
    for (size_t bytes = 0; bytes < model.bytes; bytes++) {
        unsigned char *cut = malloc(bytes + 1); /* so that a sanitizer sees its end */
        assert_non_null(cut);
        memcpy(cut, model.data, bytes);
        refused += parse_and_infer(test, cut, bytes) != TN_OK;
        free(cut);
        assert_int_equal(test->allocator.live, live);
    }
    /* all but a cut between two of the model's own fields */
    assert_true(refused >= model.bytes - 4);
    onnx_part_free(&model);
}

static void test_damage_has_its_offset(void **state) {
    graph_test *test = *state;
    onnx_part model = mixed_model();
    tn_graph *graph;
    model.data[0] = 0xff; /* of the first tag */
    assert_int_equal(tn_graph_parse_onnx(test->runtime, model.data, model.bytes, NULL, &graph),
                     TN_ERROR_FORMAT);
    assert_true(tn_last_error()->offset < 16);
    onnx_part_free(&model);
}

static void test_flipped_bits_do_no_harm(void **state) {
    graph_test *test = *state;
    onnx_part model = mixed_model();
    int64_t live = test->allocator.live;
    size_t refused = 0;
    for (size_t i = 0; i < model.bytes * 8; i++) {
        model.data[i / 8] ^= (unsigned char)(1u << (i % 8));
        refused += parse_and_infer(test, model.data, model.bytes) != TN_OK;
        assert_int_equal(test->allocator.live, live);
        model.data[i / 8] ^= (unsigned char)(1u << (i % 8));
    }
    assert_true(refused > model.bytes);
    assert_int_equal(parse_and_infer(test, model.data, model.bytes), TN_OK);
    onnx_part_free(&model);
}

static void test_each_failing_allocation_is_an_error_without_leak(void **state) {
    graph_test *test = *state;
    onnx_part model = mixed_model();
    int64_t live = test->allocator.live;
    for (uint64_t n = 1;; n++) {
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        tn_status status = parse_and_infer(test, model.data, model.bytes);
        test->allocator.fail_at = 0;
        assert_int_equal(test->allocator.live, live);
        if (status == TN_OK) {
            assert_true(n > 50);
            break;
        }
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
    onnx_part_free(&model);
}

static void test_deep_nesting_is_refused(void **state) {
    graph_test *test = *state;
    onnx_part graph = onnx_graph("leaf");
    for (int i = 0; i < 10000; i++) {
        onnx_part outer = {0}, node = {0}, attribute = {0};
        onnx_part_move(&attribute, 6, &graph);
        onnx_part_move(&node, ONNX_NODE_ATTRIBUTE, &attribute);
        onnx_part_move(&outer, ONNX_GRAPH_NODE, &node);
        graph = outer;
    }
    onnx_part model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_FORMAT);
    assert_error("nested deeper than 64", NULL);
}

static tn_status check(const onnx_part *part) {
    return tn_wire_check(&tenon__onnx__model_proto__descriptor, part->data, part->bytes);
}

static tn_status check_raw(const void *data, size_t bytes) {
    return tn_wire_check(&tenon__onnx__model_proto__descriptor, data, bytes);
}

static void test_impossible_tags_and_lengths_are_refused(void **state) {
    (void)state;
    assert_int_equal(check_raw("\x08", 1), TN_ERROR_FORMAT);         /* no number */
    assert_int_equal(check_raw("\x08\x80", 2), TN_ERROR_FORMAT);     /* half a number */
    assert_int_equal(check_raw("\x3a\x05\x08", 3), TN_ERROR_FORMAT); /* longer than the rest */
    assert_int_equal(check_raw("\x3b\x3c", 2), TN_ERROR_FORMAT);     /* a group */
    assert_int_equal(check_raw("\x06", 1), TN_ERROR_FORMAT);         /* wire type 6 */
    assert_int_equal(check_raw("\x02\x00", 2), TN_ERROR_FORMAT);     /* field 0 */
    assert_int_equal(check_raw("\x0d\x01\x02", 3), TN_ERROR_FORMAT); /* half of 32 bits */
    assert_int_equal(check_raw("\x09\x01\x02", 3), TN_ERROR_FORMAT); /* half of 64 bits */
    assert_int_equal(check_raw("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12),
                     TN_ERROR_FORMAT); /* eleven bytes of number */
    assert_int_equal(check_raw("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11),
                     TN_ERROR_FORMAT);                       /* a length of 2^64 - 1 */
    assert_int_equal(check_raw("\xfa\x3f\x02xy", 5), TN_OK); /* an unknown field */
    assert_int_equal(check_raw("", 0), TN_OK);
}

static void test_a_single_message_given_twice_is_refused(void **state) {
    (void)state;
    onnx_part model = {0}, graph = onnx_graph("g");
    onnx_part_message(&model, ONNX_MODEL_GRAPH, &graph);
    assert_int_equal(check(&model), TN_OK);
    onnx_part_move(&model, ONNX_MODEL_GRAPH, &graph);
    assert_int_equal(check(&model), TN_ERROR_FORMAT);
    assert_error("'graph' of ModelProto is there twice", NULL);
    onnx_part_free(&model);
}

static void test_a_text_with_a_nul_is_refused(void **state) {
    (void)state;
    onnx_part model = {0};
    onnx_part_bytes(&model, 2, "a\0b", 3);
    assert_int_equal(check(&model), TN_ERROR_FORMAT);
    assert_error("NUL", NULL);
    onnx_part_free(&model);
}

static void test_small_files_that_unpack_to_much_are_refused(void **state) {
    (void)state;
    onnx_part graph = {0}, model = {0};
    for (int i = 0; i < 2000000; i++)
        onnx_part_raw(&graph, "\x0a\x00", 2); /* an empty node */
    onnx_part_move(&model, ONNX_MODEL_GRAPH, &graph);
    assert_int_equal(check(&model), TN_ERROR_MEMORY);
    onnx_part_free(&model);
}

static void test_a_field_of_another_wire_type_is_refused(void **state) {
    graph_test *test = *state;
    onnx_part model = {0};
    onnx_part_number(&model, ONNX_MODEL_GRAPH, 7);
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_FORMAT);
    onnx_part_text(&model, 1, "no number");
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_a_file_cut_off_anywhere_is_an_error),
        GRAPH_TEST(test_damage_has_its_offset),
        GRAPH_TEST(test_flipped_bits_do_no_harm),
        GRAPH_TEST(test_each_failing_allocation_is_an_error_without_leak),
        GRAPH_TEST(test_deep_nesting_is_refused),
        GRAPH_TEST(test_impossible_tags_and_lengths_are_refused),
        GRAPH_TEST(test_a_single_message_given_twice_is_refused),
        GRAPH_TEST(test_a_text_with_a_nul_is_refused),
        GRAPH_TEST(test_small_files_that_unpack_to_much_are_refused),
        GRAPH_TEST(test_a_field_of_another_wire_type_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
