/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of strings share: a graph with the library of operators on strings, blocks of
 * strings, and a graph taken to an engine. */
#ifndef TN_TESTS_STRINGS_STRING_TEST_H
#define TN_TESTS_STRINGS_STRING_TEST_H

#include "run_test.h"

static inline int set_up(void **state) {
    return run_test_setup_with(state, STRINGS_LIBRARY, NULL);
}
#define STRING_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, run_test_teardown)

/* --- blocks: elements, then the heap --- */

typedef struct block {
    _Alignas(64) char data[4096];
    uint64_t bytes;
} block;

#define TEXTS(...) ((const char *const[]){__VA_ARGS__})

static inline block block_of(uint32_t count, const char *const *texts) {
    block made = {.bytes = count * sizeof(tn_string)};
    for (uint32_t i = 0; i < count; i++) {
        const tn_string element = {made.bytes - count * sizeof(tn_string), strlen(texts[i])};
        memcpy(made.data + i * sizeof(element), &element, sizeof(element));
        memcpy(made.data + made.bytes, texts[i], element.bytes);
        made.bytes += element.bytes;
    }
    return made;
}

static inline tn_tensor_id constant_of(tn_graph *graph, uint32_t count, const char *const *texts) {
    const block made = block_of(count, texts);
    const int64_t extent = count;
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(
        tn_graph_add_constant(graph, "", TN_STRING, 1, &extent, made.data, made.bytes, &id), TN_OK);
    return id;
}

static inline tn_tensor_id input_of(tn_graph *graph, uint32_t rank, int64_t extent) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_input(graph, "x", TN_STRING, rank, &extent, NULL, &id), TN_OK);
    return id;
}

static inline tn_tensor_id node_of(tn_graph *graph, const char *domain, const char *op,
                                   uint32_t count, const tn_tensor_id *inputs) {
    const char *const keys[] = {"one", "two"};
    const tn_attribute given = {
        .size = sizeof(given), .type = TN_FIELD_STRINGS, .name = "keys", .count = 2, .items = keys};
    const tn_attribute *const attributes[] = {&given};
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = domain,
                                      .version = domain[0] ? 1 : 20,
                                      .op = op,
                                      .input_count = count,
                                      .inputs = inputs,
                                      .output_count = 1,
                                      .attribute_count = strcmp(op, "LookUp") == 0,
                                      .attributes = attributes};
    tn_tensor_id id = TN_NO_TENSOR;
    if (tn_graph_add_node(graph, &node, &id) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    return id;
}

static inline void assert_string(const tn_tensor *tensor, uint64_t index, const char *expected) {
    uint64_t bytes;
    const char *text = tn_string_at(tensor, index, &bytes);
    if (bytes != strlen(expected) || memcmp(text, expected, bytes) != 0)
        fail_msg("string %d is \"%.*s\", not \"%s\"", (int)index, (int)bytes, text, expected);
}

static inline tn_status try_to_load(run_test *test, uint32_t build_flags, uint32_t engine_flags) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = build_flags};
    const tn_engine_options loading = {.size = sizeof(loading), .flags = engine_flags};
    uint64_t bytes;
    TN_TRY(tn_build(test->graph, &options, &test->plan));
    const void *data = tn_plan_bytes(test->plan, &bytes);
    return tn_engine_load_bytes(test->runtime, data, bytes, &loading, &test->engine);
}

static inline tn_status load(run_test *test, uint32_t build_flags, uint32_t engine_flags) {
    const tn_status status = try_to_load(test, build_flags, engine_flags);
    if (status != TN_OK && status != TN_ERROR_MEMORY)
        print_error("%s: %s\n", tn_last_error()->where, tn_last_error()->message);
    return status;
}

static inline tn_status run_once(tn_context *context, const block *x) {
    TN_TRY(tn_context_bind_input(context, 0, x->data, x->bytes));
    return tn_context_run(context);
}

#endif
