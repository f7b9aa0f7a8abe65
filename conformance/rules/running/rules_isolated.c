/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of special-values about elements that an input element is no part of: it becomes huge,
 * and where the reference stays as it was, so must the kernel. A kernel that adds it and takes it
 * away again (running sums, integral images, x + a - a) loses all digits of the others there. An
 * interpolation that multiplies by zero does not; products of two tensors by transforms
 * (Winograd's, Fourier's) are not tried. Where NaN in its stead reaches the reference's element,
 * the input element is part of it with a factor of zero, which a fast Fourier transform has as a
 * difference of sums. See rules.h.
 */
#include "base/status.h"
#include "rules/rules.h"
#include "tensor/type.h"

#include <math.h>
#include <stdio.h>

static const double LARGE_VALUE = 0x1p70, SHARE = 1e-3;

/* The first input of floats that are drawn and hold such a number; the count: none. */
static uint32_t find_input(const tn_case *c) {
    for (uint32_t i = 0; i < c->input_count; i++) {
        const tn_type type = c->inputs[i].type;
        if ((type == TN_F32 || type == TN_F64 || type == TN_BF16) && !c->inputs[i].has_values)
            return i;
    }
    return c->input_count;
}

static double largest_of(const tn_outcome *y, uint32_t output) {
    const tn_type type = y->types[output];
    double largest = 0;
    for (size_t k = 0; k < tn_outcome_elements(y, output); k++) {
        const double value = fabs(tn_element_get_f64(y->data[output], type, k));
        if (isfinite(value)) largest = fmax(largest, value);
    }
    return largest;
}

/* By the reference, then by the kernel: before the element became huge, and after; and by the
 * reference with NaN. */
typedef struct outcomes {
    tn_outcome expected[2], found[2], with_nan;
} outcomes;

static bool have_one_shape(const outcomes *y, uint32_t i) {
    return i < y->expected[1].count && i < y->found[0].count && i < y->found[1].count &&
           y->expected[1].bytes[i] == y->expected[0].bytes[i] &&
           y->found[0].bytes[i] == y->expected[0].bytes[i] && i < y->with_nan.count &&
           y->with_nan.bytes[i] == y->expected[0].bytes[i] &&
           y->found[1].bytes[i] == y->expected[0].bytes[i];
}

static void compare_output(const outcomes *y, uint32_t output, size_t changed,
                           tn_verdict *verdict) {
    const tn_type type = y->expected[0].types[output];
    const double largest = largest_of(&y->expected[0], output);
    for (size_t k = 0; k < tn_outcome_elements(&y->expected[0], output); k++) {
        const double a = tn_element_get_f64(y->expected[0].data[output], type, k);
        const double b = tn_element_get_f64(y->expected[1].data[output], type, k);
        const double before = tn_element_get_f64(y->found[0].data[output], type, k);
        const double after = tn_element_get_f64(y->found[1].data[output], type, k);
        const double with_nan = tn_element_get_f64(y->with_nan.data[output], type, k);
        if (a != b || isnan(with_nan) || !isfinite(before)) continue;
        if (fabs(after - before) <= SHARE * (fabs(before) + largest)) continue;
        tn_verdict_fail(verdict,
                        "output %u, element %zu becomes %.9g when element %zu of the input becomes "
                        "%g, expected %.9g as before: it is no part of it",
                        output, k, after, changed, LARGE_VALUE, before);
        return;
    }
}

static void run_reference(const tn_test *test, const tn_subject *subject, tn_outcome *y,
                          tn_verdict *verdict) {
    const tn_case_options reference = {
        .is_reference = true, .asks_all = subject->asks_all, .threads = 1};
    if (tn_case_run(test->runtime, test->op, &subject->c, &reference, y) != TN_OK)
        tn_verdict_skip(verdict, "the reference refuses huge values");
}

static void run_both(const tn_test *test, tn_subject *subject, int which, outcomes *y,
                     tn_verdict *verdict) {
    run_reference(test, subject, &y->expected[which], verdict);
    if (verdict->outcome != TN_PASSED) return;
    if (tn_probe_once(&subject->probe, true, false, 0xFF, &y->found[which]) != TN_OK)
        tn_verdict_error(verdict, &subject->probe, "with a huge value");
}

static void check_element(const tn_test *test, tn_subject *subject, uint32_t input, size_t element,
                          tn_verdict *verdict) {
    tn_case_input *x = &subject->c.inputs[input];
    outcomes y = {0};
    tn_verdict ran = {0};
    run_both(test, subject, 0, &y, &ran);
    const double kept = tn_element_get_f64(x->data, x->type, element);
    tn_element_set_f64(x->data, x->type, element, LARGE_VALUE);
    if (ran.outcome == TN_PASSED) run_both(test, subject, 1, &y, &ran);
    tn_element_set_f64(x->data, x->type, element, NAN);
    if (ran.outcome == TN_PASSED) run_reference(test, subject, &y.with_nan, &ran);
    tn_element_set_f64(x->data, x->type, element, kept);
    for (uint32_t i = 0; i < y.expected[0].count && ran.outcome == TN_PASSED; i++)
        if (tn_type_is_float(y.expected[0].types[i]) && have_one_shape(&y, i))
            compare_output(&y, i, element, &ran);
    if (ran.outcome == TN_FAILED) *verdict = ran;
    for (int i = 0; i < 2; i++) {
        tn_outcome_free(&y.expected[i]);
        tn_outcome_free(&y.found[i]);
    }
    tn_outcome_free(&y.with_nan);
}

/* The element in the middle of each axis. */
static size_t middle_of(const tn_shape *shape) {
    size_t at = 0;
    for (uint32_t i = 0; i < shape->rank; i++)
        at = at * (size_t)shape->extents[i] + (size_t)shape->extents[i] / 2;
    return at;
}

void tn_rule_run_isolated(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    tn_verdict none = {0};
    size_t count = 0;
    if (!tn_rule_special_subject(test, &subject, &none)) return;
    const uint32_t input = find_input(&subject.c);
    if (input < subject.c.input_count && !subject.expected.is_random &&
        !tn_rule_is_of_products(&subject.c) &&
        tn_shape_count(&subject.c.inputs[input].shape, &count) == TN_OK && count > 0) {
        check_element(test, &subject, input, 0, verdict);
        if (verdict->outcome == TN_PASSED)
            check_element(test, &subject, input, middle_of(&subject.c.inputs[input].shape),
                          verdict);
    }
    tn_subject_destroy(&subject);
}
