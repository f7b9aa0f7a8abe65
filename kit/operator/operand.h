/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary operators as epilogues of the kernel before them: a residual where the other input has the
 * output's shape, a bias or a scale where it is a constant vector along one axis.
 */
#ifndef TN_KIT_OPERATOR_OPERAND_H
#define TN_KIT_OPERATOR_OPERAND_H

#include <tenon/plugin.h>

/* Describes a node of inputs 0 and 1 as an epilogue on its input `input`. The other input is seen
 * with the shape `shape`, aligned at the last axis. `vector_kind` is the kind where it is a
 * constant vector, `whole_kind` where it has the output's shape; 0: there is none. Answers any
 * status but TN_OK where it is no epilogue. */
tn_status tn_operand_epilogue(const tn_call *call, uint32_t input, uint32_t rank,
                              const int64_t *shape, uint32_t vector_kind, uint32_t whole_kind,
                              tn_epilogue *out_epilogue);
/* The same with the other input's own shape. */
tn_status tn_operand_epilogue_plain(const tn_call *call, uint32_t input, uint32_t vector_kind,
                                    uint32_t whole_kind, tn_epilogue *out_epilogue);
/* The same for operators of axis_broadcast.h. */
tn_status tn_operand_epilogue_axis(tn_call *call, uint32_t input, uint32_t vector_kind,
                                   uint32_t whole_kind, tn_epilogue *out_epilogue);

#endif
