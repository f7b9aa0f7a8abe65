/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lowering knows before it looks for kernels: of each tensor and node, and the kernels of each
 * operator in the order of preference.
 */
#ifndef TN_BUILDER_LOWER_LOWER_FACTS_H
#define TN_BUILDER_LOWER_LOWER_FACTS_H

#include "builder/lower/lower_private.h"

typedef struct tn_lower_facts {
    /* by tensor */
    const tn_tensor **tensors; /* at the optimum, linear; null where nothing is known */
    tn_type *types;            /* TN_NONE: known at a run */
    uint32_t *reader;          /* a node that reads it */
    /* by node */
    bool *is_shaped; /* all its tensors' shapes are known and can be relied on */
    bool *is_ranked; /* all its tensors' ranks are, at least, if need be as guesses */
} tn_lower_facts;

typedef struct tn_lower_kernels {
    const tn_operator *op;
    bool is_device;
    const tn_kernel_entry **entries;
    uint32_t *ranks;
    uint32_t count;
    struct tn_lower_kernels *next; /* that were asked for next */
} tn_lower_kernels;

/* Sets lowering->facts. */
tn_status tn_lower_facts_find(tn_lowering *lowering);
bool tn_lower_is_view(const tn_graph_node *node);
/* The kernels of the build's device, or those of the processor; kept in lowering->kernels. */
tn_status tn_lower_kernels_of(tn_lowering *lowering, const tn_operator *op, bool is_device,
                              const tn_lower_kernels **out_kernels);
void tn_lower_kernels_release(tn_lowering *lowering);
/* Whether the build is for another device than the processor, and may use it: not where shapes
 * depend on data. */
bool tn_lower_has_device(const tn_lowering *lowering);
/* Whether a node reads or makes strings, a sequence or an optional: no device holds them. */
bool tn_lower_is_host_only(const tn_lowering *lowering, uint32_t node);

#endif
