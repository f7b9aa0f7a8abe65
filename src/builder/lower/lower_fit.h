/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's own parameters and combinations for a node, found once and kept. */
#ifndef TN_BUILDER_LOWER_LOWER_FIT_H
#define TN_BUILDER_LOWER_LOWER_FIT_H

#include "builder/lower/lower_private.h"

/* What a kernel has for a node; program/kernel_fit.h. */
typedef struct tn_lower_fit {
    const tn_kernel_entry *entry;
    bool is_fit; /* false: the kernel cannot read the node's fields */
    const void *params;
    uint32_t combination_count;
    const tn_combination *combinations;
} tn_lower_fit;

tn_status tn_lower_fit_of(tn_lowering *lowering, uint32_t node, const tn_kernel_entry *entry,
                          const tn_lower_fit **out_fit);

#endif
