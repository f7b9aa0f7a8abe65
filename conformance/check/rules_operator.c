/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about an operator's own tables and functions; see rules.h. */
#include "base/status.h"
#include "frame.h"
#include "plugin/fields_private.h"
#include "rules.h"
#include "tensor/type.h"

#include <stdio.h>
#include <string.h>

static bool is_view(const tn_operator *op) {
    for (uint32_t i = 0; i < op->output_count; i++)
        if (!(op->outputs[i].flags & TN_PORT_VIEW)) return false;
    return true;
}

void tn_rule_has_cases(const tn_test *test, tn_verdict *verdict) {
    if (test->op->case_count == 0)
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
            is_equal = said->shape[axis] == shape->extents[axis];
        if (!is_equal)
            tn_verdict_fail(verdict,
                            "output %u: the shape rule says something else the second time", i);
    }
    tn_frame_close(&frame);
    return verdict->outcome == TN_PASSED;
}

void tn_rule_shape_rule(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    verdict->outcome = TN_SKIPPED;
    if (!test->op->infer || !tn_test_subject(test, NULL, &subject, verdict)) return;
    verdict->outcome = TN_PASSED;
    if (infer_again(&subject, verdict)) infer_again(&subject, verdict);
    tn_subject_destroy(&subject);
}

/* ----------------------------------------------------------------------------------------------
 * fields */

/* The case with "name=value" in front; a field that it gives already is left alone. */
static bool with_field(const tn_test *test, const char *name, const char *value, char *text,
                       size_t bytes) {
    char given[128];
    snprintf(given, sizeof(given), "%s=", name);
    const char *at = strstr(test->text, given), *bar = strchr(test->text, '|');
    while (at && at != test->text && at[-1] != ' ') /* the end of another field's name */
        at = strstr(at + 1, given);
    if (at && (!bar || at < bar)) return false;
    const int length = snprintf(text, bytes, "%s=%s %s", name, value, test->text);
    return length > 0 && (size_t)length < bytes;
}

void tn_rule_fields_default(const tn_test *test, tn_verdict *verdict) {
    tn_subject plain;
    uint32_t tried = 0;
    char text[4096];
    if (!tn_test_subject(test, NULL, &plain, verdict)) return;
    for (uint32_t i = 0; i < test->op->field_count && verdict->outcome == TN_PASSED; i++) {
        const tn_field *field = tn_fields_at(test->op, i);
        tn_subject given;
        tn_test other = *test;
        tn_verdict none = {0};
        char why[300];
        if (!field->fallback || !field->fallback[0] || strpbrk(field->fallback, " |")) continue;
        if (!with_field(test, field->name, field->fallback, text, sizeof(text))) continue;
        other.text = text;
        if (!tn_test_subject(&other, NULL, &given, &none)) {
            if (none.outcome == TN_FAILED) tn_verdict_fail(verdict, "%s: %s", text, none.why);
            continue;
        }
        tried++;
        if (!tn_results_equal(&plain.expected, &given.expected, false, why, sizeof(why)))
            tn_verdict_fail(
                verdict,
                "field '%s' given as its default (%s) means something else than absent: %s",
                field->name, field->fallback, why);
        tn_subject_destroy(&given);
    }
    if (tried == 0 && verdict->outcome == TN_PASSED) verdict->outcome = TN_SKIPPED;
    tn_subject_destroy(&plain);
}

/* A number, or as many of them as the field's default or its bounds say. */
static void hostile_text(const tn_field *field, const char *number, char *text, size_t bytes) {
    uint32_t count = field->minimum_count ? field->minimum_count : 1;
    size_t at = 0;
    if (field->fallback)
        for (const char *c = field->fallback; *c; c++)
            if (field->minimum_count == 0) count += *c == ',';
    if (field->type != TN_FIELD_I64S) {
        snprintf(text, bytes, "%s", number);
        return;
    }
    for (uint32_t i = 0; i < count && at + 24 < bytes; i++)
        at += (size_t)snprintf(text + at, bytes - at, "%c%s", i == 0 ? '[' : ',', number);
    snprintf(text + at, bytes - at, "]");
}

/* Takes the field out of a case's text. */
static void without_field(const char *text, const char *name, char *out, size_t bytes) {
    char given[128];
    snprintf(given, sizeof(given), "%s=", name);
    const char *at = strstr(text, given), *bar = strchr(text, '|');
    while (at && at != text && at[-1] != ' ')
        at = strstr(at + 1, given);
    if (!at || (bar && at > bar)) {
        snprintf(out, bytes, "%s", text);
        return;
    }
    const char *end = at + strcspn(at, " ");
    snprintf(out, bytes, "%.*s%s", (int)(at - text), text, end + (*end == ' '));
}

void tn_rule_fields_hostile(const tn_test *test, tn_verdict *verdict) {
    static const char *const numbers[] = {"0", "-1", "7"};
    uint32_t tried = 0;
    for (uint32_t i = 0; i < test->op->field_count && verdict->outcome != TN_FAILED; i++) {
        const tn_field *field = tn_fields_at(test->op, i);
        if (field->type != TN_FIELD_I64 && field->type != TN_FIELD_I32 &&
            field->type != TN_FIELD_I64S)
            continue;
        for (size_t k = 0; k < 3 && verdict->outcome != TN_FAILED; k++) {
            char rest[3000], text[4096], value[256];
            tn_test other = *test;
            tn_subject subject;
            tn_outcome found = {0};
            tn_verdict none = {0};
            hostile_text(field, numbers[k], value, sizeof(value));
            without_field(test->text, field->name, rest, sizeof(rest));
            snprintf(text, sizeof(text), "%s=%s %s", field->name, value, rest);
            other.text = text;
            tried++;
            if (!tn_test_subject(&other, NULL, &subject, &none)) continue; /* refused */
            if (tn_probe_once(&subject.probe, true, false, 0xFF, &found) != TN_OK &&
                subject.probe.rule[0])
                tn_verdict_error(verdict, &subject.probe, text);
            tn_outcome_free(&found);
            tn_subject_destroy(&subject);
        }
    }
    if (tried == 0) verdict->outcome = TN_SKIPPED;
}

/* ----------------------------------------------------------------------------------------------
 * traits */

/* Changing one element of the first input changes the same element of the output, and no other. */
static void check_elementwise(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    const tn_way reference = {.is_reference = true, .threads = 1};
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

static void check_identity(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    tn_frame frame;
    const tn_case_input *input = &subject->c.inputs[0];
    if (subject->c.input_count == 0 || subject->expected.count == 0) return;
    if (test->op->is_identity) {
        if (tn_frame_open(&frame, &subject->probe, NULL, NULL, TN_SEES_VALUES) != TN_OK) return;
        const bool answer = test->op->is_identity(frame.call) == TN_OK;
        tn_frame_close(&frame);
        if (!answer) return;
    }
    if (subject->expected.bytes[0] != input->bytes ||
        memcmp(subject->expected.data[0], input->data, input->bytes) != 0)
        tn_verdict_fail(verdict, "declared an identity, but output 0 is not input 0");
}

/* Whether any of the inputs that the trait speaks of has this element. */
static bool has_element(const tn_subject *subject, const void *element, size_t size) {
    const bool is_variadic = subject->op->inputs[0].flags & TN_PORT_VARIADIC;
    for (uint32_t i = 0; i < subject->c.input_count; i++) {
        const tn_case_input *input = &subject->c.inputs[i];
        if (input->port != 0 || (!is_variadic && i > 0)) continue;
        for (size_t at = 0; at + size <= input->bytes; at += size)
            if (memcmp((const char *)input->data + at, element, size) == 0) return true;
    }
    return false;
}

static void check_selects(const tn_subject *subject, tn_verdict *verdict) {
    enum { MOST = 4000 }; /* elements: each is looked for among all */
    if (subject->expected.count == 0 || subject->c.input_count == 0) return;
    const size_t size = tn_type_bytes(subject->expected.types[0]),
                 count = subject->expected.bytes[0] / size;
    if (subject->c.inputs[0].type != subject->expected.types[0]) {
        tn_verdict_fail(verdict,
                        "declared to select, but output 0 is of another type than input 0");
        return;
    }
    for (size_t i = 0; i < count && count <= MOST && verdict->outcome == TN_PASSED; i++)
        if (!has_element(subject, (const char *)subject->expected.data[0] + i * size, size))
            tn_verdict_fail(
                verdict,
                "declared to select, but element %zu of output 0, %.9g, is none of the "
                "input's",
                i, tn_element_get_f64(subject->expected.data[0], subject->expected.types[0], i));
}

static void check_commutative(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    const tn_way reference = {.is_reference = true, .threads = 1};
    tn_outcome found = {0};
    char why[300];
    tn_case *c = &subject->c;
    if (c->input_count < 2 || c->inputs[0].port != 0 || c->inputs[1].port != 1) return;
    const tn_case_input first = c->inputs[0];
    c->inputs[0] = c->inputs[1];
    c->inputs[1] = first;
    c->inputs[0].port = 0;
    c->inputs[1].port = 1;
    if (tn_case_run(test->runtime, test->op, c, &reference, &found) != TN_OK)
        tn_verdict_error(verdict, NULL, "declared commutative, but not with its inputs exchanged");
    else if (!tn_results_equal(&subject->expected, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "declared commutative, but with its inputs exchanged %s", why);
    tn_outcome_free(&found);
}

void tn_rule_traits(const tn_test *test, tn_verdict *verdict) {
    const uint32_t traits = test->op->traits;
    const tn_change copy = {.axis = -1};
    tn_subject subject;
    verdict->outcome = TN_SKIPPED;
    if (!(traits & (TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY | TN_OPERATOR_CONSTANT |
                    TN_OPERATOR_SELECTS | TN_OPERATOR_COMMUTATIVE)))
        return;
    if (!tn_test_subject(test, &copy, &subject, verdict)) return;
    verdict->outcome = TN_PASSED;
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

static bool is_taken(const tn_test *test, const char *combination, bool *out_is_served) {
    for (size_t i = 0; i < test->operator_count; i++) {
        tn_test attempt = *test;
        attempt.op = test->operators[i];
        attempt.combination = combination;
        if (!tn_kernel_serves(test->kernel, attempt.op)) continue;
        *out_is_served = true;
        for (uint64_t k = 0; k < 2 * attempt.op->case_count; k++) {
            tn_subject subject;
            tn_verdict none = {0};
            attempt.text = attempt.op->cases[k / 2];
            attempt.are_constant = k % 2;
            if (!tn_test_subject(&attempt, NULL, &subject, &none)) continue;
            tn_subject_destroy(&subject);
            return true;
        }
    }
    return false;
}

/* Each kernel is tried somewhere: by some case of some operator, in each combination that names the
 * operator's own types. Which ones those are is known by trying; a kernel with `accepts` may refuse
 * some combinations, but not all. */
void tn_rule_is_tried(const tn_test *test, tn_verdict *verdict) {
    const tn_kernel *kernel = test->kernel;
    bool is_served = false, takes_another = false;
    if (is_taken(test, test->combination, &is_served)) return;
    for (uint32_t i = 0; kernel->accepts && i < kernel->combination_count && !takes_another; i++)
        takes_another = is_taken(test, kernel->combinations[i], &is_served);
    if (!is_served)
        tn_verdict_fail(verdict,
                        "kernel '%s' computes %s%s%s, versions %u to %u: no operator is so",
                        kernel->name, kernel->domain, kernel->domain[0] ? "::" : "", kernel->op,
                        kernel->minimum_version, kernel->maximum_version);
    else if (takes_another || (test->combination && strpbrk(test->combination, "q1")))
        verdict->outcome = TN_SKIPPED; /* qi8, f16: stored-types tries them */
    else
        tn_verdict_fail(verdict, "no case is taken by kernel '%s'%s%s: it is never tried",
                        kernel->name, test->combination ? " in the combination " : "",
                        test->combination ? test->combination : "");
}

void tn_rule_row(const tn_test *test, tn_verdict *verdict) {
    const float *rows[TN_PROBE_PORTS] = {0};
    uint64_t strides[TN_PROBE_PORTS] = {0};
    tn_subject subject;
    verdict->outcome = TN_SKIPPED;
    if (!test->op->row || !tn_test_subject(test, NULL, &subject, verdict)) return;
    const tn_probe *probe = &subject.probe;
    const tn_outcome *expected = &subject.expected;
    bool is_plain = expected->count == 1 && expected->types[0] == TN_F32;
    size_t count = is_plain ? expected->bytes[0] / sizeof(float) : 0;
    for (uint32_t i = 0; i < probe->input_count && is_plain; i++) {
        const tn_probe_port *port = &probe->inputs[i];
        size_t elements = 0;
        if (!port->is_given) continue;
        rows[i] = port->own;
        is_plain = port->type == TN_F32 && tn_shape_count(&port->shape, &elements) == TN_OK &&
                   (elements == count || elements == 1);
        strides[i] = elements == 1 ? 0 : 1;
    }
    tn_guarded output = {0};
    if (is_plain && count > 0 &&
        tn_guarded_create(&output, TN_GUARDED_OUTPUT, 0, count * sizeof(float), true, 0x7F) ==
            TN_OK) {
        tn_outcome found = *expected;
        char why[300];
        found.data[0] = output.data;
        verdict->outcome = TN_PASSED;
        test->op->row(probe->node->params, count, rows, strides, (float *)(void *)output.data);
        if (!tn_results_equal(expected, &found, false, why, sizeof(why)))
            tn_verdict_fail(verdict, "%s", why);
        tn_guarded_destroy(&output);
    }
    tn_subject_destroy(&subject);
}
