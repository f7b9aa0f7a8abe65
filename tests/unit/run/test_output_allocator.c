/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs whose memory the caller is asked for in each run: of known sizes, and of those that the
 * data decides; what is answered, and what is refused. On a device:
 * unit/device/test_runs.c and test_sized.c. */
#include "run_test.h"

#include <tenon/output_allocator.h>
#include <tenon/profiles.h>

/* A caller with room for two outputs, which notes what it is asked. */
typedef struct caller {
    run_buffer buffers[2];
    uint64_t bytes[2], alignment;
    uint32_t asked[2];
    bool has_none[2], is_crooked;
} caller;

static void *answer(void *user, uint32_t output, uint64_t bytes, uint64_t alignment) {
    caller *own = user;
    own->asked[output]++;
    own->bytes[output] = bytes;
    own->alignment = alignment;
    if (own->has_none[output]) return NULL;
    return own->is_crooked ? own->buffers[output].crooked : own->buffers[output].aligned;
}

/* y = x + 1 of any number of elements. */
static void start_step(run_test *test, caller *own) {
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    run_output(test->graph, run_unary(test->graph, "Step", "step", x), "y");
    run_start(test, 1, RUN_PROFILES(RUN_PROFILE("x", 1, EXTENTS(0), EXTENTS(4), EXTENTS(9))));
    run_must(tn_context_set_output_allocator(test->context, 0, answer, own));
}

static void run_count_of(run_test *test, const float *x, int64_t count) {
    run_shape(test, "x", 1, &count);
    run_bind(test, "x", x, (uint64_t)count * sizeof(*x));
    run_must(tn_context_run(test->context));
}

static void test_known_sizes_are_asked_for_once_a_run(void **state) {
    run_test *test = *state;
    static const _Alignas(64) float x[9] = {1, 2, 3, 4};
    caller own = {0};
    start_step(test, &own);
    run_count_of(test, x, 3);
    assert_int_equal(own.asked[0], 1);
    assert_int_equal(own.bytes[0], 12);
    assert_int_equal(own.alignment, 64);
    assert_ptr_equal(run_result(test, 0)->data, own.buffers[0].aligned);
    assert_floats(run_result(test, 0), 3, FLOATS(2, 3, 4));
    run_count_of(test, x, 4);
    assert_int_equal(own.bytes[0], 16);
    assert_floats(run_result(test, 0), 4, FLOATS(2, 3, 4, 5));
    const uint64_t before = run_allocations(test);
    for (int i = 0; i < 6; i++)
        run_count_of(test, x, 3 + i % 2);
    assert_int_equal(run_allocations(test), before);
    assert_int_equal(own.asked[0], 8);
}

static void test_other_memory_in_each_run_is_written(void **state) {
    run_test *test = *state;
    static const _Alignas(64) float x[9] = {1, 2, 3, 4};
    caller own = {0};
    start_step(test, &own);
    run_count_of(test, x, 2);
    own.is_crooked = true; /* copied into */
    run_count_of(test, x, 2);
    assert_ptr_equal(run_result(test, 0)->data, own.buffers[0].crooked);
    assert_floats(run_result(test, 0), 2, FLOATS(2, 3));
    own.is_crooked = false;
    memset(own.buffers, 0, sizeof(own.buffers));
    run_must(tn_context_run(test->context));
    assert_true(own.buffers[0].aligned[1] == 3 && own.buffers[0].crooked[1] == 0);
}

static void test_no_memory_is_an_error_and_the_context_works_on(void **state) {
    run_test *test = *state;
    static const _Alignas(64) float x[9] = {1, 2, 3, 4};
    caller own = {.has_none = {true}};
    start_step(test, &own);
    run_shape(test, "x", 1, EXTENTS(3));
    run_bind(test, "x", x, 12);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_MEMORY);
    assert_error("the caller's allocator has no memory for the 12 bytes of output 'y'", NULL);
    own.has_none[0] = false;
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(2, 3, 4));
    own.has_none[0] = true;
    assert_int_equal(tn_context_run(test->context), TN_ERROR_MEMORY);
    run_count_of(test, x, 0); /* without elements none is needed */
    assert_int_equal(own.bytes[0], 0);
    own.has_none[0] = false;
    run_count_of(test, x, 2);
    assert_floats(run_result(test, 0), 2, FLOATS(2, 3));
}

static void test_an_allocator_is_taken_back(void **state) {
    run_test *test = *state;
    static const _Alignas(64) float x[9] = {1, 2, 3, 4};
    static _Alignas(64) float y[4];
    caller own = {0};
    start_step(test, &own);
    run_count_of(test, x, 2);
    run_must(tn_context_bind_output(test->context, 0, y, sizeof(y)));
    run_must(tn_context_run(test->context));
    assert_ptr_equal(run_result(test, 0)->data, y);
    run_must(tn_context_set_output_allocator(test->context, 0, answer, &own));
    run_must(tn_context_run(test->context));
    assert_ptr_equal(run_result(test, 0)->data, own.buffers[0].aligned);
    run_must(tn_context_set_output_allocator(test->context, 0, NULL, NULL));
    run_must(tn_context_run(test->context));
    assert_ptr_not_equal(run_result(test, 0)->data, own.buffers[0].aligned);
    assert_floats(run_result(test, 0), 2, FLOATS(2, 3));
    assert_int_equal(own.asked[0], 2);
    assert_int_equal(tn_context_set_output_allocator(test->context, 1, answer, &own),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_set_output_allocator(NULL, 0, answer, &own), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_set_device_output_allocator(NULL, 0, answer, &own),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_set_device_output_allocator(test->context, 1, answer, &own),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_set_device_output_allocator(test->context, 0, answer, &own),
                     TN_ERROR_STATE);
    assert_error("the engine runs on the processor, not on a device", NULL);
}

/* --- sized by run --- */

/* y: the positive ones of x; z = x + 1. */
static void start_positive(run_test *test, caller *own) {
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(5));
    run_output(test->graph, run_unary(test->graph, "Positive", "positive", x), "y");
    run_output(test->graph, run_unary(test->graph, "Step", "step", x), "z");
    run_start(test, 0, NULL);
    for (uint32_t i = 0; i < 2; i++)
        run_must(tn_context_set_output_allocator(test->context, i, answer, own));
}

static void test_sizes_of_the_data_are_asked_for_when_they_are_known(void **state) {
    run_test *test = *state;
    _Alignas(64) float x[5] = {1, -2, 3, -4, 5};
    caller own = {0};
    start_positive(test, &own);
    run_bind(test, "x", x, sizeof(x));
    run_must(tn_context_run(test->context));
    assert_int_equal(own.bytes[0], 12);
    assert_int_equal(own.bytes[1], 20);
    assert_ptr_equal(run_result(test, 0)->data, own.buffers[0].aligned);
    assert_floats(run_result(test, 0), 3, FLOATS(1, 3, 5));
    assert_floats(run_result(test, 1), 5, FLOATS(2, -1, 4, -3, 6));
    x[1] = 2, own.is_crooked = true;
    run_must(tn_context_run(test->context));
    assert_int_equal(own.bytes[0], 16);
    assert_ptr_equal(run_result(test, 0)->data, own.buffers[0].crooked);
    assert_floats(run_result(test, 0), 4, FLOATS(1, 2, 3, 5));
    for (int i = 0; i < 5; i++)
        x[i] = -1;
    own.has_none[0] = true; /* nothing is found, nothing is needed */
    run_must(tn_context_run(test->context));
    assert_int_equal(run_result(test, 0)->shape[0], 0);
    x[4] = 7;
    assert_int_equal(tn_context_run(test->context), TN_ERROR_MEMORY);
    assert_error("has no memory for the 4 bytes of output 'y'", NULL);
    own.has_none[0] = false;
    const uint64_t before = run_allocations(test);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 1, FLOATS(7));
    assert_int_equal(run_allocations(test), before);
    assert_int_equal(own.asked[0], 5);
    run_must(tn_context_set_output_allocator(test->context, 0, NULL, NULL));
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 1, FLOATS(7));
    assert_int_equal(own.asked[0], 5);
}

/* --- beside other things --- */

static void test_contexts_that_stand_in_ask_as_well(void **state) {
    run_test *test = *state;
    static const _Alignas(64) float x[9] = {1, 2, 3, 4};
    caller own = {0};
    tn_tensor_id in = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    run_output(test->graph, run_unary(test->graph, "Step", "step", in), "y");
    const tn_profile_input *few = RUN_PROFILE("x", 1, EXTENTS(1), EXTENTS(2), EXTENTS(2));
    const tn_profile_input *many = RUN_PROFILE("x", 1, EXTENTS(4), EXTENTS(4), EXTENTS(9));
    const tn_profile sets[] = {{sizeof(tn_profile), 1, &few}, {sizeof(tn_profile), 1, &many}};
    const tn_profile *const profiles[] = {&sets[0], &sets[1]};
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .profile_count = 2,
                                        .profiles = profiles};
    run_must(tn_build(test->graph, &options, &test->plan));
    run_load(test);
    run_must(tn_context_create(test->engine, &test->context));
    run_must(tn_context_set_output_allocator(test->context, 0, answer, &own));
    for (uint32_t i = 0; i < 6; i++) {
        run_count_of(test, x, i % 2 ? 4 : 2);
        assert_int_equal(tn_context_get_profile(test->context), i % 2);
        assert_int_equal(own.asked[0], i + 1);
        assert_ptr_equal(run_result(test, 0)->data, own.buffers[0].aligned);
        assert_floats(run_result(test, 0), i % 2 ? 4 : 2, FLOATS(2, 3, 4, 5));
    }
    run_must(tn_context_bind_output(test->context, 0, NULL, 0));
    run_count_of(test, x, 4);
    assert_int_equal(own.asked[0], 6);
}

static void test_guarded_runs_ask_as_well(void **state) {
    run_test *test = *state;
    static const _Alignas(64) float x[9] = {1, 2, 3, 4};
    const tn_engine_options options = {.size = sizeof(options), .flags = TN_ENGINE_CHECKED};
    caller own = {0};
    uint64_t bytes = 0;
    tn_tensor_id in = add_input(test->graph, "x", TN_F32, 1, EXTENTS(3));
    run_output(test->graph, run_unary(test->graph, "Step", "step", in), "y");
    run_build_with(test, 0, NULL, 0);
    const void *data = tn_plan_bytes(test->plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &test->engine));
    run_must(tn_context_create(test->engine, &test->context));
    run_must(tn_context_set_output_allocator(test->context, 0, answer, &own));
    run_bind(test, "x", x, 12);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(2, 3, 4));
    assert_int_equal(own.asked[0], 1);
}

/* The memory of the input, for a state that is updated there. */
static void *answer_input(void *user, uint32_t output, uint64_t bytes, uint64_t alignment) {
    (void)output, (void)bytes, (void)alignment;
    return user;
}

static void test_the_answer_may_be_an_input(void **state) {
    run_test *test = *state;
    _Alignas(64) float x[3] = {1, 2, 3};
    tn_tensor_id in = add_input(test->graph, "x", TN_F32, 1, EXTENTS(3));
    run_output(test->graph, run_unary(test->graph, "Update", "update", in), "y");
    run_start(test, 0, NULL);
    run_bind(test, "x", x, 12);
    run_must(tn_context_set_output_allocator(test->context, 0, answer_input, x));
    run_must(tn_context_run(test->context));
    run_must(tn_context_run(test->context));
    assert_true(x[0] == 3 && x[1] == 2);
    assert_true(run_updated_in_place > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_known_sizes_are_asked_for_once_a_run),
        RUN_TEST(test_other_memory_in_each_run_is_written),
        RUN_TEST(test_no_memory_is_an_error_and_the_context_works_on),
        RUN_TEST(test_an_allocator_is_taken_back),
        RUN_TEST(test_sizes_of_the_data_are_asked_for_when_they_are_known),
        RUN_TEST(test_contexts_that_stand_in_ask_as_well),
        RUN_TEST(test_guarded_runs_ask_as_well),
        RUN_TEST(test_the_answer_may_be_an_input)};
    return cmocka_run_group_tests_name("output_allocator", tests, NULL, NULL);
}
