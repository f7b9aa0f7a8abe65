/* SPDX-License-Identifier: Apache-2.0 */
/* What the first run of new shapes takes: kernels that are made anew for a shape are made on all
 * threads, and an arena that grows does so seldom. */
#include "run_test.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { COUNT = 8, MOST = 1 << 16 };

/* --- Made: y = x by a kernel that uses OpenMP and is made for each shape --- */
static atomic_int made, at_once, most_at_once;
static atomic_int packed;        /* of kernels with something to prepare */
static atomic_int packed_before; /* when the first of the others began; -1: none did */
static int failing;              /* the extent that it fails at */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Waits for another one, once. */
static tn_status made_reshape(tn_call *call) {
    const int now = atomic_fetch_add(&at_once, 1) + 1;
    const double end = seconds() + 5;
    int most = atomic_load(&most_at_once);
    while (now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now))
        ;
    while (call->threads > 1 && atomic_load(&most_at_once) < 2 && seconds() < end)
        sched_yield(); /* where other programs run, too, the other thread may wait for this core */
    atomic_fetch_sub(&at_once, 1);
    atomic_fetch_add(&made, 1);
    if (call->inputs[0]->shape[0] == failing)
        return (call->host->fail)(call, TN_ERROR_DEVICE, "there is no code for this shape");
    return TN_OK;
}
static tn_status bare_reshape(tn_call *call) {
    int none = -1;
    atomic_compare_exchange_strong(&packed_before, &none, atomic_load(&packed));
    return made_reshape(call);
}
static tn_status packed_prepare(tn_call *call) {
    (void)call;
    return TN_OK;
}
static tn_status packed_reshape(tn_call *call) {
    atomic_fetch_add(&packed, 1);
    return made_reshape(call);
}
static tn_status made_run(tn_call *call) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->inputs[0]->bytes);
    return TN_OK;
}
static const tn_operator made_operator = {
    RUN_OPERATOR("Made", run_unary_inputs, run_unary_outputs, run_same_infer, made_run)};
static const tn_kernel made_kernel = {RUN_KERNEL("Made", "made"), .traits = TN_KERNEL_OPENMP,
                                      .reshape = bare_reshape, .run = made_run};

/* --- Packed: the same, of a kernel with something to prepare --- */
static const tn_operator packed_operator = {
    RUN_OPERATOR("Packed", run_unary_inputs, run_unary_outputs, run_same_infer, made_run)};
static const tn_kernel packed_kernel = {RUN_KERNEL("Packed", "packed"), .traits = TN_KERNEL_OPENMP,
                                        .prepare = packed_prepare, .reshape = packed_reshape,
                                        .run = made_run};
static const tn_operator *const made_operators[] = {&made_operator, &packed_operator};
static const tn_kernel *const made_kernels[] = {&made_kernel, &packed_kernel};

static tn_library *made_entry(const tn_host *host) {
    static tn_library library = {.size = sizeof(library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "made_layers",
                                 .version = "1",
                                 .operator_count = TN_COUNT(made_operators),
                                 .operators = made_operators,
                                 .kernel_count = TN_COUNT(made_kernels),
                                 .kernels = made_kernels};
    (void)host;
    return &library;
}

/* A chain of them, `last` of the last ones with something to prepare, for so many threads. */
static void start_with(run_test *test, uint32_t threads, int last) {
    const tn_profile_input *const profiles[] = {
        &(tn_profile_input){.size = sizeof(tn_profile_input),
                            .name = "x",
                            .rank = 1,
                            .minimum = EXTENTS(1),
                            .optimum = EXTENTS(64),
                            .maximum = EXTENTS(MOST)}};
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = threads,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .profile_input_count = 1,
                                        .profile_inputs = profiles};
    run_must(tn_runtime_register_library(test->runtime, made_entry));
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    char name[16];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof(name), "made%d", i);
        x = run_unary(test->graph, i < COUNT - last ? "Made" : "Packed", name, x);
    }
    run_output(test->graph, x, "y");
    run_must(tn_build(test->graph, &options, &test->plan));
    run_load(test);
    run_must(tn_context_create(test->engine, &test->context));
    made = at_once = most_at_once = packed = 0;
    failing = 0;
    packed_before = -1;
}

static void start(run_test *test, uint32_t threads) {
    start_with(test, threads, 0);
}

static tn_status run_with(run_test *test, int64_t extent) {
    static _Alignas(64) float in[MOST];
    for (int64_t i = 0; i < extent; i++)
        in[i] = (float)(i + extent);
    run_bind(test, "x", in, (uint64_t)extent * sizeof(float));
    run_shape(test, "x", 1, &extent);
    const tn_status status = tn_context_run(test->context);
    if (status == TN_OK) assert_floats(run_result(test, 0), extent, in);
    return status;
}

static void test_kernels_are_made_on_all_threads(void **state) {
    run_test *test = *state;
    start(test, 2);
    run_must(run_with(test, 5));
    assert_int_equal(made, COUNT);
    assert_true(most_at_once >= 2);
    run_must(run_with(test, 5));
    assert_int_equal(made, COUNT);
    run_must(run_with(test, 6));
    assert_int_equal(made, 2 * COUNT);
}

/* Those that take longest begin first, wherever they are: the other thread may not have counted its
 * own yet. */
static void test_kernels_with_weights_are_made_first(void **state) {
    run_test *test = *state;
    start_with(test, 2, 3);
    run_must(run_with(test, 5));
    assert_int_equal(made, COUNT);
    assert_int_equal(packed, 3);
    assert_true(packed_before >= 2);
}

static void test_one_thread_makes_them_itself(void **state) {
    run_test *test = *state;
    start(test, 1);
    run_must(run_with(test, 5));
    assert_int_equal(made, COUNT);
    assert_int_equal(most_at_once, 1);
}

/* The error is the run's, with the first node in order, on whichever thread it came up. */
static void test_a_kernel_that_is_not_made_says_so(void **state) {
    run_test *test = *state;
    start(test, 2);
    run_must(run_with(test, 5));
    failing = 7;
    assert_int_equal(run_with(test, 7), TN_ERROR_DEVICE);
    assert_error("there is no code for this shape",
                 "node 'made0': operator run::Made: kernel made (library made_layers)");
    run_must(run_with(test, 5));
    failing = 0;
    run_must(run_with(test, 7));
}

/* Of extents that rise by little it is taken for a few alone. */
static void test_a_growing_arena_moves_seldom(void **state) {
    run_test *test = *state;
    start(test, 1);
    uint64_t large = 0;
    for (int64_t extent = MOST / 8; extent <= MOST; extent += MOST / 32) {
        test->allocator.largest = 0;
        run_must(run_with(test, extent));
        large += test->allocator.largest >= 2 * (uint64_t)extent * sizeof(float); /* two blocks */
    }
    assert_true(large > 0 && large <= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_kernels_are_made_on_all_threads),
        RUN_TEST(test_kernels_with_weights_are_made_first),
        RUN_TEST(test_one_thread_makes_them_itself),
        RUN_TEST(test_a_kernel_that_is_not_made_says_so),
        RUN_TEST(test_a_growing_arena_moves_seldom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
