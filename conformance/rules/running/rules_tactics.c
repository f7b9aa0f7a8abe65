/* SPDX-License-Identifier: Apache-2.0 */
/* The rule about tactics: each computes what the first does; see rules.h. Other shapes are tried
 * with one tactic after the other by other-shapes, too. */
#include "base/status.h"
#include "plugin/fields/combination.h"
#include "rules/rules.h"

#include <stdio.h>
#include <string.h>

static void try_tactics(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_subject subject;
    tn_verdict none = {0};
    if (!tn_test_subject(test, change, &subject, change ? &none : verdict)) return;
    const uint32_t count = tn_probe_tactics(&subject.probe);
    tn_packed_store *shared = NULL; /* of nodes with one constant, by all tactics */
    if (test->are_constant && count > 1 &&
        tn_packed_store_create(subject.probe.allocator, &shared) == TN_OK)
        subject.probe.packed = shared;
    for (uint32_t i = shared ? 0 : 1; i < count && i < 64 && verdict->outcome == TN_PASSED; i++) {
        char during[40];
        subject.probe.tactic = i;
        snprintf(during, sizeof(during), "tactic %u of %u", i, count);
        tn_rule_run_ports(&subject.probe, &subject.expected, during, verdict);
    }
    subject.probe.packed = NULL;
    tn_packed_store_destroy(shared);
    tn_subject_destroy(&subject);
}

/* Wherever the inputs have as many elements as the first one along an axis they get others. */
static void try_tactics_along(const tn_test *test, const tn_shape *shapes, uint32_t count,
                              uint32_t axis, int64_t extent, tn_verdict *verdict) {
    tn_shape changed[TN_PROBE_PORTS];
    const tn_change change = {.axis = -1, .shapes = changed};
    if (verdict->outcome != TN_PASSED) return;
    memcpy(changed, shapes, count * sizeof(*changed));
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < changed[i].rank; k++)
            if (shapes[i].extents[k] == shapes[0].extents[axis]) changed[i].extents[k] = extent;
    try_tactics(test, &change, verdict);
}

/* With extents of the first and of the last axis that leave all kinds of rests. */
void tn_rule_tactics(const tn_test *test, tn_verdict *verdict) {
    static const int64_t extents[] = {0, 1, 2, 3, 5, 7, 13, 67, 139};
    tn_shape shapes[TN_PROBE_PORTS];
    uint32_t count = 0;
    if (!tn_test_shapes(test, shapes, &count, verdict)) return;
    try_tactics(test, NULL, verdict);
    for (size_t i = 0; i < TN_COUNT(extents) && count > 0; i++) {
        const uint32_t rank = shapes[0].rank;
        if (rank > 0) try_tactics_along(test, shapes, count, rank - 1, extents[i], verdict);
        if (rank > 1) try_tactics_along(test, shapes, count, 0, extents[i], verdict);
    }
}

static bool is_same(uint32_t count, const char *const *texts, uint32_t again,
                    const char *const *others) {
    for (uint32_t i = 0; i < count && count == again; i++)
        if (strcmp(texts[i], others[i]) != 0) return false;
    return count == again;
}

/* Twice, of the same case. */
static void compare_combinations(const tn_test *test, tn_arena *arena, tn_verdict *verdict) {
    const char *texts[2][TN_SUBJECT_COMBINATIONS];
    uint32_t counts[2] = {0};
    tn_combination parsed;
    for (int i = 0; i < 2; i++)
        if (tn_subject_combinations(arena, test->runtime, test->op, test->kernel, test->text,
                                    test->are_constant, &counts[i], texts[i]) != TN_OK)
            tn_verdict_error(verdict, NULL, "combination");
    for (uint32_t i = 0; i < counts[0] && verdict->outcome == TN_PASSED; i++)
        if (tn_combination_parse(arena, texts[0][i], TN_ABI_MINOR, &parsed) != TN_OK)
            tn_verdict_error(verdict, NULL, "combination");
    if (verdict->outcome == TN_PASSED && !is_same(counts[0], texts[0], counts[1], texts[1]))
        tn_verdict_fail(verdict, "combination answers other texts when it is asked again");
    if (verdict->outcome == TN_PASSED && counts[0] > TN_MAX_COMBINATIONS)
        tn_verdict_fail(verdict, "combination has no end: at most %d are asked for",
                        TN_MAX_COMBINATIONS);
}

void tn_rule_combinations(const tn_test *test, tn_verdict *verdict) {
    tn_arena *arena = NULL;
    if (tn_arena_create(tn_allocator_default(), &arena) != TN_OK) return;
    compare_combinations(test, arena, verdict);
    tn_arena_destroy(arena);
}
