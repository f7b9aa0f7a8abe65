/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that the user pinned: those of operators (lower_pins.c), and those of single nodes, with
 * their types (lower_node_pins.c). */
#ifndef TN_BUILDER_LOWER_LOWER_PINS_H
#define TN_BUILDER_LOWER_LOWER_PINS_H

#include "builder/lower/lower_private.h"

typedef struct tn_lower_pin {
    const char *op, *kernel;
} tn_lower_pin;

/* Sets lowering->pins. */
tn_status tn_lower_pins_parse(tn_lowering *lowering);
/* Null: not pinned. */
const tn_lower_pin *tn_lower_pin_of(const tn_lowering *lowering, const tn_operator *op);
bool tn_lower_pin_fits(const tn_lower_pin *pin, const tn_kernel_entry *entry);
/* Pins that name a kernel that no operator of theirs has: TN_ERROR_NOT_FOUND. */
tn_status tn_lower_pins_check(tn_lowering *lowering);

/* --- lower_node_pins.c --- */
/* Null: not pinned. */
const tn_node_pin *tn_lower_node_pin_of(const tn_lowering *lowering, uint32_t node);
/* Whether a pin (null: none) lets a kernel, and a combination of it, pass. */
bool tn_lower_node_pin_fits(const tn_node_pin *pin, const tn_kernel_entry *entry);
bool tn_lower_node_pin_combines(const tn_node_pin *pin, const tn_combination *combination);
/* Whether a candidate of a node has the type that the node is pinned to, if it is. */
bool tn_lower_node_pin_takes(const tn_lowering *lowering, uint32_t index,
                             const tn_candidate *candidate);
/* Says why a pinned node has no candidate. */
tn_status tn_lower_node_pin_fail(tn_lowering *lowering, uint32_t index, bool is_kernel_known);

#endif
