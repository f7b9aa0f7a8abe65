/* SPDX-License-Identifier: Apache-2.0 */
/* The rule about tactics: each computes what the first does; see rules.h. Other shapes are tried
 * with one tactic after the other by other-shapes, too. */
#include "rules/rules.h"

#include <stdio.h>
#include <string.h>

static void try_tactics(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_subject subject;
    tn_verdict none = {0};
    if (!tn_test_subject(test, change, &subject, change ? &none : verdict)) return;
    const uint32_t count = tn_probe_tactics(&subject.probe);
    for (uint32_t i = 1; i < count && i < 64 && verdict->outcome == TN_PASSED; i++) {
        char during[40];
        subject.probe.tactic = i;
        snprintf(during, sizeof(during), "tactic %u of %u", i, count);
        tn_rule_run_ports(&subject.probe, &subject.expected, during, verdict);
    }
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
