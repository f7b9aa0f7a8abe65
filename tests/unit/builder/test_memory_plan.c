/* SPDX-License-Identifier: Apache-2.0 */
/* The memory plan: buffers that live at the same time never overlap, memory is used again, and many
 * buffers take little time. */
#include "base/status.h"
#include "memory/memory_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static size_t most_alive(const tn_memory_buffer *buffers, size_t count, uint32_t steps) {
    size_t most = 0;
    for (uint32_t s = 0; s < steps; s++) {
        size_t alive = 0;
        for (size_t i = 0; i < count; i++)
            if (buffers[i].first <= s && s <= buffers[i].last)
                alive += (buffers[i].bytes + 63) / 64 * 64;
        if (alive > most) most = alive;
    }
    return most;
}

static void assert_apart(const tn_memory_buffer *buffers, size_t count, size_t total) {
    for (size_t i = 0; i < count; i++) {
        const tn_memory_buffer *a = &buffers[i];
        assert_int_equal(a->offset % 64, 0);
        assert_true(a->offset + a->bytes <= total);
        for (size_t k = 0; k < i; k++) {
            const tn_memory_buffer *b = &buffers[k];
            if (a->last < b->first || b->last < a->first || a->bytes == 0 || b->bytes == 0)
                continue;
            assert_true(a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset);
        }
    }
}

static void test_buffers_that_live_together_lie_apart(void **state) {
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < 200; round++) {
        tn_memory_buffer buffers[60] = {0};
        size_t count = next_random(&seed) % 60, total = 0;
        uint32_t steps = 1 + next_random(&seed) % 300;
        for (size_t i = 0; i < count; i++) {
            buffers[i].bytes = next_random(&seed) % 10000;
            buffers[i].first = next_random(&seed) % steps;
            uint32_t life = next_random(&seed) % (round % 2 ? 4 : steps);
            buffers[i].last = buffers[i].first + life < steps ? buffers[i].first + life : steps - 1;
        }
        assert_int_equal(tn_memory_plan_make(tn_allocator_default(), buffers, count, 64, &total),
                         TN_OK);
        assert_apart(buffers, count, total);
        assert_true(total >= most_alive(buffers, count, steps));
    }
}

static void test_memory_of_a_chain_is_used_again(void **state) {
    (void)state;
    tn_memory_buffer buffers[100];
    size_t total = 0;
    for (uint32_t i = 0; i < 100; i++)
        buffers[i] = (tn_memory_buffer){.bytes = 4096, .first = i, .last = i + 1};
    assert_int_equal(tn_memory_plan_make(tn_allocator_default(), buffers, 100, 64, &total), TN_OK);
    assert_int_equal(total, 2 * 4096);
}

static void test_empty_plan_needs_nothing(void **state) {
    (void)state;
    tn_memory_buffer nothing = {.bytes = 0, .first = 3, .last = 5};
    size_t total = 99;
    assert_int_equal(tn_memory_plan_make(tn_allocator_default(), NULL, 0, 64, &total), TN_OK);
    assert_int_equal(total, 0);
    assert_int_equal(tn_memory_plan_make(tn_allocator_default(), &nothing, 1, 64, &total), TN_OK);
    assert_int_equal(total, 0);
}

static void test_sizes_that_overflow_are_an_error(void **state) {
    (void)state;
    tn_memory_buffer buffers[2] = {{.bytes = SIZE_MAX / 2 + 1}, {.bytes = SIZE_MAX / 2 + 1}};
    tn_memory_buffer one = {.bytes = SIZE_MAX - 5};
    size_t total = 99;
    assert_int_equal(tn_memory_plan_make(tn_allocator_default(), buffers, 2, 64, &total),
                     TN_ERROR_MEMORY);
    assert_int_equal(tn_memory_plan_make(tn_allocator_default(), &one, 1, 64, &total),
                     TN_ERROR_MEMORY);
    assert_int_equal(total, 99);
}

static double seconds_for(tn_memory_buffer *buffers, size_t count) {
    struct timespec begin, end;
    size_t total = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    assert_int_equal(tn_memory_plan_make(tn_allocator_default(), buffers, count, 64, &total),
                     TN_OK);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

static void test_thousands_of_buffers_take_milliseconds(void **state) {
    (void)state;
    enum { COUNT = 2000 };
    tn_memory_buffer *buffers = calloc(COUNT, sizeof *buffers);
    uint32_t seed = 3;
    assert_non_null(buffers);
    for (uint32_t i = 0; i < COUNT; i++)
        buffers[i] = (tn_memory_buffer){
            .bytes = 1 + next_random(&seed) % 100000, .first = i, .last = i + 1 + i % 3};
    double chain = seconds_for(buffers, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        buffers[i].first = 0, buffers[i].last = COUNT;
    double all = seconds_for(buffers, COUNT);
    print_message("2000 buffers: %.3f ms in a chain, %.3f ms all alive\n", chain * 1e3, all * 1e3);
    assert_true(chain < 0.1 && all < 0.5); /* wide: sanitizers and busy machines */
    free(buffers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffers_that_live_together_lie_apart),
        cmocka_unit_test(test_memory_of_a_chain_is_used_again),
        cmocka_unit_test(test_empty_plan_needs_nothing),
        cmocka_unit_test(test_sizes_that_overflow_are_an_error),
        cmocka_unit_test(test_thousands_of_buffers_take_milliseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
