/* SPDX-License-Identifier: Apache-2.0 */
/* What the registry has of operators, kernels and rewrites: their tables, checked and in today's
 * structs; see registry.h. */
#ifndef TN_PLUGIN_ENTRIES_H
#define TN_PLUGIN_ENTRIES_H

#include "plugin/fields/absorbs.h"
#include "plugin/fields/combination.h"
#include "plugin/fields/fields.h"

#include <tenon/plugin/rewrite.h>

typedef struct tn_registry tn_registry;
typedef struct tn_loaded_library tn_loaded_library; /* plugin/library.h */

/* Types of a port's variable: 0-based variable number, or TN_NO_VARIABLE. */
#define TN_NO_VARIABLE UINT32_MAX
typedef struct tn_port_rule {
    tn_type_set types;
    uint32_t variable;
    uint32_t kind;    /* TN_KIND_...: tenon/plugin/sequence.h */
    tn_type_set keys; /* of maps: TN_I64, TN_STRING or both */
} tn_port_rule;

typedef struct tn_operator_entry {
    const tn_operator
        *op; /* normalised copy: today's struct, ports and fields in today's item size */
    tn_loaded_library *library;
    const tn_port_rule *inputs, *outputs;
    uint32_t variable_count;
    const char *own_domain; /* in the library's table; op->domain may be another one, which the
                               library was loaded under */
} tn_operator_entry;

typedef struct tn_kernel_entry {
    const tn_kernel *kernel; /* normalised copy */
    tn_loaded_library *library;
    uint32_t combination_count;
    const tn_combination *combinations; /* those of the table; program/kernel_fit.h has them with
                                           those that a node's kernel is asked for */
    uint32_t absorb_count;
    const tn_absorb *absorbs; /* of the kernel's text, in its order */
} tn_kernel_entry;

typedef struct tn_rewrite_entry {
    const tn_rewrite *rewrite; /* normalised copy */
    tn_loaded_library *library;
    const struct tn_pattern *pattern; /* of both texts: plugin/rewrite/pattern.h; null until
                                         tn_registry_read_rewrite */
} tn_rewrite_entry;

#endif
