/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about other shapes than a case's. First an axis of all inputs at a time; then one input
 * alone gets an extent of 1 or an axis less, which the shape rule takes where it broadcasts; then
 * extents at random, of axes that have the same extent in the case. What the shape rule or the
 * reference refuses is nobody's failure. See rules.h.
 */
#include "base/hash.h"
#include "rules/declared/rules_shapes.h"
#include "rules/shrink.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    MOST_ELEMENTS = 1 << 16, /* of an input with long axes */
    RANDOM_SHAPES = 6,       /* that are taken, for each of the effort */
    ATTEMPTS = 4             /* for each of these */
};

static bool read_base(const tn_test *test, tn_shapes *all, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return false;
    all->test = test;
    all->count = subject.c.input_count < TN_PROBE_PORTS ? subject.c.input_count : TN_PROBE_PORTS;
    for (uint32_t i = 0; i < all->count; i++) {
        all->base[i] = subject.c.inputs[i].shape;
        all->is_fixed[i] = tn_subject_is_fixed(&subject, i);
        all->is_needed[i] = tn_subject_is_value_needed(&subject, i);
    }
    for (uint32_t i = 0; i < subject.expected.count; i++)
        all->has_codes = all->has_codes || !tn_type_is_float(subject.expected.types[i]);
    tn_subject_destroy(&subject);
    return true;
}

bool tn_shapes_are_small(const tn_shapes *all, const tn_shape *of) {
    for (uint32_t i = 0; i < all->count; i++) {
        size_t count = 0;
        if (tn_shape_count(&of[i], &count) != TN_OK || count > MOST_ELEMENTS) return false;
    }
    return true;
}

/* A long recurrence makes much of little: whether it is within what the last digits of the inputs
 * do. */
static bool is_within_slack(tn_subject *subject) {
    tn_outcome found = {0};
    char why[300];
    const bool is_near =
        tn_slack_create(subject->op, &subject->c, TN_VALUES_WIDE, subject->asks_all,
                        &subject->expected, &subject->slack) == TN_OK &&
        tn_probe_once(&subject->probe, true, false, 0xFF, &found) == TN_OK &&
        tn_subject_agrees(subject, &found, why, sizeof(why));
    tn_outcome_free(&found);
    return is_near;
}

/* What the first tactic computes is another one's failure. */
static void blame_tactic(tn_subject *subject, tn_verdict *inout_verdict) {
    char why[sizeof(inout_verdict->why)];
    tn_verdict first = {0};
    const uint32_t tactic = subject->probe.tactic;
    subject->probe.tactic = 0;
    if (inout_verdict->outcome == TN_FAILED && !inout_verdict->rule[0])
        tn_rule_run(subject, "", &first);
    if (inout_verdict->outcome != TN_FAILED || inout_verdict->rule[0] || first.outcome != TN_PASSED)
        return;
    memcpy(why, inout_verdict->why, sizeof(why));
    snprintf(inout_verdict->why, sizeof(why), "tactic %u alone: %.500s", tactic, why);
    snprintf(inout_verdict->rule, sizeof(inout_verdict->rule), "tactics");
}

bool tn_shapes_attempt(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_subject subject;
    tn_verdict refused = {0};
    if (!tn_test_subject(test, change, &subject, &refused)) {
        if (refused.outcome == TN_FAILED) *verdict = refused;
        return refused.outcome == TN_FAILED;
    }
    char during[60];
    snprintf(during, sizeof(during), "in other shapes (seed %u)", test->seed);
    subject.probe.tactic = change->tactic % tn_probe_tactics(&subject.probe);
    subject.probe.swaps_slack = change->asks_all; /* every other shape */
    tn_rule_run(&subject, during, verdict);
    if (verdict->outcome == TN_FAILED && !verdict->rule[0] && is_within_slack(&subject))
        *verdict = (tn_verdict){0};
    if (subject.probe.tactic > 0) blame_tactic(&subject, verdict);
    tn_subject_destroy(&subject);
    return true;
}

static bool is_sized_by_run(const tn_operator *op) {
    for (uint32_t i = 0; i < op->output_count; i++)
        if (op->outputs[i].flags & TN_PORT_SIZED_BY_RUN) return true;
    return false;
}

/* How much comes out hangs on the values: kinds of which all are alike, all above and all below. */
static void try_sizes(const tn_shapes *all, const tn_change *change, tn_verdict *verdict) {
    static const uint32_t kinds[] = {TN_VALUES_EQUAL, TN_VALUES_ABOVE, TN_VALUES_BELOW};
    for (size_t i = 0; i < TN_COUNT(kinds) && verdict->outcome == TN_PASSED; i++) {
        tn_change drawn = *change;
        drawn.values = kinds[i];
        drawn.seed = all->test->seed;
        tn_rule_run_on_values(all->test, &drawn, verdict);
    }
}

bool tn_shapes_try(tn_shapes *all, const tn_shape *of, tn_verdict *verdict) {
    tn_shape changed[TN_PROBE_PORTS];
    memcpy(changed, of, all->count * sizeof(*changed));
    const tn_change change = {
        .axis = -1, .shapes = changed, .asks_all = all->tried % 2, .tactic = all->tried};
    if (verdict->outcome != TN_PASSED || memcmp(of, all->base, all->count * sizeof(*of)) == 0)
        return false;
    const bool is_taken = tn_shapes_attempt(all->test, &change, verdict);
    all->tried += is_taken;
    if (is_taken && is_sized_by_run(all->test->op)) try_sizes(all, &change, verdict);
    if (verdict->outcome == TN_FAILED)
        tn_shrink_shapes(all->test, &change, changed, all->count, tn_shapes_attempt, verdict);
    return is_taken;
}

/* Rows as many as a row has elements take sixteen times as long where each is compared with each:
 * once a type, after so many seconds for a quarter of them. */
static bool has_time_for_rows(const tn_shapes *all, double last) {
    static const double MOST = 0.012;
    return all->test->kernel && last < MOST && tn_shapes_are_first(all->test, true);
}

/* Along an axis of the first input, and of all others of its rank and its extent there. */
static void try_axes(tn_shapes *all, tn_verdict *verdict) {
    const tn_shape *first = &all->base[0];
    for (uint32_t axis = 0; all->count > 0 && axis < first->rank; axis++) {
        const int64_t extent = first->extents[axis];
        const int64_t extents[] = {extent + 1, 1, 0, 2 * extent + 3, 33, 67, 130, 131, 259, 1031};
        enum { EXTENTS = sizeof(extents) / sizeof(extents[0]) };
        const bool is_last = axis + 1 == first->rank;
        double last = 0;
        for (size_t k = 0; k < EXTENTS; k++) {
            if (k + 1 == EXTENTS && !is_last && !has_time_for_rows(all, last)) break;
            tn_shape of[TN_PROBE_PORTS];
            memcpy(of, all->base, all->count * sizeof(*of));
            for (uint32_t i = 0; i < all->count; i++)
                if (!all->is_fixed[i] && of[i].rank == first->rank && of[i].extents[axis] == extent)
                    of[i].extents[axis] = extents[k];
            const clock_t begin = clock();
            if (extents[k] <= 4096 && (extents[k] < 67 || tn_shapes_are_small(all, of)))
                tn_shapes_try(all, of, verdict);
            last = (double)(clock() - begin) / CLOCKS_PER_SEC;
        }
    }
}

/* Extents of 1 at every other axis of one input, so that no neighbours can be taken together. */
static void try_alternating(tn_shapes *all, const tn_shape *of, uint32_t rank,
                            tn_verdict *verdict) {
    for (uint32_t i = 0; i < all->count && all->count > 1 && rank > 3; i++) {
        tn_shape changed[TN_PROBE_PORTS];
        memcpy(changed, of, all->count * sizeof(*changed));
        if (all->is_fixed[i] || of[i].rank != rank) continue;
        for (uint32_t axis = i % 2; axis < rank; axis += 2)
            changed[i].extents[axis] = 1;
        tn_shapes_try(all, changed, verdict);
    }
}

/* All inputs of the first one's rank with first (or last) axes more, or without the first ones. */
static void try_ranks(tn_shapes *all, bool is_at_end, tn_verdict *verdict) {
    const uint32_t rank = all->count > 0 ? all->base[0].rank : 0;
    const uint32_t most = rank + 2 < 6 ? 6 : rank + 2;
    for (uint32_t wanted = is_at_end ? rank + 1 : 0;
         all->count > 0 && wanted <= most && wanted <= TN_MAX_RANK; wanted++) {
        tn_shape of[TN_PROBE_PORTS];
        memcpy(of, all->base, all->count * sizeof(*of));
        for (uint32_t i = 0; i < all->count && wanted != rank; i++) {
            const tn_shape own = all->base[i];
            if (all->is_fixed[i] || own.rank != rank) continue;
            of[i] = (tn_shape){.rank = wanted};
            for (uint32_t axis = 0; axis < wanted; axis++) {
                const uint32_t from = is_at_end ? axis : axis + rank - wanted;
                of[i].extents[axis] = from < rank ? own.extents[from] : 2;
            }
        }
        tn_shapes_try(all, of, verdict);
        if (!is_at_end) try_alternating(all, of, wanted, verdict);
    }
}

/* All axes of all inputs at once. */
static void try_ones(tn_shapes *all, tn_verdict *verdict) {
    tn_shape of[TN_PROBE_PORTS];
    memcpy(of, all->base, all->count * sizeof(*of));
    for (uint32_t i = 0; i < all->count; i++)
        for (uint32_t axis = 0; axis < of[i].rank && !all->is_fixed[i]; axis++)
            of[i].extents[axis] = 1;
    tn_shapes_try(all, of, verdict);
}

/* More inputs of a port that takes any number of them. */
static void try_more_inputs(tn_shapes *all, tn_verdict *verdict) {
    const tn_operator *op = all->test->op;
    static const uint32_t counts[] = {9, 17};
    if (op->input_count == 0 || !(op->inputs[op->input_count - 1].flags & TN_PORT_VARIADIC)) return;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const tn_change change = {.seed = all->test->seed,
                                  .values = TN_VALUES_SMALL,
                                  .axis = -1,
                                  .input_count = counts[i]};
        if (verdict->outcome == TN_PASSED && counts[i] > all->count)
            all->tried += tn_shapes_attempt(all->test, &change, verdict);
    }
}

/* Sizes, axes and the like that a case gives: others, of which the shape rule refuses what cannot
 * be. */
static void try_needed(tn_shapes *all, tn_verdict *verdict) {
    static const int64_t values[] = {1, 0, -1, 2, 7};
    for (uint32_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < 2 * TN_COUNT(values) && all->is_needed[i]; k++) {
            const tn_change change = {.axis = -1,
                                      .set_input = i + 1,
                                      .set_value = values[k / 2],
                                      .sets_last_alone = k % 2};
            if (verdict->outcome == TN_PASSED)
                all->tried += tn_shapes_attempt(all->test, &change, verdict);
        }
}

/* Sizes that are multiples of an extent: 1 / 41 and 1 / 49, rounded to 24 or 53 bits, times 41 or
 * 49 are less than 1, so that what computes a ratio first finds the element before. */
static void try_multiples(tn_shapes *all, tn_verdict *verdict) {
    static const int64_t factors[] = {41, 49, 61};
    const tn_shape *first = &all->base[0];
    if (all->count == 0 || first->rank == 0) return;
    const int64_t extent = first->extents[first->rank - 1];
    for (uint32_t i = 0; i < all->count && extent < 100; i++)
        for (size_t k = 0; k < TN_COUNT(factors) && all->is_needed[i]; k++) {
            const tn_change change = {.axis = -1,
                                      .set_input = i + 1,
                                      .set_value = factors[k] * extent,
                                      .sets_last_alone = true};
            if (verdict->outcome == TN_PASSED)
                all->tried += tn_shapes_attempt(all->test, &change, verdict);
        }
}

/* One input alone: an extent of 1 or 0 against the others', or without its first axes. */
static void try_broadcasts(tn_shapes *all, tn_verdict *verdict) {
    for (uint32_t i = 0; i < all->count && all->count > 1; i++) {
        const tn_shape own = all->base[i];
        if (all->is_fixed[i]) continue;
        for (uint32_t axis = 0; axis < own.rank; axis++) {
            tn_shape of[TN_PROBE_PORTS];
            memcpy(of, all->base, all->count * sizeof(*of));
            of[i].extents[axis] = 1;
            tn_shapes_try(all, of, verdict);
            of[i].extents[axis] = 0; /* one part that is empty */
            tn_shapes_try(all, of, verdict);
            memset(&of[i], 0, sizeof(of[i]));
            of[i].rank = own.rank - axis - 1;
            memcpy(of[i].extents, own.extents + axis + 1, of[i].rank * sizeof(own.extents[0]));
            tn_shapes_try(all, of, verdict);
        }
    }
}

/* ----------------------------------------------------------------------------------------------
 * at random */

static int64_t draw_extent(tn_shapes *all) {
    static const int64_t extents[] = {1,  1,  2,  3,  4,  5,  6,  7,  8,  9,   11,  13,
                                      16, 17, 19, 23, 31, 37, 64, 65, 97, 127, 257, 263};
    return extents[tn_random_below(&all->random, sizeof(extents) / sizeof(extents[0]))];
}

/* A new extent for one axis: there alone, at that axis in all inputs (counted from the last one),
 * or wherever the case has the same extent. */
static void change_extent(tn_shapes *all, tn_shape *of) {
    const uint32_t chosen = (uint32_t)tn_random_below(&all->random, all->count);
    const tn_shape own = of[chosen];
    if (own.rank == 0) return;
    const uint32_t axis = (uint32_t)tn_random_below(&all->random, own.rank);
    const uint64_t how = tn_random_below(&all->random, 3);
    const int64_t before = own.extents[axis], after = draw_extent(all);
    for (uint32_t i = 0; i < all->count; i++)
        for (uint32_t k = 0; k < of[i].rank && !all->is_fixed[i]; k++) {
            const bool is_chosen = i == chosen && k == axis;
            const bool is_alike = how > 0 && of[i].extents[k] == before &&
                                  (how == 2 || of[i].rank - k == own.rank - axis);
            if (is_chosen || is_alike) of[i].extents[k] = after;
        }
}

static void try_random(tn_shapes *all, tn_verdict *verdict) {
    const uint32_t wanted = RANDOM_SHAPES * all->test->effort;
    uint32_t taken = 0;
    for (uint32_t k = 0; all->count > 0 && k < ATTEMPTS * wanted && taken < wanted; k++) {
        tn_shape of[TN_PROBE_PORTS];
        memcpy(of, all->base, all->count * sizeof(*of));
        for (uint64_t changes = 1 + tn_random_below(&all->random, 3); changes > 0; changes--)
            change_extent(all, of);
        if (tn_shapes_are_small(all, of)) taken += tn_shapes_try(all, of, verdict);
    }
}

void tn_rule_other_shapes(const tn_test *test, tn_verdict *verdict) {
    tn_shapes all = {0};
    if (!read_base(test, &all, verdict)) return;
    all.random = tn_hash_add_text(test->seed, test->text);
    try_axes(&all, verdict);
    tn_shapes_try_alike(&all, verdict);
    try_broadcasts(&all, verdict);
    tn_shapes_try_indices(&all, verdict);
    try_ranks(&all, false, verdict);
    try_ranks(&all, true, verdict);
    try_ones(&all, verdict);
    try_more_inputs(&all, verdict);
    try_needed(&all, verdict);
    try_multiples(&all, verdict);
    tn_shapes_try_numbers(&all, verdict);
    try_random(&all, verdict);
    if (all.tried == 0 && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, "the shape rule, the reference or accepts takes no other shapes");
}
