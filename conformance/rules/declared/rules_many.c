/* SPDX-License-Identifier: Apache-2.0 */
/* The part of other-shapes about many elements: more than 16 bits count. See rules_shapes.h. */
#include "rules/declared/rules_shapes.h"
#include "tensor/type.h"

#include <string.h>
#include <time.h>

bool tn_shapes_are_first(const tn_test *test, bool has_any_fields) {
    const char *own = tn_test_first_type(test->text);
    const size_t length = strcspn(own, "[") + 1;
    const size_t fields = has_any_fields ? 0 : strcspn(test->text, "|") + 1;
    for (uint64_t i = 0; i < test->op->case_count; i++) {
        const char *other = test->op->cases[i];
        if (strcmp(other, test->text) == 0) return true;
        if (strncmp(other, test->text, fields) == 0 &&
            strncmp(own, tn_test_first_type(other), length) == 0)
            return false;
    }
    return false;
}

/* With all outputs, where the kernel has them. */
static bool run_many(const tn_test *test, tn_change *change, tn_verdict *verdict) {
    change->asks_all = true;
    if (tn_rule_run_on_values(test, change, verdict)) return true;
    change->asks_all = false;
    return tn_rule_run_on_values(test, change, verdict);
}

enum { STEP = 12 /* from one count to the next */ };

/* Whether there is time for `times` as many, where the last two steps took so many seconds (0:
 * there was none before): a reference may compare each element with each other. */
static bool has_time(double before, double last, double times) {
    static const double LEAST = 1e-4, MOST = 0.5;
    const double growth = before > LEAST ? last / before / STEP : 1;
    return last * times * (growth > 1 ? growth : 1) < MOST;
}

static int64_t next_count(int64_t count, int64_t most) {
    return count < most / STEP ? count * STEP + 1 : most;
}

/* At least `wanted` elements along an axis of the first input, by steps of which each shows that
 * there is time for the next: once a type and fields. Sums of so many are as near as the slack
 * says. */
static void try_many(const tn_shapes *all, uint32_t axis, int64_t wanted, uint32_t values,
                     tn_verdict *verdict) {
    enum { MOST_REST = 6007, FEW_ROWS = 2 };
    const tn_test *test = all->test;
    const tn_shape first = all->base[0];
    const int64_t extent = first.extents[axis];
    int64_t rest = 1;
    double before = 0, last = 0;
    for (uint32_t i = 0; i < first.rank; i++)
        rest *= i == axis ? 1 : first.extents[i];
    if (rest < 1 || rest > MOST_REST || extent < 1) return;
    const int64_t most = axis == 0 || rest <= FEW_ROWS ? wanted : wanted / rest + 1;
    for (int64_t count = extent; count < most && verdict->outcome == TN_PASSED;) {
        tn_shape of[TN_PROBE_PORTS];
        tn_change change = {.seed = test->seed, .values = values, .axis = -1, .shapes = of};
        count = next_count(count, most);
        memcpy(of, all->base, all->count * sizeof(*of));
        for (uint32_t i = 0; i < all->count; i++)
            if (!all->is_fixed[i] && of[i].rank == first.rank && of[i].extents[axis] == extent)
                of[i].extents[axis] = count;
        const clock_t begin = clock();
        if (!run_many(test, &change, verdict)) return;
        before = last;
        last = (double)(clock() - begin) / CLOCKS_PER_SEC;
        if (!has_time(before, last, (double)next_count(count, most) / (double)count)) return;
    }
}

void tn_shapes_try_numbers(const tn_shapes *all, tn_verdict *verdict) {
    enum { BEYOND_16_BITS = 70001, SORTED = 12001 };
    const tn_shape *first = &all->base[0];
    if (all->count == 0 || first->rank == 0 || !tn_shapes_are_first(all->test, false) ||
        tn_test_is_repeated(all->test))
        return;
    const bool is_judged = all->test->kernel && tn_shapes_are_first(all->test, true);
    const int64_t many = is_judged ? BEYOND_16_BITS : SORTED;
    try_many(all, first->rank - 1, many, TN_VALUES_EQUAL, verdict);
    try_many(all, first->rank - 1, SORTED, TN_VALUES_SORTED, verdict);
    if (first->rank > 1) try_many(all, 0, many, TN_VALUES_EQUAL, verdict);
    if (is_judged && all->has_codes) try_many(all, first->rank - 1, many, TN_VALUES_SAME, verdict);
}
