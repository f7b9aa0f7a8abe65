/* SPDX-License-Identifier: Apache-2.0 */
/* The call that a candidate's kernel gets at build: descriptors in the candidate's formats. */
#ifndef TN_BUILDER_LOWER_CANDIDATE_CALL_H
#define TN_BUILDER_LOWER_CANDIDATE_CALL_H

#include "builder/lower/candidate.h"

typedef struct tn_candidate_call {
    tn_call call;
    const tn_tensor_id *operand_ids; /* of the call's operands */
    tn_call_scope scope;
    /* What call.inputs, outputs and operands point at. */
    tn_tensor_storage *inputs, *outputs, *operands;
} tn_candidate_call;

/* Describes the tensors at a point (0, 1, 2: minimum, optimum, maximum): data of constants, and of
 * inputs whose value is needed. The node must be shaped. In `arena`; must not be moved. */
tn_status tn_candidate_call_init(tn_candidate_call *candidate_call, const tn_lowering *lowering,
                                 uint32_t node, const tn_candidate *candidate, int point,
                                 tn_arena *arena);

#endif
