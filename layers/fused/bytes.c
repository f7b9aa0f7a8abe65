/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel in 8 bits: a program over the 256 numbers that an element can stand for; see fused.h.
 */
#include "fused/fused.h"
#include "kit/math/byte_table.h"
#include <tenon/kit/epilogue.h>

tn_status tn_fused_bytes_accepts(tn_call *call) {
    tn_row_program program;
    const tn_tensor *tensor;
    uint32_t count = 0;
    if (!tn_epilogue_tensors(call, 1, &tensor, &count) || count != 1 || !call->inputs[0] ||
        tn_byte_scale(call->inputs[0]) == 0 || tn_byte_scale(call->outputs[0]) == 0 ||
        !tn_row_program_make(call, &program, NULL, 0) || tn_fused_is_idle(call, &program))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

tn_status tn_fused_bytes_prepare(tn_call *call) {
    const float from = tn_byte_scale(call->inputs[0]), to = tn_byte_scale(call->outputs[0]);
    float scratch[TN_ROW_PROGRAM_ROWS][TN_ROW_PROGRAM_BLOCK], x[256], y[256];
    const float *const tensors[] = {x};
    const int64_t strides[] = {1};
    tn_row_program program;
    char why[300] = "";
    if (!tn_row_program_make(call, &program, why, sizeof(why)))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "%s", why);
    tn_byte_table *table = call->host->allocate(call->host, sizeof(*table), 64);
    if (!table) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a table of bytes");
    for (int i = 0; i < 256; i++)
        x[i] = (float)(i - 128) * from;
    tn_row_program_run(&program, &tn_rows_baseline, 256, tensors, strides, scratch, y);
    for (int i = 0; i < 256; i++)
        table->values[i] = tn_byte_round(y[i], to);
    call->state = table;
    return TN_OK;
}
