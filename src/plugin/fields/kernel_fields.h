/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's own fields, filled from those of an operator that another library may have provided:
 * by name and type, numbers of 32 bits widened to 64, choices by name.
 */
#ifndef TN_PLUGIN_FIELDS_KERNEL_FIELDS_H
#define TN_PLUGIN_FIELDS_KERNEL_FIELDS_H

#include "plugin/fields/fields.h"

/* Whether the fields can be filled for some node of the operator. TN_ERROR_UNSUPPORTED: which field
 * cannot, and why. */
tn_status tn_kernel_fields_check(const tn_kernel *kernel, const tn_operator *op);
/* The kernel's struct for a node, in `arena`; it may point into `params`, the node's own. Null when
 * the kernel has no fields. TN_ERROR_UNSUPPORTED: the kernel is not for this node; TN_ERROR_MEMORY.
 */
tn_status tn_kernel_fields_fill(tn_arena *arena, const tn_kernel *kernel, const tn_operator *op,
                                const void *params, const void **out_params);

#endif
