/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that nobody uses at the moment: each is given out once, to its GPU and library alone. */
#include "kit/cuda/handles.h"

#include "test.h"

static void test_a_kept_handle_is_given_out_once(void **state) {
    int a, b, c;
    (void)state;
    assert_null(tn_cuda_handle_take(TN_CUDA_HANDLE_CUDNN, 0));
    assert_true(tn_cuda_handle_keep(TN_CUDA_HANDLE_CUDNN, 0, &a));
    assert_true(tn_cuda_handle_keep(TN_CUDA_HANDLE_CUDNN, 1, &b));
    assert_true(tn_cuda_handle_keep(TN_CUDA_HANDLE_CUBLASLT, 0, &c));
    assert_ptr_equal(tn_cuda_handle_take(TN_CUDA_HANDLE_CUDNN, 0), &a);
    assert_null(tn_cuda_handle_take(TN_CUDA_HANDLE_CUDNN, 0));
    assert_null(tn_cuda_handle_take(TN_CUDA_HANDLE_CUBLASLT, 1));
    assert_ptr_equal(tn_cuda_handle_take(TN_CUDA_HANDLE_CUBLASLT, 0), &c);
    assert_ptr_equal(tn_cuda_handle_take(TN_CUDA_HANDLE_CUDNN, 1), &b);
}

static void test_what_does_not_fit_is_the_callers(void **state) {
    int handle, count = 0;
    (void)state;
    while (count < 1000 && tn_cuda_handle_keep(TN_CUDA_HANDLE_CUDNN, 0, &handle))
        count++;
    assert_true(count > 0 && count < 1000);
    for (int i = 0; i < count; i++)
        assert_ptr_equal(tn_cuda_handle_take(TN_CUDA_HANDLE_CUDNN, 0), &handle);
    assert_null(tn_cuda_handle_take(TN_CUDA_HANDLE_CUDNN, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_kept_handle_is_given_out_once),
        cmocka_unit_test(test_what_does_not_fit_is_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
