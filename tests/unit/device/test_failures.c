/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a device's failures, on the stub of tests/stub, which fails where it is told to:
 * memory that is not there, launches that are refused, work that fails later, a device that is
 * lost. The error names the node where it can be known, the process goes on, and so does all that
 * has not failed. Also what a device's profile and timings depend on.
 */
#include "device_test.h"
#include "stub/stub.h"

#include <unistd.h>

/* The first stub device's, with its counts at zero and nothing to fail. */
static tn_stub_state *stub_of(const tn_engine *engine) {
    tn_stub_state *stub = engine->device->user;
    stub->allocations = stub->launches = stub->waits = stub->deallocations = 0;
    stub->fail_allocation = stub->fail_launch = stub->fail_wait = stub->most_bytes = 0;
    stub->is_lasting = stub->is_lost = false;
    return stub;
}

typedef struct chain {
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    float x[120], y[120];
} chain;

/* Relu, LeakyRelu, Relu on the stub. */
static void open_chain(device_test *test, chain *c, const char *device) {
    tn_engine_release(load_chain(test, false, device, &c->plan)); /* on the first of its kind */
    c->engine = load(test->runtime, c->plan, device);
    must(tn_context_create(c->engine, &c->context));
    for (int i = 0; i < 120; i++)
        c->x[i] = (float)(i % 11) - 5;
    must(tn_context_bind_input(c->context, 0, c->x, sizeof(c->x)));
    must(tn_context_bind_output(c->context, 0, c->y, sizeof(c->y)));
}

static void close_chain(chain *c) {
    tn_context_destroy(c->context);
    tn_engine_release(c->engine);
    tn_plan_destroy(c->plan);
}

static void assert_right(const chain *c) {
    for (int i = 0; i < 120; i++)
        assert_true(c->y[i] == (c->x[i] > 0 ? c->x[i] : 0));
}

static void test_a_refused_launch_names_its_node(void **state) {
    chain c;
    open_chain(*state, &c, "stub");
    tn_stub_state *stub = stub_of(c.engine);
    stub->fail_launch = 2;
    assert_int_equal(tn_context_run(c.context), TN_ERROR_DEVICE);
    assert_error("refuse the launch", "node 'LeakyRelu'");
    assert_error(NULL, "library tenon_stub");
    for (int i = 0; i < 4; i++) /* and goes on: plainly, captured, launched */
        must(tn_context_run(c.context));
    assert_right(&c);
    close_chain(&c);
}

/* The first run waits after each node, so that a failure that comes late is its own. */
static void test_work_that_fails_later_names_its_node(void **state) {
    chain c;
    open_chain(*state, &c, "stub");
    tn_stub_state *stub = stub_of(c.engine);
    must(tn_context_run(c.context));
    const uint64_t waits = stub->waits;
    close_chain(&c);
    bool has_relu = false, has_leaky = false;
    for (uint64_t at = 1; at <= waits; at++) {
        open_chain(*state, &c, "stub");
        stub = stub_of(c.engine);
        stub->fail_wait = at;
        assert_int_equal(tn_context_run(c.context), TN_ERROR_DEVICE);
        assert_error("asked to fail in a kernel", "device 'stub'");
        has_relu |= strstr(tn_last_error()->where, "node 'Relu'") != NULL;
        has_leaky |= strstr(tn_last_error()->where, "node 'LeakyRelu'") != NULL;
        for (int i = 0; i < 4; i++)
            must(tn_context_run(c.context));
        assert_right(&c);
        close_chain(&c);
    }
    assert_true(has_relu && has_leaky);
}

static void test_later_runs_say_how_to_find_the_node(void **state) {
    chain c;
    open_chain(*state, &c, "stub");
    for (int i = 0; i < 3; i++)
        must(tn_context_run(c.context));
    tn_stub_state *stub = stub_of(c.engine);
    stub->fail_wait = 1;
    assert_int_equal(tn_context_run(c.context), TN_ERROR_DEVICE);
    assert_error("running the network", "checked");
    must(tn_context_run(c.context));
    assert_right(&c);
    close_chain(&c);
}

/* Its contexts say the first reason for ever; the other device and the processor go on. */
static void test_a_lost_device_closes_only_its_contexts(void **state) {
    device_test *test = *state;
    chain bad, beside, other, host;
    tn_engine *late = NULL;
    open_chain(test, &bad, "stub");
    open_chain(test, &beside, "stub");
    open_chain(test, &other, "stub:1");
    open_chain(test, &host, "cpu");
    must(tn_context_run(beside.context));
    tn_stub_state *stub = stub_of(bad.engine);
    stub->fail_wait = 2;
    stub->is_lasting = true;
    char first[1024], where[1024];
    assert_int_equal(tn_context_run(bad.context), TN_ERROR_DEVICE);
    assert_error("the device is lost", "node '");
    snprintf(first, sizeof(first), "%s", tn_last_error()->message);
    snprintf(where, sizeof(where), "%s", tn_last_error()->where);
    tn_status (*const calls[])(tn_context *) = {tn_context_run, tn_context_reshape};
    for (size_t i = 0; i < TN_COUNT(calls); i++) {
        assert_int_equal(calls[i](bad.context), TN_ERROR_DEVICE);
        assert_string_equal(tn_last_error()->message, first);
        assert_string_equal(tn_last_error()->where, where);
    }
    void *lent = NULL;
    assert_int_equal(tn_context_lend_input(bad.context, 0, 480, &lent), TN_ERROR_DEVICE);
    assert_int_equal(tn_context_run(beside.context), TN_ERROR_DEVICE);
    assert_error("the device is lost", NULL);
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(bad.plan, &bytes);
    assert_int_equal(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &late),
                     TN_ERROR_DEVICE);
    assert_error("the device is lost", NULL);
    for (int i = 0; i < 3; i++) {
        must(tn_context_run(other.context));
        must(tn_context_run(host.context));
    }
    assert_right(&other);
    assert_right(&host);
    close_chain(&bad);
    close_chain(&beside);
    close_chain(&other);
    close_chain(&host);
    stub->is_lost = stub->is_lasting = false; /* a new process, as it were */
    open_chain(test, &bad, "stub");
    (void)stub_of(bad.engine);
    must(tn_context_run(bad.context));
    assert_right(&bad);
    close_chain(&bad);
}

/* Wherever it is missing: the error says how much, nothing is left, and the next try goes well. */
static void test_memory_of_the_device_may_be_missing_anywhere(void **state) {
    device_test *test = *state;
    float output[20];
    tn_plan *plan = build_lenet(test->runtime, "stub");
    tn_engine *probe = load(test->runtime, plan, NULL);
    tn_stub_state *stub = stub_of(probe);
    tn_engine_release(probe);
    uint64_t bytes = 0, at = 1;
    const void *data = tn_plan_bytes(plan, &bytes);
    for (bool is_done = false; !is_done; at++) {
        tn_engine *engine = NULL;
        tn_context *context = NULL;
        static const int64_t shape[] = {2, 1, 28, 28};
        static float image[2 * 784];
        stub->allocations = stub->deallocations = 0;
        stub->fail_allocation = at;
        tn_status status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine);
        if (status == TN_OK) status = tn_context_create(engine, &context);
        if (status == TN_OK) must(tn_context_set_shape(context, 0, 4, shape));
        if (status == TN_OK) must(tn_context_bind_input(context, 0, image, sizeof(image)));
        if (status == TN_OK) status = tn_context_run(context);
        is_done = stub->allocations < at;
        assert_int_equal(status, is_done ? TN_OK : TN_ERROR_MEMORY);
        if (!is_done) assert_error("memory", "device 'stub'");
        if (!is_done) assert_non_null(strstr(tn_last_error()->where, "bytes"));
        stub->fail_allocation = 0;
        if (context) run(context, 2, 0, output); /* it goes on */
        tn_context_destroy(context);
        tn_engine_release(engine);
        assert_int_equal(stub->allocations, stub->deallocations + (is_done ? 0 : 1));
    }
    assert_true(at > 3); /* constants, arena */
    tn_plan_destroy(plan);
}

/* A kernel that asks for more than there is is passed over for one that does with less; where there
 * is none, the build ends with what was asked for. */
static void test_a_build_does_with_less_memory(void **state) {
    device_test *test = *state;
    float output[20];
    tn_plan *plan = NULL;
    tn_engine *engine = load_chain(test, false, "stub", &plan);
    tn_stub_state *stub = stub_of(engine);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    test->log[0] = 0;
    stub->most_bytes = 1 << 19;
    plan = build_lenet(test->runtime, "stub");
    assert_non_null(strstr(test->log, "'stub_greedy' is passed over"));
    assert_non_null(strstr(test->log, "1048576 bytes"));
    engine = load(test->runtime, plan, NULL);
    tn_context *context = NULL;
    must(tn_context_create(engine, &context));
    run(context, 2, 0, output);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph *graph = make_chain(test->runtime, false);
    const tn_builder_options options = {.size = sizeof(options), .threads = 1, .device = "stub"};
    stub->most_bytes = 64;
    plan = NULL;
    assert_int_equal(tn_build(graph, &options, &plan), TN_ERROR_MEMORY);
    assert_error("480 bytes", NULL);
    assert_null(plan);
    stub->most_bytes = 0;
    tn_graph_destroy(graph);
}

/* A device that is lost while kernels are timed ends the build, with the kernel's name. */
static void test_a_build_ends_with_its_device(void **state) {
    device_test *test = *state;
    tn_plan *plan = NULL;
    tn_engine *engine = load_chain(test, false, "stub", &plan);
    tn_stub_state *stub = stub_of(engine);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    plan = NULL;
    tn_graph *graph = make_chain(test->runtime, false);
    const tn_builder_options options = {.size = sizeof(options), .threads = 1, .device = "stub"};
    stub->fail_launch = 5;
    stub->is_lasting = true;
    assert_int_equal(tn_build(graph, &options, &plan), TN_ERROR_DEVICE);
    assert_error("the device is lost", "kernel stub");
    assert_null(plan);
    stub->is_lost = stub->is_lasting = false;
    stub->fail_launch = 0;
    must(tn_build(graph, &options, &plan));
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
}

static void test_a_steady_run_takes_nothing_of_the_device(void **state) {
    chain c;
    open_chain(*state, &c, "stub");
    for (int i = 0; i < 3; i++)
        must(tn_context_run(c.context));
    tn_stub_state *stub = stub_of(c.engine);
    for (int i = 0; i < 10; i++)
        must(tn_context_run(c.context));
    assert_int_equal(stub->allocations, 0);
    assert_int_equal(stub->deallocations, 0);
    assert_int_equal(stub->waits, 10);
    assert_int_equal(stub->entered, 0); /* as often left as entered */
    close_chain(&c);
}

/* A device's library that was made before the functions at the table's end. */
static void test_an_older_device_does_with_what_it_has(void **state) {
    device_test *test = *state;
    chain c;
    c.engine = load_chain(test, false, "stub", &c.plan);
    tn_stub_state *stub = stub_of(c.engine);
    tn_device older = *c.engine->device;
    older.size = offsetof(tn_device, check);
    c.engine->device = &older;
    must(tn_context_create(c.engine, &c.context));
    for (int i = 0; i < 120; i++)
        c.x[i] = (float)(i % 11) - 5;
    must(tn_context_bind_input(c.context, 0, c.x, sizeof(c.x)));
    must(tn_context_bind_output(c.context, 0, c.y, sizeof(c.y)));
    for (int i = 0; i < 3; i++)
        must(tn_context_run(c.context));
    assert_right(&c);
    stub->fail_wait = stub->waits + 1;
    assert_int_equal(tn_context_run(c.context), TN_ERROR_DEVICE);
    must(tn_context_run(c.context));
    close_chain(&c);
}

/* The steps' times come from events: one wait a run. */
static void test_a_profile_waits_once(void **state) {
    chain c;
    open_chain(*state, &c, "stub");
    must(tn_context_set_profiling(c.context, true));
    must(tn_context_run(c.context));
    const tn_stub_state *stub = stub_of(c.engine);
    for (int i = 0; i < 5; i++)
        must(tn_context_run(c.context));
    assert_int_equal(stub->waits, 5);
    assert_right(&c);
    const uint32_t count = tn_context_profile_count(c.context);
    assert_true(count >= 3);
    uint64_t total = 0;
    bool has_leaky = false;
    for (uint32_t i = 0; i < count; i++) {
        const tn_profile_entry *entry = tn_context_profile(c.context, i);
        assert_int_equal(entry->runs, 6);
        assert_true(entry->minimum_ns <= entry->total_ns / entry->runs);
        total += entry->total_ns;
        has_leaky |= strcmp(entry->op, "LeakyRelu") == 0;
    }
    assert_true(has_leaky);
    assert_true(total > 0);
    must(tn_context_set_profiling(c.context, false));
    must(tn_context_run(c.context));
    assert_right(&c);
    close_chain(&c);
}

/* A run of the chain, guarded or with a profile, where the n-th allocation fails: the host's, or
 * the device's. */
static tn_status try_run(device_test *test, const chain *c, uint32_t flags, uint64_t host_at,
                         uint64_t device_at) {
    const tn_engine_options options = {.size = sizeof(options), .flags = flags};
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(c->plan, &bytes);
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &engine));
    tn_stub_state *stub = stub_of(engine);
    test->allocator.allocations = 0;
    test->allocator.fail_at = host_at;
    stub->fail_allocation = device_at;
    tn_status status = tn_context_create(engine, &context);
    if (status == TN_OK) must(tn_context_bind_input(context, 0, c->x, sizeof(c->x)));
    if (status == TN_OK && !flags) must(tn_context_set_profiling(context, true));
    for (int i = 0; i < 3 && status == TN_OK; i++)
        status = tn_context_run(context);
    test->allocator.fail_at = 0;
    stub->fail_allocation = 0;
    tn_context_destroy(context);
    assert_int_equal(stub->allocations - (device_at > 0 && status != TN_OK), stub->deallocations);
    tn_engine_release(engine);
    return status;
}

static void test_memory_may_be_missing_in_guarded_and_in_profiled_runs(void **state) {
    device_test *test = *state;
    chain c;
    open_chain(test, &c, "stub");
    for (int variant = 0; variant < 4; variant++) {
        const uint32_t flags = variant & 1 ? TN_ENGINE_CHECKED : 0;
        const bool is_device = variant & 2;
        uint64_t at = 1;
        tn_status status = TN_ERROR_MEMORY;
        for (; status != TN_OK && at < 1000; at++) {
            const int64_t live = test->allocator.live;
            status = try_run(test, &c, flags, is_device ? 0 : at, is_device ? at : 0);
            assert_true(status == TN_OK || status == TN_ERROR_MEMORY);
            assert_true(test->allocator.live == live);
        }
        assert_int_equal(status, TN_OK);
        assert_true(at > (is_device ? 2 : 10));
    }
    close_chain(&c);
}

static uint64_t launches_of_a_build(device_test *test, tn_stub_state *stub, const char *cache) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .device = "stub", .timing_cache = cache};
    tn_graph *graph = make_chain(test->runtime, false);
    tn_plan *plan = NULL;
    stub->launches = 0;
    must(tn_build(graph, &options, &plan));
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    return stub->launches;
}

/* With another driver, or other libraries, kernels are measured anew. */
static void test_timings_are_of_a_driver_and_its_libraries(void **state) {
    device_test *test = *state;
    char cache[] = "device_timings_XXXXXX", lock[64];
    const int file = mkstemp(cache);
    assert_true(file >= 0);
    close(file);
    unlink(cache);
    tn_plan *plan = NULL;
    tn_engine *engine = load_chain(test, false, "stub", &plan);
    tn_stub_state *stub = stub_of(engine);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    assert_true(launches_of_a_build(test, stub, cache) > 0);
    assert_int_equal(launches_of_a_build(test, stub, cache), 0);
    strcpy(stub->version, "2");
    assert_true(launches_of_a_build(test, stub, cache) > 0);
    assert_int_equal(launches_of_a_build(test, stub, cache), 0);
    strcpy(stub->libraries, "2");
    assert_true(launches_of_a_build(test, stub, cache) > 0);
    assert_int_equal(launches_of_a_build(test, stub, cache), 0);
    strcpy(stub->version, "1");
    strcpy(stub->libraries, "1");
    assert_int_equal(launches_of_a_build(test, stub, cache), 0);
    unlink(cache);
    snprintf(lock, sizeof(lock), "%s.lock", cache);
    unlink(lock);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_a_refused_launch_names_its_node),
        DEVICE_TEST(test_work_that_fails_later_names_its_node),
        DEVICE_TEST(test_later_runs_say_how_to_find_the_node),
        DEVICE_TEST(test_a_lost_device_closes_only_its_contexts),
        DEVICE_TEST(test_memory_of_the_device_may_be_missing_anywhere),
        DEVICE_TEST(test_a_build_does_with_less_memory),
        DEVICE_TEST(test_a_build_ends_with_its_device),
        DEVICE_TEST(test_a_steady_run_takes_nothing_of_the_device),
        DEVICE_TEST(test_an_older_device_does_with_what_it_has),
        DEVICE_TEST(test_a_profile_waits_once),
        DEVICE_TEST(test_memory_may_be_missing_in_guarded_and_in_profiled_runs),
        DEVICE_TEST(test_timings_are_of_a_driver_and_its_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
