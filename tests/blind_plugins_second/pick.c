/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Pick: rows of x by their numbers; a negative one counts from the end. */
#include "second.h"

static const tn_port inputs[] = {TN_PORT("x", "T:any", 0, "rows, ..."),
                                 TN_PORT("rows", "I:i32|i64", 0, "numbers of rows")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "the rows")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *rows = call->inputs[1];
    if (x->rank < 1 || rows->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis or 'rows' not one");
    same_shape(call, 0, 0);
    call->outputs[0]->shape[0] = rows->shape[0];
    return TN_OK;
}
static tn_status compute(tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0], *rows = call->inputs[1], *y = call->outputs[0];
    const int64_t count = x->shape[0];
    const uint64_t bytes = (uint64_t)product(x, 1, x->rank) * type_bytes(x->type);
    int64_t *values = NULL;
    if (is_kernel && IS(4)) values = malloc((size_t)(rows->shape[0] + 1) * 8);
    for (int64_t i = 0; i < rows->shape[0]; i++) {
        int64_t row = get_integer(rows, i);
        if (is_kernel && IS(5)) row = ((const int32_t *)rows->data)[i];
        if (is_kernel && IS(1) && rows->type == TN_I32) row = *((const uint32_t *)rows->data + i);
        const int64_t given = row;
        if (row < 0) row += count;
        if (is_kernel && IS(1) && row > INT32_MAX) row = count - 1;
        if (is_kernel && IS(2) && (row < 0 || row >= count)) return TN_ERROR_RANGE;
        if (row < 0 || (is_kernel && IS(3) ? row > count : row >= count))
            return call->host->fail(call, TN_ERROR_RANGE, "row %lld of %lld", (long long)given,
                                    (long long)count);
        if (values) values[i] = row;
        memcpy((uint8_t *)y->data + (uint64_t)i * bytes, (uint8_t *)x->data + (uint64_t)row * bytes,
               bytes);
    }
    free(values);
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}
static const char *const cases[] = {
    "| x=f32[3,4] rows=i64[1]{2}",       "| x=u8[5] rows=i32[3]{0,4,1}",
    "| x=bool[2,3,2] rows=i32[2]{1,0}",
#if MISTAKE == 0
    "| x=f16[3,3] rows=i64[3]{-1,-3,2}", "| x=f64[2,0] rows=i32[2]{-1,-1}",
#endif
};
static const char *const combinations[] = {"*, * -> *"};
OPERATOR("Pick", "Rows by number.", TN_NO_FIELDS, .traits = TN_OPERATOR_SELECTS)
KERNEL("Pick", .traits = TN_KERNEL_DETERMINISTIC)
LIBRARY("second_pick")
