/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about expressions: each case, element by element, by what the text says, against the
 * reference. The language has one reader, which is also that of the kernels compiled from it.
 */
#include "src/expression/elementwise.h"
#include "src/expression/expression_compute.h"
#include "src/expression/expression_field.h"
#include "rules/variants.h"
#include "tensor/type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the names of an expression stand for: an input's number plus one in `ports`, or a value. */
typedef struct expression_names {
    uint32_t ports[TN_EXPRESSION_MOST_STEPS];
    double values[TN_EXPRESSION_MOST_STEPS];
} expression_names;

static bool find_name(const tn_probe *probe, const tn_expression *expression, uint32_t step,
                      expression_names *names) {
    uint32_t input = 0;
    if (tn_expression_find_input(expression, step, probe->op, &input) &&
        input < probe->input_count && probe->inputs[input].is_given) {
        names->ports[step] = input + 1;
        return true;
    }
    const tn_field *field = tn_expression_find_field(expression, step, probe->op);
    return field && tn_expression_field(field, probe->node->params, &names->values[step]);
}

static bool find_names(const tn_probe *probe, const tn_expression *expression,
                       expression_names *names, tn_verdict *verdict) {
    for (uint32_t i = 0; i < expression->count; i++) {
        const tn_expression_step *step = &expression->steps[i];
        names->ports[i] = 0;
        names->values[i] = 0;
        if (step->kind != TN_EXPRESSION_NAME || find_name(probe, expression, i, names)) continue;
        tn_verdict_fail(verdict,
                        "'%.*s' in the expression is no input that is given, and no field that "
                        "holds a number",
                        (int)(step->name_length < 60 ? step->name_length : 60),
                        expression->text + step->name_at);
        return false;
    }
    return true;
}

/* Where element `index` of `shape` is in a tensor that is broadcast to it. */
static size_t index_in(const tn_shape *own, const tn_shape *shape, size_t index) {
    size_t own_index = 0, step = 1;
    for (uint32_t i = 0; i < own->rank; i++) {
        const size_t extent = (size_t)shape->extents[shape->rank - 1 - i];
        const size_t own_extent = (size_t)own->extents[own->rank - 1 - i];
        if (own_extent != 1) own_index += index % extent * step;
        step *= own_extent;
        index /= extent;
    }
    return own_index;
}

static bool is_real(tn_type type) {
    return tn_type_is_float(type) || type == TN_BOOL;
}

static bool is_number(tn_type type) {
    return is_real(type) || (tn_type_is_integer(type) && tn_type_bytes(type) > 0);
}

/* Numbers, one output, and inputs that are broadcast to it. `out_are_real`: no integers. */
static bool is_served(const tn_probe *probe, const tn_outcome *expected, bool *out_are_real) {
    if (expected->count != 1 || !is_number(expected->types[0])) return false;
    *out_are_real = is_real(expected->types[0]);
    for (uint32_t i = 0; i < probe->input_count; i++) {
        const tn_probe_port *port = &probe->inputs[i];
        if (!port->is_given) continue;
        if (!is_number(port->own_type) ||
            !tn_shape_is_broadcast(&port->shape, &expected->shapes[0]))
            return false;
        *out_are_real = *out_are_real && is_real(port->own_type);
    }
    return true;
}

/* As kernels do: 16-bit floats are computed with in 32 bits. */
static void compute(const tn_probe *probe, const tn_expression *expression,
                    const expression_names *names, tn_outcome *found) {
    double values[TN_EXPRESSION_MOST_STEPS];
    const bool is_double = found->types[0] == TN_F64;
    const size_t count = tn_outcome_elements(found, 0);
    for (size_t at = 0; at < count; at++) {
        for (uint32_t i = 0; i < expression->count; i++) {
            const tn_probe_port *port =
                names->ports[i] > 0 ? &probe->inputs[names->ports[i] - 1] : NULL;
            values[i] = port ? tn_element_get_f64(port->own, port->own_type,
                                                  index_in(&port->shape, &found->shapes[0], at))
                             : names->values[i];
        }
        tn_element_set_f64(found->data[0], found->types[0], at,
                           is_double ? tn_expression_compute(expression, values)
                                     : tn_expression_compute_f32(expression, values));
    }
}

/* In the arithmetic of integers, as the host's own reference has it. */
static void check_integers(tn_subject *subject, const char *during, tn_verdict *verdict) {
    tn_operator stated = *subject->op;
    tn_probe probe = subject->probe;
    tn_outcome found = {0};
    char why[300];
    stated.reference = tn_elementwise_reference;
    probe.op = &stated;
    probe.kernel = NULL;
    if (tn_probe_once(&probe, true, false, 0xFF, &found) != TN_OK)
        tn_verdict_error(verdict, &probe, during);
    else if (!tn_subject_agrees(subject, &found, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s%s", during, why);
    tn_outcome_free(&found);
}

static void check_subject(tn_subject *subject, const tn_expression *expression, const char *during,
                          tn_verdict *verdict) {
    expression_names names;
    char why[300];
    bool are_real = true;
    tn_outcome found = subject->expected;
    if (!find_names(&subject->probe, expression, &names, verdict)) return;
    tn_verdict_skip(verdict, "several outputs, or types that expressions do not have");
    if (!is_served(&subject->probe, &found, &are_real)) return;
    verdict->outcome = TN_PASSED;
    if (!are_real) {
        check_integers(subject, during, verdict);
        return;
    }
    found.data[0] = malloc(found.bytes[0] + 1);
    if (!found.data[0]) return;
    compute(&subject->probe, expression, &names, &found);
    if (!tn_subject_agrees(subject, &found, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s%s", during, why);
    free(found.data[0]);
}

/* Values where a step may overflow that the reference does not have, exp(89) above all; and of
 * elementwise operators NaN and infinities. Squares of huge values overflow in 32-bit floats
 * whatever the text is: the language has no other ones. */
static void check_values(const tn_test *test, const tn_expression *expression,
                         tn_verdict *verdict) {
    const bool is_elementwise = test->op->traits & TN_OPERATOR_ELEMENTWISE;
    const uint32_t kinds = is_elementwise ? TN_VALUES_ELEMENTWISE_COUNT : TN_VALUES_COUNT;
    for (uint32_t values = TN_VALUES_WIDE; values < kinds && verdict->outcome == TN_PASSED;
         values++) {
        const tn_change change = {.seed = 1, .values = values, .axis = -1};
        char during[80];
        tn_verdict none = {0};
        tn_subject subject;
        if (values == TN_VALUES_HUGE || !tn_test_subject(test, &change, &subject, &none)) continue;
        snprintf(during, sizeof(during),
                 "as kernels compute it, on %s values: ", tn_values_name(values));
        check_subject(&subject, expression, during, verdict);
        tn_subject_destroy(&subject);
    }
}

static void check_fields(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_expression expression;
    tn_subject subject;
    char why[200];
    if (!tn_expression_read(test->op->expression, &expression, why, sizeof(why)) ||
        !tn_test_subject(test, change, &subject, verdict))
        return;
    check_subject(&subject, &expression, "", verdict);
    tn_subject_destroy(&subject);
}

void tn_rule_expression(const tn_test *test, tn_verdict *verdict) {
    tn_expression expression;
    char why[200];
    if (!test->op->expression) {
        tn_verdict_skip(verdict, "the operator has no expression");
        return;
    }
    if (!tn_expression_read(test->op->expression, &expression, why, sizeof(why))) {
        tn_verdict_fail(verdict, "%s (docs/expressions.md)", why);
        return;
    }
    tn_claim_check(test, check_fields, verdict);
    if (verdict->outcome == TN_PASSED) check_values(test, &expression, verdict);
}
