/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of bytes at every level of this processor, and regions as a whole and split among threads,
 * against copies of one byte and one element after the other; nothing else is written.
 */
#include <tenon/kit/region.h> /* before cmocka's macro `fail`, a member of tn_host */
#include "kit/region/runs.h"

#include "random.h"
#include "test.h"

enum { MOST_BYTES = 1 << 18, SOURCE_BYTES = 1 << 22 };

static uint8_t source[SOURCE_BYTES], found[MOST_BYTES], wanted[MOST_BYTES];

static void clear(void) {
    memset(found, 0xEE, sizeof(found));
    memset(wanted, 0xEE, sizeof(wanted));
}

static void check_runs(const tn_runs_level *level, const tn_runs *runs) {
    clear();
    for (int64_t i = 0; i < runs->counts[0]; i++)
        for (int64_t k = 0; k < runs->counts[1]; k++)
            for (int64_t b = 0; b < runs->bytes; b++)
                wanted[i * runs->to_steps[0] + k * runs->to_steps[1] + b] =
                    source[i * runs->from_steps[0] + k * runs->from_steps[1] + b];
    level->copy(runs, found, source);
    assert_memory_equal(found, wanted, sizeof(found));
}

static void test_runs_of_every_length_are_copied(void **state) {
    static const tn_runs_level *const levels[] = {&tn_runs_baseline, &tn_runs_avx2,
                                                  &tn_runs_avx512};
    (void)state;
    for (int level = 0; level <= (int)tn_kit_level(); level++)
        for (int64_t bytes = 0; bytes < 1100; bytes += bytes < 140 ? 1 : 61) {
            check_runs(levels[level], &(tn_runs){.bytes = bytes,
                                                 .counts = {3, 5},
                                                 .to_steps = {5 * bytes + 7, bytes},
                                                 .from_steps = {bytes, bytes + 3}});
            check_runs(levels[level], &(tn_runs){.bytes = bytes,
                                                 .counts = {1, 2},
                                                 .to_steps = {0, bytes + 1},
                                                 .from_steps = {0, 0}});
        }
}

static int64_t pieces; /* that a loop is split into */

static tn_status split_loop(tn_call *call, int64_t count, int64_t grain, tn_body body,
                            void *user) TN_NOEXCEPT {
    (void)call, (void)grain;
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t begin = count * i / pieces, end = count * (i + 1) / pieces;
        if (begin < end && body(user, begin, end, 0) != TN_OK) return TN_ERROR_STATE;
    }
    return TN_OK;
}

static const tn_host host = {.size = sizeof(tn_host), .parallel_for = split_loop};

static void copy_elements(const tn_region *region) {
    int64_t index[TN_MAX_RANK + 1] = {0}, count = 1;
    const int64_t bytes = (int64_t)region->element_bytes;
    for (uint32_t i = 0; i < region->rank; i++)
        count *= region->extents[i];
    for (int64_t n = 0; n < count; n++) {
        int64_t to = 0, from = 0;
        for (uint32_t i = 0; i < region->rank; i++) {
            to += index[i] * region->to_strides[i];
            from += index[i] * region->from_strides[i];
        }
        memcpy(wanted + to * bytes, source + from * bytes, (size_t)bytes);
        for (uint32_t i = region->rank; i-- > 0 && ++index[i] == region->extents[i];)
            index[i] = 0;
    }
}

static void check_region(const tn_region *region) {
    tn_call call = {.host = &host};
    clear();
    copy_elements(region);
    assert_int_equal(tn_region_copy(NULL, region, found, source), TN_OK);
    assert_memory_equal(found, wanted, sizeof(found));
    for (pieces = 1; pieces <= 7; pieces += 3) {
        memset(found, 0xEE, sizeof(found));
        assert_int_equal(tn_region_copy_parallel(&call, region, found, source), TN_OK);
        assert_memory_equal(found, wanted, sizeof(found));
    }
}

/* Axes whose order in the source is another one than in the target, of which some repeat and some
 * are gone through by steps; the target's rows may lie apart. */
static void make_region(test_random *random, tn_region *region) {
    static const size_t sizes[] = {1, 2, 4, 8, 16};
    uint32_t order[5];
    int64_t to = 1, from = 1;
    memset(region, 0, sizeof(*region));
    region->rank = 1 + (uint32_t)(random_u64(random) % 5);
    region->element_bytes = sizes[random_u64(random) % 5];
    for (uint32_t i = 0; i < region->rank; i++) {
        const uint32_t at = (uint32_t)(random_u64(random) % (i + 1));
        order[i] = order[at];
        order[at] = i;
        region->extents[i] = 1 + (int64_t)(random_u64(random) % (i % 2 ? 6 : 3));
    }
    if (random_u64(random) % 4 == 0) region->extents[region->rank - 1] *= 7;
    for (uint32_t i = region->rank; i-- > 0;) {
        const uint32_t axis = random_u64(random) % 3 ? i : order[i];
        region->to_strides[i] = to;
        to = to * region->extents[i] + (random_u64(random) % 6 == 0);
        if (region->from_strides[axis] != 0 || random_u64(random) % 3 == 0) continue;
        region->from_strides[axis] = from * (1 + (random_u64(random) % 8 == 0));
        from = region->from_strides[axis] * region->extents[axis];
    }
}

static void test_regions_are_copied_as_elements_are(void **state) {
    test_random random = {1};
    (void)state;
    for (int i = 0; i < 1000; i++) {
        tn_region region;
        make_region(&random, &region);
        check_region(&region);
    }
}

/* Planes repeated along three axes, as Tile has them; blocks of pixels, as SpaceToDepth has them.
 */
static void test_planes_are_repeated_and_split(void **state) {
    (void)state;
    for (size_t bytes = 1; bytes <= 8; bytes *= 2) {
        check_region(&(tn_region){.rank = 6,
                                  .element_bytes = bytes,
                                  .extents = {2, 2, 2, 20, 2, 17},
                                  .to_strides = {5440, 2720, 680, 34, 17, 1},
                                  .from_strides = {0, 340, 0, 17, 0, 1}});
        for (int64_t block = 2; block <= 5; block++) {
            const int64_t width = 19 * block, plane = 7 * 19 * block * block;
            check_region(&(tn_region){.rank = 5,
                                      .element_bytes = bytes,
                                      .extents = {block, block, 3, 7, 19},
                                      .to_strides = {block * 3 * 7 * 19, 3 * 7 * 19, 7 * 19, 19, 1},
                                      .from_strides = {width, 1, plane, block * width, block}});
        }
    }
}

int main(void) {
    test_random random = {2};
    for (size_t i = 0; i < sizeof(source); i++)
        source[i] = (uint8_t)random_u64(&random);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_of_every_length_are_copied),
        cmocka_unit_test(test_regions_are_copied_as_elements_are),
        cmocka_unit_test(test_planes_are_repeated_and_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
