/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about an operator's own tables and functions, and about which kernels are tried; fields and
 * traits have files of their own. See rules.h. */
#include "base/status.h"
#include "plugin/sequences/kinds.h"
#include "plugin/outputs.h"
#include "rules/variants.h"
#include "tensor/type.h"
#include "worker/probe/frame.h"
#include "worker/watch/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_view(const tn_operator *op) {
    for (uint32_t i = 0; i < op->output_count; i++)
        if (!(op->outputs[i].flags & TN_PORT_VIEW)) return false;
    return true;
}

/* Cases have no text for graphs. */
static bool needs_graph(const tn_operator *op) {
    for (uint32_t i = 0; i < op->field_count; i++)
        if (op->fields[i].type == TN_FIELD_GRAPH && (op->fields[i].flags & TN_REQUIRED))
            return true;
    return false;
}

void tn_rule_has_cases(const tn_test *test, tn_verdict *verdict) {
    if (test->op->case_count == 0 && needs_graph(test->op))
        tn_verdict_skip(verdict, "a field is a graph, which no case can say: compare the operator "
                                 "with something else");
    else if (test->op->case_count == 0)
        tn_verdict_fail(verdict,
                        "the operator has no cases: nothing of it can be checked (TN_CASES)");
}

void tn_rule_has_reference(const tn_test *test, tn_verdict *verdict) {
    if (!test->op->reference && !is_view(test->op))
        tn_verdict_fail(
            verdict, "the operator has no reference: its kernels cannot be compared with anything");
}

/* ----------------------------------------------------------------------------------------------
 * shapes */

/* Calls infer with outputs that hold rubbish, and compares what it says with what was inferred. */
static bool infer_again(tn_subject *subject, tn_verdict *verdict) {
    tn_probe *probe = &subject->probe;
    tn_frame frame;
    if (tn_frame_open(&frame, probe, NULL, NULL, TN_SEES_VALUES) != TN_OK) return false;
    for (uint32_t i = 0; i < probe->output_count; i++) {
        if (!frame.outputs[i]) continue;
        frame.outputs[i]->rank = 7;
        for (uint32_t axis = 0; axis < TN_MAX_RANK; axis++)
            frame.outputs[i]->shape[axis] = 1000003 + axis;
    }
    if (tn_frame_call(&frame, probe, probe->op->infer, "infer") != TN_OK)
        tn_verdict_error(verdict, probe, "a second time");
    for (uint32_t i = 0; i < probe->output_count && verdict->outcome == TN_PASSED; i++) {
        const tn_shape *shape = &probe->outputs[i].shape;
        const tn_tensor *said = frame.outputs[i];
        if (!said) continue;
        bool is_equal = said->rank == shape->rank && said->type == probe->outputs[i].type;
        for (uint32_t axis = 0; is_equal && axis < shape->rank; axis++)
            is_equal =
                said->shape[axis] ==
                (probe->outputs[i].unbounded >> axis & 1 ? TN_UNBOUNDED : shape->extents[axis]);
        if (!is_equal)
            tn_verdict_fail(verdict,
                            "output %u: the shape rule says something else the second time", i);
    }
    tn_frame_close(&frame);
    return verdict->outcome == TN_PASSED;
}

static void check_shape_rule(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, change, &subject, verdict)) return;
    if (infer_again(&subject, verdict)) infer_again(&subject, verdict);
    tn_subject_destroy(&subject);
}

/* On scalars, of which no case may be; what is not taken so is nobody's failure. */
static void check_scalars(const tn_test *test, tn_verdict *verdict) {
    const tn_shape scalars[TN_PROBE_PORTS] = {{.rank = 0}};
    const tn_change change = {.axis = -1, .shapes = scalars};
    tn_verdict scalar = {0};
    check_shape_rule(test, &change, &scalar);
    if (scalar.outcome == TN_FAILED) *verdict = scalar;
}

/* Where there is a reference, other rules try it on other fields and extents. */
void tn_rule_shape_rule(const tn_test *test, tn_verdict *verdict) {
    if (test->op->reference)
        check_shape_rule(test, NULL, verdict);
    else
        tn_claim_check(test, check_shape_rule, verdict);
    if (verdict->outcome == TN_PASSED && test->op->reference) check_scalars(test, verdict);
    if (verdict->outcome == TN_PASSED) tn_rule_infer_sizes(test, verdict);
}

/* ----------------------------------------------------------------------------------------------
 * kernels */

static bool takes(const tn_test *attempt) {
    tn_subject subject;
    tn_verdict none = {0};
    if (tn_operator_has_kinds(attempt->op)) return tn_rule_runs_lists(attempt);
    if (!tn_test_subject(attempt, NULL, &subject, &none)) return false;
    tn_subject_destroy(&subject);
    return true;
}

/* In any combination that the kernel answers for the case. */
static bool takes_asked(const tn_test *test) {
    const char *texts[TN_SUBJECT_COMBINATIONS];
    uint32_t count = 0;
    tn_arena *arena = NULL;
    bool is_taken = false;
    tn_test attempt = *test;
    if (tn_arena_create(tn_allocator_default(), &arena) != TN_OK) return false;
    if (tn_subject_combinations(arena, test->runtime, test->op, test->kernel, test->text,
                                test->are_constant, &count, texts) != TN_OK)
        count = 0;
    for (uint32_t i = 0; i < count && !is_taken; i++) {
        attempt.combination = texts[i];
        is_taken = takes(&attempt);
    }
    tn_arena_destroy(arena);
    return is_taken;
}

static bool is_taken(const tn_test *test, const char *combination, bool *out_is_served) {
    for (size_t i = 0; i < test->operator_count; i++) {
        tn_test attempt = *test;
        attempt.op = test->operators[i];
        attempt.combination = combination;
        const bool is_asked = !combination && test->kernel->combination;
        if (!tn_kernel_serves(test->kernel, attempt.op)) continue;
        *out_is_served = true;
        for (uint64_t k = 0; k < 2 * attempt.op->case_count; k++) {
            attempt.text = attempt.op->cases[k / 2];
            attempt.are_constant = k % 2;
            if (is_asked ? !takes_asked(&attempt) : !takes(&attempt)) continue;
            return true;
        }
    }
    return false;
}

/* Each kernel is tried somewhere: by some case of some operator, in each combination that names the
 * operator's own types. Which ones those are is known by trying; a kernel with `accepts` may refuse
 * some combinations, but not all. */
static bool serves_graphs(const tn_test *test) {
    for (size_t i = 0; i < test->operator_count; i++)
        if (tn_kernel_serves(test->kernel, test->operators[i]) && needs_graph(test->operators[i]))
            return true;
    return false;
}

void tn_rule_is_tried(const tn_test *test, tn_verdict *verdict) {
    const tn_kernel *kernel = test->kernel;
    bool is_served = false, takes_another = false;
    if (is_taken(test, test->combination, &is_served)) return;
    if (serves_graphs(test)) {
        tn_verdict_skip(verdict, "a field of its operator is a graph, which no case can say");
        return;
    }
    const bool has_before = kernel->absorbs && strchr(kernel->absorbs, '@');
    for (uint32_t i = 0; (kernel->accepts || has_before) && i < kernel->combination_count; i++)
        takes_another = takes_another || is_taken(test, kernel->combinations[i], &is_served);
    if (!is_served)
        tn_verdict_fail(verdict,
                        "kernel '%s' computes %s%s%s, versions %u to %u: no operator is so",
                        kernel->name, kernel->domain, kernel->domain[0] ? "::" : "", kernel->op,
                        kernel->minimum_version, kernel->maximum_version);
    else if (takes_another || (test->combination && strpbrk(test->combination, "q1")))
        tn_verdict_skip(verdict, takes_another && has_before
                                     ? "types of what is stored: absorbs-before tries them"
                                 : takes_another
                                     ? "accepts refuses this combination, and takes another"
                                     : "lower types: stored-types tries them");
    else
        tn_verdict_fail(verdict, "no case is taken by kernel '%s'%s%s: it is never tried",
                        kernel->name, test->combination ? " in the combination " : "",
                        test->combination ? test->combination : "");
}

/* Inputs and output 0 as rows of 32-bit floats; false: they are none. */
static bool find_rows(const tn_subject *subject, const float **rows, uint64_t *strides) {
    const tn_probe *probe = &subject->probe;
    const tn_outcome *expected = &subject->expected;
    if (expected->count != 1 || expected->types[0] != TN_F32) return false;
    const size_t count = expected->bytes[0] / sizeof(float);
    for (uint32_t i = 0; i < probe->input_count; i++) {
        const tn_probe_port *port = &probe->inputs[i];
        size_t elements = 0;
        if (!port->is_given) continue;
        rows[i] = port->own;
        if (port->type != TN_F32 || tn_shape_count(&port->shape, &elements) != TN_OK ||
            (elements != count && elements != 1))
            return false;
        strides[i] = elements == 1 ? 0 : 1;
    }
    return count > 0;
}

/* False: there are no rows of such values. */
static bool check_row(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    const float *rows[TN_PROBE_PORTS] = {0};
    uint64_t strides[TN_PROBE_PORTS] = {0};
    const bool is_drawn = change && change->values;
    tn_guarded output = {0};
    tn_subject subject;
    tn_verdict none = {0};
    if (!tn_test_subject(test, change, &subject, change ? &none : verdict)) return false;
    const tn_outcome *expected = &subject.expected;
    const bool is_taken =
        find_rows(&subject, rows, strides) &&
        tn_guarded_create(&output, TN_GUARDED_OUTPUT, 0, expected->bytes[0], true, 0x7F) == TN_OK;
    if (is_taken) {
        tn_outcome found = *expected;
        char why[300];
        found.data[0] = output.data;
        const char *before = tn_trace_enter("row");
        test->op->row(subject.probe.node->params, expected->bytes[0] / sizeof(float), rows, strides,
                      (float *)(void *)output.data);
        tn_trace_leave(before);
        if (!tn_guarded_is_whole(&output)) {
            tn_verdict_fail(verdict, "row writes past the end of its %zu elements",
                            expected->bytes[0] / sizeof(float));
            snprintf(verdict->rule, sizeof(verdict->rule), "writes-inside");
        } else if (!tn_subject_agrees(&subject, &found, why, sizeof(why))) {
            tn_verdict_fail(verdict, "%s%s%s%s", is_drawn ? "on " : "",
                            is_drawn ? tn_values_name(change->values) : "",
                            is_drawn ? " values: " : "", why);
        }
        tn_guarded_destroy(&output);
    }
    tn_subject_destroy(&subject);
    return is_taken;
}

/* An input of one element, repeated, also where the shape rule takes none: as a fused kernel's may
 * be. The reference has the same element everywhere. */
static void check_repeated(const tn_test *test, uint32_t index, tn_verdict *verdict) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    const tn_change copy = {.axis = -1, .frees_values = true};
    const float *rows[TN_PROBE_PORTS] = {0};
    uint64_t strides[TN_PROBE_PORTS] = {0};
    tn_subject subject;
    tn_verdict none = {0};
    tn_outcome expected = {0}, found;
    char why[300];
    if (!tn_test_subject(test, &copy, &subject, &none)) return;
    if (index < subject.c.input_count && !subject.c.inputs[index].has_values &&
        find_rows(&subject, rows, strides) && rows[index] && strides[index] == 1) {
        tn_case_input *input = &subject.c.inputs[index];
        const size_t count = subject.expected.bytes[0] / sizeof(float);
        float *numbers = input->data, *output = malloc(subject.expected.bytes[0] + sizeof(float));
        float *one = malloc((count + 1) * sizeof(float)); /* behind it is nothing to be read */
        for (size_t k = 0; one && k < count; k++) {
            one[k] = k == 0 ? numbers[0] : NAN;
            numbers[k] = numbers[0];
        }
        strides[index] = 0;
        rows[index] = one;
        if (output && one &&
            tn_case_run(test->runtime, test->op, &subject.c, &reference, &expected) == TN_OK) {
            const char *before = tn_trace_enter("row");
            test->op->row(subject.probe.node->params, count, rows, strides, output);
            tn_trace_leave(before);
            found = expected;
            found.data[0] = output;
            if (!tn_results_equal(&expected, &found, false, why, sizeof(why)))
                tn_verdict_fail(verdict, "with a stride of 0 for input %u: %s", index, why);
        }
        free(one);
        free(output);
        tn_outcome_free(&expected);
    }
    tn_subject_destroy(&subject);
}

/* With the case as it is, or with other fields and shapes. */
static void claim_row(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    if (!check_row(test, change, verdict) && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, "the tensors are not rows of 32-bit floats");
}

void tn_rule_row(const tn_test *test, tn_verdict *verdict) {
    const bool is_elementwise = test->op->traits & TN_OPERATOR_ELEMENTWISE;
    const uint32_t kinds = is_elementwise ? TN_VALUES_ELEMENTWISE_COUNT : TN_VALUES_COUNT;
    tn_claim_check(test, claim_row, verdict);
    for (uint32_t i = 0; i < test->op->input_count && verdict->outcome == TN_PASSED; i++)
        check_repeated(test, i, verdict);
    for (uint32_t values = TN_VALUES_WIDE; values < kinds && verdict->outcome == TN_PASSED;
         values++) {
        const tn_change change = {.seed = test->seed, .values = values, .axis = -1};
        check_row(test, &change, verdict);
    }
}
