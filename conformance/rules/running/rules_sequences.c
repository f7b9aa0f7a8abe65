/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about sequences, optionals and maps (tenon/plugin/sequence.h). Their cases run in
 * networks with nodes that make lists and spread them (cases/lists.c), by the operator's reference
 * and by the kernel, unguarded and guarded, on the case's items and on lists of other lengths and
 * shapes. See rules.h.
 */
#include "base/status.h"
#include "cases/strings/strings.h"
#include "plugin/sequences/kinds.h"
#include "rules/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 64 };

/* The shapes of a list's items: the case's, but along the first axis of some of them. */
enum { ITEMS_ALIKE, LAST_LONGER, MIDDLE_EMPTY, ALL_EMPTY, ALL_LONG };

/* The shape that an item of a list gets; false: its own. */
static bool shape_item(int how, uint32_t index, uint32_t count, tn_shape *inout_shape) {
    const bool is_longer = how == LAST_LONGER && index + 1 == count;
    const bool is_empty = how == ALL_EMPTY || (how == MIDDLE_EMPTY && index == 1);
    if (is_longer) inout_shape->extents[0]++;
    if (is_empty) inout_shape->extents[0] = 0;
    if (how == ALL_LONG) inout_shape->extents[0] = 131 + (int64_t)index;
    return is_longer || is_empty || how == ALL_LONG;
}

/* The list of input port `port` with `count` items, those of the case in turn. False: there is
 * nothing to make them of, or they are the case's own. */
static tn_status change_list(tn_arena *arena, const tn_case *c, uint32_t port, uint32_t count,
                             int how, tn_case *out, bool *out_is_changed) {
    const tn_case_input *own[MOST_INPUTS];
    uint32_t own_count = 0, made = 0;
    tn_type type = TN_NONE;
    *out_is_changed = false;
    *out = *c;
    out->inputs = tn_arena_allocate(arena, c->input_count + count + 1u, sizeof(*out->inputs));
    if (!out->inputs) return tn_fail_memory("a case");
    for (uint32_t i = 0; i < c->input_count; i++) {
        const tn_case_input *input = &c->inputs[i];
        if (input->port != port) {
            out->inputs[made++] = *input;
            continue;
        }
        type = input->type;
        if (!input->is_none && own_count < MOST_INPUTS) own[own_count++] = input;
    }
    if (type == TN_NONE || (count > 0 && own_count == 0)) return TN_OK;
    if (count == 0)
        out->inputs[made++] = (tn_case_input){.port = port, .type = type, .is_none = true};
    for (uint32_t k = 0; k < count; k++) {
        tn_case_input *item = &out->inputs[made++];
        *item = *own[k % own_count];
        tn_shape shape = item->shape;
        if (how != ITEMS_ALIKE && shape.rank == 0) return TN_OK;
        if (shape_item(how, k, count, &shape)) TN_TRY(tn_case_redraw(arena, item, &shape));
    }
    out->input_count = made;
    *out_is_changed = true;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * one case */

static bool is_same_item(const tn_case_input *item, const void *found) {
    const tn_string *was = item->data, *is = found;
    if (item->type != TN_STRING) return memcmp(found, item->data, item->bytes) == 0;
    for (size_t i = 0; i < item->bytes / sizeof(*was); i++)
        if (!tn_case_same_string(&was[i], &is[i])) return false;
    return true;
}

/* What a list that the node has read is made of, against what it was given: elements at `output`,
 * keys at the one behind it. */
static bool is_list_kept(const tn_test *test, const tn_case *c, uint32_t port,
                         const tn_outcome *found, uint32_t output) {
    const bool is_map = tn_kind_is_map(tn_case_kind(&test->op->inputs[port]));
    size_t at[2] = {0, 0};
    uint32_t seen = 0;
    for (uint32_t i = 0; i < c->input_count; i++) {
        const tn_case_input *item = &c->inputs[i];
        if (item->port != port || item->is_none) continue;
        const bool is_keys = is_map && seen++ % 2 == 0;
        if (tn_type_is_packed(item->type)) continue;
        if (at[is_keys] + item->bytes > found->bytes[output + is_keys] ||
            !is_same_item(item, (const char *)found->data[output + is_keys] + at[is_keys]))
            return false;
        at[is_keys] += item->bytes;
    }
    return true;
}

static bool is_given(const tn_case *c, uint32_t port) {
    for (uint32_t i = 0; i < c->input_count; i++)
        if (c->inputs[i].port == port) return true;
    return false;
}

static void check_inputs(const tn_test *test, const tn_case *c, const tn_outcome *found,
                         const char *during, tn_verdict *verdict) {
    uint32_t spread = 0;
    for (uint32_t port = 0; port < test->op->input_count; port++)
        if (tn_case_kind(&test->op->inputs[port]) && is_given(c, port))
            spread += tn_case_spread_count(tn_case_kind(&test->op->inputs[port]));
    uint32_t output = found->count - spread; /* behind the node's own */
    for (uint32_t port = 0; port < test->op->input_count && output + 1 < found->count; port++) {
        const uint32_t kind = tn_case_kind(&test->op->inputs[port]);
        if (!kind || !is_given(c, port)) continue;
        if (!is_list_kept(test, c, port, found, output + 1)) {
            tn_verdict_fail(verdict, "%s: an item of input '%s' was written", during,
                            test->op->inputs[port].name);
            snprintf(verdict->rule, sizeof(verdict->rule), "inputs-unchanged");
            return;
        }
        output += tn_case_spread_count(kind);
    }
}

/* By the kernel, or by the reference again. `is_refused`: the reference computes nothing here. */
static void run_one(const tn_test *test, const tn_case *c, const tn_outcome *expected,
                    bool is_refused, bool is_guarded, const char *during, tn_verdict *verdict) {
    char pin[256] = "", why[400];
    tn_outcome found = {0};
    if (test->kernel)
        snprintf(pin, sizeof(pin), "%s%s%s=%s", test->op->domain, test->op->domain[0] ? "::" : "",
                 test->op->name, test->kernel->name);
    const tn_case_options options = {.pin = test->kernel ? pin : NULL,
                                     .is_reference = !test->kernel,
                                     .are_constant = test->are_constant,
                                     .is_guarded = is_guarded,
                                     .reads_lists = true,
                                     .threads = 1};
    const tn_status status = tn_case_run(test->runtime, test->op, c, &options, &found);
    const bool is_taken = !test->kernel || strcmp(found.kernel, test->kernel->name) == 0;
    if (status != TN_OK && (!is_refused || status == TN_ERROR_PLUGIN))
        tn_verdict_fail(verdict, "%s: %s: %s", during, tn_last_error()->where,
                        tn_last_error()->message);
    else if (status == TN_OK && is_refused && is_taken)
        tn_verdict_fail(verdict, "%s: it computes what the reference refuses", during);
    else if (status == TN_OK && !is_taken)
        tn_verdict_skip(verdict, "the kernel does not take the case");
    if (status == TN_OK && verdict->outcome == TN_PASSED)
        check_inputs(test, c, &found, during, verdict);
    if (status == TN_OK && verdict->outcome == TN_PASSED &&
        !tn_results_equal(expected, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s: %s", during, why);
    tn_outcome_free(&found);
}

static void run_case(const tn_test *test, const tn_case *c, bool is_own, const char *during,
                     tn_verdict *verdict) {
    const tn_case_options options = {.is_reference = true, .reads_lists = true, .threads = 1};
    tn_outcome expected = {0};
    const tn_status status = tn_case_run(test->runtime, test->op, c, &options, &expected);
    if (status != TN_OK && (is_own || status == TN_ERROR_PLUGIN)) {
        tn_verdict_fail(verdict, "%s: by the reference: %s", during, tn_last_error()->message);
        if (is_own) snprintf(verdict->rule, sizeof(verdict->rule), "case-runs");
    }
    for (int is_guarded = 0; is_guarded < 2 && verdict->outcome == TN_PASSED; is_guarded++) {
        char text[160];
        snprintf(text, sizeof(text), "%s%s", during, is_guarded ? ", guarded" : "");
        run_one(test, c, &expected, status != TN_OK, is_guarded, text, verdict);
    }
    tn_outcome_free(&expected);
}

/* ----------------------------------------------------------------------------------------------
 * all lists */

/* An optional of a sequence that has one without items. */
static tn_status run_empty(const tn_test *test, tn_arena *arena, const tn_case *c, uint32_t port,
                           tn_verdict *verdict) {
    tn_case changed;
    bool is_changed = false;
    char during[120];
    TN_TRY(change_list(arena, c, port, 0, ITEMS_ALIKE, &changed, &is_changed));
    for (uint32_t i = 0; i < changed.input_count; i++)
        if (changed.inputs[i].port == port) changed.inputs[i].is_empty = true;
    snprintf(during, sizeof(during), "with a sequence without items in '%s'",
             test->op->inputs[port].name);
    if (is_changed) run_case(test, &changed, false, during, verdict);
    return TN_OK;
}

static tn_status run_lengths(const tn_test *test, tn_arena *arena, const tn_case *c, uint32_t port,
                             tn_verdict *verdict) {
    static const struct {
        uint32_t items;
        int how;
        const char *name;
    } lists[] = {{0, ITEMS_ALIKE, ""},
                 {1, ITEMS_ALIKE, ""},
                 {3, ITEMS_ALIKE, ""},
                 {3, LAST_LONGER, ", the last of another shape"},
                 {3, MIDDLE_EMPTY, ", the one in the middle without elements"},
                 {3, ALL_EMPTY, " without elements"},
                 {3, ALL_LONG, " of many elements"},
                 {33, ITEMS_ALIKE, ""}};
    const uint32_t kind = tn_case_kind(&test->op->inputs[port]);
    const bool is_optional = kind == TN_KIND_OPTIONAL, is_maps = kind == TN_KIND_MAPS;
    if (kind == TN_KIND_MAP) return TN_OK; /* it has its two items */
    if (kind == TN_KIND_OPTIONAL_SEQUENCE) TN_TRY(run_empty(test, arena, c, port, verdict));
    for (size_t i = 0; i < TN_COUNT(lists) && verdict->outcome == TN_PASSED; i++) {
        tn_case changed;
        bool is_changed = false;
        char during[120];
        if (is_optional && lists[i].items > 1) break;
        /* Of keys and values, which are an item each, shapes stay: keys are unique. */
        if (is_maps && (lists[i].how != ITEMS_ALIKE || lists[i].items == 0)) continue;
        TN_TRY(change_list(arena, c, port, lists[i].items << is_maps, lists[i].how, &changed,
                           &is_changed));
        if (!is_changed) continue;
        snprintf(during, sizeof(during), "with %u items of '%s'%s", lists[i].items,
                 test->op->inputs[port].name, lists[i].name);
        run_case(test, &changed, false, during, verdict);
    }
    return TN_OK;
}

/* The tensors that are no lists with another extent wherever they have this one at the axis. */
static tn_status change_extent(const tn_test *test, tn_arena *arena, const tn_case *c,
                               uint32_t axis, int64_t extent, int64_t to, tn_case *out) {
    *out = *c;
    out->inputs = tn_arena_allocate(arena, c->input_count + 1u, sizeof(*out->inputs));
    if (!out->inputs) return tn_fail_memory("a case");
    for (uint32_t i = 0; i < c->input_count; i++) {
        tn_case_input *input = &out->inputs[i];
        *input = c->inputs[i];
        tn_shape shape = input->shape;
        if (tn_case_kind(&test->op->inputs[input->port]) || input->is_none || input->has_values ||
            axis >= shape.rank || shape.extents[axis] != extent)
            continue;
        shape.extents[axis] = to;
        TN_TRY(tn_case_redraw(arena, input, &shape));
    }
    return TN_OK;
}

/* The pieces of a tensor hang on its extents: none, one, and numbers that nothing divides. */
static tn_status run_extents(const tn_test *test, tn_arena *arena, const tn_case *c, uint32_t index,
                             tn_verdict *verdict) {
    const tn_case_input *input = &c->inputs[index];
    for (uint32_t axis = 0; axis < input->shape.rank; axis++) {
        const int64_t extent = input->shape.extents[axis];
        const int64_t others[] = {0, 1, extent + 1, 2 * extent + 3, 67};
        for (size_t k = 0; k < TN_COUNT(others) && verdict->outcome == TN_PASSED; k++) {
            tn_case changed;
            char during[120];
            if (others[k] == extent) continue;
            TN_TRY(change_extent(test, arena, c, axis, extent, others[k], &changed));
            snprintf(during, sizeof(during), "with %lld elements along axis %u of '%s'",
                     (long long)others[k], axis, test->op->inputs[input->port].name);
            run_case(test, &changed, false, during, verdict);
        }
    }
    return TN_OK;
}

static tn_status run_tensors(const tn_test *test, tn_arena *arena, const tn_case *c,
                             tn_verdict *verdict) {
    for (uint32_t i = 0; i < c->input_count; i++)
        if (!tn_case_kind(&test->op->inputs[c->inputs[i].port]) && !c->inputs[i].is_none &&
            !c->inputs[i].has_values)
            TN_TRY(run_extents(test, arena, c, i, verdict));
    return TN_OK;
}

bool tn_rule_runs_lists(const tn_test *test) {
    tn_arena *arena = NULL;
    tn_case c;
    tn_verdict verdict = {0};
    const tn_case_options options = {.is_reference = true, .reads_lists = true, .threads = 1};
    tn_outcome expected = {0};
    tn_status status = tn_arena_create(tn_allocator_default(), &arena);
    if (status == TN_OK) status = tn_case_read(arena, test->op, test->text, &c);
    if (status == TN_OK) status = tn_case_run(test->runtime, test->op, &c, &options, &expected);
    if (status == TN_OK) run_one(test, &c, &expected, false, false, "on the case", &verdict);
    tn_outcome_free(&expected);
    tn_arena_destroy(arena);
    return status == TN_OK && verdict.outcome == TN_PASSED;
}

void tn_rule_sequences(const tn_test *test, tn_verdict *verdict) {
    tn_arena *arena = NULL;
    tn_case c;
    if (!test->op->reference) {
        tn_verdict_skip(verdict, "the operator has no reference to compare with");
        return;
    }
    tn_status status = tn_arena_create(tn_allocator_default(), &arena);
    if (status == TN_OK) status = tn_case_read(arena, test->op, test->text, &c);
    if (status == TN_OK) run_case(test, &c, true, "on the case", verdict);
    for (uint32_t port = 0; port < test->op->input_count && status == TN_OK; port++)
        if (tn_case_kind(&test->op->inputs[port]))
            status = run_lengths(test, arena, &c, port, verdict);
    if (status == TN_OK && verdict->outcome == TN_PASSED)
        status = run_tensors(test, arena, &c, verdict);
    if (status != TN_OK) tn_verdict_error(verdict, NULL, "reading the case");
    tn_arena_destroy(arena);
}
