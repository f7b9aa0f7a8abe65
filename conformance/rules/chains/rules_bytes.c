/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facets that a kernel of bytes lists, as the registry's operators describe themselves by them:
 * each alone. What is expected is what the operator's reference makes of the bytes that the kernel
 * itself stores without the step, so that nothing is to be rounded.
 */
#include "plugin/fields/absorbs.h"
#include "rules/rules.h"
#include "worker/link_case.h"
#include "worker/watch/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CASES = 8 };

typedef struct bytes_chain {
    const tn_test *test;
    tn_subject *kernel;
    tn_outcome plain; /* of the kernel alone */
    tn_verdict *verdict;
} bytes_chain;

static void compare(bytes_chain *b, const char *chain, const uint8_t *wanted,
                    const tn_outcome *found) {
    const uint8_t *y = found->data[0];
    if (found->bytes[0] != b->plain.bytes[0]) {
        tn_verdict_fail(b->verdict, "with %s: output 0 has another size", chain);
        return;
    }
    for (size_t i = 0; i < found->bytes[0]; i++) {
        if (y[i] == wanted[i]) continue;
        tn_verdict_fail(b->verdict, "with %s: output 0, element %zu is %u as bits, expected %u",
                        chain, i, y[i], wanted[i]);
        return;
    }
}

static void try_link(bytes_chain *b, tn_link_case *link) {
    tn_probe *probe = &b->kernel->probe;
    tn_outcome found = {0};
    char chain[400];
    uint8_t *wanted = tn_link_case_compute(link, b->plain.data[0]);
    snprintf(chain, sizeof(chain), "%s (%s, \"%s\")", link->absorb->facet, link->op->name,
             link->text);
    probe->steps[0] = tn_link_case_step(link, 0, probe);
    probe->step_count = 1;
    if (wanted && tn_probe_accepts(probe)) {
        if (tn_probe_once(probe, true, false, 0xFF, &found) != TN_OK)
            tn_verdict_error(b->verdict, probe, chain);
        else
            compare(b, chain, wanted, &found);
    }
    probe->step_count = 0;
    for (uint32_t i = 0; i < link->facet->operand_count; i++)
        probe->operands[i].is_given = false;
    tn_outcome_free(&found);
    free(wanted);
}

static uint32_t try_operator(bytes_chain *b, const tn_operator *op, const tn_absorb *absorb) {
    uint32_t tried = 0;
    for (uint64_t i = 0; i < op->case_count && i < MOST_CASES; i++) {
        tn_link_case link;
        if (b->verdict->outcome != TN_PASSED) break;
        if (!tn_link_case_create(&link, b->test->runtime, op, op->cases[i], absorb, 0,
                                 b->kernel->probe.outputs[0].own_type,
                                 &b->kernel->expected.shapes[0]))
            continue;
        if (link.facet->operand_count <= TN_PROBE_OPERANDS) try_link(b, &link);
        tn_link_case_destroy(&link);
        tried++;
    }
    return tried;
}

void tn_rule_byte_facets(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    bytes_chain b = {.test = test, .kernel = subject, .verdict = verdict};
    const tn_absorb *absorbs = NULL;
    uint32_t count = 0, tried = 0;
    if (tn_absorbs_parse(subject->arena, test->kernel->absorbs, true, &absorbs, &count) != TN_OK)
        return;
    if (tn_probe_once(&subject->probe, true, false, 0xFF, &b.plain) != TN_OK) {
        tn_verdict_error(verdict, &subject->probe, "without a step");
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; absorbs[i].port == 0 && k < test->operator_count; k++)
            if (tn_link_case_may_answer(test->operators[k], absorbs[i].facet))
                tried += try_operator(&b, test->operators[k], &absorbs[i]);
    tn_outcome_free(&b.plain);
    tn_trace_case(subject->probe.text);
    if (verdict->outcome == TN_PASSED && tried == 0)
        tn_verdict_skip(verdict, "no operator describes itself as a listed facet of its bytes");
}
