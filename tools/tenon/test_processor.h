/* SPDX-License-Identifier: Apache-2.0 */
/* What the processor did in the cases of `tenon test --device`: nodes by operator, over all cases.
 */
#ifndef TENON_TEST_PROCESSOR_H
#define TENON_TEST_PROCESSOR_H

#include <stddef.h>

enum { TEST_PROCESSOR_OPERATORS = 512 };

/* Zeroed at first. */
typedef struct test_processor {
    struct {
        char name[80];
        double nodes;
        size_t cases;
    } operators[TEST_PROCESSOR_OPERATORS];
    size_t count;
} test_processor;

/* Adds a build's report; one that is no JSON, or of a network without a device, adds nothing. */
void test_processor_add(test_processor *own, const char *report);
/* "on the processor: If 3 in 2 cases, ...", a line; nothing where the device did everything. */
void test_processor_print(const test_processor *own);

#endif
