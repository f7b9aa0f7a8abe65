/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driving tenon-check, the process that runs the rules of conformance on a library: starts it,
 * reads its lines, gives each test a time limit, and starts it again behind a test that it did not
 * survive.
 */
#ifndef TENON_CHECK_RUN_H
#define TENON_CHECK_RUN_H

#include <stdbool.h>
#include <stddef.h>

enum { CHECK_PASSED = 0, CHECK_FAILED = 1, CHECK_SKIPPED = 2 };
/* What a broken rule is about, as tenon-check numbers it. */
enum {
    CHECK_LOAD,
    CHECK_CONTRACT,
    CHECK_CRASH,
    CHECK_MEMORY,
    CHECK_UNWRITTEN,
    CHECK_VALUES,
    CHECK_OTHER,
    CHECK_CAUSES
};

/* One test and its verdict. All texts are the list's own. */
typedef struct check_result {
    size_t number; /* 0: the library itself */
    int outcome;
    bool is_constant;                              /* with all inputs but the first as constants */
    char *test, *op, *kernel, *combination, *text; /* the rule that was tried, and on what */
    char *rule, *why; /* the rule that was broken; of a skipped test, why it cannot be applied */
    int cause;        /* of the rule: lower ones are likely to be the causes of higher ones */
    double seconds;
} check_result;

typedef struct check_results {
    check_result *items;
    size_t count, capacity;
    size_t totals[3];
} check_results;

typedef struct check_options {
    const char *program;   /* tenon-check */
    const char *library;   /* a path, or "builtin" */
    const char *rule, *op; /* null: all */
    const char *device;    /* null: the processor */
    const char *until;     /* rules with commas: ends when each was found broken; null: tries all */
    size_t only;           /* 0: all */
    double time_limit;     /* seconds for one test */
    unsigned seed, effort; /* of what is drawn; how many times as much of it, from 1 */
    void (*progress)(size_t done, size_t count);
} check_options;

/* Runs all; EXIT_DONE when the process said all that it had to say (whatever the verdicts), or an
 * exit code after having said why not. */
int check_run(const check_options *options, check_results *results);
void check_results_free(check_results *results);

#endif
