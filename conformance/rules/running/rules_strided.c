/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about kernels that accept operands whose rows lie apart: inputs alone, outputs alone and
 * all of them, with something between the rows that is not theirs. See rules.h.
 */
#include "rules/rules.h"
#include "worker/probe/gaps.h"

#include <string.h>

enum { WITH_INPUTS = 1, WITH_OUTPUTS = 2 };

static bool open_gaps(tn_probe_port *ports, uint32_t count, bool is_wanted) {
    tn_gaps gaps;
    bool has_any = false;
    for (uint32_t i = 0; i < count; i++) {
        tn_probe_port *port = &ports[i];
        port->has_gaps = is_wanted && port->is_given && port->is_strided && !port->is_constant &&
                         tn_gaps_of(port, &gaps);
        has_any |= port->has_gaps;
    }
    return has_any;
}

/* False: no tensor of the case has several rows at a port that accepts them apart. */
static bool run_sets(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    static const char *const during[] = {"", "with strided inputs", "with strided outputs",
                                         "with strided inputs and outputs"};
    tn_subject subject;
    tn_verdict none = {0};
    bool is_tried = false;
    if (!tn_test_subject(test, change, &subject, change ? &none : verdict)) return false;
    for (uint32_t set = 1; set < 4 && verdict->outcome == TN_PASSED; set++) {
        tn_probe *probe = &subject.probe;
        const bool has_inputs = open_gaps(probe->inputs, probe->input_count, set & WITH_INPUTS),
                   has_outputs = open_gaps(probe->outputs, probe->output_count, set & WITH_OUTPUTS);
        if (!(has_inputs || has_outputs)) continue;
        is_tried = true;
        tn_rule_run(&subject, during[set], verdict);
    }
    tn_subject_destroy(&subject);
    return is_tried;
}

void tn_rule_strided(const tn_test *test, tn_verdict *verdict) {
    static const int64_t counts[] = {2, 3};
    bool is_tried = run_sets(test, NULL, verdict);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const tn_change change = {.axis = 0, .extent = counts[i]};
        if (verdict->outcome == TN_PASSED) is_tried |= run_sets(test, &change, verdict);
    }
    if (!is_tried && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, "no port of the combination accepts strided operands of this "
                                 "case's shapes");
}
