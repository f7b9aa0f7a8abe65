/* SPDX-License-Identifier: Apache-2.0 */
/* The traversal of a CUDA kernel's output: broadcasting, formats and merged axes. */
#include "kit/cuda/iteration.h"

#include "tensor/shape.h"
#include "test.h"

static void describe(tn_tensor_storage *storage, tn_format format, uint32_t rank,
                     const int64_t *extents) {
    tn_shape shape;
    assert_int_equal(tn_shape_set(&shape, rank, extents), TN_OK);
    assert_int_equal(tn_tensor_init(storage, TN_F32, format, &shape), TN_OK);
}

/* The input's offset for every element of the output, by the iteration and by the strides of both.
 */
static void check(const tn_tensor *y, const tn_tensor *x, const tn_cuda_iteration *iteration) {
    int64_t count = 1, index[TN_MAX_RANK] = {0};
    for (uint32_t i = 0; i < y->rank; i++)
        count *= y->shape[i];
    for (int64_t k = 0; k < count; k++) {
        int64_t at_y = 0, at_x = 0, found = 0;
        for (uint32_t i = 0; i < y->rank; i++) {
            const uint32_t missing = y->rank - x->rank;
            at_y += index[i] * y->strides[i];
            if (i >= missing && x->shape[i - missing] != 1)
                at_x += index[i] * x->strides[i - missing];
        }
        for (uint32_t i = iteration->rank; i-- > 0; at_y /= iteration->extents[i])
            found += at_y % iteration->extents[i] * iteration->strides[0][i];
        assert_int_equal(found, at_x);
        for (uint32_t i = y->rank; i-- > 0;) {
            if (++index[i] < y->shape[i]) break;
            index[i] = 0;
        }
    }
}

static void check_pair(tn_format y_format, uint32_t rank, const int64_t *y_shape,
                       tn_format x_format, uint32_t x_rank, const int64_t *x_shape,
                       uint32_t expected_rank) {
    tn_tensor_storage y, x;
    tn_cuda_iteration iteration;
    describe(&y, y_format, rank, y_shape);
    describe(&x, x_format, x_rank, x_shape);
    tn_cuda_iteration_init(&iteration, &y.tensor);
    tn_cuda_iteration_add(&iteration, &y.tensor, &x.tensor, x_rank, x.tensor.shape);
    assert_true(tn_cuda_iteration_finish(&iteration));
    assert_int_equal(iteration.rank, expected_rank);
    check(&y.tensor, &x.tensor, &iteration);
}

static void test_iteration_merges_axes_that_lie_alike(void **state) {
    const int64_t shape[] = {2, 3, 5, 7};
    (void)state;
    check_pair(TN_LINEAR, 4, shape, TN_LINEAR, 4, shape, 1);
    check_pair(TN_NHWC, 4, shape, TN_NHWC, 4, shape, 1);
}

static void test_iteration_broadcasts(void **state) {
    const int64_t shape[] = {2, 3, 5, 7}, channels[] = {3, 1, 1}, row[] = {7}, one[] = {1, 1};
    (void)state;
    check_pair(TN_LINEAR, 4, shape, TN_LINEAR, 3, channels, 3);
    check_pair(TN_LINEAR, 4, shape, TN_LINEAR, 1, row, 2);
    check_pair(TN_LINEAR, 4, shape, TN_LINEAR, 2, one, 1);
    check_pair(TN_LINEAR, 0, shape, TN_LINEAR, 0, shape, 1);
}

static void test_iteration_crosses_formats(void **state) {
    const int64_t shape[] = {2, 3, 5, 7}, channels[] = {3, 1, 1};
    (void)state;
    check_pair(TN_NHWC, 4, shape, TN_LINEAR, 4, shape, 3);
    check_pair(TN_LINEAR, 4, shape, TN_NHWC, 4, shape, 3);
    check_pair(TN_NHWC, 4, shape, TN_LINEAR, 3, channels, 2);
}

/* Pixels of three channels in a tensor of eight. */
static void test_iteration_follows_rows_that_lie_apart(void **state) {
    const int64_t shape[] = {2, 3, 5, 7};
    tn_tensor_storage y, x;
    tn_cuda_iteration iteration;
    (void)state;
    describe(&y, TN_NHWC, 4, shape);
    describe(&x, TN_NHWC, 4, shape);
    x.strides[3] = 8, x.strides[2] = 8 * 7, x.strides[0] = 8 * 7 * 5;
    tn_cuda_iteration_init(&iteration, &y.tensor);
    tn_cuda_iteration_add(&iteration, &y.tensor, &x.tensor, 4, x.tensor.shape);
    assert_true(tn_cuda_iteration_finish(&iteration));
    assert_int_equal(iteration.rank, 2);
    check(&y.tensor, &x.tensor, &iteration);
    assert_true(tn_cuda_iteration_is_small(&iteration));
    iteration.strides[0][0] = INT64_C(1) << 40;
    assert_false(tn_cuda_iteration_is_small(&iteration));
}

static void test_iteration_of_nothing_ends_at_once(void **state) {
    const int64_t shape[] = {2, 0, 3};
    tn_tensor_storage y;
    tn_cuda_iteration iteration;
    (void)state;
    describe(&y, TN_LINEAR, 3, shape);
    tn_cuda_iteration_init(&iteration, &y.tensor);
    tn_cuda_iteration_add(&iteration, &y.tensor, &y.tensor, 3, shape);
    assert_false(tn_cuda_iteration_finish(&iteration));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iteration_merges_axes_that_lie_alike),
        cmocka_unit_test(test_iteration_broadcasts),
        cmocka_unit_test(test_iteration_crosses_formats),
        cmocka_unit_test(test_iteration_follows_rows_that_lie_apart),
        cmocka_unit_test(test_iteration_of_nothing_ends_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
