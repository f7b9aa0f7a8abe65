/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about the lives of nodes and contexts: order and sharing; see rules.h. */
#include "base/status.h"
#include "rules/rules.h"
#include "tensor/type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two sets of numbers in the same shapes. */
typedef struct pair {
    tn_subject subjects[2];
    bool has_second;
} pair;

static bool make_pair(const tn_test *test, const tn_change *change, pair *p, tn_verdict *verdict) {
    tn_verdict none = {0};
    if (!tn_test_subject(test, NULL, &p->subjects[0], verdict)) return false;
    p->has_second = tn_test_subject(test, change, &p->subjects[1], &none);
    return true;
}

static void free_pair(pair *p) {
    tn_subject_destroy(&p->subjects[0]);
    if (p->has_second) tn_subject_destroy(&p->subjects[1]);
}

bool tn_rule_run_open(tn_probe_context *context, tn_subject *subject, const tn_outcome *expected,
                      bool is_exact, bool is_in_place, const char *during, tn_verdict *verdict) {
    tn_probe_memory memory = {0};
    tn_outcome found = {0};
    char why[300];
    tn_status status = tn_probe_memory_create(&memory, &subject->probe, true, is_in_place, 0xFF);
    if (status == TN_OK) status = tn_probe_run(context, &subject->probe, &memory, 0xFF);
    if (status == TN_OK) status = tn_probe_results(&subject->probe, &memory, &found);
    if (status != TN_OK)
        tn_verdict_error(verdict, &subject->probe, during);
    else if (!tn_results_equal(expected, &found, is_exact, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s: %s", during, why);
    tn_outcome_free(&found);
    tn_probe_memory_destroy(&memory);
    return verdict->outcome == TN_PASSED;
}

/* What one run gives, to compare later ones with bit by bit. */
static bool first_run(tn_probe_context *context, tn_subject *subject, tn_outcome *out,
                      tn_verdict *verdict) {
    tn_probe_memory memory = {0};
    tn_status status = tn_probe_memory_create(&memory, &subject->probe, true, false, 0xFF);
    if (status == TN_OK) status = tn_probe_run(context, &subject->probe, &memory, 0xFF);
    if (status == TN_OK) status = tn_probe_results(&subject->probe, &memory, out);
    if (status != TN_OK) tn_verdict_error(verdict, &subject->probe, "the first run");
    tn_probe_memory_destroy(&memory);
    return status == TN_OK;
}

/* Runs in an open context, outputs apart from inputs, and compares with what the reference says. */
static bool run_in(tn_probe_context *context, tn_subject *subject, const tn_outcome *expected,
                   bool is_exact, const char *during, tn_verdict *verdict) {
    return tn_rule_run_open(context, subject, expected, is_exact, false, during, verdict);
}

bool tn_rule_start(tn_probe_life *life, tn_probe_context *context, tn_probe *probe,
                   tn_verdict *verdict) {
    tn_status status = tn_probe_prepare(life, probe);
    if (status == TN_OK) status = tn_probe_open(context, life);
    if (status == TN_OK) status = tn_probe_reshape(context, probe);
    if (status != TN_OK) tn_verdict_error(verdict, probe, "");
    return status == TN_OK;
}

static const tn_change other_numbers = {.seed = 99, .axis = -1, .moves_values = true};

/* An engine reuses its memory: other numbers come to the addresses of those before. */
static void run_in_place_of(tn_probe_context *context, pair *p, tn_verdict *verdict) {
    tn_probe_memory memory = {0};
    for (uint32_t i = 0; i < p->subjects[0].probe.output_count; i++)
        if (!tn_shape_equal(&p->subjects[0].probe.outputs[i].shape,
                            &p->subjects[1].probe.outputs[i].shape))
            return; /* they hang on values */
    tn_status status = tn_probe_memory_create(&memory, &p->subjects[0].probe, true, false, 0xFF);
    for (int round = 0; round < 4 && verdict->outcome == TN_PASSED; round++) {
        tn_subject *now = &p->subjects[round % 2];
        tn_outcome found = {0};
        char why[300];
        if (status == TN_OK) status = tn_probe_memory_refill(&memory, &now->probe, 0xFF);
        if (status == TN_OK) status = tn_probe_run(context, &now->probe, &memory, 0xFF);
        if (status == TN_OK) status = tn_probe_results(&now->probe, &memory, &found);
        if (status != TN_OK)
            tn_verdict_error(verdict, &now->probe, "other inputs at the same addresses");
        else if (!tn_subject_agrees(now, &found, why, sizeof(why)))
            tn_verdict_fail(verdict, "other inputs at the same addresses: %s", why);
        tn_outcome_free(&found);
    }
    tn_probe_memory_destroy(&memory);
}

/* Zeros, and NaN, in all data: what is computed of them is another rule's, but they are gone then.
 */
static void run_on_special(const tn_test *test, tn_probe_context *context, double value,
                           tn_verdict *verdict) {
    const tn_change copy = {.axis = -1, .frees_values = true};
    tn_probe_memory memory = {0};
    tn_subject subject;
    tn_verdict none = {0};
    if (verdict->outcome != TN_PASSED || !tn_test_subject(test, &copy, &subject, &none)) return;
    for (uint32_t i = 0; i < subject.c.input_count; i++) {
        tn_case_input *input = &subject.c.inputs[i];
        if (!tn_type_is_float(input->type) || tn_subject_is_fixed(&subject, i)) continue;
        for (size_t k = 0; k < tn_case_input_elements(input); k++)
            tn_element_set_f64(input->data, input->type, k, value);
    }
    tn_status status = tn_probe_memory_create(&memory, &subject.probe, true, false, 0xFF);
    if (status == TN_OK) status = tn_probe_run(context, &subject.probe, &memory, 0xFF);
    if (status != TN_OK && subject.probe.rule[0])
        tn_verdict_error(verdict, &subject.probe, "zeros or NaN in all inputs");
    tn_probe_memory_destroy(&memory);
    tn_subject_destroy(&subject);
}

void tn_rule_repeatable(const tn_test *test, tn_verdict *verdict) {
    const bool is_exact = !test->kernel || (test->kernel->traits & TN_KERNEL_DETERMINISTIC);
    /* a constant's numbers do not change between runs */
    const tn_change *change = test->are_constant ? NULL : &other_numbers;
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    tn_outcome first = {0};
    pair p;
    if (!make_pair(test, change, &p, verdict)) return;
    tn_subject *a = &p.subjects[0], *b = &p.subjects[1];
    if (tn_rule_start(&life, &context, &a->probe, verdict) &&
        first_run(&context, a, &first, verdict)) {
        if (p.has_second) run_in(&context, b, &b->expected, false, "other inputs", verdict);
        if (!test->are_constant) run_on_special(test, &context, 0, verdict);
        if (!test->are_constant) run_on_special(test, &context, NAN, verdict);
        for (int i = 0; i < 3 && verdict->outcome == TN_PASSED; i++)
            run_in(&context, a, &first, is_exact, "the first inputs again", verdict);
        for (uint32_t shift = 64; shift <= 256 && verdict->outcome == TN_PASSED; shift *= 2) {
            a->probe.shift = shift;
            run_in(&context, a, &first, is_exact, "the first inputs at other addresses", verdict);
        }
        a->probe.shift = 0;
        if (p.has_second && change && verdict->outcome == TN_PASSED)
            run_in_place_of(&context, &p, verdict);
    }
    tn_outcome_free(&first);
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
    free_pair(&p);
}

/* One engine for two shapes: the profile goes from the first to `end`, and holds both. */
static void alternate(pair *p, int32_t axis, const tn_probe *end, tn_verdict *verdict) {
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    tn_subject *a = &p->subjects[0], *b = &p->subjects[1];
    char during[96];
    a->probe.other = end;
    if (tn_rule_start(&life, &context, &a->probe, verdict)) {
        for (int round = 0; round < 5 && verdict->outcome == TN_PASSED; round++) {
            tn_subject *now = round % 2 ? b : a;
            snprintf(during, sizeof(during), "shape %d of 2, axis %d, turn %d, tactic %u",
                     round % 2 + 1, axis, round, now->probe.tactic);
            if (round > 0 && tn_probe_reshape(&context, &now->probe) != TN_OK)
                tn_verdict_error(verdict, &now->probe, during);
            else
                run_in(&context, now, &now->expected, false, during, verdict);
        }
    }
    a->probe.other = NULL;
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
}

enum { MOST_TACTICS = 4 };

/* By the tactics that the first shape has, of which a build chose any. Whether the changed shapes
 * were taken. */
static bool reshape_to(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    pair p;
    if (verdict->outcome != TN_PASSED || !make_pair(test, change, &p, verdict)) return false;
    const bool is_taken =
        p.has_second && tn_subject_shares_constants(&p.subjects[0], &p.subjects[1]);
    p.subjects[0].probe.other = &p.subjects[1].probe;
    const uint32_t tactics = is_taken ? tn_probe_tactics(&p.subjects[0].probe) : 0;
    for (uint32_t i = 0; i < tactics && i < MOST_TACTICS && verdict->outcome == TN_PASSED; i++) {
        p.subjects[0].probe.tactic = p.subjects[1].probe.tactic = i;
        alternate(&p, change->axis, &p.subjects[1].probe, verdict);
    }
    free_pair(&p);
    return is_taken;
}

/* Blocks lie along one axis, which has one extent in a profile. */
static bool is_blocked_axis(const tn_probe *probe, uint32_t axis) {
    bool is_blocked = false;
    for (uint32_t i = 0; i < probe->input_count + probe->output_count; i++) {
        const tn_probe_port *port =
            i < probe->input_count ? &probe->inputs[i] : &probe->outputs[i - probe->input_count];
        is_blocked = is_blocked || (port->is_given && (port->format & 0xFF) == TN_LAYOUT_BLOCKED &&
                                    (port->format >> 8 & 0xFF) == axis);
    }
    return is_blocked;
}

/* A kernel that accepts a profile's ends computes what lies between, too, of which it is not asked:
 * here an extent that it refuses by itself. */
static void reshape_between(const tn_test *test, int32_t axis, int64_t extent, int64_t most,
                            tn_verdict *verdict) {
    const tn_change greater = {.axis = axis, .extent = most};
    pair p;
    if (verdict->outcome != TN_PASSED || !make_pair(test, &greater, &p, verdict)) return;
    tn_probe *low = &p.subjects[0].probe, *high = &p.subjects[1].probe;
    low->other = high;
    high->other = low;
    bool is_taken = p.has_second && !is_blocked_axis(low, (uint32_t)axis) &&
                    tn_subject_shares_constants(&p.subjects[0], &p.subjects[1]) &&
                    tn_probe_accepts(low) && tn_probe_accepts(high);
    for (int64_t between = extent + 1; between < most && is_taken; between++) {
        const tn_change change = {.axis = axis, .extent = between, .skips_accepts = true};
        pair inner = {.subjects = {p.subjects[0]}};
        tn_verdict none = {0};
        if (!tn_test_subject(test, &change, &inner.subjects[1], &none)) continue;
        is_taken = tn_subject_shares_constants(&p.subjects[0], &inner.subjects[1]);
        const bool is_refused = is_taken && !tn_probe_accepts(&inner.subjects[1].probe);
        if (is_refused) alternate(&inner, axis, high, verdict);
        tn_subject_destroy(&inner.subjects[1]);
        if (is_refused) break;
    }
    low->other = high->other = NULL;
    free_pair(&p);
}

/* All axes of all inputs at once. */
static bool reshape_all(const tn_test *test, const tn_case *c, uint32_t factor, uint32_t more,
                        tn_verdict *verdict) {
    tn_shape shapes[TN_PROBE_PORTS];
    const tn_change change = {.axis = -1, .shapes = shapes};
    if (c->input_count > TN_PROBE_PORTS) return false;
    for (uint32_t i = 0; i < c->input_count; i++) {
        shapes[i] = c->inputs[i].shape;
        for (uint32_t axis = 0; axis < shapes[i].rank && !c->inputs[i].has_values; axis++)
            if (shapes[i].extents[axis] != 1)
                shapes[i].extents[axis] = shapes[i].extents[axis] * factor + more;
    }
    return reshape_to(test, &change, verdict);
}

/* As many elements as before: the last two axes exchange their extents. Those of inputs of one axis
 * follow the first input's last axis, or one of its last two, where they equal it. */
static bool reshape_exchanged(const tn_test *test, const tn_case *c, bool do_vectors_follow,
                              tn_verdict *verdict) {
    tn_shape shapes[TN_PROBE_PORTS];
    const tn_change change = {.axis = -1, .shapes = shapes};
    const tn_shape *first = &c->inputs[0].shape;
    if (c->input_count > TN_PROBE_PORTS || c->input_count == 0 || first->rank < 2) return false;
    const int64_t last = first->extents[first->rank - 1], before = first->extents[first->rank - 2];
    bool is_any = !do_vectors_follow;
    for (uint32_t i = 0; i < c->input_count; i++) {
        shapes[i] = c->inputs[i].shape;
        const uint32_t rank = shapes[i].rank;
        if (c->inputs[i].has_values || rank == 0 || (rank == 1 && !do_vectors_follow)) continue;
        if (rank == 1) {
            const int64_t own = shapes[i].extents[0];
            shapes[i].extents[0] = own == last ? before : own == before ? last : own;
            is_any = true;
            continue;
        }
        shapes[i].extents[rank - 1] = c->inputs[i].shape.extents[rank - 2];
        shapes[i].extents[rank - 2] = c->inputs[i].shape.extents[rank - 1];
    }
    return is_any && reshape_to(test, &change, verdict);
}

/* Needed values come with each run, and make the shapes. A kernel that is not prepared for that
 * says so. */
static bool reshape_by_value(const tn_test *test, uint32_t index, int64_t value,
                             tn_verdict *verdict) {
    const tn_change change = {
        .axis = -1, .set_input = index + 1, .set_value = value, .sets_last_alone = true};
    tn_probe_life life = {0};
    pair p;
    if (verdict->outcome != TN_PASSED || !make_pair(test, &change, &p, verdict)) return false;
    bool is_taken = p.has_second;
    for (int i = 0; i < 1 + p.has_second; i++)
        for (uint32_t k = 0; k < p.subjects[i].probe.input_count; k++)
            if (p.subjects[i].probe.inputs[k].is_value_needed)
                p.subjects[i].probe.inputs[k].is_constant = false;
    if (is_taken) {
        is_taken = tn_probe_prepare(&life, &p.subjects[0].probe) == TN_OK;
        if (life.probe) tn_probe_release(&life);
    }
    if (is_taken) alternate(&p, -1, &p.subjects[1].probe, verdict);
    free_pair(&p);
    return is_taken;
}

static uint32_t reshape_by_values(const tn_test *test, const tn_subject *subject,
                                  tn_verdict *verdict) {
    uint32_t tried = 0;
    for (uint32_t i = 0; i < subject->c.input_count && !test->are_constant; i++) {
        const tn_case_input *input = &subject->c.inputs[i];
        if (!tn_subject_is_value_needed(subject, i)) continue;
        const size_t last = tn_case_input_elements(input) - 1;
        const int64_t value = tn_element_get_i64(input->data, input->type, last);
        if (value > 1) tried += reshape_by_value(test, i, value / 2, verdict);
        if (value > 0 && value < 4096) tried += reshape_by_value(test, i, 2 * value + 1, verdict);
    }
    return tried;
}

void tn_rule_reshape(const tn_test *test, tn_verdict *verdict) {
    tn_subject probe;
    uint32_t tried = 0;
    if (!tn_test_subject(test, NULL, &probe, verdict)) return;
    const tn_shape shape = probe.c.input_count ? probe.c.inputs[0].shape : (tn_shape){0};
    tried += reshape_all(test, &probe.c, 2, 0, verdict);
    tried += reshape_all(test, &probe.c, 1, 1, verdict);
    tried += reshape_exchanged(test, &probe.c, false, verdict);
    tried += reshape_exchanged(test, &probe.c, true, verdict);
    tried += reshape_by_values(test, &probe, verdict);
    tn_subject_destroy(&probe);
    for (uint32_t axis = 0; axis < shape.rank; axis++) {
        const int64_t extent = shape.extents[axis];
        const int64_t extents[] = {2 * extent + 1, 1, extent - 1, 67, 0};
        for (size_t i = 0; i < TN_COUNT(extents); i++) {
            const tn_change change = {.axis = (int32_t)axis, .extent = extents[i]};
            if (extents[i] != extent && extents[i] >= 0 && extents[i] <= 4096)
                tried += reshape_to(test, &change, verdict);
        }
        if (test->kernel && test->kernel->accepts && extent > 0 && extent <= 64)
            for (int64_t factor = 2; factor <= 3; factor++)
                reshape_between(test, (int32_t)axis, extent, factor * extent, verdict);
    }
    if (verdict->outcome == TN_PASSED) tn_rule_run_workspace(test, verdict);
    if (tried == 0 && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, "no other extents of input 0 are taken");
}
