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
#include <string.h>

enum { OUT_OF_RANGE = 1000003 };

static bool is_index(const tn_subject *subject, uint32_t index) {
    const tn_case_input *input = &subject->c.inputs[index];
    const tn_port *port = &subject->op->inputs[input->port];
    const uint32_t beside = index > 0 ? 0 : 1; /* an input of data */
    if ((input->type != TN_I64 && input->type != TN_I32) || input->bytes == 0 ||
        (port->flags & (TN_PORT_VALUE_NEEDED | TN_PORT_SHAPE_ONLY)) ||
        beside >= subject->c.input_count)
        return false;
    const bool is_other_type = input->type != subject->c.inputs[beside].type;
    return index > 0 ? input->has_values || is_other_type : input->has_values && is_other_type;
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

/* In a process of its own: whether the reference fails without a reason, and the like. */
static bool is_dishonest(void *user) {
    tn_probe probe = ((const tn_subject *)user)->probe;
    tn_outcome found = {0};
    probe.kernel = NULL;
    (void)tn_probe_once(&probe, true, false, 0xFF, &found);
    return strcmp(probe.rule, "fails-honestly") == 0;
}

/* What the reference breaks itself. */
static void blame_reference(const tn_subject *subject, const char *during, tn_verdict *verdict) {
    tn_probe probe = subject->probe;
    tn_outcome found = {0};
    probe.kernel = NULL;
    if (tn_probe_once(&probe, true, false, 0xFF, &found) != TN_OK)
        tn_verdict_error(verdict, &probe, during);
    tn_outcome_free(&found);
}

static void compare(const tn_test *test, tn_subject *subject, const char *during,
                    tn_verdict *verdict) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
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
    else if (status != TN_OK)
        tn_rule_check_refused(test, subject, during, verdict);
    tn_outcome_free(&wanted);
    tn_outcome_free(&found);
}

/* In a context that has run on the case's own indices: what is verified once is not verified. */
static void compare_later(const tn_test *test, tn_subject *subject, const char *during,
                          tn_verdict *verdict) {
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    tn_probe_memory memory = {0};
    tn_subject plain;
    char later[160];
    if (verdict->outcome != TN_PASSED || test->are_constant ||
        !tn_test_subject(test, NULL, &plain, verdict))
        return;
    snprintf(later, sizeof(later), "%s after a run on the case's own", during);
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    tn_outcome wanted = {0};
    const bool is_refused =
        tn_case_run(subject->runtime, subject->op, &subject->c, &reference, &wanted) != TN_OK;
    if (tn_rule_start(&life, &context, &plain.probe, verdict) &&
        tn_rule_run_open(&context, &plain, &plain.expected, false, false, later, verdict)) {
        tn_probe *probe = &subject->probe;
        tn_status status = TN_OK;
        if (!is_refused)
            tn_rule_run_open(&context, subject, &wanted, false, false, later, verdict);
        else
            status = tn_probe_memory_create(&memory, probe, true, false, 0xFF);
        if (is_refused && status == TN_OK) {
            status = tn_probe_run(&context, probe, &memory, 0xFF);
            if (status != TN_OK && probe->rule[0]) tn_verdict_error(verdict, probe, later);
            if (status == TN_OK)
                tn_verdict_fail(verdict, "%s: computed, though the reference refuses it", later);
        }
        if (is_refused && verdict->outcome == TN_PASSED)
            tn_rule_run_open(&context, &plain, &plain.expected, false, false,
                             "on the case's own after a run that was refused", verdict);
    }
    tn_probe_memory_destroy(&memory);
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
    tn_outcome_free(&wanted);
    tn_subject_destroy(&plain);
}

/* What becomes of indices that are not below 0: something is added, to the first alone or to all;
 * or the first or the last becomes a value. */
typedef struct move {
    enum { ADD_TO_ALL, ADD_TO_FIRST, SET_FIRST, SET_LAST } how;
    int64_t value;
} move;

static void move_elements(tn_case_input *input, const move *moved) {
    const size_t count = moved->how == ADD_TO_ALL ? tn_case_input_elements(input) : 1;
    const size_t last = tn_case_input_elements(input) - 1;
    for (size_t i = 0; i < count; i++) {
        const int64_t value = tn_element_get_i64(input->data, input->type, i);
        if (moved->how >= SET_FIRST)
            tn_element_set_i64(input->data, input->type, moved->how == SET_LAST ? last : i,
                               moved->value);
        else if (value >= 0)
            tn_element_set_i64(input->data, input->type, i, value + moved->value);
    }
}

static void try_moved(const tn_test *test, uint32_t index, move moved, tn_verdict *verdict) {
    static const char *const hows[] = {"%lld added to all of '%s'",
                                       "%lld added to the first of '%s'",
                                       "%lld as the first of '%s'", "%lld as the last of '%s'"};
    const tn_change copy = {.axis = -1};
    tn_subject subject;
    tn_verdict none = {0};
    char during[120] = "with ";
    if (verdict->outcome != TN_PASSED || !tn_test_subject(test, &copy, &subject, &none)) return;
    tn_case_input *input = &subject.c.inputs[index];
    move_elements(input, &moved);
    snprintf(during + 5, sizeof(during) - 5, hows[moved.how], (long long)moved.value,
             test->op->inputs[input->port].name);
    if (tn_shrink_fails(test, is_defined, &subject)) {
        compare(test, &subject, during, verdict);
        compare_later(test, &subject, during, verdict);
    } else if (tn_shrink_fails(test, is_dishonest, &subject)) {
        blame_reference(&subject, during, verdict);
    }
    tn_subject_destroy(&subject);
}

/* From the end, and just beyond both ends of an axis of so many elements. */
static void try_extent(const tn_test *test, uint32_t index, int64_t extent, tn_verdict *verdict) {
    try_moved(test, index, (move){ADD_TO_ALL, -extent}, verdict);
    try_moved(test, index, (move){SET_FIRST, extent}, verdict);
    try_moved(test, index, (move){SET_FIRST, -extent - 1}, verdict);
}

static void try_input(const tn_test *test, const tn_subject *plain, uint32_t index,
                      tn_verdict *verdict) {
    const tn_case_input *data = &plain->c.inputs[index > 0 ? 0 : 1];
    const tn_shape *shape = &data->shape;
    for (uint32_t axis = 0; axis < shape->rank; axis++) {
        bool is_new = shape->extents[axis] > 0;
        for (uint32_t k = 0; k < axis; k++)
            is_new = is_new && shape->extents[k] != shape->extents[axis];
        if (is_new) try_extent(test, index, shape->extents[axis], verdict);
    }
    try_moved(test, index, (move){SET_FIRST, -1}, verdict);
    try_moved(test, index, (move){SET_LAST, -1}, verdict);
    try_moved(test, index, (move){ADD_TO_FIRST, OUT_OF_RANGE}, verdict);
    try_moved(test, index, (move){ADD_TO_FIRST, -OUT_OF_RANGE}, verdict);
    if (plain->c.inputs[index].type == TN_I64)
        try_moved(test, index, (move){ADD_TO_FIRST, INT64_C(1) << 32}, verdict);
}

void tn_rule_run_with_indices(const tn_test *test, tn_verdict *verdict) {
    tn_subject plain;
    if (!test->kernel || !test->op->reference || !tn_test_subject(test, NULL, &plain, verdict))
        return;
    for (uint32_t i = 0; i < plain.c.input_count && i < TN_PROBE_PORTS; i++)
        if (is_index(&plain, i)) try_input(test, &plain, i, verdict);
    tn_subject_destroy(&plain);
}
