/* SPDX-License-Identifier: Apache-2.0 */
/* The rule about fields of older versions, as a plan may hold them; see rules.h. */
#include "base/status.h"
#include "plan/state.h"
#include "rules/rules.h"
#include "worker/watch/trace.h"

#include <stdio.h>
#include <string.h>

/* What the reference computes from the fields that upgrade makes of `given`. */
static tn_status upgraded(const tn_test *test, const tn_plan_node_context *context,
                          const tn_subject *subject, uint32_t from, uint64_t count,
                          const tn_attribute *const *given, tn_outcome *out) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    tn_case after = subject->c;
    TN_TRY(tn_plan_state_upgrade(context, from, count, given, &after.attribute_count,
                                 &after.attributes));
    return tn_case_run(test->runtime, test->op, &after, &reference, out);
}

/* Fields are found by their names: neither their order nor one that nobody knows among them changes
 * what they mean. */
static void check_other_order(const tn_test *test, const tn_plan_node_context *context,
                              const tn_subject *subject, uint32_t from,
                              const tn_attribute *const *given, uint64_t given_count,
                              const char *how, tn_verdict *verdict) {
    tn_outcome wanted = {0}, found = {0};
    char why[300];
    if (verdict->outcome == TN_PASSED &&
        upgraded(test, context, subject, from, subject->c.attribute_count, subject->c.attributes,
                 &wanted) == TN_OK &&
        upgraded(test, context, subject, from, given_count, given, &found) == TN_OK &&
        !tn_results_equal(&wanted, &found, true, why, sizeof(why)))
        tn_verdict_fail(verdict, "fields %s, from state version %u, mean something else: %s", how,
                        from, why);
    tn_outcome_free(&wanted);
    tn_outcome_free(&found);
}

/* A plan may hold any version below today's, 0 among them, its fields in any order, and fields that
 * nobody knows, or none: upgrade refuses that with a reason, or does without. */
static void upgrade_unusual(const tn_test *test, const tn_plan_node_context *context,
                            const tn_subject *subject, uint32_t from, bool has_fields,
                            tn_verdict *verdict) {
    static const char *const names[] = {"", "x"};
    const tn_attribute unknown = {.size = sizeof(unknown),
                                  .type = TN_FIELD_STRINGS,
                                  .name = "nobody_knows",
                                  .count = TN_COUNT(names),
                                  .items = names};
    const tn_attribute *const *attributes = NULL;
    const uint64_t own = has_fields ? subject->c.attribute_count : 0;
    uint64_t count = 0;
    const tn_attribute **given = tn_arena_allocate(subject->arena, (size_t)own + 1, sizeof(*given));
    if (!given || verdict->outcome != TN_PASSED) return;
    given[0] = &unknown;
    for (uint64_t i = 0; i < own; i++)
        given[i + 1] = subject->c.attributes[own - 1 - i];
    if (tn_plan_state_upgrade(context, from, own + 1, given, &count, &attributes) == TN_OK) {
        if (has_fields) {
            check_other_order(test, context, subject, from, given + 1, own, "in another order",
                              verdict);
            check_other_order(test, context, subject, from, given, own + 1,
                              "behind one that nobody knows", verdict);
        }
        return;
    }
    if (!strstr(tn_last_error()->message, "without a reason")) return;
    tn_verdict_error(verdict, NULL,
                     has_fields ? "upgrade with an unknown field"
                                : "upgrade with none of the fields");
    snprintf(verdict->rule, sizeof(verdict->rule), "fails-honestly");
}

/* The fields after upgrade where those that the case gave mean what they meant. What was not given
 * meant the older version's default, which only `upgrade` knows: that is taken from it. Null: no
 * memory. */
static const tn_attribute **given_and_added(const tn_subject *subject, uint64_t after_count,
                                            const tn_attribute *const *after, uint64_t *out_count) {
    const uint64_t given = subject->c.attribute_count;
    const tn_attribute **all =
        tn_arena_allocate(subject->arena, (size_t)(given + after_count) + 1, sizeof(*all));
    if (!all) return NULL;
    uint64_t count = given;
    if (given > 0) memcpy(all, subject->c.attributes, (size_t)given * sizeof(*all));
    for (uint64_t i = 0; i < after_count; i++) {
        bool is_given = false;
        for (uint64_t j = 0; j < given && !is_given; j++)
            is_given = strcmp(after[i]->name, all[j]->name) == 0;
        if (!is_given) all[count++] = after[i];
    }
    *out_count = count;
    return all;
}

void tn_rule_upgrade(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject, expected, after;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    if (!test->op->upgrade)
        tn_verdict_fail(verdict, "state version %u, and no upgrade from older ones",
                        test->op->state_version);
    const tn_plan_node_context context = {.runtime = test->runtime,
                                          .entry = subject.probe.node->entry,
                                          .node = TN_CASE_NODE,
                                          .arena = subject.arena};
    for (uint32_t from = 1; from < test->op->state_version && verdict->outcome == TN_PASSED;
         from++) {
        const tn_attribute *const *attributes = NULL;
        uint64_t count = 0;
        char why[300];
        tn_outcome wanted = {0}, found = {0};
        const tn_case_options reference = {.is_reference = true, .threads = 1};
        if (tn_plan_state_upgrade(&context, from, subject.c.attribute_count, subject.c.attributes,
                                  &count, &attributes) != TN_OK) {
            tn_verdict_error(verdict, NULL, "upgrade");
            break;
        }
        after = expected = subject;
        after.c.attribute_count = count;
        after.c.attributes = attributes;
        expected.c.attributes =
            given_and_added(&subject, count, attributes, &expected.c.attribute_count);
        if (!expected.c.attributes ||
            tn_case_run(test->runtime, test->op, &after.c, &reference, &found) != TN_OK)
            tn_verdict_error(verdict, NULL, "after upgrade");
        else if (from + 1 == test->op->state_version && /* older ones may have had other fields */
                 tn_case_run(test->runtime, test->op, &expected.c, &reference, &wanted) == TN_OK &&
                 !tn_results_equal(&wanted, &found, false, why, sizeof(why)))
            tn_verdict_fail(
                verdict,
                "fields of the same names and types, from state version %u, mean something "
                "else after upgrade: %s",
                from, why);
        tn_outcome_free(&wanted);
        tn_outcome_free(&found);
    }
    for (uint32_t from = 0; test->op->upgrade && from < test->op->state_version; from++) {
        upgrade_unusual(test, &context, &subject, from, true, verdict);
        upgrade_unusual(test, &context, &subject, from, false, verdict);
    }
    tn_subject_destroy(&subject);
}
