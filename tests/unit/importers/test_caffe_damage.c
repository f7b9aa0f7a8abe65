/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged and hostile Caffe files, and memory that runs out: an error each, no crash, no leak. */
#include "graph_test.h"

#include "caffe_test.h"
#include "import_test.h"

/* Parses; a graph that comes out is inferred with small shapes. Leaves nothing behind. */
static tn_status parse_and_infer(graph_test *test, const void *text, size_t text_bytes,
                                 const void *model, size_t model_bytes) {
    tn_graph *graph;
    tn_status status =
        import_caffe(test->runtime, text, text_bytes, model, model_bytes, NULL, &graph);
    if (status != TN_OK) return status;
    status = infer_parsed(graph);
    tn_graph_destroy(graph);
    return status;
}

static void must_pass(graph_test *test, const void *text, size_t text_bytes,
                      const onnx_part *model) {
    if (parse_and_infer(test, text, text_bytes, model->data, model->bytes) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

/* A copy that ends where it ends, so that a sanitizer sees it. */
static unsigned char *copy_of(const void *data, size_t bytes) {
    unsigned char *copy = malloc(bytes + (bytes == 0));
    assert_non_null(copy);
    if (bytes > 0) memcpy(copy, data, bytes);
    return copy;
}

static void test_a_model_cut_off_anywhere_is_an_error(void **state) {
    graph_test *test = *state;
    for (int is_old = 0; is_old < 2; is_old++) {
        onnx_part model = caffe_model(is_old == 1);
        must_pass(test, caffe_network, strlen(caffe_network), &model);
        int64_t live = test->allocator.live;
        for (size_t bytes = 0; bytes < model.bytes; bytes++) {
            unsigned char *cut = copy_of(model.data, bytes);
            assert_int_not_equal(
                parse_and_infer(test, caffe_network, strlen(caffe_network), cut, bytes), TN_OK);
            free(cut);
            assert_int_equal(test->allocator.live, live);
        }
        onnx_part_free(&model);
    }
}

/* A field whose wire type is none that its type can have, at the very end of the file. */
static void test_a_wrong_wire_type_is_an_error(void **state) {
    static const unsigned char files[][9] = {{0x09, 1, 2, 3, 4, 5, 6, 7, 8}, /* name: 8 bytes */
                                             {0x0d, 1, 2, 3, 4},             /* name: 4 bytes */
                                             {0x08, 1},                      /* name: a number */
                                             {0x29, 1, 2, 3, 4, 5, 6, 7, 8}, /* force_backward */
                                             {0x2d, 1, 2, 3, 4}};
    static const size_t bytes[] = {9, 5, 2, 9, 5};
    graph_test *test = *state;
    const int64_t live = test->allocator.live;
    for (size_t i = 0; i < TN_COUNT(files); i++) {
        unsigned char *copy = copy_of(files[i], bytes[i]);
        assert_int_equal(parse_and_infer(test, copy, bytes[i], NULL, 0), TN_ERROR_FORMAT);
        assert_error("not of its type", NULL);
        free(copy);
        assert_int_equal(test->allocator.live, live);
    }
}

static void test_a_text_cut_off_anywhere_does_no_harm(void **state) {
    graph_test *test = *state;
    onnx_part model = caffe_model(false);
    int64_t live = test->allocator.live;
    size_t length = strlen(caffe_network), refused = 0;
    for (size_t bytes = 0; bytes < length; bytes++) {
        unsigned char *cut = copy_of(caffe_network, bytes);
        refused += parse_and_infer(test, cut, bytes, model.data, model.bytes) != TN_OK;
        free(cut);
        assert_int_equal(test->allocator.live, live);
    }
    /* all but cuts between layers, after the first that computes something */
    assert_true(refused > length * 9 / 10);
    onnx_part_free(&model);
}

static void test_flipped_bits_of_a_text_do_no_harm(void **state) {
    graph_test *test = *state;
    onnx_part model = caffe_model(false);
    size_t length = strlen(caffe_network), refused = 0;
    unsigned char *text = copy_of(caffe_network, length);
    int64_t live = test->allocator.live;
    for (size_t i = 0; i < length * 8; i++) {
        text[i / 8] ^= (unsigned char)(1u << (i % 8));
        refused += parse_and_infer(test, text, length, model.data, model.bytes) != TN_OK;
        assert_int_equal(test->allocator.live, live);
        text[i / 8] ^= (unsigned char)(1u << (i % 8));
    }
    assert_true(refused > length * 4);
    must_pass(test, text, length, &model);
    free(text);
    onnx_part_free(&model);
}

static void test_flipped_bits_of_a_model_do_no_harm(void **state) {
    graph_test *test = *state;
    onnx_part model = caffe_model(true);
    int64_t live = test->allocator.live;
    size_t refused = 0;
    for (size_t i = 0; i < model.bytes * 8; i++) {
        model.data[i / 8] ^= (unsigned char)(1u << (i % 8));
        refused += parse_and_infer(test, caffe_network, strlen(caffe_network), model.data,
                                   model.bytes) != TN_OK;
        assert_int_equal(test->allocator.live, live);
        model.data[i / 8] ^= (unsigned char)(1u << (i % 8));
    }
    assert_true(refused > 500); /* most bits are the weights' own */
    must_pass(test, caffe_network, strlen(caffe_network), &model);
    onnx_part_free(&model);
}

static void test_each_failing_allocation_is_an_error_without_leak(void **state) {
    graph_test *test = *state;
    for (int is_old = 0; is_old < 2; is_old++) {
        onnx_part model = caffe_model(is_old == 1);
        int64_t live = test->allocator.live;
        for (uint64_t n = 1;; n++) {
            test->allocator.allocations = 0;
            test->allocator.fail_at = n;
            tn_status status = parse_and_infer(test, caffe_network, strlen(caffe_network),
                                               model.data, model.bytes);
            test->allocator.fail_at = 0;
            assert_int_equal(test->allocator.live, live);
            if (status == TN_OK) {
                assert_true(n > 50);
                break;
            }
            if (status != TN_ERROR_MEMORY)
                fail_msg("allocation %d: %s", (int)n, tn_last_error()->message);
        }
        onnx_part_free(&model);
    }
}

static void test_weights_in_the_text_fail_as_cleanly(void **state) {
    graph_test *test = *state;
    size_t bytes = 0;
    char *text = caffe_network_with_weights(&bytes);
    int64_t live = test->allocator.live;
    for (uint64_t n = 1;; n++) {
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        tn_status status = parse_and_infer(test, text, bytes, NULL, 0);
        test->allocator.fail_at = 0;
        assert_int_equal(test->allocator.live, live);
        if (status == TN_OK) {
            assert_true(n > 50);
            break;
        }
        if (status != TN_ERROR_MEMORY)
            fail_msg("allocation %d: %s", (int)n, tn_last_error()->message);
    }
    for (size_t cut = 0; cut < bytes; cut += 5) {
        unsigned char *part = copy_of(text, cut);
        (void)parse_and_infer(test, part, cut, NULL, 0);
        free(part);
        assert_int_equal(test->allocator.live, live);
    }
    free(text);
}

static void test_deep_nesting_is_refused(void **state) {
    graph_test *test = *state;
    static char text[40000];
    for (size_t i = 0; i + 3 < sizeof(text); i += 2)
        memcpy(text + i, "a{", 2);
    assert_int_equal(parse_and_infer(test, text, sizeof(text), NULL, 0), TN_ERROR_FORMAT);
    assert_error("nested deeper", NULL);
}

static void test_huge_numbers_are_refused(void **state) {
    static const char *const texts[] = {"kernel_size: 99999999999999999999",
                                        "kernel_size: 2147483648",
                                        "kernel_size: 0xfffffffff",
                                        "num_output: 4294967296",
                                        "pad: -1",
                                        "stride: 0",
                                        "kernel_size: 1e400",
                                        "dilation: 9223372036854775807"};
    graph_test *test = *state;
    for (size_t i = 0; i < TN_COUNT(texts); i++) {
        char text[512];
        snprintf(
            text, sizeof(text),
            "input: \"x\" input_dim: 1 input_dim: 1 input_dim: 9 input_dim: 9 layer { name: \"c\" "
            "type: \"Convolution\" bottom: \"x\" top: \"y\" convolution_param { %s } }",
            texts[i]);
        tn_status status = parse_and_infer(test, text, strlen(text), NULL, 0);
        assert_true(status == TN_ERROR_FORMAT || status == TN_ERROR_RANGE);
    }
}

/* A kernel as large as numbers go, with weights that cannot be there. */
static void test_a_blob_that_claims_too_much_is_refused(void **state) {
    graph_test *test = *state;
    static const char text[] =
        "input: \"x\" input_dim: 1 input_dim: 1 input_dim: 9 input_dim: 9 layer { name: \"i\" "
        "type: "
        "\"InnerProduct\" bottom: \"x\" top: \"y\" inner_product_param { num_output: 2 } }";
    onnx_part model = {0}, layer = {0}, blob = {0}, shape = {0};
    for (int i = 0; i < 4; i++)
        onnx_part_number(&shape, 1, INT64_MAX);
    onnx_part_move(&blob, CAFFE_BLOB_SHAPE, &shape);
    onnx_part_text(&layer, CAFFE_LAYER_NAME, "i");
    onnx_part_move(&layer, CAFFE_LAYER_BLOB, &blob);
    onnx_part_move(&model, CAFFE_MODEL_LAYER, &layer);
    assert_int_not_equal(parse_and_infer(test, text, strlen(text), model.data, model.bytes), TN_OK);
    assert_error(NULL, "layer 'i'");
    onnx_part_free(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_a_model_cut_off_anywhere_is_an_error),
        GRAPH_TEST(test_a_wrong_wire_type_is_an_error),
        GRAPH_TEST(test_a_text_cut_off_anywhere_does_no_harm),
        GRAPH_TEST(test_flipped_bits_of_a_text_do_no_harm),
        GRAPH_TEST(test_flipped_bits_of_a_model_do_no_harm),
        GRAPH_TEST(test_each_failing_allocation_is_an_error_without_leak),
        GRAPH_TEST(test_weights_in_the_text_fail_as_cleanly),
        GRAPH_TEST(test_deep_nesting_is_refused),
        GRAPH_TEST(test_huge_numbers_are_refused),
        GRAPH_TEST(test_a_blob_that_claims_too_much_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
