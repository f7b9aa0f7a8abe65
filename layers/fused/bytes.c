/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel in 8 bits: a program over the 256 numbers that an element can stand for; see fused.h.
 */
#include "fused/fused.h"
#include "kit/elementwise/map_kernel.h"
#include "kit/math/byte_table.h"
#include <tenon/kit/epilogue.h>

tn_status tn_fused_bytes_accepts(tn_call *call) {
    tn_row_program program;
    const tn_tensor *tensor;
    uint32_t count = 0;
    if (!tn_epilogue_tensors(call, 1, &tensor, &count) || count != 1 || !call->inputs[0] ||
        tn_byte_scale(call->inputs[0]) == 0 || tn_byte_scale(call->outputs[0]) == 0 ||
        !tn_row_program_make(call, TN_ROW_START_EXPRESSION, 0, &program, NULL, 0) ||
        tn_fused_is_idle(call, &program))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

tn_status tn_fused_bytes_prepare(tn_call *call) {
    tn_row_program program;
    char why[300] = "";
    float values[256];
    if (!tn_row_program_make(call, TN_ROW_START_EXPRESSION, 0, &program, why, sizeof(why)))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "%s", why);
    tn_map_bytes_values(call, values);
    return tn_map_bytes_fill(call, &program, values);
}
