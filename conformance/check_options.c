/* SPDX-License-Identifier: Apache-2.0 */
/* Whether there is what the options of tenon-check ask for; see check.h. */
#include "check.h"
#include "base/text.h"

#include <string.h>

/* Names between commas: the length of the first one; null behind the last. */
static const char *next_name(const char *names, size_t *length) {
    if (!names) return NULL;
    names += *names == ',';
    *length = strcspn(names, ",");
    return names;
}

static const char *after_name(const char *name, size_t length) {
    return name[length] ? name + length : NULL;
}

bool check_is_named(const char *names, const char *id) {
    size_t length = 0;
    for (const char *name = next_name(names, &length); name;
         name = next_name(after_name(name, length), &length))
        if (strlen(id) == length && strncmp(name, id, length) == 0) return true;
    return false;
}

enum { LIBRARY_AT_FAULT = 1, WRONG_USAGE = 2 };

/* With the nearest name, where there is one. */
static bool wrong(const suite *s, int code, const char *what, const tn_nearest *nearest) {
    fprintf(s->report, "wrong\t%d\t%s", code, what);
    if (nearest && nearest->best) fprintf(s->report, "; the nearest is '%s'", nearest->best);
    fputc('\n', s->report);
    fflush(s->report);
    return false;
}

/* Rules that are named are there; those to try have tests of their own. */
bool check_rules_are_there(const suite *s, const char *names, bool are_tried) {
    size_t length = 0;
    for (const char *name = next_name(names, &length); name;
         name = next_name(after_name(name, length), &length)) {
        tn_nearest nearest;
        char id[61], what[200];
        snprintf(id, sizeof(id), "%.*s", (int)length, name);
        tn_nearest_init(&nearest, id);
        const tn_rule *rule = tn_rules;
        for (; rule->id && strcmp(rule->id, id) != 0; rule++)
            tn_nearest_offer(&nearest, rule->id);
        snprintf(what, sizeof(what), "there is no rule '%s' (tenon plugin check --rules)", id);
        if (!rule->id) return wrong(s, WRONG_USAGE, what, &nearest);
        snprintf(what, sizeof(what),
                 "rule '%s' has no tests of its own: those of other rules find it broken", id);
        if (are_tried && !rule->check) return wrong(s, WRONG_USAGE, what, NULL);
    }
    return true;
}

static bool is_operator_there(const suite *s) {
    tn_nearest nearest;
    char what[200];
    tn_nearest_init(&nearest, s->only_operator);
    for (size_t i = 0; i < s->operator_count; i++) {
        if (!s->is_own[i] && !check_has_kernel_of(s, s->operators[i])) continue;
        if (check_is_asked_for(s, s->operators[i])) return true;
        tn_nearest_offer(&nearest, s->operators[i]->name);
    }
    size_t at = (size_t)snprintf(what, sizeof(what), "the library has no operator '%.60s'; it has",
                                 s->only_operator);
    for (size_t i = 0, shown = 0; i < s->operator_count && at + 40 < sizeof(what); i++) {
        if (!s->is_own[i] && !check_has_kernel_of(s, s->operators[i])) continue;
        at += (size_t)snprintf(what + at, sizeof(what) - at, "%s %.30s", shown++ ? "," : "",
                               s->operators[i]->name);
    }
    return wrong(s, LIBRARY_AT_FAULT, what, &nearest);
}

bool check_options_fit(const suite *s, size_t only) {
    char what[200];
    if (s->only_operator && !is_operator_there(s)) return false;
    if (only <= s->count && s->count > 0) return true;
    if (s->count > 0)
        snprintf(what, sizeof(what), "there is no test %zu: the last one is %zu", only, s->count);
    else if (s->only_rules)
        snprintf(what, sizeof(what), "rule '%.40s' has no test in this library%s%.60s",
                 s->only_rules, s->only_operator ? ", operator " : "",
                 s->only_operator ? s->only_operator : "");
    else if (only == 0)
        return true; /* a library without operators and kernels has loaded, and that is all */
    else
        snprintf(what, sizeof(what), "there is no test %zu: the library has none", only);
    return wrong(s, LIBRARY_AT_FAULT, what, NULL);
}
