/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facets of tenon/plugin.h as numbers, which tests draw and judge kernels and operators by, and
 * the same as the steps that a kernel sees.
 */
#ifndef TN_CONFORMANCE_CASES_CHAIN_STEP_H
#define TN_CONFORMANCE_CASES_CHAIN_STEP_H

#include "tensor/shape.h"

#include <tenon/plugin.h>

enum {
    TN_CHAIN_BIAS = 1,
    TN_CHAIN_SCALE = 2,
    TN_CHAIN_RESIDUAL = 3,
    TN_CHAIN_ACTIVATION = 4,
    TN_CHAIN_WINDOW_MAX = 5,
    TN_CHAIN_SOFTMAX = 6,
    TN_CHAIN_PLANE_MEAN = 7,
    TN_CHAIN_KINDS = 8,
    TN_CHAIN_OTHER = 8 /* any facet as an operator of the registry described itself */
};
/* Inputs of a step, and operands of one, at most. */
enum { TN_CHAIN_INPUTS = 8, TN_CHAIN_OPERANDS = 3 };

typedef struct tn_chain_step {
    uint32_t kind, port; /* port: as in tn_step */
    uint32_t activation;
    int32_t axis; /* BIAS, SCALE, SOFTMAX */
    float alpha, beta;
    uint32_t operand; /* the first one: index in the call's operands, or of a description the node's
                         input */
    uint32_t window[2];
    /* OTHER: the facet's name, the operator's answer, which of the node's inputs is chained and how
     * many it has, and the shape after the step (null: output 0's). */
    const char *facet;
    const tn_facet *described;
    uint32_t node_input, node_inputs;
    const tn_shape *output;
} tn_chain_step;

/* The name of a kind's facet, and of an activation's variant. */
const char *tn_chain_facet(uint32_t kind);
const char *tn_chain_variant(uint32_t activation);
/* Whether a facet of the header has an operand, and how many a step has. */
bool tn_chain_has_operand(uint32_t kind);
uint32_t tn_chain_operands(const tn_chain_step *step);
/* Whether the text of tn_kernel.absorbs lists a facet after the kernel, and its variant (null:
 * none). */
bool tn_chain_lists(const char *absorbs, const char *facet, const char *variant);
/* Whether it lists what a step is. */
bool tn_chain_is_listed(const char *absorbs, uint32_t kind, uint32_t activation);

/* What a public step points to. */
typedef struct tn_chain_buffer {
    union {
        uint32_t size;
        tn_facet_axis axis;
        tn_facet_activation activation;
        tn_facet_window_max windows;
    } what;
    uint32_t inputs[TN_CHAIN_INPUTS];
} tn_chain_buffer;
/* A step behind step `index` - 1 of a chain, 0: the first one; `output` may be null. The buffer
 * has the lifetime of the step. */
void tn_chain_publish(const tn_chain_step *step, uint32_t index, const tn_tensor *output,
                      tn_chain_buffer *buffer, tn_step *out_step);
/* A description as the facet `kind` as a step; false: it has not the operand that the facet has, or
 * not the variant of its function. */
bool tn_chain_read(const tn_facet *facet, uint32_t kind, tn_chain_step *out_step);

#endif
