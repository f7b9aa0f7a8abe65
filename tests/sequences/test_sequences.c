/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks with sequences and optionals, by the C interface: what they compute, by kernels and by
 * references, what a run allocates, threads, memory that is not there, and what is refused.
 */
#include "sequence_test.h"

#include "plan_repair.h"

#include <pthread.h>

/*
 * x [rows, 3] in pieces of two rows; -x behind the first piece; without the last piece. Of these:
 * item `position`, negated; how many; all in one; the item that an empty sequence's length says.
 */
static void make_network(run_test *test) {
    tn_graph *graph = test->graph;
    const tn_tensor_id x = input_of(graph, "x", TN_F32, 2, (const int64_t[]){-1, 3});
    const tn_tensor_id position = input_of(graph, "position", TN_I64, 0, NULL);
    const tn_tensor_id pieces =
        list_node(graph, "SplitToSequence", NULL, 0, 2, TENSORS(x, number(graph, "two", 2)));
    const tn_tensor_id negative = run_unary(graph, "Negate", "negative", x);
    const tn_tensor_id more = list_node(graph, "SequenceInsert", NULL, 0, 3,
                                        TENSORS(pieces, negative, number(graph, "one", 1)));
    const tn_tensor_id list = list_node(graph, "SequenceErase", NULL, 0, 1, TENSORS(more));
    const tn_tensor_id item = list_node(graph, "SequenceAt", NULL, 0, 2, TENSORS(list, position));
    const tn_tensor_id empty = list_node(graph, "SequenceEmpty", NULL, 0, 0, NULL);
    const tn_tensor_id none = list_node(graph, "SequenceLength", NULL, 0, 1, TENSORS(empty));
    const tn_tensor_id first = list_node(graph, "SequenceAt", NULL, 0, 2, TENSORS(list, none));
    run_output(graph, run_unary(graph, "Negate", "back", item), "item");
    run_output(graph, list_node(graph, "SequenceLength", NULL, 0, 1, TENSORS(list)), "count");
    run_output(graph, list_node(graph, "ConcatFromSequence", "axis", 0, 1, TENSORS(list)), "all");
    run_output(graph, first, "first");
}

static tn_status build(const run_test *test, uint32_t flags, tn_engine **out_engine) {
    const tn_profile_input profile = *RUN_PROFILE(
        "x", 2, ((const int64_t[]){1, 3}), ((const int64_t[]){4, 3}), ((const int64_t[]){9, 3}));
    const tn_profile_input *const profiles[] = {&profile};
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING | flags,
                                        .profile_input_count = 1,
                                        .profile_inputs = profiles};
    tn_plan *plan = NULL;
    uint64_t bytes = 0;
    TN_TRY(tn_build(test->graph, &options, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    const tn_status status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, out_engine);
    tn_plan_destroy(plan);
    return status;
}

static tn_status expect(bool is_right) {
    return is_right ? TN_OK : TN_ERROR_INTERNAL;
}

static float piece_element(int64_t item, int64_t element) {
    /* items: rows 0 and 1, all of -x, rows 2 and 3, ... */
    if (item == 1) return -(float)element;
    return (float)(element + (item > 1 ? (item - 1) * 6 : 0));
}

static tn_status check_all(const tn_tensor *all, int64_t rows, int64_t items) {
    const float *data = all->data;
    int64_t at = 0;
    for (int64_t item = 0; item < items; item++) {
        const int64_t begin = item > 1 ? (item - 1) * 2 : 0;
        const int64_t count = item == 1 ? rows : rows - begin < 2 ? rows - begin : 2;
        for (int64_t i = 0; i < count * 3; i++)
            TN_TRY(expect(data[at++] == piece_element(item, i)));
    }
    return expect(all->rank == 2 && all->shape[0] * 3 == at && all->shape[1] == 3);
}

static tn_status run_once(tn_context *context, int64_t rows, int64_t position) {
    _Alignas(64) float x[27];
    _Alignas(64) int64_t index[8] = {position};
    const tn_tensor *outputs[4];
    const int64_t items = (rows + 1) / 2; /* pieces, and one more, and one less */
    for (int i = 0; i < 27; i++)
        x[i] = (float)i;
    TN_TRY(tn_context_set_shape(context, 0, 2, (const int64_t[]){rows, 3}));
    TN_TRY(tn_context_bind_input(context, 0, x, (uint64_t)rows * 3 * sizeof(float)));
    TN_TRY(tn_context_bind_input(context, 1, index, sizeof(*index)));
    TN_TRY(tn_context_run(context));
    for (uint32_t i = 0; i < 4; i++)
        TN_TRY(tn_context_output(context, i, &outputs[i]));
    TN_TRY(expect(*(const int64_t *)outputs[1]->data == items));
    TN_TRY(expect(((const float *)outputs[0]->data)[2] ==
                  -piece_element(position < 0 ? position + items : position, 2)));
    TN_TRY(expect(((const float *)outputs[3]->data)[2] == 2 && outputs[3]->rank == 2));
    return check_all(outputs[2], rows, items);
}

static tn_status build_and_run(const run_test *test, uint32_t flags) {
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    tn_status status = build(test, flags, &engine);
    if (status == TN_OK) status = tn_context_create(engine, &context);
    for (int64_t rows = 3; rows <= 9 && status == TN_OK; rows++)
        status = run_once(context, rows, rows % 2 ? -1 : 1);
    if (context) tn_context_destroy(context);
    tn_engine_release(engine);
    return status;
}

/* --- tests --- */

static void test_sequences_run_by_kernels_and_by_references(void **state) {
    make_network(*state);
    assert_ok(build_and_run(*state, 0));
    assert_ok(build_and_run(*state, TN_BUILD_REFERENCE));
    assert_ok(build_and_run(*state, TN_BUILD_NO_FUSION));
}

static void test_kernels_are_chosen(void **state) {
    const run_test *test = *state;
    tn_engine *engine = NULL;
    int kernels = 0;
    make_network(*state);
    assert_ok(build(test, 0, &engine));
    for (uint32_t i = 0; i < engine->program->step_count; i++) {
        const tn_program_step *step = &engine->program->steps[i];
        kernels += step->kernel && strcmp(step->kernel, "list") == 0;
        assert_false(step->is_in_place || step->absorbed_count > 0);
    }
    assert_int_equal(kernels, 6); /* all but Erase, Empty, and the length that decides a shape */
    tn_engine_release(engine);
}

static void test_runs_of_equal_sizes_allocate_nothing(void **state) {
    run_test *test = *state;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    make_network(test);
    assert_ok(build(test, 0, &engine));
    assert_ok(tn_context_create(engine, &context));
    for (int64_t rows = 3; rows <= 9; rows++)
        for (int64_t position = 0; position < 2; position++)
            assert_ok(run_once(context, rows, position));
    for (int i = 0; i < 4; i++)
        assert_ok(run_once(context, 9, i));
    const uint64_t before = test->allocator.allocations;
    for (int i = 0; i < 4; i++)
        assert_ok(run_once(context, 9, i));
    assert_int_equal(test->allocator.allocations - before, 0);
    tn_context_destroy(context);
    tn_engine_release(engine);
}

static void test_a_failed_run_leaves_the_next_one_alone(void **state) {
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    make_network(*state);
    assert_ok(build(*state, 0, &engine));
    assert_ok(tn_context_create(engine, &context));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_once(context, 4, 7), TN_ERROR_RANGE);
        assert_error("position 7 of a list of 2 items", "SequenceAt");
        assert_int_equal(run_once(context, 4, 2), TN_ERROR_RANGE);
        assert_error("sequence 'SequenceErase", "SequenceAt");
        assert_ok(run_once(context, 4, 1));
    }
    tn_context_destroy(context);
    tn_engine_release(engine);
}

static void *run_often(void *user) {
    tn_context *context = NULL;
    tn_status status = tn_context_create(user, &context);
    for (int64_t i = 0; i < 40 && status == TN_OK; i++)
        status = run_once(context, 3 + i % 7, i % 2);
    if (context) tn_context_destroy(context);
    return (void *)(intptr_t)status;
}

static void test_contexts_run_side_by_side(void **state) {
    tn_engine *engine = NULL;
    pthread_t threads[2];
    make_network(*state);
    assert_ok(build(*state, 0, &engine));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, engine), 0);
    for (int i = 0; i < 2; i++) {
        void *status;
        pthread_join(threads[i], &status);
        assert_null(status);
    }
    tn_engine_release(engine);
}

static void test_each_allocation_may_fail(void **state) {
    run_test *test = *state;
    for (uint64_t step = 1;; step++) {
        renew_graph(test);
        make_network(test);
        test->allocator.fail_at = test->allocator.allocations + step;
        const tn_status status = build_and_run(test, 0);
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

static tn_status load_and_run(const run_test *test, const tn_engine_options *options) {
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    uint64_t bytes = 0;
    const tn_builder_options build_options = {.size = sizeof(build_options), .threads = 1};
    TN_TRY(tn_build(test->graph, &build_options, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    tn_status status = tn_engine_load_bytes(test->runtime, data, bytes, options, &engine);
    tn_plan_destroy(plan);
    if (status == TN_OK) status = tn_context_create(engine, &context);
    if (status == TN_OK) status = run_once(context, 5, 1);
    if (context) tn_context_destroy(context);
    tn_engine_release(engine);
    return status;
}

static void test_guarded_runs_serve_sequences(void **state) {
    const tn_engine_options options = {.size = sizeof(options), .flags = TN_ENGINE_CHECKED};
    make_network(*state);
    assert_ok(load_and_run(*state, &options));
}

static void test_a_helper_process_is_refused(void **state) {
    const tn_engine_options options = {
        .size = sizeof(options), .flags = TN_ENGINE_ISOLATED, .isolation_helper = "/bin/true"};
    make_network(*state);
    assert_int_equal(load_and_run(*state, &options), TN_ERROR_UNSUPPORTED);
    assert_error("has a sequence or an optional: load the plan without isolation", "node '");
}

/* --- optionals --- */

static tn_status run_optional(run_test *test, bool has_element, const tn_tensor **out_has,
                              tn_engine **out_engine, tn_context **out_context) {
    _Alignas(64) static float x[16] = {1, 2, 3};
    const tn_builder_options options = {.size = sizeof(options), .threads = 1};
    tn_plan *plan = NULL;
    uint64_t bytes = 0;
    renew_graph(test);
    const tn_tensor_id id = input_of(test->graph, "x", TN_F32, 1, (const int64_t[]){3});
    const tn_tensor_id kept = list_node(test->graph, "Optional", NULL, 0, has_element ? 1 : 0, &id);
    run_output(test->graph, list_node(test->graph, "OptionalHasElement", NULL, 0, 1, &kept), "has");
    run_output(test->graph, list_node(test->graph, "OptionalGetElement", NULL, 0, 1, &kept), "it");
    TN_TRY(tn_build(test->graph, &options, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    const tn_status status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, out_engine);
    tn_plan_destroy(plan);
    TN_TRY(status);
    TN_TRY(tn_context_create(*out_engine, out_context));
    TN_TRY(tn_context_bind_input(*out_context, 0, x, 3 * sizeof(float)));
    TN_TRY(tn_context_run(*out_context));
    return tn_context_output(*out_context, 0, out_has);
}

static void test_an_optional_has_an_element_or_none(void **state) {
    for (int has = 0; has < 2; has++) {
        const tn_tensor *given = NULL, *element = NULL;
        tn_engine *engine = NULL;
        tn_context *context = NULL;
        const tn_status status = run_optional(*state, has, &given, &engine, &context);
        if (has) {
            assert_ok(status);
            assert_true(*(const bool *)given->data);
            assert_ok(tn_context_output(context, 1, &element));
            assert_int_equal(element->shape[0], 3);
            assert_true(((const float *)element->data)[2] == 3);
        } else {
            assert_int_equal(status, TN_ERROR_RANGE);
            assert_error("has 0 items, and no item 0", "OptionalGetElement");
        }
        if (context) tn_context_destroy(context);
        tn_engine_release(engine);
    }
}

/* --- plans --- */

static void test_damaged_plans_are_refused_or_run(void **state) {
    run_test *test = *state;
    const tn_builder_options options = {.size = sizeof(options), .threads = 1};
    tn_plan *plan = NULL;
    uint64_t bytes = 0, seed = 11, loaded = 0;
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
        if (tn_engine_input_count(engine) == 2 && tn_engine_output_count(engine) == 4 &&
            tn_context_create(engine, &context) == TN_OK) {
            (void)run_once(context, 5, 1);
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
        SEQUENCE_TEST(test_sequences_run_by_kernels_and_by_references),
        SEQUENCE_TEST(test_kernels_are_chosen),
        SEQUENCE_TEST(test_runs_of_equal_sizes_allocate_nothing),
        SEQUENCE_TEST(test_a_failed_run_leaves_the_next_one_alone),
        SEQUENCE_TEST(test_contexts_run_side_by_side),
        SEQUENCE_TEST(test_each_allocation_may_fail),
        SEQUENCE_TEST(test_guarded_runs_serve_sequences),
        SEQUENCE_TEST(test_a_helper_process_is_refused),
        SEQUENCE_TEST(test_an_optional_has_an_element_or_none),
        SEQUENCE_TEST(test_damaged_plans_are_refused_or_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
