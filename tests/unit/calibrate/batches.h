/* SPDX-License-Identifier: Apache-2.0 */
/* Sample inputs for the tests of calibration: batches of floats of rank 2 for networks with one
 * input or two alike, which can be made wrong in each respect. */
#ifndef TN_TESTS_BATCHES_H
#define TN_TESTS_BATCHES_H

#include "run_test.h"

#include "calibrate/calibrate_private.h"

#include <math.h>

/* The last error has this status, and its message contains `part`. */
static inline void assert_failed(tn_status status, tn_status expected, const char *part) {
    assert_int_equal(status, expected);
    assert_error(part, NULL);
}

#define BATCH_COUNT  3
#define BATCH_EXTENT 32 /* of both axes */
#define BATCH_VALUES (BATCH_EXTENT * BATCH_EXTENT)

typedef struct test_batches {
    tn_batches batches;
    _Alignas(64) float values[BATCH_COUNT][BATCH_VALUES];
    tn_tensor tensor;
    int64_t shape[2];
    uint32_t input_count;
    uint64_t fail_at, cancel_at, reads; /* at: a batch; UINT64_MAX: never */
} test_batches;

static inline tn_status test_batches_read(void *user, uint64_t index, const tn_tensor **inputs) {
    test_batches *test = user;
    test->reads++;
    if (index == test->fail_at) return TN_ERROR_IO;
    test->tensor.data = test->values[index];
    for (uint32_t i = 0; i < test->input_count; i++)
        inputs[i] = &test->tensor;
    return TN_OK;
}

static inline bool test_batches_progress(void *user, const char *stage, uint64_t done,
                                         uint64_t count) {
    const test_batches *test = user;
    assert_non_null(stage);
    assert_true(done <= count);
    return done != test->cancel_at;
}

/* Batch b, element i holds (b + 1) * (i % 8 - 3). */
static inline void test_batches_init(test_batches *test, uint32_t input_count) {
    *test = (test_batches){.input_count = input_count,
                           .shape = {BATCH_EXTENT, BATCH_EXTENT},
                           .fail_at = UINT64_MAX,
                           .cancel_at = UINT64_MAX};
    test->batches = (tn_batches){.size = sizeof(tn_batches),
                                 .count = BATCH_COUNT,
                                 .read = test_batches_read,
                                 .progress = test_batches_progress,
                                 .user = test};
    test->tensor = (tn_tensor){.size = sizeof(tn_tensor),
                               .type = TN_F32,
                               .rank = 2,
                               .shape = test->shape,
                               .bytes = sizeof(test->values[0])};
    for (int batch = 0; batch < BATCH_COUNT; batch++)
        for (int i = 0; i < BATCH_VALUES; i++)
            test->values[batch][i] = (float)((batch + 1) * (i % 8 - 3));
}

#endif
