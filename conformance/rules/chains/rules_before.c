/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facets that a kernel lists before an input, as the registry's operators describe themselves
 * by them. The operators' cases lend fields, operands and what is stored; their references compute
 * what the kernel's operator has at that input, whose reference then computes what is expected.
 * rules_facets.c has those after a kernel.
 */
#include "plugin/fields/absorbs.h"
#include "rules/rules.h"
#include "worker/epilogue_step.h"
#include "worker/link_case.h"
#include "worker/watch/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINKS = 12, MOST_OF_FACET = 4, MOST_OF_OPERATOR = 2, MOST_CASES = 24, MOST_CHAIN = 2 };

/* One input of the kernel's operator in the test's case, and what may stand before it. */
typedef struct before {
    const tn_test *test;
    uint32_t port;
    tn_shape shape; /* of the input */
    tn_link_case *links;
    uint32_t link_count, tried;
    tn_verdict *verdict;
} before;

/* ----------------------------------------------------------------------------------------------
 * what is expected */

/* How far the steps' results may be off, and what comes out may. */
#define OF_A_STEP   1e-6
#define OF_A_RESULT 1e-4

static double largest_of(const float *values, size_t count) {
    double largest = 1e-6;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) largest = fmax(largest, fabs((double)values[i]));
    return largest;
}

/* Elements at the input, from what is stored. Null: a reference fails. */
static float *compute_input(tn_link_case *const *links, uint32_t count) {
    const void *x = links[0]->c.inputs[links[0]->chained].data;
    float *y = NULL;
    for (uint32_t i = 0; i < count; i++) {
        float *after = tn_link_case_compute(links[i], x);
        free(y);
        if (!after) return NULL;
        x = y = after;
    }
    return y;
}

/* The operator's reference on these elements, neighbours moved to different sides by their
 * tolerance. */
static bool compute_output(const before *b, tn_subject *kernel, const float *input, size_t count,
                           int side, tn_outcome *out) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    const tn_graph_node *node = kernel->probe.node;
    const char *name = kernel->graph->tensors[node->inputs[b->port - 1]].name;
    tn_case_input *own = &kernel->c.inputs[atoi(name + 2)];
    void *data = own->data;
    float *moved = malloc((count + 1) * sizeof(*moved));
    const double by = side * OF_A_STEP * largest_of(input, count);
    for (size_t i = 0; moved && i < count; i++)
        moved[i] = input[i] + (float)(i % 2 ? -by : by);
    own->data = moved;
    const bool is_computed =
        moved && tn_case_run(b->test->runtime, kernel->op, &kernel->c, &reference, out) == TN_OK;
    own->data = data;
    free(moved);
    return is_computed;
}

/* ----------------------------------------------------------------------------------------------
 * one chain */

static double after(const tn_chain_step *step, float x, const tn_outcome *of, size_t i) {
    return step ? tn_epilogue_step(step, (double)x, NULL, &of->shapes[0], i) : (double)x;
}

static void compare(const before *b, const char *chain, const tn_outcome wanted[3],
                    const tn_chain_step *step, const tn_outcome *found) {
    const float *low = wanted[0].data[0], *a = wanted[1].data[0], *high = wanted[2].data[0];
    const size_t count = wanted[1].bytes[0] / sizeof(*a);
    const float *y = found->count ? found->data[0] : NULL;
    const double largest = largest_of(a, count);
    if (!y || found->bytes[0] != wanted[1].bytes[0]) {
        tn_verdict_fail(b->verdict, "with %s: output 0 has another size", chain);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const double expected = after(step, a[i], &wanted[1], i);
        const double slack = 2 * fmax(fabs(expected - after(step, low[i], &wanted[1], i)),
                                      fabs(expected - after(step, high[i], &wanted[1], i)));
        const double allowed = slack + OF_A_RESULT * (fabs(expected) + 0.1 * largest);
        if (!isfinite(expected) || !(slack <= 0.05 * (1 + largest)) ||
            fabs(expected - (double)y[i]) <= allowed)
            continue;
        tn_verdict_fail(b->verdict, "with %s: output 0, element %zu is %.9g, expected %.9g", chain,
                        i, (double)y[i], expected);
        return;
    }
}

static void name_chain(const before *b, tn_link_case *const *links, uint32_t count,
                       const tn_chain_step *step, char *text, size_t bytes) {
    size_t at = 0;
    for (uint32_t i = 0; i < count && at < bytes; i++)
        at += (size_t)snprintf(text + at, bytes - at, "%s%s (%s, \"%s\")", i > 0 ? ", then " : "",
                               links[i]->absorb->facet, links[i]->op->name, links[i]->text);
    if (at < bytes) at += (size_t)snprintf(text + at, bytes - at, " before input %u", b->port - 1);
    if (step && at < bytes)
        snprintf(text + at, bytes - at, " and %s %s", tn_chain_facet(step->kind),
                 tn_chain_variant(step->activation));
}

/* Puts the chain on the kernel; false: it has too many operands. */
static bool set_chain(tn_subject *kernel, tn_link_case *const *links, uint32_t count,
                      const tn_chain_step *step) {
    tn_probe *probe = &kernel->probe;
    uint32_t operands = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (operands + links[i]->facet->operand_count > TN_PROBE_OPERANDS) return false;
        probe->steps[i] = tn_link_case_step(links[i], operands, probe);
        operands += links[i]->facet->operand_count;
    }
    if (step) probe->steps[count] = *step;
    probe->step_count = count + (step != NULL);
    return true;
}

static void run_chain(before *b, tn_subject *kernel, const char *chain, const float *input,
                      size_t count, const tn_chain_step *step) {
    tn_outcome wanted[3] = {{0}}, found = {0};
    bool is_known = true;
    for (int side = -1; side <= 1 && is_known; side++)
        is_known = compute_output(b, kernel, input, count, side, &wanted[side + 1]) &&
                   wanted[side + 1].count > 0 && wanted[side + 1].types[0] == TN_F32;
    tn_trace_case(kernel->probe.text);
    if (is_known && tn_probe_accepts(&kernel->probe)) {
        const uint32_t tactic = tn_probe_limit_tactic(&kernel->probe);
        b->tried++;
        if (tn_probe_once(&kernel->probe, true, false, 0xFF, &found) != TN_OK)
            tn_verdict_error(b->verdict, &kernel->probe, chain);
        else
            compare(b, chain, wanted, step, &found);
        kernel->probe.tactic = tactic;
    }
    tn_outcome_free(&found);
    for (int i = 0; i < 3; i++)
        tn_outcome_free(&wanted[i]);
}

/* The kernel's case with what the link's case stores in the input's stead. */
static tn_change stored_before(const before *b, const tn_link_case *link) {
    const tn_case_input *stored = &link->c.inputs[link->chained];
    return (tn_change){
        .axis = -1,
        .skips_accepts = true,
        .before = {
            .port = b->port, .type = stored->type, .shape = &stored->shape, .own = stored->data}};
}

static void try_chain(before *b, tn_link_case *const *links, uint32_t count,
                      const tn_chain_step *step) {
    const tn_change change = stored_before(b, links[0]);
    tn_subject kernel;
    tn_verdict none = {0};
    size_t elements = 0;
    char text[500];
    if (b->verdict->outcome != TN_PASSED || !tn_test_subject(b->test, &change, &kernel, &none))
        return;
    float *input = compute_input(links, count);
    name_chain(b, links, count, step, text, sizeof(text));
    if (input && tn_shape_count(&b->shape, &elements) == TN_OK && kernel.expected.count > 0 &&
        kernel.probe.outputs[0].type == TN_F32 && set_chain(&kernel, links, count, step))
        run_chain(b, &kernel, text, input, elements, step);
    free(input);
    tn_subject_destroy(&kernel);
}

/* ----------------------------------------------------------------------------------------------
 * which links */

/* A shape of which the operator makes `wanted`, where it made `made` of `wanted`: it adds or leaves
 * out as many elements of each axis, or its windows are as large. */
static bool guess_shape(const tn_shape *wanted, const tn_shape *made, bool is_factor,
                        tn_shape *out) {
    *out = *wanted;
    for (uint32_t i = 0; i < wanted->rank; i++) {
        const int64_t to = wanted->extents[i], from = made->extents[i];
        if (is_factor && (from == 0 || to % from != 0)) return false;
        out->extents[i] = is_factor ? to * (to / from) : 2 * to - from;
        if (out->extents[i] < 0) return false;
    }
    return made->rank == wanted->rank;
}

/* Whether the case describes itself so, and makes the input's shape of some other. */
static bool create(const before *b, const tn_operator *op, const char *text,
                   const tn_absorb *absorb, uint32_t chained, tn_link_case *link) {
    if (!tn_link_case_create(link, b->test->runtime, op, text, absorb, chained, TN_F32, &b->shape))
        return false;
    for (int guess = 0; guess <= 2; guess++) {
        const tn_shape made = link->shape;
        tn_shape shape;
        if (tn_shape_equal(&made, &b->shape)) return true;
        if (guess == 2 || !guess_shape(&b->shape, &made, guess == 1, &shape)) continue;
        tn_link_case_destroy(link);
        if (!tn_link_case_create(link, b->test->runtime, op, text, absorb, chained, TN_F32, &shape))
            return false;
        if (tn_shape_equal(&link->shape, &b->shape)) return true;
        tn_link_case_destroy(link);
        if (!tn_link_case_create(link, b->test->runtime, op, text, absorb, chained, TN_F32,
                                 &b->shape))
            return false;
    }
    tn_link_case_destroy(link);
    return false;
}

/* Whether the test's combination may have it: what is stored is not of the type that it names. */
static bool is_readable(const before *b, const tn_link_case *link) {
    const tn_change change = stored_before(b, link);
    tn_subject kernel;
    tn_verdict none = {0};
    if (!tn_test_subject(b->test, &change, &kernel, &none)) return false;
    tn_subject_destroy(&kernel);
    return true;
}

static uint32_t add_operator(before *b, const tn_operator *op, const tn_absorb *absorb) {
    uint32_t found = 0;
    for (uint64_t i = 0; i < op->case_count && i < MOST_CASES; i++)
        for (uint32_t chained = 0; chained < 2; chained++) {
            tn_link_case *link = &b->links[b->link_count];
            if (found == MOST_OF_OPERATOR || b->link_count == MOST_LINKS) return found;
            if (!create(b, op, op->cases[i], absorb, chained, link)) continue;
            if (link->absorb->port > 0 && link->c.inputs[link->chained].type != TN_F32 &&
                !is_readable(b, link)) {
                tn_link_case_destroy(link);
                continue;
            }
            b->link_count++;
            found++;
        }
    return found;
}

static void add_facet(before *b, const tn_absorb *absorb) {
    uint32_t found = 0;
    for (size_t i = 0; i < b->test->operator_count && found < MOST_OF_FACET; i++) {
        const tn_operator *op = b->test->operators[i];
        if (tn_link_case_may_answer(op, absorb->facet)) found += add_operator(b, op, absorb);
    }
}

/* ----------------------------------------------------------------------------------------------
 * which chains */

static bool is_plain(const tn_link_case *link) {
    return link->c.inputs[link->chained].type == TN_F32 &&
           !(link->facet->flags & TN_FACET_RESHAPES);
}

static void try_pair(before *b, tn_link_case *first, tn_link_case *second) {
    tn_link_case *links[MOST_CHAIN] = {first, second};
    if (is_plain(second)) try_chain(b, links, 2, NULL);
}

static void try_chains(before *b) {
    tn_chain_step activation = {.kind = TN_CHAIN_ACTIVATION, .alpha = 0.25f, .beta = 0.75f};
    for (uint32_t i = 1; i <= TN_ACTIVATION_ELU && activation.activation == 0; i++)
        if (tn_chain_is_listed(b->test->kernel->absorbs, TN_CHAIN_ACTIVATION, i))
            activation.activation = i;
    for (uint32_t i = 0; i < b->link_count; i++) {
        tn_link_case *const own = &b->links[i], *const next = &b->links[(i + 1) % b->link_count];
        try_chain(b, &own, 1, NULL);
        try_pair(b, own, next);
        if (i > 0) try_pair(b, own, &b->links[0]);
        if (activation.activation > 0) try_chain(b, &own, 1, &activation);
    }
}

/* Floats that a run provides. */
static bool find_input(before *b) {
    tn_subject plain;
    bool is_taken = false, is_there = false;
    const tn_test *test = b->test;
    const tn_change change = {.axis = -1};
    if (tn_subject_create(&plain, test->runtime, test->op, NULL, NULL, test->text,
                          test->are_constant, &change, &is_taken) != TN_OK ||
        !is_taken)
        return false;
    if (b->port <= plain.probe.input_count) {
        const tn_probe_port *input = &plain.probe.inputs[b->port - 1];
        is_there = input->is_given && !input->is_constant && !input->is_shape_only &&
                   !input->is_value_needed && input->own_type == TN_F32;
        b->shape = input->shape;
    }
    tn_subject_destroy(&plain);
    return is_there;
}

static uint32_t check_port(const tn_test *test, tn_arena *arena, uint32_t port,
                           const tn_absorb *absorbs, uint32_t count, tn_verdict *verdict) {
    before b = {.test = test, .port = port, .verdict = verdict};
    b.links = tn_arena_allocate(arena, MOST_LINKS + 1, sizeof(*b.links));
    if (!b.links || !find_input(&b)) return 0;
    for (uint32_t i = 0; i < count; i++)
        if (absorbs[i].port == port) add_facet(&b, &absorbs[i]);
    try_chains(&b);
    for (uint32_t i = 0; i < b.link_count; i++)
        tn_link_case_destroy(&b.links[i]);
    return b.tried;
}

/* Whether some version of the operator has this input with data that a run provides. */
static bool is_there(const tn_test *test, uint32_t port) {
    for (size_t i = 0; i < test->operator_count; i++) {
        const tn_operator *op = test->operators[i];
        const tn_port *input =
            tn_kernel_serves(test->kernel, op) ? tn_graph_input_port(op, port - 1) : NULL;
        if (input && !(input->flags & (TN_PORT_SHAPE_ONLY | TN_PORT_VALUE_NEEDED))) return true;
    }
    return false;
}

void tn_rule_absorbs_before(const tn_test *test, tn_verdict *verdict) {
    const tn_absorb *absorbs = NULL;
    uint32_t count = 0, tried = 0;
    tn_arena *arena = NULL;
    if (tn_arena_create(tn_allocator_default(), &arena) != TN_OK) return;
    if (tn_absorbs_parse(arena, test->kernel->absorbs, true, &absorbs, &count) == TN_OK)
        for (uint32_t i = 0; i < count && verdict->outcome == TN_PASSED; i++) {
            bool is_first = absorbs[i].port > 0;
            for (uint32_t k = 0; k < i; k++)
                is_first = is_first && absorbs[k].port != absorbs[i].port;
            if (is_first && !is_there(test, absorbs[i].port)) {
                tn_verdict_fail(verdict,
                                "absorbs lists %s before input %u: the operator has no such input, "
                                "or not its data",
                                absorbs[i].facet, absorbs[i].port - 1);
                break;
            }
            if (is_first)
                tried += check_port(test, arena, absorbs[i].port, absorbs, count, verdict);
        }
    tn_arena_destroy(arena);
    if (verdict->outcome == TN_PASSED && tried == 0)
        tn_verdict_skip(verdict, "no operator describes itself so before this input, in what the "
                                 "combination stores");
}
