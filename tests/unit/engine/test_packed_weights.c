/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed weights: kept in the plan, shared by the engines of a runtime, packed anew where the plan
 * has none that fit. Parts of a plan are verified before they are read and not before. Plans in
 * memory that somebody else owns.
 */
#include "run_test.h"

#include <tenon/engine.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 8192, BYTES = COUNT * 4 }; /* more than what is verified at once */

/* --- a library with one kernel, which packs --- */

static int filled;

static tn_status negate(void *user, void *data, uint64_t bytes) {
    const float *from = user;
    filled++;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((float *)data)[i] = -from[i];
    return TN_OK;
}

static tn_status prepare(tn_call *call) {
    const void *packed = NULL;
    const tn_status status = call->host->packed(call, 1, "negated", call->inputs[1]->bytes, negate,
                                                call->inputs[1]->data, &packed);
    call->state = (void *)(uintptr_t)packed;
    return status;
}

static tn_status add(tn_call *call) {
    const float *packed = call->state;
    for (int64_t i = 0; i < COUNT; i++)
        ((float *)call->outputs[0]->data)[i] =
            ((const float *)call->inputs[0]->data)[i] - packed[i];
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < COUNT; i++)
        ((float *)call->outputs[0]->data)[i] =
            ((const float *)call->inputs[0]->data)[i] + ((const float *)call->inputs[1]->data)[i];
    return TN_OK;
}

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "numbers"),
                                 TN_PORT("w", "f32", 0, "numbers")};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_operator op = {
    RUN_OPERATOR("Packs", inputs, run_unary_outputs, run_same_infer, reference)};
static const tn_kernel kernel = {RUN_KERNEL("Packs", "negated"), TN_COMBINATIONS(combinations),
                                 .prepare = prepare, .run = add};
static tn_kernel newer;
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
static const tn_kernel *const newer_kernels[] = {&newer};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "packs",
                             .version = "1",
                             .operator_count = 1,
                             .operators = operators,
                             .kernel_count = 1,
                             .kernels = kernels};
static tn_library newer_library;
static tn_library *entry(const tn_host *host) {
    (void)host;
    return &library;
}
static tn_library *newer_entry(const tn_host *host) {
    (void)host;
    newer = kernel;
    newer.revision = 2;
    newer_library = library;
    newer_library.kernels = newer_kernels;
    return &newer_library;
}

/* --- plans --- */

typedef struct packed_test {
    failing_allocator allocator;
    tn_runtime *runtime;
    unsigned char *bytes; /* of a plan, aligned to 64 */
    uint64_t count;
} packed_test;

static void build(packed_test *test, uint32_t flags) {
    static float weights[COUNT];
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    const int64_t extent = COUNT;
    tn_tensor_id ids[2];
    for (int i = 0; i < COUNT; i++)
        weights[i] = (float)i;
    run_must(tn_graph_create(test->runtime, "net", &graph));
    ids[0] = add_input(graph, "x", TN_F32, 1, &extent);
    run_must(tn_graph_add_constant(graph, "w", TN_F32, 1, &extent, weights, BYTES, &ids[1]));
    run_output(graph, run_node(graph, "Packs", "node", 2, ids), "y");
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING | flags};
    run_must(tn_build(graph, &options, &plan));
    free(test->bytes);
    const void *data = tn_plan_bytes(plan, &test->count);
    test->bytes = aligned_alloc(64, (test->count + 63) / 64 * 64);
    assert_non_null(test->bytes);
    memcpy(test->bytes, data, test->count);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    filled = 0;
}

static int set_up(void **state) {
    packed_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    test->runtime = run_runtime(&test->allocator.functions, entry);
    *state = test;
    return test->runtime ? 0 : -1;
}

static int tear_down(void **state) {
    packed_test *test = *state;
    tn_runtime_release(test->runtime);
    const int64_t left = test->allocator.live;
    free(test->bytes);
    free(test);
    return left == 0 ? 0 : -1;
}

static tn_engine *load(const packed_test *test) {
    tn_engine *engine = NULL;
    run_must(tn_engine_load_bytes(test->runtime, test->bytes, test->count, NULL, &engine));
    return engine;
}

static void check(tn_engine *engine) {
    static _Alignas(64) float x[COUNT];
    tn_context *context = NULL;
    const tn_tensor *y = NULL;
    x[5] = 0.5f;
    run_must(tn_context_create(engine, &context));
    run_must(tn_context_bind_input(context, 0, x, BYTES));
    run_must(tn_context_run(context));
    run_must(tn_context_output(context, 0, &y));
    assert_true(((const float *)y->data)[5] == 5.5f);
    assert_true(((const float *)y->data)[COUNT - 1] == COUNT - 1);
    tn_context_destroy(context);
}

/* Where `value` lies in the plan, from `from` on. */
static size_t find_float(const packed_test *test, float value, size_t from) {
    for (size_t at = from; at + 4 <= test->count; at += 4)
        if (memcmp(test->bytes + at, &value, 4) == 0) return at;
    fail_msg("%g is not in the plan", (double)value);
    return 0;
}

static void expect_damage(const packed_test *test, uint32_t flags, const char *text) {
    const tn_engine_options options = {.size = sizeof(options), .flags = flags};
    tn_engine *engine = NULL;
    assert_int_equal(
        tn_engine_load_bytes(test->runtime, test->bytes, test->count, &options, &engine),
        TN_ERROR_FORMAT);
    assert_null(engine);
    if (!strstr(tn_last_error()->message, text))
        fail_msg("'%s' is not in '%s'", text, tn_last_error()->message);
}

/* --- kept in the plan --- */

static void test_what_the_build_packed_is_not_packed_again(void **state) {
    packed_test *test = *state;
    build(test, 0);
    tn_engine *engine = load(test);
    check(engine);
    assert_int_equal(filled, 0);
    tn_engine_release(engine);
}

static void test_plan_without_packed_weights_is_smaller_and_packs(void **state) {
    packed_test *test = *state;
    build(test, 0);
    const uint64_t with = test->count;
    build(test, TN_BUILD_NO_PACKED_WEIGHTS);
    assert_true(test->count + BYTES <= with);
    tn_engine *engine = load(test);
    check(engine);
    assert_int_equal(filled, 1);
    tn_engine_release(engine);
}

static void test_kernel_of_another_revision_packs_anew(void **state) {
    packed_test *test = *state;
    build(test, 0);
    tn_runtime_release(test->runtime);
    test->runtime = run_runtime(&test->allocator.functions, newer_entry);
    tn_engine *engine = load(test);
    check(engine);
    assert_int_equal(filled, 1);
    tn_engine_release(engine);
}

/* --- verified when they are read --- */

static void test_damaged_packed_weights_are_refused(void **state) {
    packed_test *test = *state;
    char where[32];
    build(test, 0);
    const size_t at = find_float(test, -100, 0);
    snprintf(where, sizeof(where), "at %zu)", (at - 100 * 4));
    test->bytes[at] ^= 1;
    expect_damage(test, 0, "packed weights of kernel 'negated'");
    expect_damage(test, 0, where);
}

static void test_damaged_constant_is_refused_where_it_is_read(void **state) {
    packed_test *test = *state;
    build(test, TN_BUILD_NO_PACKED_WEIGHTS);
    test->bytes[find_float(test, 100, 0)] ^= 1;
    expect_damage(test, 0, "constant 'w'");
    build(test, TN_BUILD_REFERENCE);
    test->bytes[find_float(test, 100, 0)] ^= 1;
    expect_damage(test, 0, "constant 'w'");
}

static void test_constant_that_nobody_reads_is_verified_when_asked(void **state) {
    packed_test *test = *state;
    build(test, 0);
    test->bytes[find_float(test, 100, 0)] ^= 1;
    tn_engine *engine = load(test);
    check(engine);
    tn_engine_release(engine);
    expect_damage(test, TN_ENGINE_VERIFY_ALL, "section 1");
}

/* --- shared --- */

static void test_engines_share_what_they_pack(void **state) {
    packed_test *test = *state;
    tn_engine *engines[10];
    build(test, TN_BUILD_NO_PACKED_WEIGHTS);
    engines[0] = load(test);
    const tn_shared_weight *copy = engines[0]->plan_copy;
    for (int i = 1; i < 10; i++) {
        engines[i] = load(test);
        assert_ptr_equal(engines[i]->plan_copy, copy);
        assert_ptr_equal(engines[i]->steps[0].prepared.call.state,
                         engines[0]->steps[0].prepared.call.state);
    }
    assert_int_equal(filled, 1);
    for (int i = 0; i < 9; i++)
        tn_engine_release(engines[i]);
    check(engines[9]);
    tn_engine_release(engines[9]);
    engines[0] = load(test); /* the last one's end freed it */
    assert_int_equal(filled, 2);
    tn_engine_release(engines[0]);
}

static void test_loading_survives_every_failed_allocation(void **state) {
    packed_test *test = *state;
    build(test, TN_BUILD_NO_PACKED_WEIGHTS);
    for (int borrowed = 0; borrowed < 2; borrowed++) {
        tn_status status = TN_ERROR_MEMORY;
        for (uint64_t i = 1; status != TN_OK && i < 5000; i++) {
            tn_engine *engine = NULL;
            test->allocator.fail_at = test->allocator.allocations + i;
            status = borrowed ? tn_engine_load_borrowed(test->runtime, test->bytes, test->count,
                                                        NULL, NULL, NULL, &engine)
                              : tn_engine_load_bytes(test->runtime, test->bytes, test->count, NULL,
                                                     &engine);
            test->allocator.fail_at = 0;
            if (status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY);
            tn_engine_release(engine);
        }
        assert_int_equal(status, TN_OK);
    }
}

/* --- borrowed --- */

static void count_release(void *user) {
    ++*(int *)user;
}

static void test_borrowed_memory_is_released_once_at_the_end(void **state) {
    packed_test *test = *state;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    int released = 0;
    build(test, 0);
    run_must(tn_engine_load_borrowed(test->runtime, test->bytes, test->count, NULL, count_release,
                                     &released, &engine));
    const unsigned char *packed = engine->steps[0].prepared.call.state;
    assert_true(packed > test->bytes && packed < test->bytes + test->count);
    check(engine);
    run_must(tn_context_create(engine, &context));
    tn_engine_release(engine);
    assert_int_equal(released, 0);
    tn_context_destroy(context);
    assert_int_equal(released, 1);
}

static void test_crooked_memory_is_not_borrowed(void **state) {
    packed_test *test = *state;
    tn_engine *engine = NULL;
    int released = 0;
    build(test, 0);
    assert_int_equal(tn_engine_load_borrowed(test->runtime, test->bytes + 4, test->count - 4, NULL,
                                             count_release, &released, &engine),
                     TN_ERROR_ARGUMENT);
    assert_non_null(strstr(tn_last_error()->message, "is not aligned to 64 bytes"));
    test->bytes[9]++;
    assert_int_equal(tn_engine_load_borrowed(test->runtime, test->bytes, test->count, NULL,
                                             count_release, &released, &engine),
                     TN_ERROR_FORMAT);
    assert_int_equal(released, 0);
    assert_null(engine);
}

/* Null where the descriptor's `bytes` cannot be mapped. */
static void *map_shared(int descriptor, size_t bytes, int protection) {
    void *memory = mmap(NULL, bytes, protection, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Answers the child's exit code. */
static int run_shared(const packed_test *test, int descriptor) {
    tn_engine *engine = NULL;
    void *memory = map_shared(descriptor, test->count, PROT_READ);
    if (!memory || tn_engine_load_borrowed(test->runtime, memory, test->count, NULL, NULL, NULL,
                                           &engine) != TN_OK)
        return 1;
    check(engine);
    tn_engine_release(engine);
    munmap(memory, test->count);
    return 0;
}

/* The memory is one without a name: not every machine lets its users make /dev/shm's. */
static void test_processes_run_one_plan_in_shared_memory(void **state) {
    packed_test *test = *state;
    build(test, 0);
    const int descriptor = memfd_create("tenon-test", MFD_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, (off_t)test->count), 0);
    void *memory = map_shared(descriptor, test->count, PROT_READ | PROT_WRITE);
    assert_non_null(memory);
    memcpy(memory, test->bytes, test->count);
    munmap(memory, test->count);
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(run_shared(test, descriptor));
    }
    for (int i = 0; i < 2; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    close(descriptor);
}

#define PACKED_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        PACKED_TEST(test_what_the_build_packed_is_not_packed_again),
        PACKED_TEST(test_plan_without_packed_weights_is_smaller_and_packs),
        PACKED_TEST(test_kernel_of_another_revision_packs_anew),
        PACKED_TEST(test_damaged_packed_weights_are_refused),
        PACKED_TEST(test_damaged_constant_is_refused_where_it_is_read),
        PACKED_TEST(test_constant_that_nobody_reads_is_verified_when_asked),
        PACKED_TEST(test_engines_share_what_they_pack),
        PACKED_TEST(test_loading_survives_every_failed_allocation),
        PACKED_TEST(test_borrowed_memory_is_released_once_at_the_end),
        PACKED_TEST(test_crooked_memory_is_not_borrowed),
        PACKED_TEST(test_processes_run_one_plan_in_shared_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
