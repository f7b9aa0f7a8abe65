/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of all types but 32-bit floats alone, by programs over cells; see fused.h. */
#include "fused/fused.h"
#include "kit/elementwise/cell_program.h"
#include <tenon/kit/infer.h>

static bool is_float_alone(const tn_call *call) {
    bool is_alone = call->outputs[0] && call->outputs[0]->type == TN_F32;
    for (uint32_t i = 0; i < call->input_count; i++)
        is_alone = is_alone && call->inputs[i] && call->inputs[i]->type == TN_F32;
    return is_alone;
}

tn_status tn_fused_types_accepts(tn_call *call) {
    tn_cell_program program;
    if (is_float_alone(call)) return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < call->input_count; i++)
        if (call->inputs[i] && call->inputs[i]->rank > call->outputs[0]->rank)
            return TN_ERROR_UNSUPPORTED;
    return tn_cell_program_make(call, &program) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

tn_status tn_fused_types_prepare(tn_call *call) {
    return tn_cell_program_prepare(call);
}

tn_status tn_fused_types_run(tn_call *call) {
    return tn_cell_program_run(call, call->user);
}
