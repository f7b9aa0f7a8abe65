/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences, optionals and maps as inputs and outputs of networks, by the C interface: what comes
 * back, what a run allocates, wrong values, memory that is not there, damaged plans.
 */
#include "sequence_test.h"

#include "plan_repair.h"

#include <tenon/border.h>
#include <tenon/plugin/string.h>

/* A list with -x behind it, and the map twice. */
static void make_network(run_test *test) {
    tn_graph *graph = test->graph;
    tn_tensor_id list = TN_NO_TENSOR, map = TN_NO_TENSOR;
    assert_ok(tn_graph_add_kind_input(graph, "list", TN_KIND_SEQUENCE, TN_NONE, TN_F32, &list));
    assert_ok(tn_graph_add_kind_input(graph, "map", TN_KIND_MAP, TN_STRING, TN_F32, &map));
    const tn_tensor_id x = input_of(graph, "x", TN_F32, 1, (const int64_t[]){3});
    const tn_tensor_id negative = run_unary(graph, "Negate", "negative", x);
    run_output(graph, list_node(graph, "SequenceInsert", NULL, 0, 2, TENSORS(list, negative)),
               "longer");
    run_output(graph, list_node(graph, "MapTwice", NULL, 0, 1, TENSORS(map)), "maps");
    run_output(graph, list, "same");
}

static tn_status load(const run_test *test, uint32_t flags, uint32_t engine_flags,
                      tn_engine **out_engine) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING | flags};
    const tn_engine_options engine_options = {.size = sizeof(engine_options),
                                              .flags = engine_flags};
    tn_plan *plan = NULL;
    uint64_t bytes = 0;
    TN_TRY(tn_build(test->graph, &options, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    const tn_status status =
        tn_engine_load_bytes(test->runtime, data, bytes, &engine_options, out_engine);
    tn_plan_destroy(plan);
    return status;
}

static const float numbers[] = {5, 6, 7, 8};

/* "bb" and "a", in one block. */
typedef struct two_texts {
    tn_string elements[2];
    char heap[3];
} two_texts;
static const two_texts texts = {{{0, 2}, {2, 1}}, "bba"};
enum { TEXTS_BYTES = 2 * sizeof(tn_string) + 3 };

static tn_status give(tn_context *context, int64_t items) {
    const int64_t two = 2;
    TN_TRY(tn_context_clear_items(context, 0));
    for (int64_t i = 0; i < items; i++)
        TN_TRY(tn_context_append_item(context, 0, TN_F32, 1, &i, numbers,
                                      (uint64_t)i * sizeof(float)));
    TN_TRY(tn_context_clear_items(context, 1));
    TN_TRY(tn_context_append_item(context, 1, TN_STRING, 1, &two, &texts, TEXTS_BYTES));
    return tn_context_append_item(context, 1, TN_F32, 1, &two, numbers, 2 * sizeof(float));
}

static tn_status expect(bool is_right) {
    return is_right ? TN_OK : TN_ERROR_INTERNAL;
}

static tn_status check_maps(tn_context *context) {
    const tn_tensor *items[6];
    uint64_t length = 0, bytes = 0;
    TN_TRY(tn_context_output_length(context, 1, &length));
    TN_TRY(expect(length == 6));
    for (uint64_t i = 0; i < length; i++)
        TN_TRY(tn_context_output_item(context, 1, i, &items[i]));
    TN_TRY(expect(items[0] == items[2] && items[1] == items[3]));
    const char *text = tn_string_at(items[2], 1, &bytes);
    TN_TRY(expect(bytes == 1 && text[0] == 'a' && ((const float *)items[3]->data)[1] == 6));
    text = tn_string_at(items[4], 0, &bytes);
    return expect(bytes == 4 && memcmp(text, "last", 4) == 0 && items[5]->shape[0] == 1);
}

static tn_status run_once(tn_context *context, int64_t items) {
    _Alignas(64) static const float x[] = {1, 2, 3};
    const tn_tensor *item = NULL;
    uint64_t length = 0, same = 0;
    TN_TRY(tn_context_bind_input(context, 2, x, sizeof(x)));
    TN_TRY(tn_context_run(context));
    TN_TRY(tn_context_output_length(context, 0, &length));
    TN_TRY(tn_context_output_length(context, 2, &same));
    TN_TRY(expect(length == (uint64_t)items + 1 && same == (uint64_t)items));
    TN_TRY(tn_context_output_item(context, 0, length - 1, &item));
    TN_TRY(expect(item->rank == 1 && ((const float *)item->data)[2] == -3));
    if (items > 2) {
        TN_TRY(tn_context_output_item(context, 2, 2, &item));
        TN_TRY(expect(item->shape[0] == 2 && ((const float *)item->data)[1] == 6));
    }
    return check_maps(context);
}

static tn_status build_and_run(const run_test *test, uint32_t flags, uint32_t engine_flags) {
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    tn_status status = load(test, flags, engine_flags, &engine);
    if (status == TN_OK) status = tn_context_create(engine, &context);
    for (int64_t items = 0; items < 4 && status == TN_OK; items++) {
        status = give(context, items);
        if (status == TN_OK) status = run_once(context, items);
        if (status == TN_OK) status = run_once(context, items); /* the value stays */
    }
    if (context) tn_context_destroy(context);
    tn_engine_release(engine);
    return status;
}

/* --- tests --- */

static void test_values_of_every_kind_come_and_go(void **state) {
    make_network(*state);
    assert_ok(build_and_run(*state, 0, 0));
    assert_ok(build_and_run(*state, TN_BUILD_REFERENCE, 0));
    assert_ok(build_and_run(*state, 0, TN_ENGINE_CHECKED));
}

static void test_ports_say_their_kinds(void **state) {
    tn_engine *engine = NULL;
    make_network(*state);
    assert_ok(load(*state, 0, 0, &engine));
    assert_int_equal(tn_engine_input(engine, 0)->kind, TN_KIND_SEQUENCE);
    assert_int_equal(tn_engine_input(engine, 1)->kind, TN_KIND_MAP);
    assert_int_equal(tn_engine_input(engine, 1)->key_type, TN_STRING);
    assert_int_equal(tn_engine_input(engine, 2)->kind, TN_KIND_DENSE);
    assert_int_equal(tn_engine_output(engine, 0)->kind, TN_KIND_SEQUENCE);
    assert_int_equal(tn_engine_output(engine, 1)->kind, TN_KIND_MAPS);
    assert_int_equal(tn_engine_output(engine, 1)->key_type, TN_STRING);
    assert_int_equal(tn_engine_output(engine, 1)->type, TN_F32);
    tn_engine_release(engine);
}

static void test_runs_of_equal_sizes_allocate_nothing(void **state) {
    run_test *test = *state;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    make_network(test);
    assert_ok(load(test, 0, 0, &engine));
    assert_ok(tn_context_create(engine, &context));
    assert_ok(give(context, 3));
    for (int i = 0; i < 3; i++)
        assert_ok(run_once(context, 3));
    const uint64_t before = test->allocator.allocations;
    for (int i = 0; i < 3; i++)
        assert_ok(run_once(context, 3));
    assert_int_equal(test->allocator.allocations - before, 0);
    tn_context_destroy(context);
    tn_engine_release(engine);
}

static void refuse_items(tn_context *context) {
    const int64_t two = 2, three = 3, none = -1;
    static const two_texts equal = {{{0, 1}, {1, 1}}, "bba"}, outside = {{{0, 2}, {2, 2}}, "bba"};
    assert_int_equal(tn_context_append_item(context, 0, TN_I64, 1, &two, numbers, 16),
                     TN_ERROR_TYPE);
    assert_error("it is of type i64: expected f32", "item 3 of input 'list'");
    assert_int_equal(tn_context_append_item(context, 0, TN_F32, 1, &two, numbers, 12),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_append_item(context, 0, TN_F32, 1, &none, numbers, 8),
                     TN_ERROR_SHAPE);
    assert_int_equal(tn_context_append_item(context, 0, TN_F32, 1, NULL, numbers, 8),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_append_item(context, 1, TN_STRING, 1, &two, &texts, TEXTS_BYTES),
                     TN_ERROR_RANGE); /* it has both */
    assert_ok(tn_context_clear_items(context, 1));
    assert_int_equal(tn_context_append_item(context, 1, TN_STRING, 1, &two, &equal, TEXTS_BYTES),
                     TN_ERROR_ARGUMENT);
    assert_error("the key 'b' twice", "item 0 of input 'map'");
    assert_int_equal(tn_context_append_item(context, 1, TN_STRING, 1, &two, &outside, TEXTS_BYTES),
                     TN_ERROR_RANGE);
    assert_int_equal(tn_context_append_item(context, 1, TN_STRING, 0, NULL, &texts, 19),
                     TN_ERROR_SHAPE);
    assert_ok(tn_context_append_item(context, 1, TN_STRING, 1, &two, &texts, TEXTS_BYTES));
    assert_int_equal(tn_context_run(context), TN_ERROR_RANGE); /* keys alone */
    assert_error("has no values", "");
    assert_int_equal(tn_context_append_item(context, 1, TN_F32, 1, &three, numbers, 12),
                     TN_ERROR_SHAPE);
    assert_error("2 keys and 3 values", "item 1 of input 'map'");
    assert_ok(tn_context_append_item(context, 1, TN_F32, 1, &two, numbers, 8));
}

static void test_wrong_values_are_refused_and_change_nothing(void **state) {
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    const tn_tensor *item = NULL;
    uint64_t length = 0;
    const int64_t one = 1;
    make_network(*state);
    assert_ok(load(*state, 0, 0, &engine));
    assert_ok(tn_context_create(engine, &context));
    assert_int_equal(tn_context_append_item(context, 0, TN_F32, 1, &one, numbers, 4),
                     TN_ERROR_STATE);
    assert_int_equal(tn_context_run(context), TN_ERROR_STATE);
    assert_int_equal(tn_context_output_length(context, 0, &length), TN_ERROR_STATE);
    assert_int_equal(tn_context_clear_items(context, 2), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_clear_items(context, 3), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_bind_input(context, 0, numbers, 4), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_set_shape(context, 1, 1, &one), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_bind_output(context, 1, (void *)(uintptr_t)numbers, 4),
                     TN_ERROR_ARGUMENT);
    assert_ok(give(context, 3));
    refuse_items(context);
    assert_ok(run_once(context, 3));
    assert_int_equal(tn_context_output_item(context, 0, 4, &item), TN_ERROR_RANGE);
    tn_context_destroy(context);
    tn_engine_release(engine);
}

static void test_kinds_that_do_not_fit_are_refused(void **state) {
    run_test *test = *state;
    tn_tensor_id id = TN_NO_TENSOR;
    tn_engine *engine = NULL;
    assert_int_equal(tn_graph_add_kind_input(test->graph, "a", 0, TN_NONE, TN_F32, &id),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_graph_add_kind_input(test->graph, "a", 5, TN_NONE, TN_F32, &id),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_graph_add_kind_input(test->graph, "a", TN_KIND_MAP, TN_F32, TN_F32, &id),
                     TN_ERROR_TYPE);
    assert_int_equal(
        tn_graph_add_kind_input(test->graph, "a", TN_KIND_SEQUENCE, TN_I64, TN_F32, &id),
        TN_ERROR_TYPE);
    assert_ok(tn_graph_add_kind_input(test->graph, "a", TN_KIND_MAP, TN_I64, TN_F32, &id));
    run_output(test->graph, list_node(test->graph, "MapTwice", NULL, 0, 1, TENSORS(id)), "maps");
    assert_int_equal(load(test, 0, 0, &engine), TN_ERROR_TYPE);
    assert_error("has keys of type i64; string is allowed", "MapTwice");
    renew_graph(test);
    assert_ok(tn_graph_add_kind_input(test->graph, "a", TN_KIND_OPTIONAL, TN_NONE, TN_F32, &id));
    run_output(test->graph, run_unary(test->graph, "Negate", "negative", id), "y");
    assert_int_equal(load(test, 0, 0, &engine), TN_ERROR_TYPE);
    assert_error("is an optional", "negative");
}

static void test_each_allocation_may_fail(void **state) {
    run_test *test = *state;
    for (uint64_t step = 1;; step++) {
        renew_graph(test);
        make_network(test);
        test->allocator.fail_at = test->allocator.allocations + step;
        const tn_status status = build_and_run(test, 0, 0);
        const bool is_over = test->allocator.allocations < test->allocator.fail_at;
        test->allocator.fail_at = 0;
        if (is_over) {
            assert_int_equal(status, TN_OK);
            assert_true(step > 100);
            return;
        }
        if (status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY);
    }
}

static void test_damaged_plans_are_refused_or_run(void **state) {
    run_test *test = *state;
    const tn_builder_options options = {.size = sizeof(options), .threads = 1};
    tn_plan *plan = NULL;
    uint64_t bytes = 0, seed = 12, loaded = 0;
    make_network(test);
    assert_ok(tn_build(test->graph, &options, &plan));
    const unsigned char *data = tn_plan_bytes(plan, &bytes);
    unsigned char *damaged = malloc(bytes);
    assert_non_null(damaged);
    for (int i = 0; i < 400; i++) {
        tn_engine *engine = NULL;
        tn_context *context = NULL;
        memcpy(damaged, data, bytes);
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        damaged[64 + (seed >> 33) % (bytes - 64)] ^= (unsigned char)(1u << (seed >> 30 & 7));
        plan_repair(damaged, bytes);
        if (tn_engine_load_bytes(test->runtime, damaged, bytes, NULL, &engine) != TN_OK) continue;
        loaded++;
        if (tn_engine_input_count(engine) == 3 && tn_engine_output_count(engine) == 3 &&
            tn_context_create(engine, &context) == TN_OK) {
            if (give(context, 3) == TN_OK) (void)run_once(context, 3);
            tn_context_destroy(context);
        }
        tn_engine_release(engine);
    }
    assert_true(loaded > 0);
    free(damaged);
    tn_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SEQUENCE_TEST(test_values_of_every_kind_come_and_go),
        SEQUENCE_TEST(test_ports_say_their_kinds),
        SEQUENCE_TEST(test_runs_of_equal_sizes_allocate_nothing),
        SEQUENCE_TEST(test_wrong_values_are_refused_and_change_nothing),
        SEQUENCE_TEST(test_kinds_that_do_not_fit_are_refused),
        SEQUENCE_TEST(test_each_allocation_may_fail),
        SEQUENCE_TEST(test_damaged_plans_are_refused_or_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
