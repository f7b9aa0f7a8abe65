/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of `plan` about engines of several nodes. Two nodes of one operator, with other fields,
 * have their constants in common, as nodes of one network may: what a kernel packs of a constant
 * for one of them is handed to the other where the key is the same. Two nodes with constants of
 * their own have a state each. See rules.h.
 */
#include "base/status.h"
#include "plugin/fields/fields_private.h"
#include "variants.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NODES = 3 }; /* that are tried beside the case's */

/* The second node's constants become the first one's; false: they are others. */
static bool share_constants(const tn_probe *first, tn_probe *second) {
    uint32_t shared = 0;
    if (first->input_count != second->input_count) return false;
    for (uint32_t i = 0; i < first->input_count; i++) {
        const tn_probe_port *a = &first->inputs[i];
        tn_probe_port *b = &second->inputs[i];
        size_t bytes = 0;
        if (!a->is_given || !a->is_constant) continue;
        if (!b->is_given || !b->is_constant || a->own_type != b->own_type ||
            !tn_shape_equal(&a->shape, &b->shape) ||
            tn_format_bytes(TN_LINEAR, a->own_type, &a->shape, &bytes) != TN_OK ||
            memcmp(a->own, b->own, bytes) != 0)
            return false;
        b->own = a->own;
        shared++;
    }
    return shared > 0;
}

static void run_beside(tn_probe_life *life, tn_subject *subject, const char *what, const char *text,
                       const char *hint, tn_verdict *verdict) {
    tn_probe_context context = {0};
    tn_probe_memory memory = {0};
    tn_outcome found = {0};
    char why[300];
    tn_probe *probe = &subject->probe;
    tn_status status = tn_probe_open(&context, life);
    if (status == TN_OK) status = tn_probe_reshape(&context, probe);
    if (status == TN_OK) status = tn_probe_memory_create(&memory, probe, true, false, 0xFF);
    if (status == TN_OK) status = tn_probe_run(&context, probe, &memory, 0xFF);
    if (status == TN_OK) status = tn_probe_results(probe, &memory, &found);
    if (status == TN_OK && !tn_results_equal(&subject->expected, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "beside another node of %s constants (\"%.150s\"): %.250s (%s)",
                        what, text, why, hint);
    tn_outcome_free(&found);
    tn_probe_memory_destroy(&memory);
    tn_probe_close(&context);
}

/* Whether the node of `text` was tried, after the case's. */
static bool try_beside(const tn_test *test, tn_subject *first, const char *text,
                       tn_verdict *verdict) {
    const tn_change copy = {.axis = -1};
    tn_test other = *test;
    tn_verdict none = {0};
    tn_subject second;
    tn_probe_life lives[2] = {0};
    other.text = text;
    if (!tn_test_subject(&other, &copy, &second, &none)) return false;
    const bool is_shared = share_constants(&first->probe, &second.probe);
    first->probe.keeps_constants = second.probe.keeps_constants = true;
    if (is_shared && tn_probe_prepare(&lives[0], &first->probe) == TN_OK) {
        second.probe.packed = lives[0].packed;
        if (tn_probe_prepare(&lives[1], &second.probe) == TN_OK)
            run_beside(&lives[1], &second, "the same", test->text,
                       "is a key of host->packed that of other fields, too?", verdict);
        if (lives[1].probe) tn_probe_release(&lives[1]);
        tn_probe_release(&lives[0]);
    }
    first->probe.keeps_constants = false;
    tn_subject_destroy(&second);
    return is_shared;
}

/* The case's node, prepared before another one with drawn constants, or after it. */
static void try_others(const tn_test *test, tn_subject *first, bool is_before,
                       tn_verdict *verdict) {
    const tn_change drawn = {.seed = test->seed + 1, .values = TN_VALUES_WIDE, .axis = -1};
    tn_verdict none = {0};
    tn_subject second;
    tn_probe_life lives[2] = {0};
    if (!tn_test_subject(test, &drawn, &second, &none)) return;
    tn_probe *const probes[2] = {is_before ? &first->probe : &second.probe,
                                 is_before ? &second.probe : &first->probe};
    first->probe.keeps_constants = second.probe.keeps_constants = true;
    if (tn_probe_prepare(&lives[0], probes[0]) == TN_OK) {
        if (tn_probe_prepare(&lives[1], probes[1]) == TN_OK)
            run_beside(&lives[is_before ? 0 : 1], first, "other", test->text,
                       "is the state of all nodes one?", verdict);
        if (lives[1].probe) tn_probe_release(&lives[1]);
        tn_probe_release(&lives[0]);
    }
    first->probe.keeps_constants = false;
    tn_subject_destroy(&second);
}

void tn_rule_run_sharing(const tn_test *test, tn_verdict *verdict) {
    const tn_change copy = {.axis = -1};
    tn_subject first;
    uint32_t tried = 0;
    if (!test->are_constant || !test->kernel || !test->kernel->prepare) return;
    if (!tn_test_subject(test, &copy, &first, verdict)) return;
    for (uint32_t i = 0; i < test->op->field_count; i++) {
        const tn_field *field = tn_fields_at(test->op, i);
        char text[TN_VARIANT_TEXT];
        tn_variant_values v;
        tn_variant_list(test, field, false, &v);
        for (size_t k = 0; k < v.count && tried < MOST_NODES; k++)
            if (verdict->outcome == TN_PASSED &&
                tn_variant_with(test->text, field->name, v.texts[k], text))
                tried += try_beside(test, &first, text, verdict);
    }
    for (int is_before = 0; is_before < 2 && verdict->outcome == TN_PASSED; is_before++)
        try_others(test, &first, is_before, verdict);
    tn_subject_destroy(&first);
}
