/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of `plan` about engines of several nodes. Two nodes of one operator are prepared, opened
 * and made ready before either runs, and both run in turns: with other fields, of other shapes, by
 * another combination, with other constants. Those that have their constants in common, as nodes of
 * one network may, share what a kernel packs of them where the key is the same. See rules.h.
 */
#include "base/status.h"
#include "plugin/fields/fields_private.h"
#include "variants.h"

#include <stdio.h>
#include <string.h>

/* The second node's constants become the first one's; false: they are others. */
static bool share_constants(const tn_probe *first, tn_probe *second) {
    uint32_t shared = 0;
    if (first->input_count != second->input_count) return false;
    for (uint32_t i = 0; i < first->input_count; i++) {
        const tn_probe_port *a = &first->inputs[i];
        tn_probe_port *b = &second->inputs[i];
        size_t bytes = 0;
        if (!a->is_given || !a->is_constant) continue;
        if (!b->is_given || !b->is_constant || a->own_type != b->own_type ||
            !tn_shape_equal(&a->shape, &b->shape) ||
            tn_format_bytes(TN_LINEAR, a->own_type, &a->shape, &bytes) != TN_OK ||
            memcmp(a->own, b->own, bytes) != 0)
            return false;
        b->own = a->own;
        shared++;
    }
    return shared > 0;
}

typedef struct node {
    tn_subject *subject;
    tn_outcome alone; /* what it computes where there is no other one */
    tn_probe_life life;
    tn_probe_context context;
} node;

typedef struct pair {
    node nodes[2];
    bool is_shared; /* what is packed: the first one's life holds it */
    const char *hint;
} pair;

static void run_node(node *n, tn_subject *other, const char *hint, tn_verdict *verdict) {
    tn_probe_memory memory = {0};
    tn_outcome found = {0};
    char why[300];
    tn_probe *probe = &n->subject->probe;
    tn_status status = tn_probe_memory_create(&memory, probe, true, false, 0xFF);
    if (status == TN_OK) status = tn_probe_run(&n->context, probe, &memory, 0xFF);
    if (status == TN_OK) status = tn_probe_results(probe, &memory, &found);
    if (status != TN_OK)
        tn_verdict_error(verdict, probe, "beside another node");
    else if (!tn_results_equal(&n->alone, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "beside another node (\"%.150s\"): %.250s (%s)", other->probe.text,
                        why, hint);
    tn_outcome_free(&found);
    tn_probe_memory_destroy(&memory);
}

/* Neither runs before both are ready. */
static void run_in_turns(pair *p, tn_verdict *verdict) {
    tn_status status = TN_OK;
    for (int i = 0; i < 2 && status == TN_OK; i++)
        status = tn_probe_open(&p->nodes[i].context, &p->nodes[i].life);
    for (int i = 0; i < 2 && status == TN_OK; i++)
        status = tn_probe_reshape(&p->nodes[i].context, &p->nodes[i].subject->probe);
    for (int i = 0; i < 3 && status == TN_OK && verdict->outcome == TN_PASSED; i++)
        run_node(&p->nodes[i % 2], p->nodes[1 - i % 2].subject, p->hint, verdict);
    tn_probe_close(&p->nodes[0].context);
    if (status == TN_OK && verdict->outcome == TN_PASSED && !p->is_shared) {
        tn_probe_release(&p->nodes[0].life);
        p->nodes[0].life.probe = NULL;
        run_node(&p->nodes[1], p->nodes[0].subject, "the other one was released before", verdict);
    }
    tn_probe_close(&p->nodes[1].context);
}

/* `first` is prepared first. What cannot be made ready is nobody's failure here. */
static void prepare_both(tn_subject *first, tn_subject *second, bool is_shared,
                         tn_verdict *verdict) {
    pair p = {.nodes = {{.subject = first}, {.subject = second}},
              .is_shared = is_shared,
              .hint = is_shared ? "is a key of host->packed that of another node, too?"
                                : "is the state of all nodes one?"};
    bool is_ready = true;
    for (int i = 0; i < 2 && is_ready; i++)
        is_ready = tn_probe_once(&p.nodes[i].subject->probe, true, false, 0xFF,
                                 &p.nodes[i].alone) == TN_OK;
    first->probe.keeps_constants = second->probe.keeps_constants = true;
    is_ready = is_ready && tn_probe_prepare(&p.nodes[0].life, &first->probe) == TN_OK;
    if (is_ready) {
        second->probe.packed = is_shared ? p.nodes[0].life.packed : NULL;
        if (tn_probe_prepare(&p.nodes[1].life, &second->probe) == TN_OK) run_in_turns(&p, verdict);
        second->probe.packed = NULL;
    }
    for (int i = 2; i-- > 0;) {
        if (p.nodes[i].life.probe) tn_probe_release(&p.nodes[i].life);
        tn_outcome_free(&p.nodes[i].alone);
    }
    first->probe.keeps_constants = second->probe.keeps_constants = false;
}

/* Whether the node of `other` was tried, before the case's and after it. */
static bool try_beside(const tn_test *other, const tn_change *change, tn_subject *first,
                       tn_verdict *verdict) {
    tn_verdict none = {0};
    tn_subject second;
    if (verdict->outcome != TN_PASSED || !tn_test_subject(other, change, &second, &none))
        return false;
    const bool is_shared = share_constants(&first->probe, &second.probe);
    prepare_both(first, &second, is_shared, verdict);
    if (verdict->outcome == TN_PASSED) prepare_both(&second, first, is_shared, verdict);
    tn_subject_destroy(&second);
    return true;
}

/* One axis longer, as far as constants stay as they are. */
static void try_shapes(const tn_test *test, tn_subject *first, tn_verdict *verdict) {
    const tn_shape *shape = first->c.input_count > 0 ? &first->c.inputs[0].shape : NULL;
    for (uint32_t axis = 0; shape && axis < shape->rank; axis++) {
        const tn_change longer = {.axis = (int32_t)axis, .extent = 2 * shape->extents[axis] + 1};
        try_beside(test, &longer, first, verdict);
    }
}

/* The kernel's other combinations, of which two nodes may have one each. */
static void try_combinations(const tn_test *test, tn_subject *first, tn_verdict *verdict) {
    const tn_change copy = {.axis = -1};
    for (uint32_t i = 0; i < test->kernel->combination_count; i++) {
        tn_test other = *test;
        other.combination = test->kernel->combinations[i];
        if (test->combination && strcmp(other.combination, test->combination) != 0)
            try_beside(&other, &copy, first, verdict);
    }
}

void tn_rule_run_sharing(const tn_test *test, tn_verdict *verdict) {
    const tn_kernel *kernel = test->kernel;
    const tn_change copy = {.axis = -1},
                    drawn = {.seed = test->seed + 1, .values = TN_VALUES_WIDE, .axis = -1};
    tn_subject first;
    if (!kernel || !(kernel->prepare || kernel->open || kernel->reshape)) return;
    if (!tn_test_subject(test, &copy, &first, verdict)) return;
    tn_variant_try_fields(test, try_beside, &first, verdict);
    try_shapes(test, &first, verdict);
    try_combinations(test, &first, verdict);
    if (test->are_constant) try_beside(test, &drawn, &first, verdict);
    tn_subject_destroy(&first);
}
