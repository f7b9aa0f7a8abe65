/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row function of an elementwise operator that has none: from its expression. What it needs
 * lies before a copy of the node's parameters, so that the copy serves who reads fields, too.
 */
#ifndef TN_PLUGIN_FIELDS_EXPRESSION_ROW_H
#define TN_PLUGIN_FIELDS_EXPRESSION_ROW_H

#include "base/memory.h"
#include "tensor/type.h"

/* Sets `row` and `params` of a facet, which have the lifetime of the arena. Of one input, the one
 * that `row` gets. TN_ERROR_UNSUPPORTED: the expression has another input; TN_ERROR_MEMORY. */
tn_status tn_expression_row_make(tn_arena *arena, const tn_operator *op, const void *params,
                                 uint32_t input, tn_facet_expression *facet);

#endif
