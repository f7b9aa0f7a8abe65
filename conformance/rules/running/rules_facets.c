/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries' own facets that a kernel lists: an operator of the registry that answers to the name
 * lends its fields and its reference, and the kernel with it in its chain is held against the nodes
 * one by one: alone, twice, and before and after an activation. The header's own facets are
 * rules_epilogues.c's.
 */
#include "plugin/fields/absorbs.h"
#include "rules/rules.h"
#include "worker/epilogue_step.h"
#include "worker/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 1000, MOST_CASES = 4 };

/* A node that is the facet, on a tensor like the kernel's output. */
typedef struct other {
    const tn_test *test;
    tn_subject *kernel, node;
    const tn_absorb *absorb;
    uint64_t room[16];
    tn_facet facet;
} other;

/* ----------------------------------------------------------------------------------------------
 * the operator that answers */

/* The case's fields with one input of the shape; false: the case has several. */
static bool make_text(const char *line, const tn_operator *op, const tn_shape *shape, char *text) {
    const char *bar = strchr(line, '|');
    const char *end = bar ? strchr(bar + 1, '|') : NULL, *equals = bar ? strchr(bar, '=') : NULL;
    if (!equals || (end && equals > end)) return false;
    const char *second = strchr(equals + 1, '=');
    if (second && (!end || second < end)) return false;
    size_t length = (size_t)snprintf(text, MOST_TEXT, "%.*s| %s=f32[", (int)(bar - line), line,
                                     op->inputs[0].name);
    for (uint32_t i = 0; i < shape->rank && length < MOST_TEXT; i++)
        length += (size_t)snprintf(text + length, MOST_TEXT - length, "%s%lld", i ? "," : "",
                                   (long long)shape->extents[i]);
    return length + 2 < MOST_TEXT && strcat(text, "]") != NULL;
}

static bool answers(other *o) {
    tn_frame frame;
    tn_frame_watch watch;
    memset(o->room, 0, sizeof(o->room));
    o->facet = (tn_facet){.size = sizeof(o->facet), .what = o->room, .what_bytes = sizeof(o->room)};
    if (tn_frame_open(&frame, &o->node.probe, NULL, NULL, TN_SEES_VALUES) != TN_OK) return false;
    tn_frame_enter(&frame, &o->node.probe, "facet", &watch);
    const tn_status status = o->node.op->facet(frame.call, 0, o->absorb->facet, &o->facet);
    tn_frame_finish(&frame, &o->node.probe, &watch);
    return status == TN_OK && o->facet.operand_count == 0 && o->facet.what == o->room &&
           tn_absorb_has(o->absorb, o->facet.variant);
}

/* ----------------------------------------------------------------------------------------------
 * one chain */

/* The numbers after a step, in place; a step of the operator's may give another shape. */
static bool do_step(other *o, const tn_chain_step *step, tn_shape *shape, float **values) {
    const tn_way reference = {.is_reference = true, .threads = 1};
    tn_case_input *input = o->node.c.inputs;
    size_t count = 0;
    if (tn_shape_count(shape, &count) != TN_OK) return false;
    if (step->kind != TN_CHAIN_OTHER) {
        for (size_t i = 0; i < count; i++)
            (*values)[i] = (float)tn_epilogue_step(step, (double)(*values)[i], NULL, shape, i);
        return true;
    }
    tn_outcome found = {0};
    if (input->bytes != count * sizeof(float)) return false;
    memcpy(input->data, *values, input->bytes);
    if (tn_case_run(o->test->runtime, o->node.op, &o->node.c, &reference, &found) != TN_OK)
        return false;
    *shape = found.shapes[0];
    float *after = found.types[0] == TN_F32 ? malloc(found.bytes[0] + sizeof(float)) : NULL;
    if (after) memcpy(after, found.data[0], found.bytes[0]);
    tn_outcome_free(&found);
    free(*values);
    *values = after;
    return after != NULL;
}

static void compare(const other *o, const float *wanted, const tn_shape *shape,
                    const tn_outcome *found, uint32_t count, tn_verdict *verdict) {
    double largest = 1e-6;
    size_t elements = 0;
    const float *y = found->count ? found->data[0] : NULL;
    if (tn_shape_count(shape, &elements) != TN_OK || !y ||
        found->bytes[0] != elements * sizeof(*y)) {
        tn_verdict_fail(verdict, "with %s: output 0 has another size", o->absorb->facet);
        return;
    }
    for (size_t i = 0; i < elements; i++)
        if (isfinite(wanted[i])) largest = fmax(largest, fabs((double)wanted[i]));
    for (size_t i = 0; i < elements && verdict->outcome == TN_PASSED; i++) {
        const double a = (double)wanted[i], b = (double)y[i];
        if (isfinite(a) && a != b && !(fabs(a - b) <= 4e-5 * largest + 1e-4 * fabs(a)))
            tn_verdict_fail(verdict,
                            "with %s in a chain of %u (operator %s, \"%s\"): output 0, element %zu "
                            "is %.9g, expected %.9g",
                            o->absorb->facet, count, o->node.op->name, o->node.text, i, b, a);
    }
}

static void run_chain(other *o, const tn_chain_step *steps, uint32_t count, tn_verdict *verdict) {
    tn_probe *probe = &o->kernel->probe;
    const tn_shape before = probe->outputs[0].shape;
    tn_shape shape = o->kernel->expected.shapes[0];
    const size_t bytes = o->kernel->expected.bytes[0];
    float *values = malloc(bytes + sizeof(float));
    tn_outcome found = {0};
    bool is_known = values != NULL && verdict->outcome == TN_PASSED;
    if (is_known) memcpy(values, o->kernel->expected.data[0], bytes);
    for (uint32_t i = 0; is_known && i < count; i++) {
        is_known = do_step(o, &steps[i], &shape, &values);
        probe->steps[i] = steps[i];
    }
    probe->step_count = count;
    probe->outputs[0].shape = shape;
    if (is_known && tn_probe_accepts(probe)) {
        if (tn_probe_once(probe, true, false, 0xFF, &found) != TN_OK)
            tn_verdict_error(verdict, probe, o->absorb->facet);
        else
            compare(o, values, &shape, &found, count, verdict);
    }
    probe->step_count = 0;
    probe->outputs[0].shape = before;
    tn_outcome_free(&found);
    free(values);
}

static void try_chains(other *o, tn_verdict *verdict) {
    const tn_chain_step own = {
        .kind = TN_CHAIN_OTHER, .facet = o->absorb->facet, .described = &o->facet};
    const bool reshapes = o->facet.flags & TN_FACET_RESHAPES;
    tn_chain_step two[2] = {own, own};
    run_chain(o, two, 1, verdict);
    if (!reshapes) run_chain(o, two, 2, verdict);
    for (uint32_t i = 1; i <= TN_ACTIVATION_ELU; i++) {
        if (!tn_chain_is_listed(o->test->kernel->absorbs, TN_CHAIN_ACTIVATION, i)) continue;
        two[0] = (tn_chain_step){.kind = TN_CHAIN_ACTIVATION,
                                 .activation = i,
                                 .alpha = i == TN_ACTIVATION_CLIP ? -0.5f : 0.25f,
                                 .beta = 0.75f};
        two[1] = own;
        run_chain(o, two, 2, verdict);
        two[1] = two[0];
        two[0] = own;
        run_chain(o, two, 2, verdict);
    }
}

/* ----------------------------------------------------------------------------------------------
 * which facets */

static bool try_operator(other *o, const tn_operator *op, tn_verdict *verdict) {
    char text[MOST_TEXT];
    bool is_answered = false, is_taken = false;
    const tn_shape *shape = &o->kernel->expected.shapes[0];
    for (uint64_t i = 0, tried = 0; i < op->case_count && tried < MOST_CASES; i++) {
        if (!make_text(op->cases[i], op, shape, text)) continue;
        tried++;
        if (tn_subject_create(&o->node, o->test->runtime, op, NULL, NULL, text, false, NULL,
                              &is_taken) != TN_OK ||
            !is_taken)
            continue;
        if (o->node.c.input_count == 1 && o->node.c.inputs[0].type == TN_F32 && answers(o)) {
            is_answered = true;
            try_chains(o, verdict);
        }
        tn_subject_destroy(&o->node);
    }
    return is_answered;
}

static bool is_headers(const char *facet) {
    return strncmp(facet, "tn.", 3) == 0;
}

void tn_rule_facets(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    const tn_absorb *absorbs = NULL;
    uint32_t count = 0, silent = 0;
    if (tn_absorbs_parse(subject->arena, test->kernel->absorbs, true, &absorbs, &count) != TN_OK)
        return;
    for (uint32_t i = 0; i < count && verdict->outcome == TN_PASSED; i++) {
        other o = {.test = test, .kernel = subject, .absorb = &absorbs[i]};
        bool is_answered = false;
        if (is_headers(absorbs[i].facet)) continue;
        for (size_t k = 0; k < test->operator_count; k++)
            if (test->operators[k]->facet && test->operators[k]->input_count > 0)
                is_answered = try_operator(&o, test->operators[k], verdict) || is_answered;
        silent += !is_answered;
    }
    /* what was tried beside it is a result */
    if (verdict->outcome == TN_PASSED && silent > 0 && silent == count)
        tn_verdict_skip(verdict, "a facet is listed that no operator describes itself as without "
                                 "operands in its cases");
}
