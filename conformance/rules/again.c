/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that look at a case once more: by each tactic, of which a build chooses any, and with the
 * optional outputs, for which a network may ask. Rules that do so by themselves are not among them.
 * See rules.h.
 */
#include "rules.h"

#include <stdio.h>
#include <string.h>

enum { MOST_TACTICS = 4 };

typedef struct again {
    const char *rule;
    bool by_tactics, with_outputs;
} again;

static const again rules[] = {
    {"leaks", true, true},      {"matches-reference", true, false},
    {"writes-all", true, true}, {"special-values", true, false},
    {"repeatable", true, true}, {"threads", true, true},
    {"contexts", true, true},   {"reshape", false, true},
    {"any-shape", true, true},  {"strided", true, true},
    {"counted", true, true},    {"tactics", false, true},
    {"absorbs", true, false},   {"absorbs-before", true, false},
    {"no-memory", true, true},  {"host-failures", true, true},
    {"no-heap", true, true},    {"in-place", false, true},
};

static const again *find(const char *rule) {
    for (size_t i = 0; i < TN_COUNT(rules); i++)
        if (strcmp(rules[i].rule, rule) == 0) return &rules[i];
    return NULL;
}

/* How many tactics the kernel has for the case; 1 where it does not take the case. */
static uint32_t count_tactics(const tn_test *test) {
    tn_subject subject;
    tn_verdict none = {0};
    if (!test->kernel->tactics || !tn_test_subject(test, NULL, &subject, &none)) return 1;
    const uint32_t count = tn_probe_tactics(&subject.probe);
    tn_subject_destroy(&subject);
    return count < MOST_TACTICS ? count : MOST_TACTICS;
}

/* Whether the kernel takes the case with an output more. */
static bool has_more_outputs(const tn_test *test) {
    const tn_change all = {.axis = -1, .asks_all = true};
    tn_subject plain, asked;
    tn_verdict none = {0};
    bool has_more = false;
    for (uint32_t i = 0; i < test->op->output_count; i++)
        has_more = has_more || (test->op->outputs[i].flags & TN_PORT_OPTIONAL);
    if (!has_more || !tn_test_subject(test, NULL, &plain, &none)) return false;
    has_more = tn_test_subject(test, &all, &asked, &none);
    if (has_more) {
        has_more = asked.expected.count > plain.expected.count;
        tn_subject_destroy(&asked);
    }
    tn_subject_destroy(&plain);
    return has_more;
}

/* What is not taken so is nobody's failure. */
static void check_again(const tn_rule *rule, const tn_test *test, const char *how,
                        tn_verdict *inout_verdict) {
    tn_verdict found = {0};
    rule->check(test, &found);
    if (found.outcome != TN_FAILED) return;
    *inout_verdict = found;
    snprintf(inout_verdict->why, sizeof(inout_verdict->why), "%s: %.500s", how, found.why);
}

void tn_rule_apply(const tn_rule *rule, const tn_test *test, tn_verdict *verdict) {
    tn_test other = *test;
    char how[40];
    rule->check(test, verdict);
    const again *it = test->kernel && test->text ? find(rule->id) : NULL;
    if (!it || verdict->outcome == TN_FAILED) return;
    const uint32_t tactics = it->by_tactics ? count_tactics(test) : 1;
    for (uint32_t i = 1; i < tactics && verdict->outcome != TN_FAILED; i++) {
        other.tactic = i;
        snprintf(how, sizeof(how), "by tactic %u of %u", i, tactics);
        check_again(rule, &other, how, verdict);
    }
    other = *test;
    other.asks_all = true;
    if (it->with_outputs && verdict->outcome != TN_FAILED && has_more_outputs(test))
        check_again(rule, &other, "with its optional outputs", verdict);
}
