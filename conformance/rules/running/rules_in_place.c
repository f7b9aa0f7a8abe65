/* SPDX-License-Identifier: Apache-2.0 */
/* The rule about outputs that have the memory of inputs: by TN_KERNEL_IN_PLACE, and by
 * TN_PORT_ALIAS; see rules.h. */
#include "base/status.h"
#include "rules/rules.h"
#include "worker/ordered_pool.h"

#include <stdio.h>
#include <string.h>

enum { MOST_PAIRS = 4, MOST_TACTICS = 64 };

/* An output that may have an input's memory. */
typedef struct pair {
    uint32_t output, input;
} pair;

static bool have_same_bytes(const tn_probe *probe, const pair *p) {
    size_t in = 0, out = 1;
    if (p->input >= probe->input_count || p->output >= probe->output_count) return false;
    const tn_probe_port *x = &probe->inputs[p->input], *y = &probe->outputs[p->output];
    return x->is_given && !x->is_constant && !x->is_shape_only && y->is_given &&
           tn_format_bytes(x->format, x->type, &x->shape, &in) == TN_OK &&
           tn_format_bytes(y->format, y->type, &y->shape, &out) == TN_OK && in == out;
}

static uint32_t list_pairs(const tn_subject *subject, pair *pairs) {
    const tn_probe *probe = &subject->probe;
    const bool is_declared = subject->kernel->traits & TN_KERNEL_IN_PLACE;
    uint32_t count = 0;
    for (uint32_t i = 0; i < probe->output_count && count < MOST_PAIRS; i++) {
        const tn_port *port = tn_graph_output_port(subject->op, i);
        const bool is_alias = port && (port->flags & TN_PORT_ALIAS) && port->alias > 0;
        pairs[count] = (pair){i, is_alias ? port->alias - 1 : 0};
        count += is_alias && have_same_bytes(probe, &pairs[count]);
        if (i > 0 || !is_declared || (is_alias && port->alias == 1) || count == MOST_PAIRS)
            continue;
        pairs[count] = (pair){0, 0};
        count += have_same_bytes(probe, &pairs[count]);
    }
    return count;
}

/* Those of `set` together; false: two of them have the same output or the same input. */
static bool lay(tn_subject *subject, const pair *pairs, uint32_t count, uint32_t set, char *text,
                size_t bytes) {
    uint32_t *laid_on = subject->probe.laid_on;
    size_t at = 0;
    memset(laid_on, 0, sizeof(subject->probe.laid_on));
    for (uint32_t i = 0; i < count; i++) {
        if (!(set & 1u << i)) continue;
        for (uint32_t k = 0; k < TN_PROBE_OUTPUTS; k++)
            if (laid_on[k] == pairs[i].input + 1) return false;
        if (laid_on[pairs[i].output]) return false;
        laid_on[pairs[i].output] = pairs[i].input + 1;
        at += (size_t)snprintf(text + at, bytes - at, "%soutput %u on input %u", at ? ", " : "",
                               pairs[i].output, pairs[i].input);
    }
    return true;
}

/* A caller binds other memory between the runs of a context. */
static void run_alternating(tn_subject *subject, const char *laid, tn_verdict *verdict) {
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    char during[300];
    if (tn_rule_start(&life, &context, &subject->probe, verdict))
        for (int round = 0; round < 4 && verdict->outcome == TN_PASSED; round++) {
            const bool is_apart = round % 2;
            snprintf(during, sizeof(during), "%s in turns with memory apart, run %d (%s)", laid,
                     round + 1, is_apart ? "apart" : "in place");
            tn_rule_run_open(&context, subject, &subject->expected, false, !is_apart, during,
                             verdict);
        }
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
}

/* By threads that have ranges: what one reads of another's range was overwritten, or will be. */
static void run_on_threads(tn_subject *subject, const char *laid, tn_verdict *verdict) {
    enum { THREADS = 3 };
    char during[300];
    subject->probe.threads = THREADS;
    for (int is_backwards = 0; is_backwards < 2 && verdict->outcome == TN_PASSED; is_backwards++) {
        tn_ordered_pool pool;
        tn_ordered_pool_init(&pool, THREADS, is_backwards);
        subject->probe.pool = &pool.pool;
        snprintf(during, sizeof(during), "%s, on %d threads, the %s range first", laid, THREADS,
                 is_backwards ? "last" : "first");
        tn_rule_run_in_place(subject, during, verdict);
    }
    subject->probe.pool = NULL;
    subject->probe.threads = 1;
}

/* By every tactic, of which a builder may choose any; then in turns with other memory. */
static void run_laid(tn_subject *subject, const char *laid, const char *during,
                     tn_verdict *verdict) {
    const uint32_t tactics = tn_probe_tactics(&subject->probe), own = subject->probe.tactic;
    for (uint32_t i = 0; i < tactics && i < MOST_TACTICS && verdict->outcome == TN_PASSED; i++) {
        char by[40] = "", text[300];
        if (i > 0) snprintf(by, sizeof(by), ", tactic %u of %u", i, tactics);
        snprintf(text, sizeof(text), "%s%s%s", laid, during, by);
        subject->probe.tactic = i;
        tn_rule_run_in_place(subject, text, verdict);
    }
    subject->probe.tactic = own;
    if (verdict->outcome == TN_PASSED) run_alternating(subject, laid, verdict);
    if (verdict->outcome == TN_PASSED) run_on_threads(subject, laid, verdict);
}

/* Every set of outputs that fit; `change` may be null. False: there is none. */
static bool run_pairs(const tn_test *test, const tn_change *change, const char *during,
                      tn_verdict *verdict) {
    pair pairs[MOST_PAIRS];
    tn_subject subject;
    tn_verdict none = {0};
    char laid[200];
    if (!tn_test_subject(test, change, &subject, change ? &none : verdict)) return false;
    const uint32_t count = list_pairs(&subject, pairs);
    for (uint32_t set = 1; set < 1u << count && verdict->outcome == TN_PASSED; set++)
        if (lay(&subject, pairs, count, set, laid, sizeof(laid)))
            run_laid(&subject, laid, during, verdict);
    tn_subject_destroy(&subject);
    return count > 0;
}

/* With every output, and with lengths of rows that leave a rest of any vector. */
void tn_rule_in_place(const tn_test *test, tn_verdict *verdict) {
    static const int64_t lengths[] = {3, 13, 67, 139, 2053};
    const tn_change all = {.axis = -1, .asks_all = true};
    tn_shape shapes[TN_PROBE_PORTS];
    uint32_t count = 0;
    const bool is_read = tn_test_shapes(test, shapes, &count, verdict);
    const uint32_t rank = is_read && count > 0 ? shapes[0].rank : 0;
    if (verdict->outcome != TN_PASSED) return;
    bool is_tried = run_pairs(test, NULL, "", verdict);
    if (verdict->outcome == TN_PASSED)
        is_tried |= run_pairs(test, &all, ", with all outputs", verdict);
    if (!is_tried) {
        if (verdict->outcome == TN_PASSED)
            tn_verdict_skip(verdict, "no output has the bytes of the input that it may lie on, or "
                                     "that is a constant");
        return;
    }
    for (size_t i = 0; rank > 0 && i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const tn_change change = {.axis = (int32_t)rank - 1, .extent = lengths[i]};
        if (verdict->outcome == TN_PASSED) run_pairs(test, &change, ", in another shape", verdict);
    }
}
