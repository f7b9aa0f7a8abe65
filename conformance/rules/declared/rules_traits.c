/* SPDX-License-Identifier: Apache-2.0 */
/* The rule about what an operator declares of itself by its traits; see rules.h. */
#include "base/status.h"
#include "cases/strings/strings.h"
#include "rules/variants.h"
#include "tensor/type.h"
#include "worker/probe/frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Changing one element of the first input changes the same element of the output, and no other. */
static void check_elementwise(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    const tn_probe_port *x = &subject->probe.inputs[0];
    tn_case_input *input = &subject->c.inputs[0];
    tn_outcome found = {0};
    size_t count = 0;
    if (subject->expected.count == 0 || !tn_shape_equal(&x->shape, &subject->expected.shapes[0]) ||
        input->has_values || tn_shape_count(&x->shape, &count) != TN_OK || count < 2 ||
        !tn_type_is_float(input->type))
        return;
    const size_t changed = count / 2;
    tn_element_set_f64(input->data, input->type, changed,
                       tn_element_get_f64(input->data, input->type, changed) * 0.5 + 0.25);
    if (tn_case_run(test->runtime, test->op, &subject->c, &reference, &found) != TN_OK) return;
    for (size_t i = 0; i < count && verdict->outcome == TN_PASSED; i++) {
        const double a =
            tn_element_get_f64(subject->expected.data[0], subject->expected.types[0], i);
        const double b = tn_element_get_f64(found.data[0], found.types[0], i);
        if (i != changed && a != b && (a == a || b == b))
            tn_verdict_fail(
                verdict,
                "declared elementwise, but element %zu of the input changes element %zu of "
                "the output",
                changed, i);
    }
    tn_outcome_free(&found);
}

/* Whether it is one where all inputs but the first are constants, or where none is. */
static bool says_identity(tn_subject *subject, bool are_constant) {
    tn_frame frame;
    for (uint32_t i = 0; i < subject->probe.input_count; i++)
        subject->probe.inputs[i].is_constant = are_constant && i > 0;
    return tn_frame_open(&frame, &subject->probe, NULL, NULL, TN_SEES_CONSTANTS) == TN_OK &&
           tn_frame_ask(&frame, &subject->probe, subject->op->is_identity, "is_identity");
}

/* Strings by what they say. */
static bool is_output(const tn_subject *subject, const tn_case_input *input) {
    const void *output = subject->expected.data[0];
    bool is_same = subject->expected.bytes[0] == input->bytes;
    if (input->type != TN_STRING) return is_same && memcmp(output, input->data, input->bytes) == 0;
    for (size_t i = 0; is_same && i < input->bytes / sizeof(tn_string); i++)
        is_same =
            tn_case_same_string((const tn_string *)output + i, (const tn_string *)input->data + i);
    return is_same;
}

static void check_identity(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    const tn_case_input *input = &subject->c.inputs[0];
    if (subject->c.input_count == 0 || subject->expected.count == 0) return;
    if (test->op->is_identity && !says_identity(subject, true) && !says_identity(subject, false))
        return;
    if (!is_output(subject, input))
        tn_verdict_fail(verdict, "declared an identity, but output 0 is not input 0");
}

/* Whether any of the inputs that the trait speaks of has this element. */
static bool has_element(const tn_subject *subject, size_t index) {
    const bool is_variadic = subject->op->inputs[0].flags & TN_PORT_VARIADIC;
    for (uint32_t i = 0; i < subject->c.input_count; i++) {
        const tn_case_input *input = &subject->c.inputs[i];
        if (input->port != 0 || (!is_variadic && i > 0)) continue;
        if (tn_case_has_element(input, subject->expected.data[0], index)) return true;
    }
    return false;
}

/* A maximum of no elements is none of them. */
static bool is_number(const tn_outcome *outcome, size_t index) {
    return isfinite(tn_element_get_f64(outcome->data[0], outcome->types[0], index));
}

static void check_selects(const tn_subject *subject, tn_verdict *verdict) {
    enum { MOST = 4000 }; /* elements: each is looked for among all */
    if (subject->expected.count == 0 || subject->c.input_count == 0) return;
    const size_t count = tn_outcome_elements(&subject->expected, 0);
    if (subject->c.inputs[0].type != subject->expected.types[0]) {
        tn_verdict_fail(verdict,
                        "declared to select, but output 0 is of another type than input 0");
        return;
    }
    for (size_t i = 0; i < count && count <= MOST && verdict->outcome == TN_PASSED; i++)
        if (is_number(&subject->expected, i) && !has_element(subject, i))
            tn_verdict_fail(
                verdict,
                "declared to select, but element %zu of output 0, %.9g, is none of the "
                "input's",
                i, tn_element_get_f64(subject->expected.data[0], subject->expected.types[0], i));
}

static void exchange(tn_case *c, uint32_t second_port) {
    const tn_case_input first = c->inputs[0];
    c->inputs[0] = c->inputs[1];
    c->inputs[1] = first;
    c->inputs[0].port = 0;
    c->inputs[1].port = second_port;
}

/* The element of one of two inputs that becomes NaN: the first of the first, the last of the
 * second. */
static size_t nan_element(const tn_case_input *input, uint32_t index) {
    return index == 0 ? 0 : tn_case_input_elements(input) - 1;
}

/* NaN in one of both, and in the other: what comes out is the same with both exchanged. */
static void check_commutative_of_nan(const tn_test *test, tn_subject *subject, uint32_t second,
                                     tn_verdict *verdict) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    tn_case *c = &subject->c;
    tn_outcome one = {0}, other = {0};
    double before[2];
    char why[300];
    for (uint32_t i = 0; i < 2; i++)
        if (!tn_type_is_float(c->inputs[i].type) || c->inputs[i].has_values ||
            tn_case_input_elements(&c->inputs[i]) < 2)
            return;
    for (uint32_t i = 0; i < 2; i++) {
        const tn_case_input *input = &c->inputs[i];
        before[i] = tn_element_get_f64(input->data, input->type, nan_element(input, i));
        tn_element_set_f64(input->data, input->type, nan_element(input, i), NAN);
    }
    const bool is_computed = tn_case_run(test->runtime, test->op, c, &reference, &one) == TN_OK;
    exchange(c, second);
    if (is_computed && tn_case_run(test->runtime, test->op, c, &reference, &other) == TN_OK &&
        !tn_results_equal(&one, &other, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "declared commutative, but not where one input is NaN: %s", why);
    exchange(c, second);
    for (uint32_t i = 0; i < 2; i++)
        tn_element_set_f64(c->inputs[i].data, c->inputs[i].type, nan_element(&c->inputs[i], i),
                           before[i]);
    tn_outcome_free(&one);
    tn_outcome_free(&other);
}

static void check_commutative(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    tn_outcome found = {0};
    char why[300];
    tn_case *c = &subject->c;
    const uint32_t second = test->op->inputs[0].flags & TN_PORT_VARIADIC ? 0 : 1;
    if (c->input_count < 2 || c->inputs[0].port != 0 || c->inputs[1].port != second) return;
    exchange(c, second);
    if (tn_case_run(test->runtime, test->op, c, &reference, &found) != TN_OK)
        tn_verdict_error(verdict, NULL, "declared commutative, but not with its inputs exchanged");
    else if (!tn_results_equal(&subject->expected, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "declared commutative, but with its inputs exchanged %s", why);
    tn_outcome_free(&found);
    exchange(c, second);
    if (verdict->outcome == TN_PASSED) check_commutative_of_nan(test, subject, second, verdict);
}

static void check_traits(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    const uint32_t traits = test->op->traits;
    tn_subject subject;
    if (!tn_test_subject(test, change, &subject, verdict)) return;
    if ((traits & TN_OPERATOR_CONSTANT) && subject.probe.input_count > 0)
        tn_verdict_fail(verdict, "declared constant, but it has inputs");
    if ((traits & TN_OPERATOR_IDENTITY) && verdict->outcome == TN_PASSED)
        check_identity(test, &subject, verdict);
    if ((traits & TN_OPERATOR_SELECTS) && verdict->outcome == TN_PASSED)
        check_selects(&subject, verdict);
    if ((traits & TN_OPERATOR_COMMUTATIVE) && verdict->outcome == TN_PASSED)
        check_commutative(test, &subject, verdict);
    if ((traits & TN_OPERATOR_ELEMENTWISE) && subject.c.input_count > 0 &&
        verdict->outcome == TN_PASSED)
        check_elementwise(test, &subject, verdict);
    tn_subject_destroy(&subject);
}

void tn_rule_traits(const tn_test *test, tn_verdict *verdict) {
    tn_claim_check(test, check_traits, verdict);
}
