/* SPDX-License-Identifier: Apache-2.0 */
/* UFF's text form: what it says is what the binary form says; slips in it are shown by line and
 * column; damage and memory that runs out are an error each. */
#include "uff_test.h"

#include "importers/uff/uff.pb-c.h"
#include "prototext_writer.h"

static tn_status parse_text(graph_test *test, const char *text, size_t bytes) {
    const onnx_part file = {.data = (unsigned char *)(uintptr_t)text, .bytes = bytes};
    return parse_uff_in(test, &file, NULL);
}

static char *mixed_text(size_t *out_bytes) {
    onnx_part file = uff_mixed_network();
    char *text =
        prototext_write(&tenon__uff__meta_graph__descriptor, file.data, file.bytes, out_bytes);
    onnx_part_free(&file);
    return text;
}

static void compare_tensors(const tn_graph *graph, const tn_graph *other) {
    assert_int_equal(graph->tensor_count, other->tensor_count);
    for (size_t i = 0; i < graph->tensor_count; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[i], *wanted = &other->tensors[i];
        assert_string_equal(tensor->name, wanted->name);
        assert_int_equal(tensor->type, wanted->type);
        assert_int_equal(tensor->is_constant, wanted->is_constant);
        assert_int_equal(tensor->bytes, wanted->bytes);
        if (wanted->is_constant && wanted->bytes > 0)
            assert_memory_equal(tensor->data, wanted->data, wanted->bytes);
    }
}

static void test_text_and_bytes_are_the_same_network(void **state) {
    graph_test *test = *state;
    onnx_part file = uff_mixed_network();
    size_t bytes = 0;
    char *text = mixed_text(&bytes);
    tn_graph *binary = NULL;
    assert_int_equal(import_uff(test->runtime, file.data, file.bytes, NULL, &binary), TN_OK);
    if (parse_text(test, text, bytes) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    assert_int_equal(test->graph->node_count, binary->node_count);
    compare_tensors(test->graph, binary);
    tn_graph_destroy(binary);
    free(text);
    onnx_part_free(&file);
}

#define NODE(operation, fields)                                                                    \
    "graphs { id: 'main' nodes { id: 'x' operation: 'Input' fields { key: 'dtype' value { dtype: " \
    "DT_FLOAT32 } } fields { key: 'shape' value { i_list { val: [2, 3] } } } }\n"                  \
    "nodes { id: 'y' inputs: 'x' operation: '" operation "' " fields " }\n"                        \
    "nodes { id: 'm' inputs: 'y' operation: 'MarkOutput' } }\n"
#define HEAD "# a network\n\n version: 1, descriptor_core_version : 1\n"
#define RELU NODE("Activation", "fields { key: 'func' value { s: 're' 'lu' } }")

static void test_written_by_hand_it_is_read(void **state) {
    graph_test *test = *state;
    static const char *const texts[] = {HEAD RELU, RELU HEAD, "extra_fields { }" HEAD RELU};
    for (size_t i = 0; i < TN_COUNT(texts); i++) {
        if (parse_text(test, texts[i], strlen(texts[i])) != TN_OK)
            fail_msg("%zu: %s: %s", i, tn_last_error()->where, tn_last_error()->message);
        assert_int_equal(tn_graph_output_count(test->graph), 1);
    }
}

static void test_slips_are_shown_by_line_and_column(void **state) {
    static const struct {
        const char *text, *message;
    } rows[] = {
        {HEAD "graphs {\n  nodes { idd: 'x' } }", "line 5, column 11: Node has no field 'idd'; the "
                                                  "nearest is 'id'"},
        {HEAD "version: 1", "line 4, column 1: field 'version' is given twice"},
        {HEAD "graphs { nodes { inputs: 3 } }", "line 4, column 18: field 'inputs' is a text in "
                                                "quotes; '3' is not"},
        {HEAD "graphs { nodes { id: 'a\\000b' } }", "line 4, column 18: field 'id' is a text, and "
                                                    "contains a NUL"},
        {HEAD "graphs { nodes { fields { value { dtype: DT_FLOAT23 } } } }",
         "column 35: field 'dtype' has no choice 'DT_FLOAT23'; the nearest is DT_FLOAT"},
        {HEAD "graphs { nodes { fields { value { i: 1.5 } } } }", "'1.5' is not"},
        {HEAD "graphs {", "the text ends where a field's name or '}' is expected"},
        {HEAD "graphs { id: 'main", "a text in quotes does not end in its line"},
    };
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        assert_int_equal(parse_text(*state, rows[i].text, strlen(rows[i].text)), TN_ERROR_FORMAT);
        assert_error(rows[i].message, NULL);
    }
}

/* The converter's text for people has no weights. */
static void test_a_text_without_weights_says_so(void **state) {
    static const char text[] =
        HEAD "graphs { nodes { id: 'w' operation: 'Const'\n"
             " fields { key: 'dtype' value { dtype: DT_FLOAT32 } }\n"
             " fields { key: 'shape' value { i_list { val: 20 val: 10 } } }\n"
             " fields { key: 'values' value { ref: 'weights_w' } } }\n"
             "nodes { id: 'm' inputs: 'w' operation: 'MarkOutput' } }\n"
             "referenced_data { key: 'weights_w' value { blob: '(...800 bytes skipped...)' } }\n";
    assert_int_equal(parse_text(*state, text, strlen(text)), TN_ERROR_FORMAT);
    assert_error("'(...800 bytes skipped...)' for the values of [20, 10]", "w");
    assert_error("without weights", NULL);
}

#define LEFT_OUT_CONST(type, shape, text)                                                          \
    HEAD "graphs { nodes { id: 'w' operation: 'Const'\n"                                           \
         " fields { key: 'dtype' value { dtype: " type " } }\n"                                    \
         " fields { key: 'shape' value { i_list { " shape " } } }\n"                               \
         " fields { key: 'values' value { ref: 'weights_w' } } }\n"                                \
         "nodes { id: 'x' operation: 'Input'\n"                                                    \
         " fields { key: 'shape' value { i_list { val: 1 } } } }\n"                                \
         "nodes { id: 'sum' operation: 'Binary' inputs: 'x' inputs: 'w'\n"                         \
         " fields { key: 'func' value { s: 'add' } } }\n"                                          \
         "nodes { id: 'm' inputs: 'sum' operation: 'MarkOutput' } }\n"                             \
         "referenced_data { key: 'weights_w' value { blob: '" text "' } }\n"

static tn_status parse_to_look(graph_test *test, const char *text, bool without_weights) {
    static const char *const options[] = {"without_weights=true", NULL};
    tn_graph_destroy(test->graph);
    test->graph = NULL;
    return import_uff(test->runtime, text, strlen(text), without_weights ? options : NULL,
                      &test->graph);
}

static void test_a_text_without_weights_can_be_looked_at(void **state) {
    static const char whole[] = LEFT_OUT_CONST("DT_FLOAT32", "val: 20 val: 10",
                                               "(...800 bytes "
                                               "skipped...)");
    static const char huge[] =
        LEFT_OUT_CONST("DT_FLOAT32", "val: 2000000 val: 1000", "(...8000000000 bytes skipped...)");
    static const char short_one[] = LEFT_OUT_CONST("DT_FLOAT32", "val: 20 val: 10", "12345678");
    graph_test *test = *state;
    assert_int_equal(parse_to_look(test, whole, false), TN_ERROR_FORMAT);
    assert_int_equal(parse_to_look(test, huge, true), TN_ERROR_MEMORY);
    assert_error("2 GiB", "w");
    assert_int_equal(parse_to_look(test, short_one, true), TN_ERROR_FORMAT);
    assert_error("takes 800 bytes", "w");
    if (parse_to_look(test, whole, true) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    size_t constants = 0;
    for (size_t t = 0; t < test->graph->tensor_count; t++) {
        const tn_graph_tensor *tensor = &test->graph->tensors[t];
        if (!tensor->is_constant || tensor->bytes != 800) continue;
        constants++;
        for (size_t i = 0; i < 200; i++)
            assert_true(((const float *)tensor->data)[i] == 0);
    }
    assert_int_equal(constants, 1);
}

static void test_a_text_cut_off_anywhere_is_an_error(void **state) {
    graph_test *test = *state;
    size_t bytes = 0;
    char *text = mixed_text(&bytes);
    const int64_t live = test->allocator.live;
    for (size_t cut = 0; cut + 3 < bytes; cut += 7) { /* the last brace has a newline after it */
        char *part = malloc(cut + 1);                 /* so that a sanitizer sees its end */
        tn_graph *graph = NULL;
        assert_non_null(part);
        memcpy(part, text, cut);
        assert_int_not_equal(import_uff(test->runtime, part, cut, NULL, &graph), TN_OK);
        free(part);
        assert_int_equal(test->allocator.live, live);
    }
    free(text);
}

static void test_each_failing_allocation_is_an_error_without_leak(void **state) {
    graph_test *test = *state;
    size_t bytes = 0;
    char *text = mixed_text(&bytes);
    const int64_t live = test->allocator.live;
    for (uint64_t n = 1;; n++) {
        tn_graph *graph = NULL;
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        const tn_status status = import_uff(test->runtime, text, bytes, NULL, &graph);
        test->allocator.fail_at = 0;
        tn_graph_destroy(graph);
        assert_int_equal(test->allocator.live, live);
        if (status == TN_OK) {
            assert_true(n > 50);
            break;
        }
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_text_and_bytes_are_the_same_network),
        GRAPH_TEST(test_written_by_hand_it_is_read),
        GRAPH_TEST(test_slips_are_shown_by_line_and_column),
        GRAPH_TEST(test_a_text_without_weights_says_so),
        GRAPH_TEST(test_a_text_without_weights_can_be_looked_at),
        GRAPH_TEST(test_a_text_cut_off_anywhere_is_an_error),
        GRAPH_TEST(test_each_failing_allocation_is_an_error_without_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
