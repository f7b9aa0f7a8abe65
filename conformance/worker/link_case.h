/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case of some operator as the node behind a kernel, or before an input of it: its chained input
 * has the shape of what it follows, the operator describes itself there as the facet that the
 * kernel lists, asked as a build asks, and its own reference computes what the step is to compute.
 */
#ifndef TN_CONFORMANCE_WORKER_LINK_CASE_H
#define TN_CONFORMANCE_WORKER_LINK_CASE_H

#include "plugin/fields/absorbs.h"
#include "program/link.h"
#include "subject.h"

typedef struct tn_link_case {
    tn_arena *arena;
    const tn_operator *op;
    const char *text; /* of the case, in its new shapes */
    tn_case c;
    tn_graph *graph;
    tn_inference_plan plan;
    tn_inference inference;
    tn_link link;
    const tn_absorb *absorb;
    const tn_facet *facet;
    uint32_t chained; /* of the case's inputs */
    tn_type type;     /* of operands and output, and behind a kernel of the chained input */
    tn_shape shape;   /* after it */
} tn_link_case;

/* Whether cases of the operator can be tried for the facet: its reference computes them, and it has
 * something to describe itself by. */
bool tn_link_case_may_answer(const tn_operator *op, const char *facet);
/* False: the case cannot be one, or the operator does not describe itself so there; then nothing is
 * to be destroyed. The link must not be moved. */
bool tn_link_case_create(tn_link_case *link, tn_runtime *runtime, const tn_operator *op,
                         const char *text, const tn_absorb *absorb, uint32_t chained, tn_type type,
                         const tn_shape *shape);
void tn_link_case_destroy(tn_link_case *link);

/* The link as a step of a probe, whose operands begin with `first`. After the kernel the probe's
 * output 0 is what is chained. */
tn_chain_step tn_link_case_step(const tn_link_case *link, uint32_t first, tn_probe *probe);
/* What the reference computes of `x`, which has the chained shape and type: elements of link->type
 * and link->shape, freed by free(). Null: it fails. */
void *tn_link_case_compute(tn_link_case *link, const void *x);

#endif
