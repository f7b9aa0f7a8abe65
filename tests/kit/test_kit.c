/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel kit without Tenon: the functions of every level of this processor against plain loops
 * in double precision, at sizes around the vectors' widths, and the helpers for threads.
 */
#include "test.h"

#include <math.h>
#include <string.h>
#include <tenon/kit/dot_pack.h>
#include <tenon/kit/matrix_product.h>
#include <tenon/kit/parallel.h>
#include <tenon/kit/reduce_rows.h>
#include <tenon/kit/resample.h>
#include <tenon/kit/rows.h>

int64_t kit_as_cpp_strides(void);

static const tn_matrix_level *const matrices[] = {&tn_matrix_baseline, &tn_matrix_avx2,
                                                  &tn_matrix_avx512};
static const tn_rows_level *const rows[] = {&tn_rows_baseline, &tn_rows_avx2, &tn_rows_avx512};
static const tn_reduce_level *const reductions[] = {&tn_reduce_baseline, &tn_reduce_avx2,
                                                    &tn_reduce_avx512};
static const tn_resample_level *const resamplers[] = {&tn_resample_baseline, &tn_resample_avx2,
                                                      &tn_resample_avx512};

/* Values of -1..1 that repeat late. */
static void fill(float *values, int64_t count, int seed) {
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)((i * 7919 + seed * 104729) % 2003) / 1001.0f - 1.0f;
}

/* A host of one thread, which does items two at a time. */
static tn_status in_parts(tn_call *call, int64_t count, int64_t grain, tn_body body, void *user) {
    (void)call;
    assert_true(grain >= 1);
    for (int64_t i = 0; i < count; i += 2) {
        const tn_status status = body(user, i, i + 2 < count ? i + 2 : count, 0);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

static void check_product(const tn_matrix_level *level, int64_t m, int64_t depth, int64_t n) {
    enum { MOST = 100 * 100 };
    static float a[MOST], b[MOST], bias[MOST], residual[MOST], y[MOST], packed[2 * MOST];
    static tn_host host;
    tn_call call = {.host = &host};
    host.parallel_for = in_parts;
    fill(a, m * depth, 1);
    fill(b, depth * n, 2);
    fill(bias, n, 3);
    fill(residual, m * n, 4);
    assert_true(tn_matrix_packed_floats(level, depth, n) <= 2 * MOST);
    tn_matrix_pack(level, depth, n, b, n, 1, 0.5f, packed);
    const tn_matrix_product product = {.level = level,
                                       .a = a,
                                       .packed = packed,
                                       .bias = bias,
                                       .residual = residual,
                                       .output = y,
                                       .rows = m,
                                       .depth = depth,
                                       .columns = n,
                                       .activation = TN_ACTIVATION_RELU};
    assert_int_equal(tn_matrix_product_run(&call, &product), TN_OK);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = (double)bias[j] + (double)residual[i * n + j];
            for (int64_t k = 0; k < depth; k++)
                sum += (double)a[i * depth + k] * (double)b[k * n + j] * 0.5;
            assert_true(fabs((double)y[i * n + j] - (sum < 0 ? 0 : sum)) < 1e-4);
        }
    }
}

static void test_products_of_every_level(void **state) {
    (void)state;
    for (int level = 0; level <= (int)tn_kit_level(); level++) {
        check_product(matrices[level], 1, 1, 1);
        check_product(matrices[level], 7, 33, 70);
        check_product(matrices[level], 61, 5, 64);
        check_product(matrices[level], 0, 5, 3);
    }
}

static void test_rows_of_every_level(void **state) {
    float x[131], y[131];
    (void)state;
    fill(x, 131, 5);
    for (int level = 0; level <= (int)tn_kit_level(); level++) {
        for (int64_t count = 0; count < 131; count += 13) {
            y[count] = 42;
            rows[level]->maps[TN_MAP_EXP](0, 0, count, x, y);
            for (int64_t i = 0; i < count; i++)
                assert_true(fabs((double)y[i] - exp((double)x[i])) < 1e-6);
            assert_true(y[count] == 42);
        }
    }
    assert_ptr_equal(TN_KIT_BEST(tn_rows), rows[tn_kit_level()]);
}

static void test_reductions_of_every_level(void **state) {
    float x[400];
    (void)state;
    fill(x, 400, 6);
    for (int level = 0; level <= (int)tn_kit_level(); level++) {
        for (int64_t count = 1; count <= 400; count += 57) {
            double sum = 0, largest = -2;
            for (int64_t i = 0; i < count; i++) {
                sum += (double)x[i];
                largest = fmax(largest, (double)x[i]);
            }
            const tn_reduce_level *of = reductions[level];
            assert_true(fabs((double)of->lanes[TN_REDUCE_SUM](count, x) - sum) < 1e-4);
            assert_true((double)of->lanes[TN_REDUCE_MAX](count, x) == largest);
        }
        assert_true(reductions[level]->lanes[TN_REDUCE_SUM](0, x) == 0);
    }
}

/* Nearest, twice as large. */
static void test_resampling_of_every_level(void **state) {
    static const int32_t index[6] = {0, 0, 1, 1, 2, 2};
    static const float weight[6] = {1, 1, 1, 1, 1, 1};
    const tn_resample_axis axis = {3, 6, 1, index, weight};
    float x[9], y[36], scratch[64];
    (void)state;
    fill(x, 9, 7);
    assert_true(tn_resample_scratch_floats(&axis, &axis) <= 64);
    for (int level = 0; level <= (int)tn_kit_level(); level++) {
        memset(y, 0, sizeof(y));
        tn_resample_plane(resamplers[level], &axis, &axis, x, y, 0, 6, scratch);
        for (int i = 0; i < 36; i++)
            assert_true(y[i] == x[i / 6 / 2 * 3 + i % 6 / 2]);
    }
}

/* The scale of a column is its largest magnitude over 127; too deep sums are refused. */
static void test_packed_bytes(void **state) {
    static const int32_t elements[4] = {0, 1, 2, 3};
    static const float weights[8] = {0.5f, -1.27f, 0.25f, 0, 1, 2, -2.54f, 0.01f};
    float blob[512];
    tn_dot_layout layout;
    (void)state;
    assert_true(tn_dot_layout_make(&tn_dot_baseline, 1, 2, 2, &layout));
    assert_true(tn_dot_layout_bytes(&layout) <= sizeof(blob));
    tn_dot_pack(&layout,
                &(tn_dot_source){.from = weights,
                                 .column_stride = 4,
                                 .element_stride = 1,
                                 .period = 2,
                                 .elements = elements},
                blob);
    assert_true(fabsf(tn_dot_scales(&layout, blob, 0)[0] - 0.01f) < 1e-7f);
    assert_true(fabsf(tn_dot_scales(&layout, blob, 0)[1] - 0.02f) < 1e-7f);
    assert_false(tn_dot_layout_make(&tn_dot_baseline, 1, 2, TN_DOT_DEPTH_LIMIT, &layout));
}

static void test_parts(void **state) {
    (void)state;
    for (int64_t count = 0; count < 20; count++) {
        for (int64_t parts = 1; parts < 8; parts++) {
            assert_int_equal(tn_parallel_first(count, parts, 0), 0);
            assert_int_equal(tn_parallel_first(count, parts, parts), count);
            for (int64_t i = 0; i < parts; i++) {
                const int64_t size =
                    tn_parallel_first(count, parts, i + 1) - tn_parallel_first(count, parts, i);
                assert_true(size == count / parts || size == count / parts + 1);
            }
        }
    }
    assert_int_equal(tn_parallel_grain(8192, 1000), 9);
    assert_int_equal(tn_parallel_grain(8192, 1 << 20), 1);
}

static void test_from_cpp(void **state) {
    (void)state;
    assert_int_equal(kit_as_cpp_strides(), 1551);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_every_level),
        cmocka_unit_test(test_rows_of_every_level),
        cmocka_unit_test(test_reductions_of_every_level),
        cmocka_unit_test(test_resampling_of_every_level),
        cmocka_unit_test(test_packed_bytes),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_from_cpp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
