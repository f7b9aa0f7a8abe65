/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller of a build pinned of one node; builder/pins/node_pins.h reads and checks pins.
 */
#ifndef TN_REPORT_NODE_PIN_H
#define TN_REPORT_NODE_PIN_H

#include <tenon/plugin.h>

#include <stdbool.h>

/* Of a node; all zero where it is not pinned. */
typedef struct tn_node_pin {
    const char *kernel;      /* KERNEL or LIBRARY/KERNEL or "reference"; null: any */
    const char *combination; /* as the kernel writes it, but for spaces; null: any */
    tn_type type;            /* TN_F32 (nothing less), TN_BF16, TN_F16 or TN_I8; TN_NONE: any */
} tn_node_pin;

bool tn_node_pin_is_set(const tn_node_pin *pin);

#endif
