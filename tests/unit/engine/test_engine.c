/* SPDX-License-Identifier: Apache-2.0 */
/* Engines: shared by threads, alive as long as somebody needs them, loaded from file and memory. */
#include "run_test.h"

#include <pthread.h>
#include <unistd.h>

static void make_network(tn_graph *graph) {
    tn_tensor_id x = add_input(graph, "x", TN_F32, 4, EXTENTS(-1, 3, 2, 2));
    tn_tensor_id probe = run_unary(graph, "Probe", "probe", x);
    tn_tensor_id gain = run_unary(graph, "Gain", "gain", probe);
    tn_tensor_id sum = run_node(graph, "Sum", "sum", 2, TENSORS(gain, probe));
    tn_tensor_id blocked = run_unary(graph, "Blocked", "blocked", sum);
    run_output(graph, run_unary(graph, "Flat", "flat", blocked), "y");
}

static tn_status run_once(tn_context *context, const float *data, int64_t batch, float *out) {
    const int64_t extents[] = {batch, 3, 2, 2};
    tn_status status = tn_context_set_shape(context, 0, 4, extents);
    if (status == TN_OK) status = tn_context_bind_input(context, 0, data, (uint64_t)batch * 48);
    if (status == TN_OK) status = tn_context_bind_output(context, 0, out, (uint64_t)batch * 48);
    return status == TN_OK ? tn_context_run(context) : status;
}

/* --- threads --- */

typedef struct worker {
    pthread_t thread;
    tn_engine *engine;
    int seed, wrong;
    char message[128];
} worker;

static void *work(void *user) {
    worker *self = user;
    run_buffer in, out;
    for (int life = 0; life < 4; life++) {
        tn_context *context = NULL;
        tn_status status = tn_context_create(self->engine, &context);
        for (int i = 0; i < 50 && status == TN_OK; i++) {
            const int64_t batch = 1 + (self->seed + i) % 3;
            for (int64_t k = 0; k < batch * 12; k++)
                in.aligned[k] = (float)(k + self->seed + i);
            status = run_once(context, in.aligned, batch, i % 2 ? out.aligned : out.crooked);
            for (int64_t k = 0; k < batch * 12 && status == TN_OK; k++)
                self->wrong += (i % 2 ? out.aligned : out.crooked)[k] != 9 * in.aligned[k];
        }
        if (status != TN_OK) {
            self->wrong++;
            snprintf(self->message, sizeof(self->message), "%s", tn_last_error()->message);
        }
        tn_context_destroy(context);
    }
    tn_engine_release(self->engine);
    return NULL;
}

/* The probe's counters are not for threads: contexts of the other kernels, on four of them. */
static void test_contexts_run_on_threads(void **state) {
    (void)state;
    worker workers[4] = {0};
    run_test test = {.runtime = run_runtime(NULL, run_entry)};
    run_must(tn_graph_create(test.runtime, "net", &test.graph));
    tn_tensor_id x = add_input(test.graph, "x", TN_F32, 4, EXTENTS(-1, 3, 2, 2));
    tn_tensor_id gain = run_unary(test.graph, "Blocked", NULL, x);
    run_output(test.graph, run_unary(test.graph, "Blocked", NULL, gain), "y");
    run_build_with(&test, 0, NULL, 0);
    run_load(&test);
    for (int i = 0; i < 4; i++) {
        workers[i].engine = tn_engine_retain(test.engine);
        workers[i].seed = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    tn_engine_release(test.engine); /* the threads hold it */
    tn_plan_destroy(test.plan);
    tn_graph_destroy(test.graph);
    tn_runtime_release(test.runtime);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_string_equal(workers[i].message, "");
        assert_int_equal(workers[i].wrong, 0);
    }
}

/* --- life --- */

static void test_contexts_of_one_engine_are_apart(void **state) {
    run_test *test = *state;
    run_buffer in[2] = {{.aligned = {1}}, {.aligned = {10}}}, out[2];
    tn_context *other = NULL;
    make_network(test->graph);
    run_start(test, 0, NULL);
    run_must(tn_context_create(test->engine, &other));
    for (int i = 0; i < 3; i++) {
        run_must(run_once(test->context, in[0].aligned, 1 + i, out[0].aligned));
        run_must(run_once(other, in[1].aligned, 3 - i, out[1].aligned));
        assert_true(out[0].aligned[0] == 9 && out[1].aligned[0] == 90);
    }
    assert_int_equal(run_probe.prepared, 1); /* for this engine, by both */
    assert_int_equal(run_probe.opened, 2);
    tn_context_destroy(other);
}

static void test_unloaded_library_lives_while_its_engine_does(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1}}, out;
    uint64_t bytes;
    make_network(test->graph);
    run_start(test, 0, NULL);
    tn_graph_destroy(test->graph);
    test->graph = NULL;
    run_must(tn_runtime_unload_library(test->runtime, "run_layers"));
    run_must(run_once(test->context, in.aligned, 1, out.aligned));
    assert_true(out.aligned[0] == 9);
    tn_context *other = NULL;
    run_must(tn_context_create(test->engine, &other));
    run_must(run_once(other, in.aligned, 2, out.aligned));
    tn_context_destroy(other);
    tn_engine *engine = NULL; /* but the plan does not load again */
    const void *data = tn_plan_bytes(test->plan, &bytes);
    assert_int_equal(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine),
                     TN_ERROR_NOT_FOUND);
    assert_error("run_layers", NULL);
}

static void test_everything_outlives_its_parents_handles(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1}}, out;
    make_network(test->graph);
    run_start(test, 0, NULL);
    tn_engine_release(test->engine);
    tn_plan_destroy(test->plan);
    tn_graph_destroy(test->graph);
    tn_runtime_release(test->runtime);
    test->engine = NULL;
    test->plan = NULL;
    test->graph = NULL;
    test->runtime = NULL;
    run_must(run_once(test->context, in.aligned, 1, out.aligned));
    assert_true(out.aligned[0] == 9);
}

/* --- loading --- */

static void test_plans_load_from_files(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1}}, out;
    char path[64];
    snprintf(path, sizeof(path), "test_engine.%ld.plan", (long)getpid());
    make_network(test->graph);
    run_build_with(test, 0, NULL, 0);
    run_must(tn_plan_save(test->plan, path));
    run_must(tn_engine_load(test->runtime, path, NULL, &test->engine));
    assert_int_equal(unlink(path), 0); /* it is mapped */
    run_must(tn_context_create(test->engine, &test->context));
    run_must(run_once(test->context, in.aligned, 1, out.aligned));
    assert_true(out.aligned[0] == 9);
}

static void test_what_is_no_plan_is_refused(void **state) {
    run_test *test = *state;
    const tn_engine_options unset = {.size = 0};
    assert_int_equal(tn_engine_load(test->runtime, "no/such.plan", NULL, &test->engine),
                     TN_ERROR_NOT_FOUND);
    assert_error("no/such.plan", NULL);
    assert_int_equal(tn_engine_load(test->runtime, "/", NULL, &test->engine), TN_ERROR_IO);
    assert_int_equal(tn_engine_load_bytes(test->runtime, "nonsense", 8, NULL, &test->engine),
                     TN_ERROR_FORMAT);
    assert_error("this is not a plan", "plan in memory");
    assert_int_equal(tn_engine_load_bytes(test->runtime, NULL, 0, NULL, &test->engine),
                     TN_ERROR_FORMAT);
    assert_int_equal(tn_engine_load_bytes(test->runtime, NULL, 8, NULL, &test->engine),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_engine_load(NULL, "x", NULL, &test->engine), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_engine_load_bytes(test->runtime, "x", 1, &unset, &test->engine),
                     TN_ERROR_ARGUMENT);
    assert_null(test->engine);
}

static void test_report_tells_of_each_step(void **state) {
    run_test *test = *state;
    make_network(test->graph);
    run_start(test, 0, NULL);
    const char *report = tn_engine_report(test->engine);
    assert_non_null(strstr(report, "\"kernel\": \"probe\""));
    assert_non_null(strstr(report, "\"fused\": [\"sum\"]"));
    assert_non_null(strstr(report, "\"kind\": \"view\", \"node\": \"flat\""));
    assert_string_equal(tn_engine_report(NULL), "{}");
}

static void *ask_report(void *user) {
    return (void *)(uintptr_t)tn_engine_report(user);
}

/* By whichever thread is first; without memory there is none yet. */
static void test_report_is_made_when_it_is_asked_for(void **state) {
    run_test *test = *state;
    pthread_t threads[4];
    make_network(test->graph);
    run_start(test, 0, NULL);
    tn_fail(TN_ERROR_RANGE, "before");
    test->allocator.fail_at = test->allocator.allocations + 1;
    assert_string_equal(tn_engine_report(test->engine), "{}");
    assert_error("before", NULL);
    test->allocator.fail_at = 0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_report, test->engine), 0);
    const char *report = tn_engine_report(test->engine);
    assert_non_null(strstr(report, "\"kernel\": \"probe\""));
    for (int i = 0; i < 4; i++) {
        void *other;
        assert_int_equal(pthread_join(threads[i], &other), 0);
        assert_ptr_equal(other, report);
    }
}

static void test_description_says_what_the_report_says(void **state) {
    run_test *test = *state;
    const tn_plan_description *description = NULL;
    make_network(test->graph);
    assert_int_equal(tn_graph_set_metadata(test->graph, "task", "none"), TN_OK);
    run_start(test, 0, NULL);
    run_must(tn_engine_describe(test->engine, &description));
    assert_int_equal(description->program_count, 1);
    assert_null(description->producer);
    assert_string_equal(tn_model_info_find(description->model, "task"), "none");
    assert_string_equal(description->inputs[0]->name, tn_engine_input(test->engine, 0)->name);
    assert_int_equal(description->output_count, tn_engine_output_count(test->engine));
    const tn_described_program *program = description->programs[0];
    uint32_t probes = 0, views = 0, absorbed = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_described_step *step = program->steps[s];
        views += step->kind == TN_DESCRIBED_VIEW && strcmp(step->node, "flat") == 0;
        probes += step->kernel && strcmp(step->kernel, "probe") == 0 && step->library;
        absorbed += step->absorbed_count == 1 && strcmp(step->absorbed[0], "sum") == 0;
        assert_non_null(strstr(step->combination, "->"));
    }
    if (probes != 1 || views != 1 || absorbed != 1)
        fail_msg("%u probes, %u views, %u times 'sum': %s", probes, views, absorbed,
                 tn_engine_report(test->engine));
    assert_int_equal(tn_engine_describe(NULL, &description), TN_ERROR_ARGUMENT);
    tn_plan_description_destroy(description);
}

static void test_profile_counts_and_times(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1}}, out;
    make_network(test->graph);
    run_start(test, 0, NULL);
    run_must(run_once(test->context, in.aligned, 1, out.aligned));
    assert_int_equal(tn_context_profile_count(test->context), 0);
    for (int round = 0; round < 2; round++) { /* turning it on starts anew */
        run_must(tn_context_set_profiling(test->context, true));
        const uint64_t before = run_allocations(test);
        for (int i = 0; i < 3; i++)
            run_must(run_once(test->context, in.aligned, 1, out.aligned));
        assert_int_equal(run_allocations(test), before);
        run_must(tn_context_set_profiling(test->context, false));
        run_must(run_once(test->context, in.aligned, 1, out.aligned));
        assert_int_equal(tn_context_profile_count(test->context), 5);
        for (uint32_t i = 0; i < 5; i++) {
            static const char *const kernels[] = {"probe", "adds", "convert", "c16", "convert"};
            const tn_profile_entry *entry = tn_context_profile(test->context, i);
            assert_string_equal(entry->kernel, kernels[i]);
            assert_int_equal(entry->runs, 3);
            assert_true(entry->minimum_ns <= entry->total_ns / 3);
        }
    }
    assert_null(tn_context_profile(test->context, 5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_contexts_run_on_threads),
        RUN_TEST(test_contexts_of_one_engine_are_apart),
        RUN_TEST(test_unloaded_library_lives_while_its_engine_does),
        RUN_TEST(test_everything_outlives_its_parents_handles),
        RUN_TEST(test_plans_load_from_files),
        RUN_TEST(test_what_is_no_plan_is_refused),
        RUN_TEST(test_report_tells_of_each_step),
        RUN_TEST(test_report_is_made_when_it_is_asked_for),
        RUN_TEST(test_description_says_what_the_report_says),
        RUN_TEST(test_profile_counts_and_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
