/* SPDX-License-Identifier: Apache-2.0 */
/* Where a context takes its memory: the caller's allocators, and memory that is lent. */
#include "device_test.h"
#include "stub/stub.h"

#include <tenon/context_memory.h>
#include <tenon/device_memory.h>

enum { COUNT = 120, BYTES = COUNT * sizeof(float) };

static void expect(tn_status status, tn_status expected, const char *message) {
    assert_int_equal(status, expected);
    assert_error(message, NULL);
}

typedef struct device_blocks {
    const tn_device *device;
    int live, taken;
    int fail_at; /* 0: none */
    size_t shift;
} device_blocks;

static void *take(void *user, uint64_t bytes, uint64_t alignment, void *stream) {
    device_blocks *own = user;
    void *memory = NULL;
    assert_int_equal(alignment, own->device->alignment);
    if (++own->taken == own->fail_at) return NULL;
    if (own->device->allocate(own->device, bytes + 256, stream, &memory) != TN_OK) return NULL;
    own->live++;
    return (char *)memory + own->shift;
}

static void give(void *user, void *memory, void *stream) {
    device_blocks *own = user;
    own->live--;
    own->device->deallocate(own->device, (char *)memory - own->shift, stream);
}

static tn_plan *plan_of(device_test *test, const char *device) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .device = device, .flags = TN_BUILD_NO_FUSION};
    tn_plan *plan = NULL;
    tn_graph *graph = make_chain(test->runtime, true);
    must(tn_build(graph, &options, &plan));
    tn_graph_destroy(graph);
    return plan;
}

static void check_run(tn_context *context, float first) {
    static _Alignas(64) float x[COUNT], y[COUNT];
    x[0] = first;
    must(tn_context_bind_input(context, 0, x, BYTES));
    must(tn_context_bind_output(context, 0, y, BYTES));
    must(tn_context_run(context));
    assert_true(fabsf(y[0] - 1 / (1 + expf(-first))) < 1e-5f);
}

static void test_a_contexts_memory_comes_from_its_allocator(void **state) {
    device_test *test = *state;
    failing_allocator own;
    tn_plan *plan = plan_of(test, "cpu");
    tn_engine *engine = load(test->runtime, plan, NULL);
    tn_context *context = NULL;
    failing_allocator_init(&own);
    const tn_context_options options = {.size = sizeof(options), .allocator = &own.functions};
    const uint64_t before = test->allocator.allocations;
    must(tn_context_create_with(engine, &options, &context));
    check_run(context, 2);
    assert_int_equal(test->allocator.allocations, before);
    assert_true(own.live > 0);
    tn_context_destroy(context);
    assert_int_equal(own.live, 0);
    tn_status status = TN_ERROR_MEMORY;
    for (uint64_t at = 1; status != TN_OK && at < 500; at++) {
        own.fail_at = own.allocations + at;
        context = NULL;
        status = tn_context_create_with(engine, &options, &context);
        own.fail_at = 0;
        assert_true(status == TN_OK || status == TN_ERROR_MEMORY);
        tn_context_destroy(context);
        assert_int_equal(own.live, 0);
    }
    assert_int_equal(status, TN_OK);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

static void test_device_memory_comes_from_the_callers_allocator(void **state) {
    device_test *test = *state;
    tn_plan *plan = build_lenet(test->runtime, "stub");
    tn_engine *engine = load(test->runtime, plan, "stub"), *own_engine = NULL;
    tn_context *context = NULL;
    float output[10];
    uint64_t bytes = 0;
    device_blocks own = {.device = engine->device}, other = own;
    const void *data = tn_plan_bytes(plan, &bytes);
    tn_device_allocator allocator = {
        .size = sizeof(allocator), .user = &own, .allocate = take, .deallocate = give};
    const tn_engine_options engine_options = {
        .size = sizeof(engine_options), .device = "stub", .device_allocator = &allocator};
    must(tn_engine_load_bytes(test->runtime, data, bytes, &engine_options, &own_engine));
    const int constants = own.live; /* the small ones together, and each large one */
    assert_true(constants > 0);
    must(tn_context_create(own_engine, &context));
    run(context, 1, 3, output);
    assert_int_equal(own.live, constants + 1);
    tn_context_destroy(context);
    assert_int_equal(own.live, constants);
    allocator.user = &other;
    const tn_context_options options = {.size = sizeof(options), .device_allocator = &allocator};
    must(tn_context_create_with(own_engine, &options, &context));
    run(context, 1, 3, output);
    run(context, 4, 3, (float[40]){0});
    assert_true(own.live == constants && other.live == 1);
    tn_context_destroy(context);
    assert_int_equal(other.live, 0);
    other.fail_at = other.taken + 1;
    must(tn_context_create_with(own_engine, &options, &context));
    static float image[784];
    must(tn_context_set_shape(context, 0, 4, (int64_t[]){1, 1, 28, 28}));
    must(tn_context_bind_input(context, 0, image, sizeof(image)));
    expect(tn_context_run(context), TN_ERROR_MEMORY, "the caller's allocator has none");
    other.shift = 8;
    expect(tn_context_run(context), TN_ERROR_ARGUMENT, "does not align to 256");
    other.shift = 0;
    must(tn_context_run(context));
    tn_context_destroy(context);
    tn_engine_release(own_engine);
    assert_true(own.live == 0 && other.live == 0);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

static void test_options_are_checked(void **state) {
    device_test *test = *state;
    tn_plan *plan = plan_of(test, "cpu");
    tn_engine *engine = load(test->runtime, plan, NULL);
    tn_context *context = NULL;
    tn_allocator no_functions = {.size = sizeof(no_functions)};
    tn_device_allocator no_device_functions = {.size = sizeof(no_device_functions)};
    tn_context_options options = {0};
    expect(tn_context_create_with(engine, &options, &context), TN_ERROR_ARGUMENT, "`size`");
    options = (tn_context_options){.size = sizeof(options), .flags = 2};
    expect(tn_context_create_with(engine, &options, &context), TN_ERROR_ARGUMENT, "0x2");
    options = (tn_context_options){.size = sizeof(options), .allocator = &no_functions};
    expect(tn_context_create_with(engine, &options, &context), TN_ERROR_ARGUMENT, "`allocate`");
    options =
        (tn_context_options){.size = sizeof(options), .device_allocator = &no_device_functions};
    expect(tn_context_create_with(engine, &options, &context), TN_ERROR_ARGUMENT, "`allocate`");
    assert_null(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

/* Two contexts on one block. */
static void test_memory_is_lent(void **state) {
    device_test *test = *state;
    tn_plan *plan = build_lenet(test->runtime, "cpu");
    tn_engine *engine = load(test->runtime, plan, NULL);
    tn_context *own = NULL, *a = NULL, *b = NULL;
    uint64_t bytes = 0, device_bytes = 1, now = 0;
    float expected[40], output[40];
    const tn_context_options options = {.size = sizeof(options),
                                        .flags = TN_CONTEXT_CALLERS_MEMORY};
    must(tn_engine_context_bytes(engine, &bytes, &device_bytes));
    assert_true(bytes > 0 && device_bytes == 0);
    char *memory = aligned_alloc(64, (size_t)bytes + 64);
    assert_non_null(memory);
    memset(memory, 77, (size_t)bytes + 64);
    must(tn_context_create(engine, &own));
    must(tn_context_create_with(engine, &options, &a));
    must(tn_context_create_with(engine, &options, &b));
    expect(tn_context_memory_bytes(a, &now, NULL), TN_ERROR_STATE, "tn_context_reshape");
    must(tn_context_set_shape(a, 0, 4, (int64_t[]){4, 1, 28, 28}));
    must(tn_context_reshape(a));
    must(tn_context_memory_bytes(a, &now, NULL));
    assert_int_equal(now, bytes);
    static _Alignas(64) float images[4 * 784];
    must(tn_context_bind_input(a, 0, images, sizeof(images)));
    expect(tn_context_run(a), TN_ERROR_STATE, "none of the host was lent");
    expect(tn_context_set_memory(a, memory + 8, bytes), TN_ERROR_ARGUMENT, "aligned to 64");
    expect(tn_context_set_memory(a, NULL, bytes), TN_ERROR_ARGUMENT, "is null");
    expect(tn_context_set_memory(NULL, memory, bytes), TN_ERROR_ARGUMENT, "null");
    expect(tn_context_set_device_memory(a, memory, bytes), TN_ERROR_STATE, "processor");
    must(tn_context_set_memory(a, memory, bytes - 1));
    expect(tn_context_run(a), TN_ERROR_MEMORY, "these shapes need");
    must(tn_context_set_memory(a, memory, bytes));
    must(tn_context_set_memory(b, memory, bytes));
    for (int round = 0; round < 3; round++)
        for (int64_t batch = 1; batch <= 4; batch += 3) {
            run(own, batch, round, expected);
            run(a, batch, round, output);
            assert_close(expected, output, (size_t)batch * 10);
            run(b, batch, round, output);
            assert_close(expected, output, (size_t)batch * 10);
        }
    for (int i = 0; i < 64; i++)
        assert_int_equal(memory[bytes + (uint64_t)i], 77);
    must(tn_context_set_memory(a, NULL, 0));
    expect(tn_context_run(a), TN_ERROR_STATE, "none of the host was lent");
    tn_context_destroy(a);
    tn_context_destroy(b);
    must(tn_context_set_memory(own, memory, bytes + 64));
    run(own, 4, 2, output);
    assert_close(expected, output, 40);
    must(tn_context_set_memory(own, NULL, 0));
    free(memory);
    run(own, 4, 2, output);
    assert_close(expected, output, 40);
    tn_context_destroy(own);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

static void test_device_memory_is_lent(void **state) {
    device_test *test = *state;
    tn_plan *plan = build_lenet(test->runtime, "stub");
    tn_engine *engine = load(test->runtime, plan, "stub");
    tn_context *own = NULL, *lent = NULL;
    tn_device_handle *device = NULL;
    void *memory = NULL, *host = NULL;
    uint64_t bytes = 0, device_bytes = 0;
    float expected[40], output[40];
    const tn_context_options options = {.size = sizeof(options),
                                        .flags = TN_CONTEXT_CALLERS_MEMORY};
    must(tn_engine_context_bytes(engine, &bytes, &device_bytes));
    assert_true(device_bytes > 0);
    must(tn_device_open(test->runtime, "stub", &device));
    must(tn_device_allocate(device, device_bytes, NULL, &memory));
    must(tn_device_host_allocate(device, bytes, &host));
    must(tn_context_create(engine, &own));
    must(tn_context_create_with(engine, &options, &lent));
    expect(tn_context_set_device_memory(lent, (char *)memory + 64, device_bytes), TN_ERROR_ARGUMENT,
           "aligned to 256");
    must(tn_context_set_device_memory(lent, memory, device_bytes));
    if (bytes > 0) must(tn_context_set_memory(lent, host, bytes));
    for (int round = 0; round < 3; round++)
        for (int64_t batch = 1; batch <= 4; batch += 3) {
            run(own, batch, round, expected);
            run(lent, batch, round, output);
            assert_close(expected, output, (size_t)batch * 10);
        }
    tn_context_destroy(own);
    tn_context_destroy(lent);
    tn_device_release(device);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_a_contexts_memory_comes_from_its_allocator),
        DEVICE_TEST(test_device_memory_comes_from_the_callers_allocator),
        DEVICE_TEST(test_options_are_checked),
        DEVICE_TEST(test_memory_is_lent),
        DEVICE_TEST(test_device_memory_is_lent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
