/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about ports that may be absent: outputs that are not requested, in every combination, and
 * optional inputs; see rules.h. */
#include "base/status.h"
#include "rules/rules.h"
#include "tensor/type.h"

#include <stdio.h>
#include <string.h>

enum { MOST_COMBINATIONS = 16 };

/* ----------------------------------------------------------------------------------------------
 * outputs */

static bool is_optional(const tn_operator *op, uint32_t index) {
    return index < op->output_count && (op->outputs[index].flags & TN_PORT_OPTIONAL);
}

/* The subject with all outputs that the operator computes in this case. */
static bool ask_for_all(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    const tn_change all = {.axis = -1, .asks_all = true};
    tn_verdict none = {0};
    bool has_any = false;
    for (uint32_t i = 0; i < test->op->output_count; i++)
        has_any = has_any || is_optional(test->op, i);
    if (has_any && tn_test_subject(test, &all, subject, &none)) return true;
    return tn_test_subject(test, NULL, subject, verdict);
}

/* Leaves the outputs of `asked` (bits by the given ones' order), and what is expected of them. */
static void ask_for(tn_subject *subject, uint32_t asked, const bool *given, tn_outcome *out_wanted,
                    char *text, size_t bytes) {
    tn_probe *probe = &subject->probe;
    size_t length = 0;
    uint32_t slot = 0;
    *out_wanted = (tn_outcome){0};
    text[0] = 0;
    for (uint32_t i = 0; i < probe->output_count; i++) {
        const bool is_asked = given[i] && (asked >> slot & 1);
        probe->outputs[i].is_given = is_asked;
        if (given[i] && !is_asked && length < bytes)
            length += (size_t)snprintf(text + length, bytes - length, "%s%u",
                                       length ? ", " : "when nobody asks for output ", i);
        if (is_asked) {
            const uint32_t at = out_wanted->count++;
            out_wanted->types[at] = subject->expected.types[slot];
            out_wanted->shapes[at] = subject->expected.shapes[slot];
            out_wanted->data[at] = subject->expected.data[slot];
            out_wanted->bytes[at] = subject->expected.bytes[slot];
        }
        slot += given[i];
    }
    if (length == 0) snprintf(text, bytes, "when all outputs are asked for");
}

/* Of an operator with optional outputs the others are always asked for, as the engine does. */
void tn_rule_unasked_outputs(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    bool given[TN_PROBE_OUTPUTS];
    uint32_t tried = 0, required = 0, slot = 0;
    if (!ask_for_all(test, &subject, verdict)) return;
    const uint32_t count = subject.expected.count;
    const uint32_t all = count < 4 ? (1u << count) - 1 : MOST_COMBINATIONS - 1;
    for (uint32_t i = 0; i < TN_PROBE_OUTPUTS; i++) {
        given[i] = subject.probe.outputs[i].is_given;
        if (given[i] && !is_optional(test->op, i)) required |= 1u << (slot < 31 ? slot : 31);
        slot += given[i];
    }
    const bool are_all_required = required == (count < 31 ? (1u << count) - 1 : UINT32_MAX);
    for (uint32_t k = all; k > 0 && count >= 2 && verdict->outcome == TN_PASSED; k--) {
        /* of many outputs: one of the first four is not asked for, or the others are not */
        const uint32_t asked = count <= 4 ? k : k | ~(uint32_t)(MOST_COMBINATIONS - 1);
        tn_outcome wanted;
        char during[120];
        if (!are_all_required && (asked & required) != required) continue;
        ask_for(&subject, asked, given, &wanted, during, sizeof(during));
        if (!tn_probe_accepts(&subject.probe)) continue;
        tn_rule_run_ports(&subject.probe, &wanted, during, verdict);
        tried++;
    }
    if (tried == 0 && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, count < 2
                                     ? "the node has one output"
                                     : "the kernel accepts no node with an output unasked for");
    tn_subject_destroy(&subject);
}

/* ----------------------------------------------------------------------------------------------
 * inputs */

void tn_rule_run_without_optional(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    tn_verdict none = {0};
    uint32_t ports[TN_PROBE_PORTS], count = 0;
    if (!tn_test_subject(test, NULL, &subject, &none)) return;
    for (; count < subject.c.input_count && count < TN_PROBE_PORTS; count++)
        ports[count] = subject.c.inputs[count].port;
    tn_subject_destroy(&subject);
    for (uint32_t i = 0; i < count && verdict->outcome == TN_PASSED; i++) {
        const tn_port *port = &test->op->inputs[ports[i]];
        const tn_change change = {.axis = -1, .left_out = i + 1};
        char during[100];
        if (!(port->flags & TN_PORT_OPTIONAL) || !tn_test_subject(test, &change, &subject, &none))
            continue;
        snprintf(during, sizeof(during), "without the optional input '%.40s'", port->name);
        tn_rule_run_ports(&subject.probe, &subject.expected, during, verdict);
        tn_subject_destroy(&subject);
    }
}
