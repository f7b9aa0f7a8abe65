/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded memory by itself: where the bytes lie between their pages. */
#include "guard/guard.h"
#include "test.h"

#include <string.h>

enum { PAGE = 4096 };
static const uint64_t SLACK = UINT64_C(0x7F7F7F7F7F7F7F7F);

static void test_flush_data_ends_with_its_page(void **state) {
    static const size_t sizes[] = {1, 4, 12, 64, 4095, 4096, 4100};
    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        tn_guard guard = {0};
        ptrdiff_t offset = 0;
        assert_int_equal(tn_guard_place(&guard, sizes[i], TN_GUARD_FLUSH, SLACK), TN_OK);
        assert_int_equal((uintptr_t)(guard.data + sizes[i]) % PAGE, 0);
        memset(guard.data, 1, sizes[i]);
        assert_false(tn_guard_is_damaged(&guard, &offset));
        if (sizes[i] % PAGE != 0) {
            guard.data[-1] = 0;
            assert_true(tn_guard_is_damaged(&guard, &offset));
            assert_int_equal(offset, -1);
        }
        tn_guard_unmap(&guard);
    }
}

static void test_data_at_the_end_keeps_its_alignment(void **state) {
    tn_guard guard = {0};
    (void)state;
    assert_int_equal(tn_guard_place(&guard, 12, TN_GUARD_FLUSH, SLACK), TN_OK);
    assert_int_equal(tn_guard_place(&guard, 12, TN_GUARD_AT_END, SLACK), TN_OK);
    assert_int_equal((uintptr_t)guard.data % 64, 0);
    assert_int_equal((uintptr_t)(guard.data + 64) % PAGE, 0);
    tn_guard_unmap(&guard);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flush_data_ends_with_its_page),
        cmocka_unit_test(test_data_at_the_end_keeps_its_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
