/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of sequences share: a runtime with both libraries, and nodes in one line. */
#ifndef TN_TESTS_SEQUENCES_SEQUENCE_TEST_H
#define TN_TESTS_SEQUENCES_SEQUENCE_TEST_H

#include "misuse.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "run_test.h"

#include "graph/body.h"

static inline int set_up(void **state) {
    return run_test_setup_with(state, SEQUENCES_LIBRARY, misuse_entry);
}
#define SEQUENCE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, run_test_teardown)

static inline void renew_graph(run_test *test) {
    tn_graph_destroy(test->graph);
    test->graph = NULL;
    assert_int_equal(tn_graph_create(test->runtime, "net", &test->graph), TN_OK);
}

/* --- graphs --- */

/* A node of the library's with one integer field, or without (null). */
static inline tn_status add_list_node(tn_graph *graph, const char *op, const char *name,
                                      const char *field, int64_t value, uint32_t input_count,
                                      const tn_tensor_id *inputs, tn_tensor_id *out_id) {
    const tn_attribute attribute = {
        .size = sizeof(attribute), .type = TN_FIELD_I64, .name = field, .i = value};
    const tn_attribute *const attributes[] = {&attribute};
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "Test",
                                      .version = 1,
                                      .op = op,
                                      .name = name,
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .output_count = 1,
                                      .attribute_count = field ? 1 : 0,
                                      .attributes = attributes};
    return tn_graph_add_node(graph, &node, out_id);
}

static inline tn_tensor_id list_node(tn_graph *graph, const char *op, const char *field,
                                     int64_t value, uint32_t input_count,
                                     const tn_tensor_id *inputs) {
    tn_tensor_id id = TN_NO_TENSOR;
    if (add_list_node(graph, op, op, field, value, input_count, inputs, &id) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    return id;
}

static inline tn_tensor_id number(tn_graph *graph, const char *name, int64_t value) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(
        tn_graph_add_constant(graph, name, TN_I64, 0, NULL, &value, sizeof(value), &id), TN_OK);
    return id;
}

static inline tn_tensor_id input_of(tn_graph *graph, const char *name, tn_type type, uint32_t rank,
                                    const int64_t *extents) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_input(graph, name, type, rank, extents, NULL, &id), TN_OK);
    return id;
}

static inline void assert_ok(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

#endif
