/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about rewrites: on each case, in every form of its pattern, the rewrite applies and its
 * replacement computes what the pattern computes, both by the references of their operators. Then
 * the case is changed (an extent, a captured number, an optional input): where the rewrite still
 * applies it must compute the same. See rules.h.
 */
#include "base/status.h"
#include "worker/rewrite_case.h"
#include "rules/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FORMS = 128, FORMS_CHANGED = 3 };

/* What came of one form of one case. */
typedef struct attempt {
    bool is_form, is_applied;
    char why[300]; /* what is wrong; "": nothing */
} attempt;

static void compare(const tn_rewrite_case *c, tn_graph *before, tn_graph *after, attempt *a) {
    tn_outcome wanted = {0}, found = {0};
    char why[200] = "";
    tn_status status = tn_rewrite_case_run(c, before, &wanted);
    const bool is_run = status == TN_OK; /* else the pattern itself is refused there */
    if (is_run) status = tn_rewrite_case_run(c, after, &found);
    if (is_run && status != TN_OK)
        snprintf(a->why, sizeof a->why, "the replacement fails where the pattern runs: %.200s",
                 tn_last_error()->message);
    else if (is_run && !tn_results_equal(&wanted, &found, false, why, sizeof why))
        snprintf(a->why, sizeof a->why, "the replacement computes something else: %s", why);
    tn_outcome_free(&wanted);
    tn_outcome_free(&found);
}

static tn_status try_form(const tn_rewrite_case *c, uint32_t form, attempt *a) {
    tn_graph *before = NULL, *after = NULL;
    char why[200] = "";
    *a = (attempt){0};
    tn_status status = tn_rewrite_case_graph(c, form, &before, &a->is_form);
    if (status == TN_OK && a->is_form) status = tn_rewrite_case_graph(c, form, &after, &a->is_form);
    if (status == TN_OK && a->is_form)
        status = tn_rewrite_case_apply(c, after, &a->is_applied, why, sizeof why);
    if (status == TN_OK && a->is_applied) compare(c, before, after, a);
    if (status == TN_OK && a->is_form && !a->is_applied)
        snprintf(a->why, sizeof a->why, "it does not apply to its pattern%s%s", why[0] ? ": " : "",
                 why);
    tn_graph_destroy(before);
    tn_graph_destroy(after);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * cases */

static void check_forms(const tn_rewrite_case *c, bool is_near_miss, tn_verdict *verdict) {
    attempt a = {.is_form = true};
    for (uint32_t form = 0; form < MOST_FORMS && a.is_form && verdict->outcome == TN_PASSED;
         form++) {
        if (try_form(c, form, &a) != TN_OK)
            tn_verdict_fail(verdict, "form %u: %s: %s", form + 1, tn_last_error()->where,
                            tn_last_error()->message);
        else if (is_near_miss && a.is_applied)
            tn_verdict_fail(verdict, "form %u: it applies to its near miss", form + 1);
        else if (!is_near_miss && a.why[0])
            tn_verdict_fail(verdict, "form %u: %s", form + 1, a.why);
    }
}

/* ----------------------------------------------------------------------------------------------
 * changed cases */

typedef struct change {
    const tn_rewrite_case *c;
    tn_verdict *verdict;
    char what[120];
} change;

/* Shapes that the pattern's operators refuse, and what the rewrite leaves alone, are no mistake. */
static void check_changed(const change *ch, const tn_rewrite_case *changed) {
    attempt a = {.is_form = true};
    for (uint32_t form = 0; form < FORMS_CHANGED && a.is_form && ch->verdict->outcome == TN_PASSED;
         form++) {
        const tn_status status = try_form(changed, form, &a);
        if (status != TN_OK) {
            tn_error_clear();
            return;
        }
        if (a.is_applied && a.why[0])
            tn_verdict_fail(ch->verdict, "form %u, with %s: %s", form + 1, ch->what, a.why);
    }
}

static void change_value(const change *ch, uint32_t index, const tn_case_value *value) {
    tn_rewrite_case changed = *ch->c;
    changed.values =
        tn_arena_copy(ch->c->arena, ch->c->values, ch->c->value_count * sizeof *changed.values);
    if (!changed.values) return;
    changed.values[index] = *value;
    check_changed(ch, &changed);
}

static void change_extents(change *ch, uint32_t index) {
    const tn_case_value *value = &ch->c->values[index];
    for (uint32_t axis = 0; axis < value->tensor.shape.rank; axis++) {
        const int64_t others[] = {1, value->tensor.shape.extents[axis] + 1};
        for (size_t k = 0; k < 2; k++) {
            tn_case_value other = *value;
            tn_shape shape = value->tensor.shape;
            shape.extents[axis] = others[k];
            if (tn_case_redraw(ch->c->arena, &other.tensor, &shape) != TN_OK) return;
            snprintf(ch->what, sizeof ch->what, "extent %u of '%.40s' %lld", axis, value->name,
                     (long long)others[k]);
            change_value(ch, index, &other);
        }
    }
}

/* All extents of two axes exchanged in every tensor that has them. */
static void change_ranks(change *ch, uint32_t index) {
    const tn_case_value *value = &ch->c->values[index];
    tn_case_value other = *value;
    tn_shape shape = value->tensor.shape;
    if (shape.rank == 0 || shape.rank == TN_MAX_RANK) return;
    for (uint32_t axis = shape.rank; axis > 0; axis--)
        shape.extents[axis] = shape.extents[axis - 1];
    shape.extents[0] = 1;
    shape.rank++;
    if (tn_case_redraw(ch->c->arena, &other.tensor, &shape) != TN_OK) return;
    snprintf(ch->what, sizeof ch->what, "an axis more in '%.40s'", value->name);
    change_value(ch, index, &other);
}

/* The number's other values; of a list, each element's. */
static void change_number(change *ch, uint32_t index) {
    const tn_case_value *value = &ch->c->values[index];
    const bool is_integer = strcspn(value->text, ".ei") == strlen(value->text);
    for (const char *at = value->text; *at;) {
        char *end;
        const double number = strtod(at, &end);
        if (end == at) {
            at++;
            continue;
        }
        for (int k = -1; k <= 1; k += 2) {
            tn_case_value other = *value;
            other.text = tn_arena_format(ch->c->arena, is_integer ? "%.*s%.0f%s" : "%.*s%.9e%s",
                                         (int)(at - value->text), value->text,
                                         is_integer ? number + k : number * (k < 0 ? 0.5 : 3), end);
            if (!other.text) return;
            snprintf(ch->what, sizeof ch->what, "'%.40s' %.40s", value->name, other.text);
            change_value(ch, index, &other);
        }
        at = end;
    }
}

static void leave_out(change *ch, uint32_t index) {
    tn_rewrite_case changed = *ch->c;
    changed.values =
        tn_arena_copy(ch->c->arena, ch->c->values, ch->c->value_count * sizeof *changed.values);
    if (!changed.values) return;
    changed.values[index] = changed.values[--changed.value_count];
    snprintf(ch->what, sizeof ch->what, "no '%.40s'", ch->c->values[index].name);
    check_changed(ch, &changed);
}

static void check_changes(const tn_rewrite_case *c, tn_verdict *verdict) {
    change ch = {.c = c, .verdict = verdict};
    for (uint32_t i = 0; i < c->value_count && verdict->outcome == TN_PASSED; i++) {
        if (c->values[i].text) {
            change_number(&ch, i);
            continue;
        }
        change_extents(&ch, i);
        change_ranks(&ch, i);
        if (i > 0) leave_out(&ch, i);
    }
}

/* ----------------------------------------------------------------------------------------------
 * the rule */

static const tn_rewrite_entry *find_entry(const tn_test *test) {
    const tn_rewrite_entry **entries = NULL, *found = NULL;
    tn_registry *registry = tn_runtime_registry(test->runtime);
    uint32_t count = 0;
    if (tn_registry_rewrites(registry, &entries, &count) != TN_OK) return NULL;
    for (uint32_t i = 0; i < count && !found; i++)
        if (entries[i]->rewrite == test->rewrite) found = entries[i];
    if (found && tn_registry_read_rewrite(registry, found) != TN_OK) found = NULL;
    tn_registry_free_rewrites(registry, entries, count);
    return found;
}

void tn_rule_rewrite(const tn_test *test, tn_verdict *verdict) {
    tn_rewrite_case c = {.runtime = test->runtime, .entry = find_entry(test)};
    if (!test->text) {
        tn_verdict_fail(verdict, "it has no cases");
        return;
    }
    tn_status status = tn_arena_create(tn_allocator_default(), &c.arena);
    if (status == TN_OK)
        status = tn_case_read_values(c.arena, test->text, &c.value_count, &c.values);
    if (status != TN_OK || !c.entry) {
        tn_verdict_fail(verdict, "%s", status != TN_OK ? tn_last_error()->message : "it is gone");
    } else {
        check_forms(&c, test->is_near_miss, verdict);
        if (!test->is_near_miss && verdict->outcome == TN_PASSED) check_changes(&c, verdict);
    }
    tn_arena_destroy(c.arena);
}
