/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of matches-reference about indices: integers beside the data, whose values the case
 * gives. They are counted from the end, and moved out of range by what the next smaller type does
 * not hold. What the reference computes so the kernel computes, what it refuses the kernel refuses;
 * where the reference touches what it must not, or the result hangs on that, nothing is compared.
 * See rules.h.
 */
#include "base/status.h"
#include "rules.h"
#include "shrink.h"
#include "tensor/type.h"

#include <stdio.h>

enum { OUT_OF_RANGE = 1000003 };

static bool is_index(const tn_subject *subject, uint32_t index) {
    const tn_case_input *input = &subject->c.inputs[index];
    const tn_port *port = &subject->op->inputs[input->port];
    return index > 0 && (input->type == TN_I64 || input->type == TN_I32) &&
           (input->has_values || input->type != subject->c.inputs[0].type) && input->bytes > 0 &&
           !(port->flags & (TN_PORT_VALUE_NEEDED | TN_PORT_SHAPE_ONLY));
}

/* In a process of its own: whether the reference refuses this, or computes the same whatever lies
 * around its inputs. */
static bool is_defined(void *user) {
    tn_probe probe = ((const tn_subject *)user)->probe;
    tn_outcome first = {0}, second = {0};
    char why[300];
    probe.kernel = NULL;
    for (uint32_t i = 0; i < probe.output_count; i++)
        if (probe.outputs[i].format != TN_LINEAR) return false;
    for (uint32_t i = 0; i < probe.input_count; i++)
        if (probe.inputs[i].format != TN_LINEAR) return false;
    const tn_status at_end = tn_probe_once(&probe, true, false, 0xFF, &first);
    const tn_status at_start = tn_probe_once(&probe, false, false, 0xFF, &second);
    if (probe.rule[0]) return false;
    if (at_end != TN_OK || at_start != TN_OK) return at_end != TN_OK && at_start != TN_OK;
    return tn_results_equal(&first, &second, true, why, sizeof(why));
}

static void compare(tn_subject *subject, const char *during, tn_verdict *verdict) {
    const tn_way reference = {.is_reference = true, .threads = 1};
    tn_outcome wanted = {0}, found = {0};
    char why[300];
    const bool is_refused =
        tn_case_run(subject->runtime, subject->op, &subject->c, &reference, &wanted) != TN_OK;
    const tn_status status = tn_probe_once(&subject->probe, true, false, 0xFF, &found);
    if (status != TN_OK && (subject->probe.rule[0] || !is_refused))
        tn_verdict_error(verdict, &subject->probe, during);
    else if (status == TN_OK && is_refused)
        tn_verdict_fail(verdict, "%s: computed, though the reference refuses it", during);
    else if (status == TN_OK && !tn_results_equal(&wanted, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s: %s", during, why);
    tn_outcome_free(&wanted);
    tn_outcome_free(&found);
}

/* `addend` for the first element, or for all that are not below 0. */
static void try_moved(const tn_test *test, uint32_t index, int64_t addend, bool is_first_alone,
                      tn_verdict *verdict) {
    const tn_change copy = {.axis = -1};
    tn_subject subject;
    tn_verdict none = {0};
    char during[120];
    if (verdict->outcome != TN_PASSED || !tn_test_subject(test, &copy, &subject, &none)) return;
    tn_case_input *input = &subject.c.inputs[index];
    const size_t count = is_first_alone ? 1 : input->bytes / tn_type_bytes(input->type);
    for (size_t i = 0; i < count; i++) {
        const int64_t value = tn_element_get_i64(input->data, input->type, i);
        if (value >= 0) tn_element_set_i64(input->data, input->type, i, value + addend);
    }
    snprintf(during, sizeof(during), "with %lld added to %s of '%s'", (long long)addend,
             is_first_alone ? "the first" : "all", test->op->inputs[input->port].name);
    if (tn_shrink_fails(test, is_defined, &subject)) compare(&subject, during, verdict);
    tn_subject_destroy(&subject);
}

static void try_input(const tn_test *test, const tn_shape *first, tn_type type, uint32_t index,
                      tn_verdict *verdict) {
    for (uint32_t axis = 0; axis < first->rank; axis++) {
        bool is_new = first->extents[axis] > 0;
        for (uint32_t k = 0; k < axis; k++)
            is_new = is_new && first->extents[k] != first->extents[axis];
        if (is_new) try_moved(test, index, -first->extents[axis], false, verdict);
    }
    try_moved(test, index, OUT_OF_RANGE, true, verdict);
    try_moved(test, index, -OUT_OF_RANGE, true, verdict);
    if (type == TN_I64) try_moved(test, index, INT64_C(1) << 32, true, verdict);
}

void tn_rule_run_with_indices(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    bool are_indices[TN_PROBE_PORTS] = {0};
    tn_type types[TN_PROBE_PORTS] = {0};
    if (!test->kernel || !test->op->reference) return;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    const uint32_t count =
        subject.c.input_count < TN_PROBE_PORTS ? subject.c.input_count : TN_PROBE_PORTS;
    const tn_shape first = count > 0 ? subject.c.inputs[0].shape : (tn_shape){0};
    for (uint32_t i = 0; i < count; i++) {
        are_indices[i] = is_index(&subject, i);
        types[i] = subject.c.inputs[i].type;
    }
    tn_subject_destroy(&subject);
    for (uint32_t i = 0; i < count; i++)
        if (are_indices[i]) try_input(test, &first, types[i], i, verdict);
}
