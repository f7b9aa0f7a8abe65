/* SPDX-License-Identifier: Apache-2.0 */
/* The hash map against a plain array, and the hashes themselves. */
#include "base/hash.h"
#include "base/map.h"

#include "random.h"
#include "test.h"

#define NAMES 500
static char names[NAMES][16];

static void test_the_map_does_what_an_array_does(void **state) {
    (void)state;
    failing_allocator memory;
    failing_allocator_init(&memory);
    test_random random = {.state = 2};
    uint64_t values[NAMES] = {0}; /* 0: not there */
    tn_map *map;
    assert_int_equal(tn_map_create(&memory.functions, &map), TN_OK);
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof(names[i]), "name%d", i);
    for (uint64_t round = 1; round <= 20000; round++) {
        const size_t which = (size_t)random_between(&random, 0, NAMES - 1);
        char key[16]; /* equal text at another address */
        memcpy(key, names[which], sizeof(key));
        uint64_t value = 0;
        assert_int_equal(tn_map_get(map, key, &value), values[which] != 0);
        assert_int_equal(value, values[which]);
        if (random_u64(&random) % 2) {
            assert_int_equal(tn_map_set(map, names[which], round), TN_OK);
            values[which] = round;
        } else {
            tn_map_remove(map, key);
            values[which] = 0;
        }
    }
    tn_map_destroy(map);
    assert_int_equal(memory.live, 0);
}

static void test_empty_names_and_empty_maps_are_sound(void **state) {
    (void)state;
    tn_map *map;
    uint64_t value = 7;
    assert_int_equal(tn_map_create(tn_allocator_default(), &map), TN_OK);
    assert_false(tn_map_get(map, "", &value));
    tn_map_remove(map, "nobody");
    assert_int_equal(value, 7);
    assert_int_equal(tn_map_set(map, "", 1), TN_OK);
    assert_true(tn_map_get(map, "", &value));
    assert_int_equal(value, 1);
    tn_map_remove(map, "");
    assert_false(tn_map_get(map, "", &value));
    tn_map_destroy(map);
    tn_map_destroy(NULL);
}

static void *allocate_small(void *user, uint64_t bytes, uint64_t alignment) {
    (void)user;
    return bytes > 1024
               ? NULL
               : tn_allocate_aligned(tn_allocator_default(), (size_t)bytes, (size_t)alignment);
}

static void deallocate_small(void *user, void *memory) {
    (void)user;
    tn_deallocate(tn_allocator_default(), memory);
}

static void test_removing_and_adding_does_not_grow_for_ever(void **state) {
    (void)state;
    static const tn_allocator small = {
        .size = sizeof(small), .allocate = allocate_small, .deallocate = deallocate_small};
    char keys[100][8];
    tn_map *map;
    uint64_t value;
    assert_int_equal(tn_map_create(&small, &map), TN_OK);
    for (int round = 0; round < 10000; round++) {
        char *key = keys[round % 100];
        snprintf(key, sizeof(keys[0]), "k%d", round % 100);
        assert_int_equal(tn_map_set(map, key, (uint64_t)round), TN_OK);
        tn_map_remove(map, key);
    }
    assert_false(tn_map_get(map, "k1", &value));
    tn_map_destroy(map);
}

static void test_a_failed_set_leaves_the_map_as_it_was(void **state) {
    (void)state;
    failing_allocator memory;
    failing_allocator_init(&memory);
    tn_map *map = NULL;
    memory.fail_at = 1;
    assert_failed(tn_map_create(&memory.functions, &map), TN_ERROR_MEMORY, "a map");
    assert_null(map);
    memory.fail_at = 0;
    assert_int_equal(tn_map_create(&memory.functions, &map), TN_OK);
    uint64_t set = 0, failures = 0, value;
    while (set < NAMES) {
        snprintf(names[set], sizeof(names[set]), "name%d", (int)set);
        memory.fail_at = memory.allocations + 1;
        if (tn_map_set(map, names[set], set) == TN_OK) {
            set++;
            continue;
        }
        failures++;
        assert_false(tn_map_get(map, names[set], &value));
        for (uint64_t i = 0; i < set; i++)
            assert_true(tn_map_get(map, names[i], &value) && value == i);
        memory.fail_at = 0;
        assert_int_equal(tn_map_set(map, names[set], set), TN_OK);
        set++;
    }
    assert_true(failures >= 4);
    tn_map_destroy(map);
    assert_int_equal(memory.live, 0);
}

/* Figures of the XXH3 specification's own implementation: files carry these hashes. */
static void test_hashes_are_xxh3(void **state) {
    (void)state;
    assert_true(tn_hash("", 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(tn_hash("a", 1) == UINT64_C(0xe6c632b61e964e1f));
    assert_true(tn_hash("abc", 3) == UINT64_C(0x78af5f94892f3950));
}

static void test_running_hashes_tell_sequences_apart(void **state) {
    (void)state;
    assert_true(tn_hash_add_text(0, "ab") == tn_hash_add_text(0, "ab"));
    assert_true(tn_hash_add_text(tn_hash_add_text(0, "ab"), "c") !=
                tn_hash_add_text(tn_hash_add_text(0, "a"), "bc"));
    assert_true(tn_hash_add_text(1, NULL) != tn_hash_add_text(1, ""));
    assert_true(tn_hash_add_u64(0, 1) != tn_hash_add_u64(1, 0));
    assert_true(tn_hash_add(5, "x", 1) != tn_hash_add(6, "x", 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_map_does_what_an_array_does),
        cmocka_unit_test(test_empty_names_and_empty_maps_are_sound),
        cmocka_unit_test(test_removing_and_adding_does_not_grow_for_ever),
        cmocka_unit_test(test_a_failed_set_leaves_the_map_as_it_was),
        cmocka_unit_test(test_hashes_are_xxh3),
        cmocka_unit_test(test_running_hashes_tell_sequences_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
