/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix product at every level of this processor against sums in double precision: all numbers
 * of rows up to two tiles and a half, columns around whole vectors and blocks, with a residual and
 * an activation and without, from either end, and the same bits however the work is split.
 */
#include <tenon/kit/matrix_product.h> /* before cmocka's macro `fail`, a member of tn_host */

#include "random.h"
#include "test.h"

#include <math.h>

enum { MOST_ROWS = 15, MOST_COLUMNS = 200, MOST_DEPTH = 33, GUARD = 16 };

static const tn_matrix_level *const levels[] = {&tn_matrix_baseline, &tn_matrix_avx2,
                                                &tn_matrix_avx512};

typedef struct product {
    int64_t rows, depth, columns;
    float a[MOST_ROWS * MOST_DEPTH], b[MOST_DEPTH * MOST_COLUMNS], bias[MOST_COLUMNS];
    float residual[MOST_ROWS * MOST_COLUMNS];
    _Alignas(64) float packed[MOST_DEPTH * (MOST_COLUMNS + 64)];
    float output[MOST_ROWS * MOST_COLUMNS + GUARD];
} product;

static int64_t pieces; /* that a loop is split into, the last ones first */

static tn_status split_loop(tn_call *call, int64_t count, int64_t grain, tn_body body,
                            void *user) TN_NOEXCEPT {
    (void)call, (void)grain;
    for (int64_t i = pieces - 1; i >= 0; i--) {
        const int64_t begin = count * i / pieces, end = count * (i + 1) / pieces;
        if (begin < end && body(user, begin, end, 0) != TN_OK) return TN_ERROR_STATE;
    }
    return TN_OK;
}

static const tn_host host = {.size = sizeof(tn_host), .parallel_for = split_loop};

static void fill(test_random *random, float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        values[i] = (float)random_real(random, -1, 1);
}

static void multiply(product *p, const tn_matrix_level *level, bool has_residual, bool has_relu,
                     bool reverse) {
    tn_call call = {.host = &host};
    const tn_matrix_product operands = {.level = level,
                                        .a = p->a,
                                        .packed = p->packed,
                                        .bias = p->bias,
                                        .residual = has_residual ? p->residual : NULL,
                                        .output = p->output,
                                        .rows = p->rows,
                                        .depth = p->depth,
                                        .columns = p->columns,
                                        .activation = has_relu ? TN_ACTIVATION_RELU : 0,
                                        .reverse = reverse};
    for (size_t i = 0; i < TEST_COUNT(p->output); i++)
        p->output[i] = 77;
    assert_int_equal(tn_matrix_product_run(&call, &operands), TN_OK);
}

static void assert_is_product(const product *p, bool has_residual, bool has_relu) {
    for (int64_t m = 0; m < p->rows; m++)
        for (int64_t n = 0; n < p->columns; n++) {
            double sum = (double)p->bias[n];
            for (int64_t k = 0; k < p->depth; k++)
                sum += (double)p->a[m * p->depth + k] * (double)p->b[k * p->columns + n];
            if (has_residual) sum += (double)p->residual[m * p->columns + n];
            if (has_relu && sum < 0) sum = 0;
            const double value = (double)p->output[m * p->columns + n];
            if (!(fabs(value - sum) <= 1e-5))
                fail_msg("%d x %d x %d: row %d, column %d is %g instead of %g", (int)p->rows,
                         (int)p->depth, (int)p->columns, (int)m, (int)n, value, sum);
        }
    for (int64_t i = p->rows * p->columns; i < p->rows * p->columns + GUARD; i++)
        assert_true(p->output[i] == 77.0f);
}

static void check(product *p, const tn_matrix_level *level) {
    static float before[MOST_ROWS * MOST_COLUMNS];
    const size_t bytes = (size_t)(p->rows * p->columns) * sizeof(float);
    for (int variant = 0; variant < 8; variant++) {
        const bool has_residual = variant & 1, has_relu = variant & 2, reverse = variant & 4;
        for (pieces = 1; pieces <= 3; pieces++) {
            multiply(p, level, has_residual, has_relu, reverse);
            assert_is_product(p, has_residual, has_relu);
            if (pieces > 1) assert_memory_equal(before, p->output, bytes);
            memcpy(before, p->output, bytes);
        }
    }
}

static void test_products_of_all_sizes(void **state) {
    static const int64_t columns[] = {1, 15, 16, 17, 31, 32, 63, 64, 65, 127, 128, 129, 200};
    static const int64_t depths[] = {1, 2, 3, 7, 33};
    static product p;
    test_random random = {.state = 5};
    (void)state;
    for (size_t d = 0; d < TEST_COUNT(depths); d++)
        for (size_t c = 0; c < TEST_COUNT(columns); c++)
            for (int level = 0; level <= (int)tn_kit_level(); level++) {
                p.depth = depths[d];
                p.columns = columns[c];
                fill(&random, p.a, TEST_COUNT(p.a));
                fill(&random, p.b, TEST_COUNT(p.b));
                fill(&random, p.bias, TEST_COUNT(p.bias));
                fill(&random, p.residual, TEST_COUNT(p.residual));
                tn_matrix_pack(levels[level], p.depth, p.columns, p.b, p.columns, 1, 1.0f,
                               p.packed);
                for (p.rows = 1; p.rows <= MOST_ROWS; p.rows++)
                    check(&p, levels[level]);
            }
}

/* Rows in chunks, each of which begins a tile of its own. */
static void test_rows_of_several_chunks(void **state) {
    enum { ROWS = 131, DEPTH = 5, COLUMNS = 70 };
    static float a[ROWS * DEPTH], b[DEPTH * COLUMNS], bias[COLUMNS], y[ROWS * COLUMNS];
    static _Alignas(64) float packed[DEPTH * (COLUMNS + 64)];
    test_random random = {.state = 6};
    tn_call call = {.host = &host};
    (void)state;
    fill(&random, a, TEST_COUNT(a));
    fill(&random, b, TEST_COUNT(b));
    fill(&random, bias, TEST_COUNT(bias));
    for (int level = 0; level <= (int)tn_kit_level(); level++) {
        const tn_matrix_product operands = {.level = levels[level],
                                            .a = a,
                                            .packed = packed,
                                            .bias = bias,
                                            .output = y,
                                            .rows = ROWS,
                                            .depth = DEPTH,
                                            .columns = COLUMNS};
        tn_matrix_pack(levels[level], DEPTH, COLUMNS, b, COLUMNS, 1, 1.0f, packed);
        pieces = 2;
        assert_int_equal(tn_matrix_product_run(&call, &operands), TN_OK);
        for (int m = 0; m < ROWS; m++)
            for (int n = 0; n < COLUMNS; n++) {
                double sum = (double)bias[n];
                for (int k = 0; k < DEPTH; k++)
                    sum += (double)a[m * DEPTH + k] * (double)b[k * COLUMNS + n];
                assert_true(fabs((double)y[m * COLUMNS + n] - sum) <= 1e-5);
            }
    }
}

/* A depth whose blocks are multiplied a slice at a time, and more rows than a unit of work has. */
static void test_deep_products(void **state) {
    enum { ROWS = 197, DEPTH = 16500, COLUMNS = 70 };
    static float a[ROWS * DEPTH], b[DEPTH * COLUMNS], bias[COLUMNS], residual[ROWS * COLUMNS];
    static float y[ROWS * COLUMNS];
    static double sums[ROWS * COLUMNS];
    static _Alignas(64) float packed[DEPTH * (COLUMNS + 64)];
    test_random random = {.state = 8};
    tn_call call = {.host = &host};
    (void)state;
    fill(&random, a, TEST_COUNT(a));
    fill(&random, b, TEST_COUNT(b));
    fill(&random, bias, TEST_COUNT(bias));
    fill(&random, residual, TEST_COUNT(residual));
    for (int64_t m = 0; m < ROWS; m++)
        for (int64_t k = 0; k < DEPTH; k++)
            for (int64_t n = 0; n < COLUMNS; n++)
                sums[m * COLUMNS + n] += (double)a[m * DEPTH + k] * (double)b[k * COLUMNS + n];
    for (int level = 0; level <= (int)tn_kit_level(); level++) {
        const tn_matrix_product operands = {.level = levels[level],
                                            .a = a,
                                            .packed = packed,
                                            .bias = bias,
                                            .residual = residual,
                                            .output = y,
                                            .rows = ROWS,
                                            .depth = DEPTH,
                                            .columns = COLUMNS,
                                            .activation = TN_ACTIVATION_RELU};
        tn_matrix_pack(levels[level], DEPTH, COLUMNS, b, COLUMNS, 1, 1.0f, packed);
        pieces = 2;
        assert_int_equal(tn_matrix_product_run(&call, &operands), TN_OK);
        for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
            const double wanted =
                fmax(sums[i] + (double)bias[i % COLUMNS] + (double)residual[i], 0);
            if (!(fabs((double)y[i] - wanted) <= 1e-3))
                fail_msg("element %d is %g instead of %g", (int)i, (double)y[i], wanted);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_all_sizes),
        cmocka_unit_test(test_rows_of_several_chunks),
        cmocka_unit_test(test_deep_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
