/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, streams, events and copies of callers': the same on the processor and on the stub. */
#include "device_test.h"
#include "stub/stub.h"

#include <tenon/device_memory.h>

enum { COUNT = 120, BYTES = COUNT * sizeof(float) };

static const char *const names[] = {"cpu", "stub", "stub:1"};

static void expect(tn_status status, tn_status expected, const char *message) {
    assert_int_equal(status, expected);
    assert_error(message, NULL);
}

static void test_bytes_come_back(void **state) {
    device_test *test = *state;
    for (size_t n = 0; n < TN_COUNT(names); n++) {
        tn_device_handle *device = NULL;
        tn_stream *stream = NULL;
        void *a = NULL, *b = NULL, *host = NULL;
        float from[COUNT], to[COUNT] = {0};
        for (int i = 0; i < COUNT; i++)
            from[i] = (float)i;
        must(tn_device_open(test->runtime, names[n], &device));
        must(tn_stream_create(device, &stream));
        assert_true((tn_stream_native(stream) == NULL) == (n == 0));
        must(tn_device_allocate(device, BYTES, NULL, &a));
        must(tn_device_allocate(device, BYTES, stream, &b));
        must(tn_device_host_allocate(device, BYTES, &host));
        must(tn_device_copy_to_device(device, a, from, BYTES, NULL));
        must(tn_device_copy_on_device(device, b, a, BYTES, stream));
        must(tn_device_fill(device, b, 0, 4, stream));
        must(tn_device_copy_to_host(device, host, b, BYTES, stream));
        must(tn_stream_wait(stream));
        assert_true(((float *)host)[0] == 0 && ((float *)host)[7] == 7);
        must(tn_device_copy_to_host(device, to, (char *)a + 8, BYTES - 8, NULL));
        assert_true(to[0] == 2 && to[COUNT - 3] == COUNT - 1 && to[COUNT - 1] == 0);
        must(tn_device_free(device, a, NULL));
        must(tn_device_free(device, b, stream));
        must(tn_device_free(device, NULL, NULL));
        must(tn_device_host_free(device, host));
        tn_stream_destroy(stream);
        tn_device_release(device);
    }
}

static void test_bytes_go_from_device_to_device(void **state) {
    device_test *test = *state;
    for (size_t n = 0; n < 9; n++) {
        tn_device_handle *from = NULL, *to = NULL;
        tn_stream *stream = NULL;
        void *a = NULL, *b = NULL;
        char *bytes = calloc(1, 5000000);
        assert_non_null(bytes);
        bytes[4999999] = 9;
        must(tn_device_open(test->runtime, names[n / 3], &from));
        must(tn_device_open(test->runtime, names[n % 3], &to));
        must(tn_stream_create(to, &stream));
        must(tn_device_allocate(from, 5000000, NULL, &a));
        must(tn_device_allocate(to, 5000000, NULL, &b));
        must(tn_device_copy_to_device(from, a, bytes, 5000000, NULL));
        must(tn_device_copy_from(to, b, from, a, 5000000, n % 2 ? stream : NULL));
        bytes[4999999] = 0;
        must(tn_stream_wait(stream));
        must(tn_device_copy_to_host(to, bytes, b, 5000000, NULL));
        assert_int_equal(bytes[4999999], 9);
        expect(tn_device_copy_from(to, b, from, a, 5000001, NULL), TN_ERROR_RANGE, "5000001 bytes");
        free(bytes);
        tn_stream_destroy(stream);
        tn_device_release(from); /* memory goes with it */
        tn_device_release(to);
    }
}

static void test_what_is_known_of_memory_is_checked(void **state) {
    device_test *test = *state;
    for (size_t n = 0; n < 2; n++) {
        tn_device_handle *device = NULL;
        void *memory = NULL, *host = NULL;
        char bytes[200] = {0};
        must(tn_device_open(test->runtime, names[n], &device));
        must(tn_device_allocate(device, 100, NULL, &memory));
        must(tn_device_host_allocate(device, 100, &host));
        expect(tn_device_copy_to_device(device, memory, bytes, 101, NULL), TN_ERROR_RANGE,
               "`to`: 101 bytes from byte 0 on, of memory that has 100");
        expect(tn_device_copy_to_host(device, bytes, (char *)memory + 60, 41, NULL), TN_ERROR_RANGE,
               "`from`: 41 bytes from byte 60 on");
        expect(tn_device_copy_to_device(device, memory, (char *)host + 1, 100, NULL),
               TN_ERROR_RANGE, "`from`");
        expect(tn_device_fill(device, memory, 1, UINT64_MAX, NULL), TN_ERROR_RANGE, "`to`");
        expect(tn_device_copy_to_host(device, NULL, memory, 4, NULL), TN_ERROR_ARGUMENT, "null");
        if (n > 0) {
            expect(tn_device_copy_to_device(device, host, bytes, 4, NULL), TN_ERROR_ARGUMENT,
                   "`to` is memory of the host");
            expect(tn_device_copy_to_host(device, memory, memory, 4, NULL), TN_ERROR_ARGUMENT,
                   "`to` is memory of the device");
        }
        expect(tn_device_free(device, host, NULL), TN_ERROR_ARGUMENT, "is not what");
        expect(tn_device_free(device, (char *)memory + 1, NULL), TN_ERROR_ARGUMENT, "is not what");
        expect(tn_device_host_free(device, memory), TN_ERROR_ARGUMENT, "is not what");
        must(tn_device_free(device, memory, NULL));
        expect(tn_device_free(device, memory, NULL), TN_ERROR_ARGUMENT, "freed before");
        must(tn_device_copy_to_host(device, NULL, NULL, 0, NULL));
        tn_device_release(device);
    }
}

static void test_events_are_reached(void **state) {
    device_test *test = *state;
    for (size_t n = 0; n < 2; n++) {
        tn_device_handle *device = NULL;
        tn_stream *stream = NULL, *other = NULL;
        tn_event *first = NULL, *second = NULL;
        double ns = -1;
        bool is_done = false;
        must(tn_device_open(test->runtime, names[n], &device));
        must(tn_stream_create(device, &stream));
        must(tn_stream_create(device, &other));
        must(tn_event_create(device, &first));
        must(tn_event_create(device, &second));
        expect(tn_event_wait(first, stream), TN_ERROR_STATE, "never recorded");
        expect(tn_event_query(first, &is_done), TN_ERROR_STATE, "never recorded");
        expect(tn_event_elapsed(first, second, &ns), TN_ERROR_STATE, "never recorded");
        must(tn_event_record(first, stream));
        must(tn_event_record(second, stream));
        must(tn_event_query(second, &is_done));
        assert_true(is_done == (n == 0));
        must(tn_event_wait(second, other));
        must(tn_event_wait(second, NULL));
        must(tn_event_query(second, &is_done));
        assert_true(is_done);
        must(tn_event_elapsed(first, second, &ns));
        assert_true(ns >= 0);
        must(tn_event_record(first, stream));
        tn_stream_destroy(stream); /* before the events on it */
        tn_stream_destroy(other);
        tn_event_destroy(first);
        tn_event_destroy(second);
        tn_device_release(device);
    }
}

static void test_another_devices_stream_is_refused(void **state) {
    device_test *test = *state;
    tn_device_handle *cpu = NULL, *stub = NULL, *missing = NULL;
    tn_stream *stream = NULL;
    tn_event *event = NULL;
    void *memory = NULL;
    must(tn_device_open(test->runtime, "cpu", &cpu));
    must(tn_device_open(test->runtime, "stub", &stub));
    must(tn_stream_create(stub, &stream));
    must(tn_event_create(cpu, &event));
    expect(tn_device_allocate(cpu, 4, stream, &memory), TN_ERROR_ARGUMENT, "'stub:0'");
    expect(tn_event_record(event, stream), TN_ERROR_ARGUMENT, "not of 'cpu:0'");
    assert_int_equal(tn_device_open(test->runtime, "cpu:1", &missing), TN_ERROR_NOT_FOUND);
    assert_int_equal(tn_device_open(test->runtime, "a b", &missing), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_device_open(NULL, "cpu", &missing), TN_ERROR_ARGUMENT);
    assert_null(missing);
    tn_event_destroy(event);
    tn_stream_destroy(stream);
    tn_device_release(stub);
    tn_device_release(cpu);
}

static void test_a_device_says_what_it_is(void **state) {
    device_test *test = *state;
    tn_device_handle *device = NULL;
    tn_device_info info = {.size = sizeof(info)};
    must(tn_device_open(test->runtime, "stub:1", &device));
    must(tn_device_get_info(device, &info));
    assert_string_equal(info.kind, "stub");
    assert_int_equal(info.index, 1);
    assert_true(info.memory_free > 0 && info.memory_free < info.memory_total);
    info = (tn_device_info){.size = 8, .kind = "untouched"};
    must(tn_device_get_info(device, &info));
    assert_string_equal(info.kind, "untouched");
    tn_device_release(device);
}

/* One program for both devices. */
static void test_a_network_runs_on_a_callers_memory(void **state) {
    device_test *test = *state;
    for (size_t n = 0; n < 2; n++) {
        tn_plan *plan = NULL;
        tn_engine *engine = load_chain(test, false, names[n], &plan);
        tn_context *context = NULL;
        tn_device_handle *device = NULL;
        tn_stream *stream = NULL;
        void *x = NULL, *y = NULL;
        float from[COUNT], to[COUNT];
        for (int i = 0; i < COUNT; i++)
            from[i] = (float)(i % 11);
        must(tn_device_open(test->runtime, names[n], &device));
        must(tn_stream_create(device, &stream));
        must(tn_device_allocate(device, BYTES, NULL, &x));
        must(tn_device_allocate(device, BYTES, NULL, &y));
        must(tn_context_create(engine, &context));
        must(tn_context_set_stream(context, tn_stream_native(stream)));
        must(tn_context_bind_device_input(context, 0, x, BYTES));
        must(tn_context_bind_device_output(context, 0, y, BYTES));
        for (int round = 1; round < 4; round++) {
            from[10] = (float)round;
            must(tn_device_copy_to_device(device, x, from, BYTES, stream));
            must(tn_context_run(context));
            must(tn_device_copy_to_host(device, to, y, BYTES, stream));
            must(tn_stream_wait(stream));
            assert_true(to[10] == (float)round);
        }
        tn_context_destroy(context);
        tn_stream_destroy(stream);
        tn_device_release(device);
        tn_engine_release(engine);
        tn_plan_destroy(plan);
    }
}

static tn_status use_all(tn_runtime *runtime, const char *name) {
    tn_device_handle *device = NULL;
    tn_stream *stream = NULL;
    tn_event *event = NULL;
    void *memory = NULL, *host = NULL;
    TN_TRY(tn_device_open(runtime, name, &device));
    tn_status status = tn_stream_create(device, &stream);
    if (status == TN_OK) status = tn_event_create(device, &event);
    if (status == TN_OK) status = tn_device_allocate(device, 4, stream, &memory);
    if (status == TN_OK) status = tn_device_host_allocate(device, 4, &host);
    if (status == TN_OK) status = tn_event_record(event, stream);
    tn_event_destroy(event);
    tn_stream_destroy(stream);
    tn_device_release(device);
    return status;
}

static void test_memory_that_is_not_there_is_an_error(void **state) {
    device_test *test = *state;
    for (size_t n = 0; n < 2; n++) {
        tn_status status = TN_ERROR_MEMORY;
        const int64_t live = test->allocator.live;
        for (uint64_t at = 1; status != TN_OK && at < 50; at++) {
            test->allocator.fail_at = test->allocator.allocations + at;
            status = use_all(test->runtime, names[n]);
            test->allocator.fail_at = 0;
            assert_true(status == TN_OK || status == TN_ERROR_MEMORY);
            assert_int_equal(test->allocator.live, live);
        }
        assert_int_equal(status, TN_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_bytes_come_back),
        DEVICE_TEST(test_bytes_go_from_device_to_device),
        DEVICE_TEST(test_what_is_known_of_memory_is_checked),
        DEVICE_TEST(test_events_are_reached),
        DEVICE_TEST(test_another_devices_stream_is_refused),
        DEVICE_TEST(test_a_device_says_what_it_is),
        DEVICE_TEST(test_a_network_runs_on_a_callers_memory),
        DEVICE_TEST(test_memory_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
