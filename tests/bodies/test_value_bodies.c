/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that are no numbers in bodies, by the C interface: a loop that carries and stacks strings,
 * what its runs allocate and memory that is not there; optionals of sequences at the border of a
 * network and through a branch. What networks compute is tests/cli/check_value_bodies.py's.
 */
#include "run_test.h"

#include <tenon/border.h>
#include <tenon/plugin/string.h>

static tn_tensor_id input_of(tn_graph *graph, const char *name, tn_type type, uint32_t rank,
                             int64_t extent) {
    tn_tensor_id id = TN_NO_TENSOR;
    run_must(tn_graph_add_input(graph, name, type, rank, &extent, NULL, &id));
    return id;
}

typedef struct node_parts {
    const char *domain, *op;
    uint32_t version, input_count, output_count;
    const tn_tensor_id *inputs;
    uint64_t attribute_count;
    const tn_attribute *const *attributes;
} node_parts;

static void add_node(tn_graph *graph, node_parts parts, tn_tensor_id *out_ids) {
    const tn_node_description node = {.size = sizeof(node),
                                      .version = parts.version,
                                      .domain = parts.domain,
                                      .op = parts.op,
                                      .name = parts.op,
                                      .input_count = parts.input_count,
                                      .inputs = parts.inputs,
                                      .output_count = parts.output_count,
                                      .attribute_count = parts.attribute_count,
                                      .attributes = parts.attributes};
    run_must(tn_graph_add_node(graph, &node, out_ids));
}

static tn_status load(run_test *test, uint32_t flags) {
    uint64_t bytes = 0;
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING | flags};
    TN_TRY(tn_build(test->graph, &options, &test->plan));
    const void *data = tn_plan_bytes(test->plan, &bytes);
    return tn_engine_load_bytes(test->runtime, data, bytes, NULL, &test->engine);
}

/* --- strings --- */

/* Words, and bytes that they point into. */
typedef struct two_texts {
    tn_string elements[2];
    char heap[3];
} two_texts;
static const two_texts words = {{{1, 2}, {0, 1}}, "abc"}; /* "bc" and "a" */
enum { WORDS_BYTES = 2 * sizeof(tn_string) + 3 };
static const struct {
    tn_string element;
    char heap[1];
} mark = {{0, 1}, "!"};

/* v -> v!, which is stacked as well. */
static void make_loop(run_test *test) {
    tn_graph *body = NULL;
    tn_tensor_id tail, longer, made[2];
    const tn_body_graph *given = NULL;
    const tn_tensor_id n = input_of(test->graph, "n", TN_I64, 0, 0);
    const tn_tensor_id x = input_of(test->graph, "x", TN_STRING, 1, 2);
    run_must(tn_graph_create(test->runtime, "iteration", &body));
    input_of(body, "i", TN_I64, 0, 0);
    const tn_tensor_id go = input_of(body, "go", TN_BOOL, 0, 0);
    const tn_tensor_id v = input_of(body, "v", TN_STRING, UINT32_MAX, 0);
    run_must(tn_graph_add_constant(body, "tail", TN_STRING, 0, NULL, &mark, sizeof(tn_string) + 1,
                                   &tail));
    const tn_tensor_id parts[] = {v, tail};
    add_node(body, (node_parts){"", "StringConcat", 20, 2, 1, parts, 0, NULL}, &longer);
    run_output(body, go, "go_out");
    run_output(body, longer, "v_out");
    run_output(body, longer, "stacked");
    run_must(tn_graph_add_body(test->graph, body, 0, &given));
    const tn_attribute attribute = {
        .size = sizeof(attribute), .type = TN_FIELD_GRAPH, .name = "body", .graph = given};
    const tn_attribute *const attributes[] = {&attribute};
    const tn_tensor_id inputs[] = {n, TN_NO_TENSOR, x};
    add_node(test->graph, (node_parts){"", "Loop", 13, 3, 2, inputs, 1, attributes}, made);
    run_output(test->graph, made[0], "y");
    run_output(test->graph, made[1], "all");
}

static bool is_word(const tn_tensor *tensor, uint64_t index, const char *begin, int64_t marks) {
    uint64_t bytes = 0;
    const char *text = tn_string_at(tensor, index, &bytes);
    const size_t length = strlen(begin);
    bool is_same = bytes == length + (uint64_t)marks && memcmp(text, begin, length) == 0;
    for (uint64_t i = length; is_same && i < bytes; i++)
        is_same = text[i] == '!';
    return is_same;
}

static tn_status run_words(tn_context *context, int64_t count) {
    const tn_tensor *y = NULL, *all = NULL;
    TN_TRY(tn_context_bind_input(context, 0, &count, sizeof(count)));
    TN_TRY(tn_context_bind_input(context, 1, &words, WORDS_BYTES));
    TN_TRY(tn_context_run(context));
    TN_TRY(tn_context_output(context, 0, &y));
    TN_TRY(tn_context_output(context, 1, &all));
    bool is_right = all->rank == 2 && all->shape[0] == count && all->shape[1] == 2 &&
                    is_word(y, 0, "bc", count) && is_word(y, 1, "a", count);
    for (int64_t k = 0; is_right && k < count; k++)
        is_right = is_word(all, (uint64_t)(2 * k), "bc", k + 1) &&
                   is_word(all, (uint64_t)(2 * k + 1), "a", k + 1);
    return is_right ? TN_OK : TN_ERROR_INTERNAL;
}

static void test_words_in_a_loop_allocate_nothing_where_sizes_repeat(void **state) {
    run_test *test = *state;
    const int64_t counts[] = {5, 2, 0, 9, 1};
    make_loop(test);
    run_must(load(test, 0));
    run_must(tn_context_create(test->engine, &test->context));
    for (int i = 0; i < 10; i++)
        run_must(run_words(test->context, counts[i % 5]));
    const uint64_t before = test->allocator.allocations;
    for (int i = 0; i < 10; i++)
        run_must(run_words(test->context, counts[i % 5]));
    assert_int_equal(test->allocator.allocations - before, 0);
}

static void test_words_in_a_loop_by_references(void **state) {
    run_test *test = *state;
    make_loop(test);
    run_must(load(test, TN_BUILD_REFERENCE));
    run_must(tn_context_create(test->engine, &test->context));
    for (int64_t count = 4; count >= 0; count--)
        run_must(run_words(test->context, count));
}

static tn_status live_once(run_test *test) {
    tn_context *context = NULL;
    TN_TRY(tn_context_create(test->engine, &context));
    tn_status status = run_words(context, 3);
    if (status == TN_OK) status = run_words(context, 4);
    tn_context_destroy(context);
    return status;
}

static void check_each_allocation(run_test *test, uint32_t flags) {
    tn_status status = TN_ERROR_MEMORY;
    make_loop(test);
    run_must(load(test, flags));
    for (uint64_t step = 1; status != TN_OK; step++) {
        test->allocator.fail_at = test->allocator.allocations + step;
        status = live_once(test);
        const bool is_over = test->allocator.allocations < test->allocator.fail_at;
        test->allocator.fail_at = 0;
        if (!is_over && status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY);
        if (is_over) assert_int_equal(status, TN_OK);
        assert_true(step < 5000);
    }
}

static void test_each_allocation_of_words_in_a_loop_may_fail(void **state) {
    check_each_allocation(*state, 0);
}

static void test_each_allocation_of_words_by_references_may_fail(void **state) {
    check_each_allocation(*state, TN_BUILD_REFERENCE);
}

/* --- optionals of sequences --- */

static void check_optional(run_test *test, bool has_element, uint64_t length) {
    const tn_tensor *has = NULL;
    bool found = !has_element;
    uint64_t found_length = 0;
    run_must(tn_context_run(test->context));
    run_must(tn_context_output(test->context, 0, &has));
    assert_true(*(const bool *)has->data == has_element);
    run_must(tn_context_output_has_element(test->context, 1, &found));
    run_must(tn_context_output_length(test->context, 1, &found_length));
    assert_true(found == has_element && found_length == length);
}

static void test_an_empty_sequence_is_not_none(void **state) {
    run_test *test = *state;
    tn_tensor_id optional, has;
    const float item[2] = {1, 2};
    const int64_t two = 2;
    bool found = false;
    run_must(tn_graph_add_kind_input(test->graph, "o", TN_KIND_OPTIONAL_SEQUENCE, TN_NONE, TN_F32,
                                     &optional));
    input_of(test->graph, "x", TN_F32, 1, 2);
    add_node(test->graph, (node_parts){"Tenon", "OptionalHasSequence", 1, 1, 1, &optional, 0, NULL},
             &has);
    run_output(test->graph, has, "has");
    run_output(test->graph, optional, "same");
    run_must(load(test, 0));
    run_must(tn_context_create(test->engine, &test->context));
    assert_int_equal(tn_context_set_element(test->context, 0), TN_ERROR_STATE);
    assert_int_equal(tn_context_set_element(test->context, 1), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_output_has_element(test->context, 0, &found), TN_ERROR_STATE);
    for (int round = 0; round < 2; round++) {
        run_must(tn_context_clear_items(test->context, 0));
        check_optional(test, false, 0);
        run_must(tn_context_set_element(test->context, 0));
        check_optional(test, true, 0);
        run_must(tn_context_append_item(test->context, 0, TN_F32, 1, &two, item, sizeof(item)));
        check_optional(test, true, 1);
    }
    assert_int_equal(tn_context_output_has_element(test->context, 0, &found), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_output_has_element(test->context, 1, NULL), TN_ERROR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_words_in_a_loop_allocate_nothing_where_sizes_repeat),
        RUN_TEST(test_words_in_a_loop_by_references),
        RUN_TEST(test_each_allocation_of_words_in_a_loop_may_fail),
        RUN_TEST(test_each_allocation_of_words_by_references_may_fail),
        RUN_TEST(test_an_empty_sequence_is_not_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
