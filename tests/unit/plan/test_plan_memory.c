/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of writing, reading and inspecting fails in turn: an error, and nothing stays. */
#include "base/file.h"
#include "plan_test.h"
#include <tenon/engine.h>

#include <unistd.h>

static void test_writer_survives_each_failing_allocation(void **state) {
    plan_test *test = *state;
    failing_allocator *allocator = &test->allocator;
    tn_arena *arena = NULL;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    tn_graph *graph = plan_graph(test->runtime);
    int64_t live = allocator->live;
    uint64_t count = 0;
    for (tn_status status = TN_ERROR_MEMORY; status != TN_OK; count++) {
        tn_plan *plan = NULL;
        allocator->fail_at = allocator->allocations + count + 1;
        status = plan_try_write(graph, arena, &plan);
        assert_int_equal(status, plan ? TN_OK : TN_ERROR_MEMORY);
        tn_plan_destroy(plan);
        assert_int_equal(allocator->live, live);
    }
    allocator->fail_at = 0;
    assert_true(count > 5);
    tn_graph_destroy(graph);
    tn_arena_destroy(arena);
}

static void read_with_failures(tn_runtime *runtime, failing_allocator *allocator,
                               plan_bytes bytes) {
    int64_t live = allocator->live;
    uint64_t count = 0;
    for (tn_status status = TN_ERROR_MEMORY; status != TN_OK; count++) {
        tn_plan_contents contents = {0};
        allocator->fail_at = allocator->allocations + count + 1;
        status = plan_read(runtime, bytes.data, bytes.bytes, &contents);
        assert_int_equal(status, contents.graph ? TN_OK : TN_ERROR_MEMORY);
        tn_plan_contents_deinit(&contents);
        assert_int_equal(allocator->live, live);
        assert_int_equal(plan_opaque_alive, 0);
    }
    allocator->fail_at = 0;
    assert_true(count > 50);
}

static void test_reader_survives_each_failing_allocation(void **state) {
    plan_test *test = *state;
    plan_bytes bytes = plan_of_everything(test->runtime);
    read_with_failures(test->runtime, &test->allocator, bytes);
    free(bytes.data);
}

static void test_upgrade_survives_each_failing_allocation(void **state) {
    plan_test *test = *state;
    plan_bytes bytes = plan_of_small_graph(test->runtime, 0.5f);
    tn_runtime *newer = plan_runtime(&test->allocator.functions, plan_entry_2);
    read_with_failures(newer, &test->allocator, bytes);
    tn_runtime_release(newer);
    free(bytes.data);
}

static void test_inspection_survives_each_failing_allocation(void **state) {
    plan_test *test = *state;
    failing_allocator *allocator = &test->allocator;
    const char *path = "test-plan-memory.plan";
    tn_graph *graph = plan_graph(test->runtime);
    tn_plan *plan = plan_write(graph);
    assert_int_equal(tn_plan_save(plan, path), TN_OK);
    int64_t live = allocator->live;
    uint64_t count = 0;
    for (tn_status status = TN_ERROR_MEMORY; status != TN_OK; count++) {
        char *json = NULL;
        allocator->fail_at = allocator->allocations + count + 1;
        status = tn_plan_inspect(test->runtime, path, &json);
        assert_int_equal(status, json ? TN_OK : TN_ERROR_MEMORY);
        tn_text_free(test->runtime, json);
        assert_int_equal(allocator->live, live);
    }
    allocator->fail_at = 0;
    assert_true(count > 50);
    unlink(path);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
}

/* Explains the plan at `path` with each allocation failing; answers the document in the end. */
static char *explain_with_failures(tn_runtime *runtime, failing_allocator *allocator,
                                   const char *path) {
    int64_t live = allocator->live;
    uint64_t count = 0;
    char *json = NULL;
    for (tn_status status = TN_ERROR_MEMORY; status != TN_OK; count++) {
        allocator->fail_at = allocator->allocations + count + 1;
        status = tn_plan_explain(runtime, path, NULL, &json);
        assert_int_equal(status, json ? TN_OK : TN_ERROR_MEMORY);
        if (!json) assert_int_equal(allocator->live, live);
    }
    allocator->fail_at = 0;
    assert_true(count > 20);
    return json;
}

static void name_a_missing_file(Tenon__Plan__Plan *plan) {
    plan->libraries[0]->name = "absent";
    plan->libraries[0]->file_name = "libabsent.so";
    plan->libraries[0]->hash = 0x1234;
}

static void test_explanation_survives_each_failing_allocation(void **state) {
    plan_test *test = *state;
    const char *path = "test-plan-explain.plan";
    plan_bytes bytes = plan_of_small_graph(test->runtime, 0.5f);
    assert_int_equal(tn_file_write(tn_allocator_default(), path, bytes.data, bytes.bytes), TN_OK);
    char *json = explain_with_failures(test->runtime, &test->allocator, path);
    assert_non_null(strstr(json, "\"state\": \"same\""));
    assert_non_null(strstr(json, "\"found_in\": \"plan_layers\""));
    assert_non_null(strstr(json, "\"missing\": 0"));
    tn_text_free(test->runtime, json);

    bytes = plan_edit(bytes, name_a_missing_file);
    assert_int_equal(tn_file_write(tn_allocator_default(), path, bytes.data, bytes.bytes), TN_OK);
    tn_runtime *empty = plan_runtime(&test->allocator.functions, NULL);
    assert_int_equal(tn_runtime_add_search_path(empty, "no-such-folder"), TN_OK);
    assert_int_equal(tn_runtime_add_search_path(empty, "."), TN_OK);
    json = explain_with_failures(empty, &test->allocator, path);
    assert_non_null(strstr(json, "\"state\": \"missing\""));
    assert_non_null(strstr(json, "no-such-folder: there is no such folder"));
    assert_non_null(strstr(json, "--plugin PATH/libabsent.so"));
    assert_null(strstr(json, "\"missing\": 0"));
    tn_text_free(empty, json);
    tn_runtime_release(empty);
    free(bytes.data);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_writer_survives_each_failing_allocation),
        PLAN_TEST(test_reader_survives_each_failing_allocation),
        PLAN_TEST(test_upgrade_survives_each_failing_allocation),
        PLAN_TEST(test_inspection_survives_each_failing_allocation),
        PLAN_TEST(test_explanation_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
