/* SPDX-License-Identifier: Apache-2.0 */
/* Smaller failures; see shrink.h. */
#include "shrink.h"
#include "worker/watch/guarded.h"
#include "worker/process/watch.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ATTEMPTS = 60, SECONDS = 2, FAILS = 17 };

/* Nobody hears of what happens here. */
static void be_silent(const char *rule, const char *text) {
    (void)rule;
    (void)text;
}

bool tn_shrink_fails(const tn_test *test, bool (*fails)(void *user), void *user) {
    int status = 0;
    const pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere >= 0) dup2(nowhere, test->lines);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* the parent may be killed meanwhile */
        tn_watch_moved();
        tn_guarded_catch_faults(be_silent);
        signal(SIGALRM, SIG_DFL);
        alarm(SECONDS);
        _exit(fails(user) ? FAILS : 0);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == FAILS;
}

typedef struct shaped {
    const tn_test *test;
    const tn_change *change;
    tn_attempt attempt;
} shaped;

static bool shaped_fails(void *user) {
    const shaped *it = user;
    tn_verdict verdict = {0};
    return it->attempt(it->test, it->change, &verdict) && verdict.outcome == TN_FAILED;
}

/* All axes of this extent get the other one; false: there are none. */
static bool replace(tn_shape *shapes, uint32_t count, int64_t before, int64_t after) {
    bool is_any = false;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t axis = 0; axis < shapes[i].rank; axis++)
            if (shapes[i].extents[axis] == before) {
                shapes[i].extents[axis] = after;
                is_any = true;
            }
    return is_any;
}

/* The greatest extent below `below`; 0: none above 1. */
static int64_t greatest_below(const tn_shape *shapes, uint32_t count, int64_t below) {
    int64_t most = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t axis = 0; axis < shapes[i].rank; axis++)
            if (shapes[i].extents[axis] < below && shapes[i].extents[axis] > most)
                most = shapes[i].extents[axis];
    return most > 1 ? most : 0;
}

void tn_shrink_shapes(const tn_test *test, const tn_change *change, tn_shape *shapes,
                      uint32_t count, tn_attempt attempt, tn_verdict *inout_verdict) {
    tn_change smaller = *change;
    tn_verdict last = {0};
    shaped alone = {test, &smaller, attempt};
    int attempts = 0;
    bool is_smaller = false;
    for (int64_t extent = INT64_MAX; (extent = greatest_below(shapes, count, extent)) != 0;) {
        const int64_t candidates[] = {1, 2, 3, extent / 2, extent - extent / 4, extent - 1};
        for (size_t i = 0; i < 6 && attempts < MOST_ATTEMPTS; i++) {
            tn_shape tried[TN_PROBE_PORTS];
            if (candidates[i] < 1 || candidates[i] >= extent) continue;
            memcpy(tried, shapes, count * sizeof(*tried));
            replace(tried, count, extent, candidates[i]);
            smaller.shapes = tried;
            attempts++;
            if (!tn_shrink_fails(test, shaped_fails, &alone)) continue;
            memcpy(shapes, tried, count * sizeof(*tried));
            is_smaller = true;
            if (candidates[i] > 1) extent = candidates[i] + 1; /* smaller still */
            break;
        }
    }
    smaller.shapes = shapes;
    if (is_smaller && attempt(test, &smaller, &last) && last.outcome == TN_FAILED)
        *inout_verdict = last;
}
