/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks that are run whole during a build on a device decide between kernels that differ in a
 * network from what they are by themselves.
 */
#include "device_test.h"
#include "stub/stub.h"

#include "base/clock.h"

#include <unistd.h>

/* Nanoseconds of Neg: by itself, and behind Abs, which is faster by another kernel that is slower
 * alone. */
enum { ALONE_NS = 100000, BEHIND_NS = 2000000, EVEN_NS = 107000 };

static bool was_abs; /* the last one that ran */

static void take(uint64_t ns) {
    const uint64_t before = tn_now_ns();
    while (tn_now_ns() - before < ns)
        continue;
}

static void write_output(tn_call *call, bool is_abs) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (size_t i = 0; i < call->outputs[0]->bytes / sizeof *y; i++)
        y[i] = is_abs ? fabsf(x[i]) : -x[i];
    was_abs = is_abs;
}

static tn_status do_abs(tn_call *call) {
    write_output(call, true);
    return TN_OK;
}
static tn_status do_uneven(tn_call *call) {
    take(was_abs ? BEHIND_NS : ALONE_NS);
    write_output(call, false);
    return TN_OK;
}
static tn_status do_even(tn_call *call) {
    take(EVEN_NS);
    write_output(call, false);
    return TN_OK;
}

static tn_status enqueue(tn_call *call, tn_callback body) {
    return ((const tn_stub_state *)call->device->user)->enqueue(call, body);
}
static tn_status run_abs(tn_call *call) {
    return enqueue(call, do_abs);
}
static tn_status run_uneven(tn_call *call) {
    return enqueue(call, do_uneven);
}
static tn_status run_even(tn_call *call) {
    return enqueue(call, do_even);
}

#define KERNEL(operator_name, kernel_name, function)                                               \
    {                                                                                              \
        .size = sizeof(tn_kernel), .revision = 1, .domain = "", .op = operator_name,               \
        .device = "stub", .name = kernel_name, .run = function                                     \
    }
static const tn_kernel abs_kernel = KERNEL("Abs", "abs", run_abs),
                       uneven_kernel = KERNEL("Neg", "uneven", run_uneven),
                       even_kernel = KERNEL("Neg", "even", run_even);
static const tn_kernel *const kernels[] = {&abs_kernel, &uneven_kernel, &even_kernel};

static tn_library *entry(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "swaps",
                                 .version = "1",
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};
    (void)host;
    return &library;
}

/* Batches of one, and of two and more. */
static const int64_t shapes[][3] = {{1, 3, 4}, {2, 3, 4}, {4, 3, 4}};
static const tn_profile_input first_range = {sizeof first_range, 3,    "x",  shapes[0], shapes[0],
                                             shapes[0],          NULL, NULL, NULL},
                              second_range = {sizeof second_range, 3,    "x",  shapes[1], shapes[1],
                                              shapes[2],           NULL, NULL, NULL};
static const tn_profile_input *const ranges[] = {&first_range, &second_range};
static const tn_profile sets[] = {{sizeof(tn_profile), 1, &ranges[0]},
                                  {sizeof(tn_profile), 1, &ranges[1]}};
static const tn_profile *const profiles[] = {&sets[0], &sets[1]};

/* x -> Abs -> Neg, or Neg alone, twice behind each other, for both ranges. */
static tn_plan *build_twice(tn_runtime *runtime, const char *device, const char *cache,
                            bool with_abs) {
    static const int64_t shape[] = {-1, 3, 4};
    static const char *const ops[] = {"Abs", "Neg"};
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    must(tn_graph_create(runtime, "twice", &graph));
    tn_tensor_id last = add_input(graph, "x", TN_F32, 3, shape);
    for (int i = 0; i < 4; i++) {
        const tn_node_description node = {.size = sizeof(node),
                                          .domain = "",
                                          .op = ops[i % 2],
                                          .input_count = 1,
                                          .inputs = (tn_tensor_id[]){last},
                                          .output_count = 1};
        if (i % 2 == 1 || with_abs) must(tn_graph_add_node(graph, &node, &last));
    }
    must(tn_graph_add_output(graph, last, "y"));
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .device = device,
                                        .timing_cache = cache,
                                        .timing_seconds = 8,
                                        .profile_count = 2,
                                        .profiles = profiles,
                                        .flags = TN_BUILD_NO_FUSION};
    was_abs = false;
    must(tn_build(graph, &options, &plan));
    tn_graph_destroy(graph);
    return plan;
}

static uint32_t count_steps(const tn_engine *engine, const char *kernel) {
    uint32_t count = 0;
    for (uint32_t s = 0; s < engine->program->step_count; s++) {
        const char *own = engine->program->steps[s].kernel;
        count += own && strcmp(own, kernel) == 0;
    }
    return count;
}

static bool has_both(device_test *test, bool with_abs) {
    tn_plan *plan = build_twice(test->runtime, with_abs ? "stub:1" : "stub", NULL, with_abs);
    tn_engine *engine = load(test->runtime, plan, NULL);
    uint32_t count = 0;
    for (uint32_t p = 0; p < 2; p++)
        count += count_steps(tn_engine_at_profile(engine, p), with_abs ? "even" : "uneven");
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    return count == 4;
}

/* In each profile, and the swap is of both nodes. Where other programs take the processor's time, a
 * kernel may seem to be too slow to be tried. */
static void test_a_network_decides_between_kernels(void **state) {
    device_test *test = *state;
    must(tn_runtime_register_library(test->runtime, entry));
    for (int with_abs = 0; with_abs < 2; with_abs++) {
        bool is_found = false;
        for (int build = 0; build < 5 && !is_found; build++)
            is_found = has_both(test, with_abs);
        assert_true(is_found);
    }
}

/* --- networks each of which is faster than the one before --- */

static uint32_t opened;
enum { ALIKE = 5 /* kernels opened first, and timed by themselves, take as long */ };
static uint64_t opened_ns(const tn_call *call) {
    const uint64_t number = (uint64_t)(uintptr_t)call->context;
    return number < ALIKE ? 400000 : (uint64_t)(400000 * pow(0.98, (double)(number - ALIKE)));
}

static tn_status open_later(tn_call *call) {
    call->context = (void *)(uintptr_t)++opened;
    return TN_OK;
}
static void close_later(tn_call *call) {
    call->context = NULL;
}
static tn_status do_later(tn_call *call) {
    take(opened_ns(call));
    write_output(call, false);
    return TN_OK;
}
static tn_status run_later(tn_call *call) {
    return enqueue(call, do_later);
}

#define LATER(kernel_name)                                                                         \
    {                                                                                              \
        .size = sizeof(tn_kernel), .revision = 1, .domain = "", .op = "Neg", .device = "stub",     \
        .name = kernel_name, .open = open_later, .close = close_later, .run = run_later            \
    }
static const tn_kernel one_kernel = LATER("one"), other_kernel = LATER("other");
static const tn_kernel *const later_kernels[] = {&one_kernel, &other_kernel};
static tn_library *later_entry(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "later",
                                 .version = "1",
                                 .kernel_count = TN_COUNT(later_kernels),
                                 .kernels = later_kernels};
    (void)host;
    return &library;
}

/* None is opened twice, neither when they run nor when a cache tells what they took. */
static void test_networks_that_seem_better_in_turns_come_to_an_end(void **state) {
    device_test *test = *state;
    char cache[] = "swaps-XXXXXX";
    const int file = mkstemp(cache);
    assert_true(file >= 0);
    close(file);
    unlink(cache);
    must(tn_runtime_register_library(test->runtime, later_entry));
    for (int build = 0; build < 3; build++) {
        opened = 0;
        tn_plan_destroy(build_twice(test->runtime, "stub", cache, false));
        assert_true(opened < 60);
    }
    unlink(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_a_network_decides_between_kernels),
        DEVICE_TEST(test_networks_that_seem_better_in_turns_come_to_an_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
