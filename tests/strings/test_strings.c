/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks of strings: constants and inputs as blocks, heaps of a run, shared heaps, outputs,
 * threads, memory that is not there, and plans that are damaged behind their checksums. The
 * services that kernels call, and tables that are refused, are test_string_services.c.
 */
#include "string_test.h"

#include "plan_repair.h"

#include <pthread.h>

/* joined = x + ends, picked = joined[2, 0, 2], lengths of picked, numbers of x, x itself. */
enum { JOINED, PICKED, LENGTHS, NUMBERS, SAME, WORDS, OUTPUTS };

static void make_network(run_test *test) {
    tn_graph *graph = test->graph;
    const int64_t three = 3, indices[] = {2, 0, 2};
    tn_tensor_id which;
    const tn_tensor_id x = input_of(graph, 1, 3);
    const tn_tensor_id words = constant_of(graph, 3, TEXTS("!", "", "\xc3\xa9t\xc3\xa9"));
    assert_int_equal(
        tn_graph_add_constant(graph, "which", TN_I64, 1, &three, indices, sizeof(indices), &which),
        TN_OK);
    const tn_tensor_id joined = node_of(graph, "Test", "Join", 2, TENSORS(x, words));
    const tn_tensor_id row = node_of(graph, "Test", "InOneRow", 1, &joined);
    const tn_tensor_id picked = node_of(graph, "Test", "Select", 2, TENSORS(row, which));
    run_output(graph, joined, "joined");
    run_output(graph, picked, "picked");
    run_output(graph, node_of(graph, "Test", "Length", 1, &picked), "lengths");
    run_output(graph, node_of(graph, "Test", "LookUp", 1, &x), "numbers");
    run_output(graph, x, "same");
    run_output(graph, words, "words");
}

static void check_outputs(tn_context *context, const char *const *x) {
    const tn_tensor *all[OUTPUTS];
    const char *const ends[] = {"!", "", "\xc3\xa9t\xc3\xa9"};
    char joined[3][600];
    for (uint32_t i = 0; i < OUTPUTS; i++)
        assert_int_equal(tn_context_output(context, i, &all[i]), TN_OK);
    for (uint32_t i = 0; i < 3; i++) {
        snprintf(joined[i], sizeof(joined[i]), "%s%s", x[i], ends[i]);
        assert_string(all[JOINED], i, joined[i]);
        assert_string(all[SAME], i, x[i]);
        assert_string(all[WORDS], i, ends[i]);
        const int64_t number = strcmp(x[i], "one") == 0 ? 0 : strcmp(x[i], "two") == 0 ? 1 : -1;
        assert_int_equal(((const int64_t *)all[NUMBERS]->data)[i], number);
    }
    for (uint32_t i = 0; i < 3; i++) {
        const char *from = joined[i == 1 ? 0 : 2];
        assert_string(all[PICKED], i, from);
        assert_int_equal(((const int64_t *)all[LENGTHS]->data)[i], strlen(from));
    }
}

/* Three runs: the second with longer strings, the third as the first. */
static void check_runs(run_test *test) {
    static char lengthy[501];
    memset(lengthy, 'l', 500);
    const char *const *const texts[] = {TEXTS("one", "two", ""), TEXTS(lengthy, "", "two"),
                                        TEXTS("one", "two", "")};
    tn_context *context;
    assert_int_equal(tn_context_create(test->engine, &context), TN_OK);
    for (uint32_t i = 0; i < 3; i++) {
        const block x = block_of(3, texts[i]);
        if (run_once(context, &x) != TN_OK)
            fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
        check_outputs(context, texts[i]);
    }
    tn_context_destroy(context);
}

/* --- tests --- */

static void test_strings_run_by_kernels(void **state) {
    run_test *test = *state;
    make_network(test);
    assert_int_equal(load(test, 0, 0), TN_OK);
    assert_true(strstr(tn_engine_report(test->engine), "\"concat\"") != NULL);
    assert_true(strstr(tn_engine_report(test->engine), "\"sizes\"") == NULL);
    check_runs(test);
}

static void test_strings_run_by_references(void **state) {
    run_test *test = *state;
    make_network(test);
    assert_int_equal(load(test, TN_BUILD_REFERENCE, 0), TN_OK);
    check_runs(test);
}

static void test_strings_run_guarded(void **state) {
    run_test *test = *state;
    make_network(test);
    assert_int_equal(load(test, TN_BUILD_NO_TIMING, TN_ENGINE_CHECKED), TN_OK);
    check_runs(test);
}

static void test_runs_of_known_sizes_allocate_nothing(void **state) {
    run_test *test = *state;
    tn_context *context;
    make_network(test);
    assert_int_equal(load(test, TN_BUILD_NO_TIMING, 0), TN_OK);
    assert_int_equal(tn_context_create(test->engine, &context), TN_OK);
    const block x = block_of(3, TEXTS("one", "two", "three"));
    for (int i = 0; i < 2; i++)
        assert_int_equal(run_once(context, &x), TN_OK);
    const uint64_t before = test->allocator.allocations;
    for (int i = 0; i < 5; i++)
        assert_int_equal(run_once(context, &x), TN_OK);
    assert_int_equal(test->allocator.allocations - before, 0);
    tn_context_destroy(context);
}

static void *run_often(void *user) {
    tn_context *context;
    const char *const texts[] = {"one", "three", "two"};
    const block x = block_of(3, texts);
    assert_int_equal(tn_context_create(user, &context), TN_OK);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(run_once(context, &x), TN_OK);
        check_outputs(context, texts);
    }
    tn_context_destroy(context);
    return NULL;
}

static void test_contexts_run_side_by_side(void **state) {
    run_test *test = *state;
    pthread_t threads[2];
    make_network(test);
    assert_int_equal(load(test, TN_BUILD_NO_TIMING, 0), TN_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, test->engine), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* Outputs in the caller's memory have the elements; the heap is the context's. */
static void test_outputs_are_bound(void **state) {
    run_test *test = *state;
    _Alignas(64) tn_string own[3];
    const tn_tensor *picked;
    tn_context *context;
    make_network(test);
    assert_int_equal(load(test, TN_BUILD_NO_TIMING, 0), TN_OK);
    assert_int_equal(tn_context_create(test->engine, &context), TN_OK);
    const block x = block_of(3, TEXTS("one", "two", "three"));
    assert_int_equal(tn_context_bind_output(context, PICKED, own, sizeof(own)), TN_OK);
    assert_int_equal(run_once(context, &x), TN_OK);
    assert_int_equal(tn_context_output(context, PICKED, &picked), TN_OK);
    assert_ptr_equal(picked->data, own);
    assert_string(picked, 1, "one!");
    tn_context_destroy(context);
}

static void test_a_run_decides_how_many_strings(void **state) {
    run_test *test = *state;
    const tn_tensor *words, *twice;
    tn_context *context;
    const tn_tensor_id x = input_of(test->graph, 0, 0);
    const tn_tensor_id split = node_of(test->graph, "Test", "Split", 1, &x);
    run_output(test->graph, split, "words");
    run_output(test->graph, node_of(test->graph, "Test", "Join", 2, TENSORS(split, split)),
               "twice");
    assert_int_equal(load(test, TN_BUILD_NO_TIMING, 0), TN_OK);
    assert_int_equal(tn_context_create(test->engine, &context), TN_OK);
    for (int i = 0; i < 2; i++) {
        const block text = block_of(1, i ? TEXTS("a b") : TEXTS("to be  or not"));
        if (run_once(context, &text) != TN_OK)
            fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
        assert_int_equal(tn_context_output(context, 0, &words), TN_OK);
        assert_int_equal(tn_context_output(context, 1, &twice), TN_OK);
        assert_int_equal(words->shape[0], i ? 2 : 4);
        assert_string(words, 1, i ? "b" : "be");
        assert_string(twice, 0, i ? "aa" : "toto");
    }
    tn_context_destroy(context);
}

static void test_numbers_of_constant_strings_are_folded(void **state) {
    run_test *test = *state;
    tn_context *context;
    const tn_tensor *y;
    const int64_t extent = 2;
    tn_tensor_id x, sum;
    const tn_tensor_id words = constant_of(test->graph, 2, TEXTS("four", "three"));
    const tn_tensor_id both = node_of(test->graph, "Test", "Join", 2, TENSORS(words, words));
    assert_int_equal(tn_graph_add_input(test->graph, "n", TN_F32, 1, &extent, NULL, &x), TN_OK);
    sum = node_of(test->graph, "Test", "InOneRow", 1, &x);
    run_output(test->graph, sum, "n_out");
    run_output(test->graph, node_of(test->graph, "Test", "Length", 1, &both), "lengths");
    assert_int_equal(load(test, TN_BUILD_NO_TIMING, 0), TN_OK);
    assert_int_equal(tn_context_create(test->engine, &context), TN_OK);
    _Alignas(64) const float n[2] = {1, 2};
    assert_int_equal(tn_context_bind_input(context, 0, n, sizeof(n)), TN_OK);
    assert_int_equal(tn_context_run(context), TN_OK);
    assert_int_equal(tn_context_output(context, 1, &y), TN_OK);
    assert_int_equal(((const int64_t *)y->data)[0], 8);
    assert_int_equal(((const int64_t *)y->data)[1], 10);
    tn_context_destroy(context);
}

static void test_wrong_blocks_are_refused(void **state) {
    run_test *test = *state;
    tn_context *context;
    tn_tensor_id id;
    const int64_t extent = 3;
    block x = block_of(3, TEXTS("one", "two", "three"));
    make_network(test);
    assert_int_equal(load(test, TN_BUILD_NO_TIMING, 0), TN_OK);
    assert_int_equal(tn_context_create(test->engine, &context), TN_OK);
    x.bytes--;
    assert_int_equal(run_once(context, &x), TN_ERROR_RANGE);
    assert_error("string 2 is 5 bytes from 6 on; its heap has 10 bytes", "input 'x'");
    assert_int_equal(
        tn_graph_add_constant(test->graph, "wrong", TN_STRING, 1, &extent, x.data, x.bytes, &id),
        TN_ERROR_RANGE);
    assert_int_equal(
        tn_graph_add_constant(test->graph, "wrong", TN_STRING, 1, &extent, x.data, 47, &id),
        TN_ERROR_ARGUMENT);
    x.bytes = 47;
    assert_int_equal(run_once(context, &x), TN_ERROR_ARGUMENT);
    x = block_of(3, TEXTS("one", "two", "three"));
    const tn_string overflowing = {UINT64_MAX, 2};
    memcpy(x.data + 16, &overflowing, sizeof(overflowing));
    assert_int_equal(run_once(context, &x), TN_ERROR_RANGE);
    x = block_of(3, TEXTS("one", "two", "three"));
    assert_int_equal(run_once(context, &x), TN_OK);
    tn_context_destroy(context);
}

static tn_status build_and_run(run_test *test) {
    const block x = block_of(3, TEXTS("one", "two", "three"));
    tn_context *context;
    TN_TRY(load(test, TN_BUILD_NO_TIMING, 0));
    TN_TRY(tn_context_create(test->engine, &context));
    const tn_status status = run_once(context, &x);
    tn_context_destroy(context);
    return status;
}

static void test_each_allocation_may_fail(void **state) {
    run_test *test = *state;
    for (uint64_t step = 1;; step++) {
        tn_graph_destroy(test->graph);
        test->graph = NULL;
        assert_int_equal(tn_graph_create(test->runtime, "net", &test->graph), TN_OK);
        make_network(test);
        test->allocator.fail_at = test->allocator.allocations + step;
        const tn_status status = build_and_run(test);
        const bool is_over = test->allocator.allocations < test->allocator.fail_at;
        test->allocator.fail_at = 0;
        tn_engine_release(test->engine);
        tn_plan_destroy(test->plan);
        test->engine = NULL;
        test->plan = NULL;
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
    uint64_t bytes, seed = 11, ran = 0;
    const block x = block_of(3, TEXTS("one", "two", "three"));
    make_network(test);
    assert_int_equal(load(test, TN_BUILD_NO_TIMING, 0), TN_OK);
    const unsigned char *data = tn_plan_bytes(test->plan, &bytes);
    unsigned char *damaged = malloc(bytes);
    assert_non_null(damaged);
    for (int i = 0; i < 600; i++) {
        tn_engine *engine = NULL;
        tn_context *context = NULL;
        memcpy(damaged, data, bytes);
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        damaged[64 + (seed >> 33) % (bytes - 64)] ^= (unsigned char)(1u << (seed >> 30 & 7));
        plan_repair(damaged, bytes);
        if (tn_engine_load_bytes(test->runtime, damaged, bytes, NULL, &engine) == TN_OK &&
            tn_context_create(engine, &context) == TN_OK)
            ran += run_once(context, &x) == TN_OK;
        if (context) tn_context_destroy(context);
        tn_engine_release(engine);
    }
    assert_in_range(ran, 1, 599);
    free(damaged);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STRING_TEST(test_strings_run_by_kernels),
        STRING_TEST(test_strings_run_by_references),
        STRING_TEST(test_strings_run_guarded),
        STRING_TEST(test_runs_of_known_sizes_allocate_nothing),
        STRING_TEST(test_contexts_run_side_by_side),
        STRING_TEST(test_outputs_are_bound),
        STRING_TEST(test_a_run_decides_how_many_strings),
        STRING_TEST(test_numbers_of_constant_strings_are_folded),
        STRING_TEST(test_wrong_blocks_are_refused),
        STRING_TEST(test_each_allocation_may_fail),
        STRING_TEST(test_damaged_plans_are_refused_or_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
