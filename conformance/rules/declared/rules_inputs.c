/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of matches-reference about inputs that no case has, as other texts of the case: indices,
 * sizes and other integers behind the first input in the other width, and optional inputs that no
 * case gives, in the shapes that they are likely to have. What the ports, the shape rule, the
 * reference or the kernel refuse is nobody's failure. See rules.h.
 */
#include "rules/rules.h"
#include "rules/variants.h"
#include "tensor/type.h"

#include <stdio.h>
#include <string.h>

/* Where the inputs begin, and where they end: what the case says of its outputs is left out. */
static const char *inputs_of(const char *text, size_t *out_length) {
    const char *bar = strchr(text, '|');
    const char *begin = bar ? bar + 1 : text + strlen(text);
    *out_length = strcspn(begin, "|");
    return begin;
}

/* ----------------------------------------------------------------------------------------------
 * integers of the other width */

/* The port that the value before '=' belongs to; null: none. */
static const tn_port *port_at(const tn_operator *op, const char *begin, const char *equals) {
    const char *name = equals;
    while (name > begin && name[-1] != ' ')
        name--;
    for (uint32_t i = 0; i < op->input_count; i++) {
        const tn_port *port = &op->inputs[i];
        if (strlen(port->name) == (size_t)(equals - name) &&
            strncmp(port->name, name, (size_t)(equals - name)) == 0)
            return port;
    }
    return NULL;
}

/* Needed values mean the same in each width that the port takes: to find them out of range shows
 * that they were read in another one. */
static void blame_width(const tn_test *test, const tn_port *port, const char *type,
                        const char *text, tn_verdict *verdict) {
    tn_subject subject;
    bool is_taken = false;
    if (!port || !(port->flags & TN_PORT_VALUE_NEEDED) || verdict->outcome != TN_PASSED) return;
    const tn_status status = tn_subject_create(&subject, test->runtime, test->op, NULL, NULL, text,
                                               false, NULL, &is_taken);
    if (status == TN_OK && is_taken) tn_subject_destroy(&subject);
    if (status != TN_ERROR_RANGE && status != TN_ERROR_SHAPE && status != TN_ERROR_MEMORY) return;
    tn_verdict_fail(verdict,
                    "the values of '%s' are refused as %s, and taken in the other width: %s",
                    port->name, type, tn_last_error()->message);
    snprintf(verdict->rule, sizeof(verdict->rule), "shape-rule");
}

/* So do values that the kernel reads in its run: what the reference computes it refuses as out of
 * range. */
static void blame_run(const tn_test *test, const tn_port *port, const char *type, const char *text,
                      tn_verdict *verdict) {
    tn_test other = *test;
    tn_verdict none = {0};
    tn_subject subject;
    tn_outcome found = {0};
    other.text = text;
    if (!port || verdict->outcome != TN_PASSED || !tn_test_subject(&other, NULL, &subject, &none))
        return;
    const tn_status status = tn_probe_once(&subject.probe, true, false, 0xFF, &found);
    if (!subject.probe.rule[0] && (status == TN_ERROR_RANGE || status == TN_ERROR_SHAPE))
        tn_verdict_fail(verdict,
                        "the values of '%s' are refused as %s, and taken in the other width: %s",
                        port->name, type, tn_last_error()->message);
    tn_outcome_free(&found);
    tn_subject_destroy(&subject);
}

/* With the type at `at` in place of the one there, both of three letters. */
static void try_type(const tn_test *test, const char *at, const char *type, tn_verdict *verdict) {
    char text[TN_VARIANT_TEXT];
    size_t length = 0;
    const char *begin = inputs_of(test->text, &length);
    const char *end = begin + length;
    const int written = snprintf(text, sizeof(text), "%.*s%s%.*s", (int)(at - test->text),
                                 test->text, type, (int)(end - at - 3), at + 3);
    if (written <= 0 || written >= TN_VARIANT_TEXT) return;
    const tn_port *port = port_at(test->op, begin, at - 1);
    if (tn_rule_try_text(test, text, verdict))
        blame_run(test, port, type, text, verdict);
    else
        blame_width(test, port, type, text, verdict);
}

static void try_widths(const tn_test *test, tn_verdict *verdict) {
    size_t length = 0;
    const char *begin = inputs_of(test->text, &length);
    bool is_first = true;
    for (const char *at = begin; at < begin + length && verdict->outcome == TN_PASSED; at++) {
        if (*at != '=') continue;
        if (!is_first && strncmp(at, "=i64[", 5) == 0) try_type(test, at + 1, "i32", verdict);
        if (!is_first && strncmp(at, "=i32[", 5) == 0) try_type(test, at + 1, "i64", verdict);
        is_first = false;
    }
}

/* ----------------------------------------------------------------------------------------------
 * optional inputs */

static bool is_given(const tn_operator *op, const tn_port *port) {
    char name[80];
    snprintf(name, sizeof(name), " %s=", port->name);
    for (uint64_t i = 0; i < op->case_count; i++) {
        size_t length = 0;
        const char *inputs = inputs_of(op->cases[i], &length), *at = strstr(inputs, name);
        if (at && at < inputs + length) return true;
    }
    return false;
}

static void try_added(const tn_test *test, const tn_port *port, const char *type, const char *shape,
                      tn_verdict *verdict) {
    char text[TN_VARIANT_TEXT];
    size_t length = 0;
    const char *begin = inputs_of(test->text, &length);
    const int written =
        snprintf(text, sizeof(text), "%.*s %s=%s[%s]", (int)(begin + length - test->text),
                 test->text, port->name, type, shape);
    if (written > 0 && written < TN_VARIANT_TEXT && verdict->outcome == TN_PASSED)
        tn_rule_try_text(test, text, verdict);
}

/* As the first input, an element for each of one of its axes, one element. */
static void try_shapes(const tn_test *test, const tn_port *port, const char *type,
                       const tn_shape *first, tn_verdict *verdict) {
    char shape[TN_MAX_RANK * 24] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < first->rank; i++)
        at += (size_t)snprintf(shape + at, sizeof(shape) - at, "%s%lld", i ? "," : "",
                               (long long)first->extents[i]);
    try_added(test, port, type, shape, verdict);
    for (uint32_t i = 0; i < first->rank && first->rank > 1; i++) {
        snprintf(shape, sizeof(shape), "%lld", (long long)first->extents[i]);
        try_added(test, port, type, shape, verdict);
    }
    try_added(test, port, type, "", verdict);
    try_added(test, port, type, "1", verdict);
}

/* One input that is no constant among constants: a bias that another node computes. */
static void try_provided(const tn_test *test, tn_verdict *verdict) {
    tn_shape shapes[TN_PROBE_PORTS];
    tn_verdict none = {0};
    uint32_t count = 0;
    if (!tn_test_shapes(test, shapes, &count, &none)) return;
    for (uint32_t i = 1; i < count && count > 2 && verdict->outcome == TN_PASSED; i++) {
        const tn_change change = {.axis = -1, .provided = i + 1};
        tn_subject subject;
        if (!tn_test_subject(test, &change, &subject, &none)) continue;
        tn_rule_run(&subject, "where the others are constant, and one input is not", verdict);
        tn_subject_destroy(&subject);
    }
}

void tn_rule_run_other_inputs(const tn_test *test, tn_verdict *verdict) {
    tn_shape shapes[TN_PROBE_PORTS];
    tn_verdict none = {0};
    uint32_t count = 0;
    char type[16];
    if (!test->kernel || !test->op->reference) return;
    if (test->are_constant) try_provided(test, verdict);
    if (tn_test_is_repeated(test)) return;
    try_widths(test, verdict);
    if (verdict->outcome != TN_PASSED || !tn_test_shapes(test, shapes, &count, &none) || count == 0)
        return;
    snprintf(type, sizeof(type), "%.*s", (int)strcspn(tn_test_first_type(test->text), "["),
             tn_test_first_type(test->text));
    for (uint32_t i = 1; i < test->op->input_count && verdict->outcome == TN_PASSED; i++) {
        const tn_port *port = &test->op->inputs[i];
        if (!(port->flags & TN_PORT_OPTIONAL) || (port->flags & TN_PORT_VALUE_NEEDED) ||
            is_given(test->op, port))
            continue;
        try_shapes(test, port, type, &shapes[0], verdict);
        if (strcmp(type, "f32") != 0) try_shapes(test, port, "f32", &shapes[0], verdict);
    }
}
