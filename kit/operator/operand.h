/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary operators as facets that the kernel before them absorbs: a residual where the other input
 * has the output's shape, a bias or a scale where it is a constant vector along one axis.
 */
#ifndef TN_KIT_OPERATOR_OPERAND_H
#define TN_KIT_OPERATOR_OPERAND_H

#include <tenon/kit/known_steps.h>

/* Describes a node of inputs 0 and 1 as the facet `name` on its input `input`. The other input is
 * seen with the shape `shape`, aligned at the last axis. `vector` is the facet where it is a
 * constant vector, `whole` the one where it has the output's shape; null: there is none. Answers
 * any status but TN_OK where it is not that facet. */
tn_status tn_operand_facet(const tn_call *call, uint32_t input, const char *name, uint32_t rank,
                           const int64_t *shape, const char *vector, const char *whole,
                           tn_facet *out_facet);
/* The same with the other input's own shape. */
tn_status tn_operand_facet_plain(const tn_call *call, uint32_t input, const char *name,
                                 const char *vector, const char *whole, tn_facet *out_facet);
/* The same for operators of axis_broadcast.h. */
tn_status tn_operand_facet_axis(tn_call *call, uint32_t input, const char *name, const char *vector,
                                const char *whole, tn_facet *out_facet);

#endif
