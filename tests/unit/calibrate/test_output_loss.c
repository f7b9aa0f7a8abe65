/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of an output: known sums, rows whose largest element moves, what cannot be compared. */
#include "calibrate/output_loss.h"

#include <math.h>

#include "test.h"

static tn_tensor tensor_of(tn_type type, int64_t *shape, void *data) {
    return (tn_tensor){
        .size = sizeof(tn_tensor), .type = type, .rank = 2, .shape = shape, .data = data};
}

static void test_sums_differences_over_magnitudes(void **state) {
    (void)state;
    tn_output_loss loss = {0};
    int64_t shape[] = {2, 3};
    float first[] = {1, -2, 3, 4, 5, -5}, second[] = {1, -2.5f, 3, 4, 4.5f, -5};
    const tn_tensor reference = tensor_of(TN_F32, shape, first),
                    tested = tensor_of(TN_F32, shape, second);
    tn_output_loss_add(&loss, &reference, &tested);
    assert_true(fabs(tn_output_loss_value(&loss) - 1.0 / 20) < 1e-12);
    tn_output_loss_add(&loss, &reference, &reference);
    assert_true(fabs(tn_output_loss_value(&loss) - 1.0 / 40) < 1e-12);
    assert_int_equal(loss.row_count, 4);
    assert_true(tn_output_loss_changed_share(&loss) == 0);
}

static void test_counts_rows_whose_largest_element_is_another(void **state) {
    (void)state;
    tn_output_loss loss = {0};
    int64_t shape[] = {4, 2};
    int32_t first[] = {1, 2, 5, 4, 7, 7, 0, 1}, second[] = {2, 1, 5, 4, 7, 8, 0, 1};
    const tn_tensor reference = tensor_of(TN_I32, shape, first),
                    tested = tensor_of(TN_I32, shape, second);
    tn_output_loss_add(&loss, &reference, &tested);
    assert_int_equal(loss.row_count, 4);
    assert_true(tn_output_loss_changed_share(&loss) == 0.5);
}

static void test_what_is_not_finite_in_one_alone_is_an_infinite_loss(void **state) {
    (void)state;
    int64_t shape[] = {1, 3};
    float same[] = {NAN, INFINITY, 1}, broken[] = {NAN, INFINITY, NAN};
    const tn_tensor reference = tensor_of(TN_F32, shape, same),
                    tested = tensor_of(TN_F32, shape, broken);
    tn_output_loss loss = {0};
    tn_output_loss_add(&loss, &reference, &reference);
    assert_true(tn_output_loss_value(&loss) == 0);
    tn_output_loss_add(&loss, &reference, &tested);
    assert_true(isinf(tn_output_loss_value(&loss)));
}

static void test_other_shapes_and_differences_from_zero_are_infinite(void **state) {
    (void)state;
    int64_t shape[] = {1, 2}, other_shape[] = {2, 1}, empty_shape[] = {0, 2};
    float zeros[] = {0, 0}, ones[] = {0, 1};
    const tn_tensor reference = tensor_of(TN_F32, shape, zeros),
                    tested = tensor_of(TN_F32, shape, ones),
                    turned = tensor_of(TN_F32, other_shape, zeros),
                    empty = tensor_of(TN_F32, empty_shape, zeros);
    tn_output_loss loss = {0};
    tn_output_loss_add(&loss, &empty, &empty);
    assert_true(tn_output_loss_value(&loss) == 0 && tn_output_loss_changed_share(&loss) == 0);
    tn_output_loss_add(&loss, &reference, &tested);
    assert_true(isinf(tn_output_loss_value(&loss)));
    loss = (tn_output_loss){0};
    tn_output_loss_add(&loss, &reference, &turned);
    assert_true(isinf(tn_output_loss_value(&loss)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_differences_over_magnitudes),
        cmocka_unit_test(test_counts_rows_whose_largest_element_is_another),
        cmocka_unit_test(test_what_is_not_finite_in_one_alone_is_an_infinite_loss),
        cmocka_unit_test(test_other_shapes_and_differences_from_zero_are_infinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
