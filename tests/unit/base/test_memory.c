/* SPDX-License-Identifier: Apache-2.0 */
/* Allocators, checked sizes, growing arrays and the arena. */
#include "base/memory.h"

#include "random.h"
#include "test.h"

#include <errno.h>

static void test_sizes_that_overflow_are_refused(void **state) {
    (void)state;
    size_t out = 7;
    assert_true(tn_mul_size(SIZE_MAX, 1, &out) && out == SIZE_MAX);
    assert_true(tn_mul_size(SIZE_MAX, 0, &out) && out == 0);
    assert_true(tn_mul_size((size_t)1 << 32, ((size_t)1 << 32) - 1, &out));
    out = 7;
    assert_false(tn_mul_size((size_t)1 << 32, (size_t)1 << 32, &out));
    assert_false(tn_add_size(SIZE_MAX, 1, &out));
    assert_false(tn_align_size(SIZE_MAX - 2, 16, &out));
    assert_int_equal(out, 7);
    assert_true(tn_add_size(SIZE_MAX - 1, 1, &out) && out == SIZE_MAX);
    assert_true(tn_align_size(0, 64, &out) && out == 0);
    assert_true(tn_align_size(65, 64, &out) && out == 128);
    assert_true(tn_align_size(SIZE_MAX - 15, 16, &out) && out == SIZE_MAX - 15);
}

static void test_numbers_that_overflow_are_refused(void **state) {
    (void)state;
    int64_t out = 7;
    assert_false(tn_mul_i64(INT64_MIN, -1, &out));
    assert_false(tn_mul_i64(INT64_MAX, 2, &out));
    assert_false(tn_add_i64(INT64_MAX, 1, &out));
    assert_false(tn_add_i64(INT64_MIN, -1, &out));
    assert_int_equal(out, 7);
    assert_true(tn_mul_i64(INT64_MIN, 1, &out) && out == INT64_MIN);
    assert_true(tn_add_i64(INT64_MAX, INT64_MIN, &out) && out == -1);
}

static void test_the_default_allocator_aligns(void **state) {
    (void)state;
    const tn_allocator *allocator = tn_allocator_default();
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        char *memory = tn_allocate_aligned(allocator, 3, alignment);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % alignment, 0);
        memset(memory, 1, 3);
        tn_deallocate(allocator, memory);
    }
    void *nothing = tn_allocate(allocator, 0);
    assert_non_null(nothing);
    tn_deallocate(allocator, nothing);
    tn_deallocate(allocator, NULL);
    assert_null(tn_allocate(allocator, SIZE_MAX / 2));
    assert_null(tn_allocate_zero(allocator, SIZE_MAX / 2, 3));
}

static void test_memory_whose_pages_are_mapped_keeps_its_contents(void **state) {
    (void)state;
    enum { BYTES = 1 << 20 };
    unsigned char *memory = malloc(BYTES);
    assert_non_null(memory);
    memset(memory, 3, BYTES);
    errno = 0;
    for (size_t skipped = 0; skipped < 3; skipped++)
        for (size_t bytes = 0; bytes + skipped <= BYTES; bytes = 3 * bytes + 1)
            tn_memory_populate(memory + skipped, bytes);
    assert_int_equal(errno, 0);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(memory[i], 3);
    free(memory);
}

static void test_text_is_duplicated(void **state) {
    (void)state;
    failing_allocator memory;
    failing_allocator_init(&memory);
    char *copy = tn_duplicate_text(&memory.functions, "name");
    assert_string_equal(copy, "name");
    tn_deallocate(&memory.functions, copy);
    memory.fail_at = memory.allocations + 1;
    assert_null(tn_duplicate_text(&memory.functions, "name"));
    assert_int_equal(memory.live, 0);
}

static void test_arrays_grow_and_keep_what_they_hold(void **state) {
    (void)state;
    failing_allocator memory;
    failing_allocator_init(&memory);
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(
            tn_grow(&memory.functions, (void **)&items, &capacity, i + 1, sizeof(*items)), TN_OK);
        assert_int_equal(items[i], 0);
        items[i] = i + 1;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], i + 1);
    assert_true(memory.allocations < 20); /* it grows by parts of itself */
    const size_t before = capacity;
    uint32_t *const same = items;
    memory.fail_at = memory.allocations + 1;
    assert_failed(
        tn_grow(&memory.functions, (void **)&items, &capacity, before + 1, sizeof(*items)),
        TN_ERROR_MEMORY, "growing array");
    assert_ptr_equal(items, same);
    assert_int_equal(capacity, before);
    assert_int_equal(
        tn_grow(&memory.functions, (void **)&items, &capacity, SIZE_MAX, sizeof(*items)),
        TN_ERROR_MEMORY);
    assert_int_equal(tn_grow(&memory.functions, (void **)&items, &capacity, SIZE_MAX / 8, 16),
                     TN_ERROR_MEMORY);
    assert_int_equal(capacity, before);
    tn_deallocate(&memory.functions, items);
    assert_int_equal(memory.live, 0);
}

static void test_the_arena_gives_aligned_zeroed_pieces(void **state) {
    (void)state;
    failing_allocator memory;
    failing_allocator_init(&memory);
    test_random random = {.state = 1};
    tn_arena *arena;
    unsigned char *pieces[3000];
    size_t sizes[3000];
    assert_int_equal(tn_arena_create(&memory.functions, &arena), TN_OK);
    for (size_t i = 0; i < TEST_COUNT(pieces); i++) {
        sizes[i] = (size_t)random_between(&random, 0, i % 100 == 0 ? 100000 : 60);
        pieces[i] = tn_arena_allocate(arena, sizes[i], 1);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t at = 0; at < sizes[i]; at++)
            assert_int_equal(pieces[i][at], 0);
        memset(pieces[i], (int)(i % 251), sizes[i]);
    }
    for (size_t i = 0; i < TEST_COUNT(pieces); i++) {
        for (size_t at = 0; at < sizes[i]; at++)
            assert_int_equal(pieces[i][at], i % 251);
    }
    assert_true(memory.allocations < 60);
    tn_arena_destroy(arena);
    assert_int_equal(memory.live, 0);
    tn_arena_destroy(NULL);
}

static void test_a_large_piece_does_not_waste_the_open_block(void **state) {
    (void)state;
    failing_allocator memory;
    failing_allocator_init(&memory);
    tn_arena *arena;
    assert_int_equal(tn_arena_create(&memory.functions, &arena), TN_OK);
    char *first = tn_arena_allocate(arena, 1, 16);
    assert_non_null(tn_arena_allocate(arena, 1, 1 << 20));
    char *second = tn_arena_allocate(arena, 1, 16);
    assert_ptr_equal(second, first + 16);
    tn_arena_destroy(arena);
    assert_int_equal(memory.live, 0);
}

static void test_the_arena_refuses_what_overflows(void **state) {
    (void)state;
    tn_arena *arena;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    assert_null(tn_arena_allocate(arena, SIZE_MAX, 2));
    assert_null(tn_arena_allocate(arena, SIZE_MAX, 1));
    assert_null(tn_arena_allocate(arena, SIZE_MAX - 31, 1));
    assert_non_null(tn_arena_allocate(arena, 0, SIZE_MAX));
    tn_arena_destroy(arena);
}

static bool use_arena(const tn_allocator *allocator) {
    tn_arena *arena = NULL;
    if (tn_arena_create(allocator, &arena) != TN_OK) {
        assert_failed(TN_ERROR_MEMORY, TN_ERROR_MEMORY, "an arena");
        assert_null(arena);
        return false;
    }
    const char *text = tn_arena_text(arena, "a text"), *copy = tn_arena_copy(arena, "abc", 2);
    const char *made = tn_arena_format(arena, "%05d%s", 42, "!");
    const char *large = tn_arena_allocate(arena, 1000, 1000);
    if (text) assert_string_equal(text, "a text");
    if (copy) assert_memory_equal(copy, "ab", 2);
    if (made) assert_string_equal(made, "00042!");
    tn_arena_destroy(arena);
    return text && copy && made && large;
}

static void test_the_arena_survives_each_failing_allocation(void **state) {
    (void)state;
    failing_allocator memory;
    failing_allocator_init(&memory);
    uint64_t failed = 0;
    for (bool is_done = false; !is_done; failed += !is_done) {
        memory.fail_at = memory.allocations + failed + 1;
        is_done = use_arena(&memory.functions);
        assert_int_equal(memory.live, 0);
    }
    assert_int_equal(failed, 3); /* the arena, its first block, the large piece's */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_that_overflow_are_refused),
        cmocka_unit_test(test_numbers_that_overflow_are_refused),
        cmocka_unit_test(test_the_default_allocator_aligns),
        cmocka_unit_test(test_memory_whose_pages_are_mapped_keeps_its_contents),
        cmocka_unit_test(test_text_is_duplicated),
        cmocka_unit_test(test_arrays_grow_and_keep_what_they_hold),
        cmocka_unit_test(test_the_arena_gives_aligned_zeroed_pieces),
        cmocka_unit_test(test_a_large_piece_does_not_waste_the_open_block),
        cmocka_unit_test(test_the_arena_refuses_what_overflows),
        cmocka_unit_test(test_the_arena_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
