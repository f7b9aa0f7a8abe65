/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every unit test includes: cmocka with what it needs, the failing allocator, and checks of
 * the last error. Headers that call a member `fail` come before this one: cmocka has a macro of
 * that name.
 */
#ifndef TN_TESTS_TEST_H
#define TN_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "failing_allocator.h"

#include <tenon/status.h>

#include <cmocka.h>

#define TEST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The last error has this status, and its message contains `part`. */
static inline void assert_failed(tn_status status, tn_status expected, const char *part) {
    const tn_error *error = tn_last_error();
    assert_int_equal(status, expected);
    assert_int_equal(error->status, expected);
    if (!strstr(error->message, part))
        fail_msg("the message '%s' does not contain '%s'", error->message, part);
}

#endif
