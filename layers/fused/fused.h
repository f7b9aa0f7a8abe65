/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of operator.c's tables: rows.c has those in 32-bit floats, bytes.c those in 8 bits,
 * types.c those of all other types. */
#ifndef TN_LAYERS_FUSED_H
#define TN_LAYERS_FUSED_H

#include "kit/elementwise/row_program.h"

/* An operator that computes rows itself has kernels that do one step as fast. */
static inline bool tn_fused_is_idle(const tn_call *call, const tn_row_program *program) {
    return program->step_count < 2 && call->op->row;
}

tn_status tn_fused_rows_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_fused_rows_prepare(tn_call *call) TN_NOEXCEPT;
tn_status tn_fused_rows_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_fused_rows_run(tn_call *call) TN_NOEXCEPT;

tn_status tn_fused_types_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_fused_types_prepare(tn_call *call) TN_NOEXCEPT;
tn_status tn_fused_types_run(tn_call *call) TN_NOEXCEPT;

/* Of one tensor; released and run as the tables of map_kernel.h. */
tn_status tn_fused_bytes_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_fused_bytes_prepare(tn_call *call) TN_NOEXCEPT;

#endif
