/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks on a device give the processor's results, wherever a plan's steps, inputs and outputs
 * are: on the stub of tests/stub, whose memory the host cannot read and which does nothing before
 * it is waited for. What a run enqueues is in test_runs.c, what runs share in
 * test_sharing.c.
 */
#include "device_test.h"
#include "stub/stub.h"

/* The same network on the processor and on a device, at shapes that come and go, in two contexts.
 */
static void test_a_device_gives_the_processors_results(void **state) {
    device_test *test = *state;
    tn_plan *plans[] = {build_lenet(test->runtime, NULL), build_lenet(test->runtime, "stub")};
    tn_engine *engines[2];
    tn_context *contexts[2], *other = NULL;
    static const int64_t batches[] = {1, 4, 2, 4, 1, 3};
    float outputs[2][40], again[40];
    for (int i = 0; i < 2; i++) {
        engines[i] = load(test->runtime, plans[i], NULL);
        must(tn_context_create(engines[i], &contexts[i]));
    }
    must(tn_context_create(engines[1], &other));
    for (size_t b = 0; b < TN_COUNT(batches); b++) {
        for (int i = 0; i < 2; i++)
            run(contexts[i], batches[b], (int)b, outputs[i]);
        run(other, batches[b], (int)b, again);
        assert_close(outputs[0], outputs[1], (size_t)batches[b] * 10);
        assert_close(outputs[0], again, (size_t)batches[b] * 10);
    }
    tn_context_destroy(other);
    for (int i = 0; i < 2; i++) {
        tn_context_destroy(contexts[i]);
        tn_engine_release(engines[i]);
        tn_plan_destroy(plans[i]);
    }
}

/* Formats change on the device; the processor reads in the middle, and the device goes on. The
 * result is there when run returns, also where what follows the processor's step was captured. */
static void test_steps_of_both_take_turns(void **state) {
    enum { RUNS = 4 };
    device_test *test = *state;
    float x[120], expected[RUNS][120];
    const tn_tensor *y = NULL;
    for (int i = 0; i < 2; i++) {
        tn_plan *plan = NULL;
        tn_context *context = NULL;
        tn_engine *engine = load_chain(test, true, i ? "stub" : "cpu", &plan);
        if (i) assert_non_null(strstr(tn_engine_report(engine), "\"format\": \"nhwc\", \"space\""));
        must(tn_context_create(engine, &context));
        must(tn_context_bind_input(context, 0, x, sizeof(x)));
        for (int run = 0; run < RUNS; run++) {
            for (int k = 0; k < 120; k++)
                x[k] = (float)((k + 3 * run) % 11) - 5;
            must(tn_context_run(context));
            must(tn_context_output(context, 0, &y)); /* memory that copies are captured to */
            if (i == 0)
                memcpy(expected[run], y->data, sizeof(expected[run]));
            else
                assert_close(y->data, expected[run], 120);
        }
        tn_context_destroy(context);
        tn_engine_release(engine);
        tn_plan_destroy(plan);
    }
}

/* Memory of the device, given and taken by the caller, without a copy. */
static void test_inputs_and_outputs_may_be_the_devices(void **state) {
    device_test *test = *state;
    tn_plan *plan = NULL;
    tn_context *context = NULL;
    tn_engine *engine = load_chain(test, false, "stub", &plan);
    const tn_device *device = engine->device;
    void *stream = NULL, *there = NULL, *back = NULL;
    float x[120], y[120], z[120];
    for (int i = 0; i < 120; i++)
        x[i] = (float)(i % 11) - 5, y[i] = z[i] = -1;
    must(device->stream_create(device, &stream));
    must(device->allocate(device, sizeof(x), stream, &there));
    must(device->allocate(device, sizeof(y), stream, &back));
    must(tn_context_create(engine, &context));
    must(tn_context_set_stream(context, stream));
    must(tn_context_bind_device_input(context, 0, there, sizeof(x)));
    must(tn_context_bind_device_output(context, 0, back, sizeof(y)));
    for (int round = 0; round < 4; round++) {
        x[10] = (float)(round + 1);
        must(device->copy(device, there, x, sizeof(x), TN_COPY_TO_DEVICE, stream));
        must(tn_context_run(context));
        must(device->copy(device, y, back, sizeof(y), TN_COPY_TO_HOST, stream));
        must(device->stream_wait(device, stream));
        for (int i = 0; i < 120; i++)
            assert_true(y[i] == (x[i] > 0 ? x[i] : 0));
    }
    must(tn_context_bind_output(context, 0, z, sizeof(z))); /* and back to the host's */
    must(tn_context_run(context));
    must(device->stream_wait(device, stream));
    assert_close(z, y, 120);
    assert_int_equal(tn_context_bind_device_output(context, 0, NULL, 4), TN_ERROR_ARGUMENT);
    tn_context_destroy(context);
    device->deallocate(device, there, stream);
    device->deallocate(device, back, stream);
    device->stream_destroy(device, stream);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

static void test_the_processor_has_no_streams(void **state) {
    device_test *test = *state;
    tn_plan *plan = NULL;
    tn_context *context = NULL;
    tn_engine *engine = load_chain(test, false, "cpu", &plan);
    must(tn_context_create(engine, &context));
    assert_int_equal(tn_context_set_stream(context, context), TN_ERROR_STATE);
    assert_error("processor", NULL);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

/* Where the device is not there the plan runs on the processor, and the log says so. */
static void test_a_plan_runs_without_its_device(void **state) {
    device_test *test = *state;
    float with[20], without[20];
    tn_plan *plan = build_lenet(test->runtime, "stub");
    tn_runtime *bare = make_runtime(test);
    assert_non_null(bare);
    tn_runtime *const runtimes[] = {test->runtime, bare};
    for (int i = 0; i < 2; i++) {
        tn_context *context = NULL;
        tn_engine *engine = load(runtimes[i], plan, NULL);
        must(tn_context_create(engine, &context));
        run(context, 2, 0, i ? without : with);
        tn_context_destroy(context);
        tn_engine_release(engine);
    }
    assert_close(with, without, 20);
    assert_non_null(strstr(test->log, "device 'stub'"));
    const tn_engine_options options = {.size = sizeof(options), .device = "stub"};
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(plan, &bytes);
    tn_engine *engine = NULL;
    assert_int_equal(tn_engine_load_bytes(bare, data, bytes, &options, &engine),
                     TN_ERROR_NOT_FOUND);
    assert_error("libtenon_stub.so", NULL);
    tn_runtime_release(bare);
    tn_plan_destroy(plan);
}

static void test_a_plan_may_be_run_elsewhere_than_it_was_built_for(void **state) {
    device_test *test = *state;
    float outputs[3][20];
    static const char *const devices[] = {"cpu", "stub:1", "stub"};
    tn_plan *plan = build_lenet(test->runtime, "cpu");
    for (int i = 0; i < 3; i++) {
        tn_context *context = NULL;
        tn_engine *engine = load(test->runtime, plan, devices[i]);
        must(tn_context_create(engine, &context));
        run(context, 2, 0, outputs[i]);
        tn_context_destroy(context);
        tn_engine_release(engine);
    }
    assert_close(outputs[0], outputs[1], 20);
    assert_close(outputs[0], outputs[2], 20);
    tn_plan_destroy(plan);
}

/* The stub has 3 of 4 GiB; the processor does not say. */
static bool check_memory(void *user, const tn_device_info *device) {
    const bool is_stub = strcmp(device->kind, "stub") == 0;
    assert_true(device->memory_free == (is_stub ? UINT64_C(3) << 30 : 0));
    assert_true(device->memory_total == (is_stub ? UINT64_C(4) << 30 : 0));
    ++*(int *)user;
    return true;
}

static void test_names_of_devices(void **state) {
    device_test *test = *state;
    static const char *const wrong[] = {"",      ":",      "../stub", "a/b",    "a.b",
                                        "stub:", "stub:x", "stub:-1", "stub:1x"};
    for (size_t i = 0; i < TN_COUNT(wrong); i++)
        assert_int_equal(tn_runtime_find_device(test->runtime, wrong[i]), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_runtime_find_device(test->runtime, "cpu"), TN_OK);
    assert_int_equal(tn_runtime_find_device(test->runtime, "stub"), TN_OK);
    assert_int_equal(tn_runtime_find_device(test->runtime, "stub:1"), TN_OK);
    assert_int_equal(tn_runtime_find_device(test->runtime, "stub:2"), TN_ERROR_NOT_FOUND);
    assert_error("stub:0, stub:1", NULL);
    assert_int_equal(tn_runtime_find_device(test->runtime, "cpu:1"), TN_ERROR_NOT_FOUND);
    int seen = 0;
    tn_runtime_visit_devices(test->runtime, check_memory, &seen);
    assert_int_equal(seen, 3);
}

static void test_memory_may_fail_anywhere(void **state) {
    device_test *test = *state;
    tn_plan *plan = build_lenet(test->runtime, "stub");
    float output[20];
    bool is_done = false;
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(plan, &bytes);
    for (uint64_t at = 1; !is_done && at < 20000; at += 7) {
        const int64_t live = test->allocator.live;
        tn_engine *engine = NULL;
        tn_context *context = NULL;
        test->allocator.allocations = 0;
        test->allocator.fail_at = at;
        tn_status status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine);
        if (status == TN_OK) status = tn_context_create(engine, &context);
        test->allocator.fail_at = 0;
        if (status == TN_OK) {
            run(context, 2, 0, output);
            is_done = true;
        } else {
            assert_int_equal(status, TN_ERROR_MEMORY);
        }
        tn_context_destroy(context);
        tn_engine_release(engine);
        assert_true(test->allocator.live == live || is_done);
    }
    assert_true(is_done);
    tn_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_a_device_gives_the_processors_results),
        DEVICE_TEST(test_steps_of_both_take_turns),
        DEVICE_TEST(test_inputs_and_outputs_may_be_the_devices),
        DEVICE_TEST(test_the_processor_has_no_streams),
        DEVICE_TEST(test_a_plan_runs_without_its_device),
        DEVICE_TEST(test_a_plan_may_be_run_elsewhere_than_it_was_built_for),
        DEVICE_TEST(test_names_of_devices),
        DEVICE_TEST(test_memory_may_fail_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
