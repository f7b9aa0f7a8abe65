/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facets that a kernel lists as the registry's operators describe themselves by them, third
 * parties' and the header's: each alone, each after each other, before and after what
 * rules_epilogues.c draws, and longer chains at random. The operators' own cases lend fields and
 * operands, their references what is expected.
 */
#include "base/hash.h"
#include "plugin/fields/absorbs.h"
#include "rules/rules.h"
#include "worker/epilogue_step.h"
#include "worker/link_case.h"
#include "worker/watch/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINKS = 16, MOST_OF_FACET = 6, MOST_OF_OPERATOR = 3, MOST_CASES = 8, MOST_DRAWN = 14 };

/* A step of a chain: a link, or one that is drawn. */
typedef struct item {
    tn_link_case *link; /* null: drawn */
    tn_chain_step drawn;
} item;

typedef struct facets {
    const tn_test *test;
    tn_subject *kernel;
    tn_link_case *links;
    uint32_t link_count, drawn_count;
    tn_chain_step drawn[MOST_DRAWN];
    tn_verdict *verdict;
} facets;

/* ----------------------------------------------------------------------------------------------
 * what is expected */

static double largest_of(const float *values, size_t count) {
    double largest = 1e-6;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) largest = fmax(largest, fabs((double)values[i]));
    return largest;
}

/* How far a result may be off: sums are as near as their terms let them be. */
static double tolerance_of(double value, double largest) {
    return 4e-5 * largest + 1e-4 * fabs(value);
}

/* Of that, what a step within a chain may be off by: it is computed from one element, in floats. */
#define OF_A_STEP 0.02

/* Neighbours are moved to different sides, so that differences of elements change, too. */
static void nudge(float *values, size_t count, double by) {
    const double largest = largest_of(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] += (float)(tolerance_of((double)values[i], largest) * (i % 2 ? -by : by));
}

/* What a step makes of NaN and infinities is left open, so that what follows is, too. */
static void keep_unknown(const float *before, float *after, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(before[i])) after[i] = NAN;
}

/* Null: the reference fails. The values of a link are new ones. */
static float *do_item(const facets *f, const item *step, const tn_chain_step *published,
                      tn_shape *shape, float *values) {
    size_t count = 0;
    if (tn_shape_count(shape, &count) != TN_OK) count = 0;
    if (step->link) {
        float *after = tn_link_case_compute(step->link, values);
        if (after && tn_shape_equal(shape, &step->link->shape)) keep_unknown(values, after, count);
        *shape = step->link->shape;
        free(values);
        return after;
    }
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            values[i] = (float)tn_epilogue_step(published, (double)values[i],
                                                f->kernel->probe.operands[published->operand].own,
                                                shape, i);
    return values;
}

/* The reference's output after the chain, from elements that are a tolerance off to one side, and
 * so on between the steps; 0: to neither. Null: it is not known. */
static float *compute(const facets *f, const item *items, uint32_t count, int side,
                      tn_shape *out_shape) {
    const tn_outcome *expected = &f->kernel->expected;
    float *values = malloc(expected->bytes[0] + sizeof(*values));
    *out_shape = expected->shapes[0];
    if (!values) return NULL;
    memcpy(values, expected->data[0], expected->bytes[0]);
    nudge(values, expected->bytes[0] / sizeof(*values), side);
    for (uint32_t i = 0; values && i < count; i++) {
        size_t made = 0;
        values = do_item(f, &items[i], &f->kernel->probe.steps[i], out_shape, values);
        if (values && i + 1 < count && tn_shape_count(out_shape, &made) == TN_OK)
            nudge(values, made, OF_A_STEP * side);
    }
    return values;
}

/* ----------------------------------------------------------------------------------------------
 * one chain */

static void name_chain(const item *items, uint32_t count, char *text, size_t bytes) {
    size_t at = 0;
    for (uint32_t i = 0; i < count && at < bytes; i++) {
        const char *comma = i > 0 ? ", then " : "";
        const tn_link_case *link = items[i].link;
        const char *variant = tn_chain_variant(items[i].drawn.activation);
        at += (size_t)(link ? snprintf(text + at, bytes - at, "%s%s (%s, \"%s\")", comma,
                                       link->absorb->facet, link->op->name, link->text)
                            : snprintf(text + at, bytes - at, "%s%s%s%s", comma,
                                       tn_chain_facet(items[i].drawn.kind), variant ? " " : "",
                                       variant ? variant : ""));
    }
}

/* What the references' results at both sides leave open. */
static double slack_of(double a, double low, double high) {
    const double slack = fmax(fabs(a - low), fabs(a - high));
    return isfinite(slack) && slack <= 0.01 * (1 + fabs(a)) ? slack : INFINITY;
}

static void compare(facets *f, const char *chain, float *const wanted[3], size_t count,
                    const tn_outcome *found) {
    const float *y = found->count ? found->data[0] : NULL;
    const double largest = largest_of(wanted[1], count);
    if (!y || found->bytes[0] != count * sizeof(*y)) {
        tn_verdict_fail(f->verdict, "with %s: output 0 has another size", chain);
        return;
    }
    for (size_t i = 0; i < count && f->verdict->outcome == TN_PASSED; i++) {
        const double a = (double)wanted[1][i], b = (double)y[i];
        const double slack = slack_of(a, (double)wanted[0][i], (double)wanted[2][i]);
        if (!isfinite(a) || a == b || isinf(slack)) continue;
        if (!(fabs(a - b) <= 2 * slack + tolerance_of(a, fmin(largest, 1e3))))
            tn_verdict_fail(f->verdict, "with %s: output 0, element %zu is %.9g, expected %.9g",
                            chain, i, b, a);
    }
}

static void run_kernel(facets *f, const char *chain, float *const wanted[3],
                       const tn_shape *shape) {
    tn_probe *probe = &f->kernel->probe;
    const tn_shape before = probe->outputs[0].shape;
    tn_outcome found = {0};
    size_t count = 0;
    probe->outputs[0].shape = *shape;
    tn_trace_case(probe->text);
    if (tn_shape_count(shape, &count) == TN_OK && tn_probe_accepts(probe)) {
        if (tn_probe_once(probe, true, false, 0xFF, &found) != TN_OK)
            tn_verdict_error(f->verdict, probe, chain);
        else
            compare(f, chain, wanted, count, &found);
    }
    probe->outputs[0].shape = before;
    tn_outcome_free(&found);
}

/* In front of a step that changes the shape whole operands are stored as input 0 is, and those that
 * are broadcast are linear: `count` steps there. */
static void store_before(facets *f, const item *items, uint32_t count) {
    tn_probe *probe = &f->kernel->probe;
    for (uint32_t i = 0; i < count; i++) {
        const tn_link_case *link = items[i].link;
        const uint32_t operands =
            link ? link->facet->operand_count : tn_chain_operands(&items[i].drawn);
        for (uint32_t k = 0; k < operands; k++) {
            tn_probe_port *port = &probe->operands[probe->steps[i].operand + k];
            const bool is_whole = link ? link->facet->operands[k].form == TN_OPERAND_WHOLE
                                       : items[i].drawn.kind == TN_CHAIN_RESIDUAL;
            port->format = is_whole ? probe->inputs[0].format : TN_LINEAR;
            port->is_constant = port->is_constant && port->format == TN_LINEAR;
        }
    }
}

/* Puts the chain on the kernel. False: it has too many operands, or goes on in another shape in
 * which nothing is known of what follows. */
static bool set_chain(facets *f, const item *items, uint32_t count) {
    tn_probe *probe = &f->kernel->probe;
    uint32_t operands = 0;
    bool is_reshaped = false;
    for (uint32_t i = 0; i < count; i++) {
        const tn_chain_step *drawn = &items[i].drawn;
        if (is_reshaped && (items[i].link || tn_chain_operands(drawn) > 0)) return false;
        const uint32_t more =
            items[i].link ? items[i].link->facet->operand_count : tn_chain_operands(drawn);
        if (operands + more > TN_PROBE_OPERANDS) return false;
        if (items[i].link) {
            probe->steps[i] = tn_link_case_step(items[i].link, operands, probe);
            is_reshaped = items[i].link->facet->flags & TN_FACET_RESHAPES;
            if (is_reshaped) store_before(f, items, i);
        } else {
            probe->steps[i] = *drawn;
            probe->steps[i].operand = more ? operands : 0;
            probe->steps[i].output = i > 0 ? probe->steps[i - 1].output : NULL;
            if (more && !tn_epilogue_operand(f->kernel, operands, drawn, 1)) return false;
        }
        operands += more;
    }
    probe->step_count = count;
    return true;
}

static void clear_chain(tn_probe *probe) {
    probe->step_count = 0;
    for (uint32_t i = 0; i < TN_PROBE_OPERANDS; i++)
        probe->operands[i].is_given = false;
}

static void try_chain(facets *f, const item *items, uint32_t count) {
    float *wanted[3] = {NULL, NULL, NULL};
    tn_shape shape;
    char text[400];
    bool is_known = f->verdict->outcome == TN_PASSED && set_chain(f, items, count);
    for (int side = -1; is_known && side <= 1; side++) {
        wanted[side + 1] = compute(f, items, count, side, &shape);
        is_known = wanted[side + 1] != NULL;
    }
    name_chain(items, count, text, sizeof(text));
    if (is_known) run_kernel(f, text, wanted, &shape);
    for (int i = 0; i < 3; i++)
        free(wanted[i]);
    clear_chain(&f->kernel->probe);
}

/* ----------------------------------------------------------------------------------------------
 * which chains */

static void try_pair(facets *f, item first, item second) {
    const item items[2] = {first, second}, turned[2] = {second, first};
    try_chain(f, items, 2);
    try_chain(f, turned, 2);
}

static item draw(const facets *f, uint64_t *random) {
    const uint32_t at = (uint32_t)tn_random_below(random, f->link_count + f->drawn_count);
    if (at < f->link_count) return (item){.link = &f->links[at]};
    return (item){.drawn = f->drawn[at - f->link_count]};
}

static void try_chains(facets *f) {
    uint64_t random = tn_hash_add_text(f->test->seed, f->test->text);
    for (uint32_t i = 0; i < f->link_count; i++) {
        const item own = {.link = &f->links[i]};
        try_chain(f, &own, 1);
        try_pair(f, own, (item){.link = &f->links[(i + 1) % f->link_count]});
    }
    for (uint32_t i = 0; i < f->drawn_count && f->link_count > 0; i++)
        try_pair(f, (item){.link = &f->links[i % f->link_count]}, (item){.drawn = f->drawn[i]});
    for (uint32_t i = 0; i < 4 * f->test->effort && f->link_count > 0; i++) {
        item items[TN_PROBE_STEPS];
        const uint32_t count = 2 + (uint32_t)tn_random_below(&random, TN_PROBE_STEPS - 1);
        for (uint32_t k = 0; k < count; k++)
            items[k] = draw(f, &random);
        try_chain(f, items, count);
    }
}

/* Steps that no operator is needed for, of those that the kernel lists. */
static void list_drawn(facets *f) {
    const char *absorbs = f->test->kernel->absorbs;
    const uint32_t rank = f->kernel->expected.shapes[0].rank;
    for (uint32_t kind = TN_CHAIN_BIAS; kind <= TN_CHAIN_RESIDUAL; kind++)
        if (tn_chain_is_listed(absorbs, kind, 0) && (rank > 1 || kind == TN_CHAIN_RESIDUAL))
            f->drawn[f->drawn_count++] =
                (tn_chain_step){.kind = kind, .axis = kind != TN_CHAIN_RESIDUAL};
    for (uint32_t i = 1; i <= TN_ACTIVATION_ELU; i++)
        if (tn_chain_is_listed(absorbs, TN_CHAIN_ACTIVATION, i))
            f->drawn[f->drawn_count++] =
                (tn_chain_step){.kind = TN_CHAIN_ACTIVATION,
                                .activation = i,
                                .alpha = i == TN_ACTIVATION_CLIP ? -0.5f : 0.25f,
                                .beta = 0.75f};
}

/* ----------------------------------------------------------------------------------------------
 * which links */

/* As the cases' first input, and as the second where there are two. */
static uint32_t add_operator(facets *f, const tn_operator *op, const tn_absorb *absorb) {
    uint32_t found = 0;
    for (uint64_t i = 0; i < op->case_count && i < MOST_CASES; i++)
        for (uint32_t chained = 0; chained < 2; chained++) {
            if (found == MOST_OF_OPERATOR || f->link_count == MOST_LINKS) return found;
            tn_link_case *link = &f->links[f->link_count];
            const uint64_t at = (i + f->test->seed) % op->case_count;
            if (!tn_link_case_create(link, f->test->runtime, op, op->cases[at], absorb, chained,
                                     TN_F32, &f->kernel->expected.shapes[0]))
                continue;
            f->link_count++;
            found++;
        }
    return found;
}

/* Where many operators are the facet, others in each case. */
static uint32_t add_facet(facets *f, const tn_absorb *absorb) {
    const tn_test *test = f->test;
    const size_t first = (size_t)(tn_hash_add_text(test->seed, test->text) % 8191);
    uint32_t found = 0;
    for (size_t i = 0; i < test->operator_count && found < MOST_OF_FACET; i++) {
        const tn_operator *op = test->operators[(first + i) % test->operator_count];
        if (tn_link_case_may_answer(op, absorb->facet)) found += add_operator(f, op, absorb);
    }
    return found;
}

/* rules_epilogues.c draws these. */
static bool is_drawn(const char *facet) {
    for (uint32_t kind = TN_CHAIN_BIAS; kind <= TN_CHAIN_ACTIVATION; kind++)
        if (strcmp(facet, tn_chain_facet(kind)) == 0) return true;
    return false;
}

void tn_rule_facets(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    facets f = {.test = test, .kernel = subject, .verdict = verdict};
    const tn_absorb *absorbs = NULL;
    uint32_t count = 0, silent = 0, count_before = 0;
    if (tn_absorbs_parse(subject->arena, test->kernel->absorbs, true, &absorbs, &count) != TN_OK)
        return;
    f.links = tn_arena_allocate(subject->arena, MOST_LINKS, sizeof(*f.links));
    for (uint32_t i = 0; f.links && i < count; i++)
        if (absorbs[i].port > 0)
            count_before++;
        else if (!is_drawn(absorbs[i].facet))
            silent += add_facet(&f, &absorbs[i]) == 0;
    list_drawn(&f);
    try_chains(&f);
    for (uint32_t i = 0; i < f.link_count; i++)
        tn_link_case_destroy(&f.links[i]);
    tn_trace_case(subject->probe.text);
    /* what was tried beside it is a result */
    if (verdict->outcome == TN_PASSED && silent > 0 && silent == count - count_before)
        tn_verdict_skip(verdict, "a facet is listed that no operator describes itself as in its "
                                 "cases");
}
