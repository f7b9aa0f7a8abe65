/* SPDX-License-Identifier: Apache-2.0 */
/* Each row as often as a number says: how many come out is known when it runs. */
#include "fifteenth.h"
#include <tenon/plugin/output.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, any axes"),
                                 TN_PORT("times", "i64", 0, "rows, or one for all")};
static const tn_port outputs[] = {TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "rows, any axes")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *times = call->inputs[1];
    int64_t shape[TN_MAX_RANK];
    if (x->rank == 0) return call->host->fail(call, TN_ERROR_SHAPE, "x is a scalar");
    if (times->rank != 1 || (times->shape[0] != 1 && times->shape[0] != x->shape[0]))
        return call->host->fail(call, TN_ERROR_SHAPE, "times is neither one number nor one a row");
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = i ? x->shape[i] : TN_UNBOUNDED;
    return tn_layer_set_shape(call, 0, x->rank, shape);
}

static tn_status repeat(tn_call *call, bool is_kernel) {
    const tn_output_memory *memory = call->host->extension(call->host, TN_OUTPUT_MEMORY);
    const tn_tensor *x = call->inputs[0], *times = call->inputs[1];
    const int64_t *n = times->data;
    const int64_t rows = x->shape[0], width = extent(x, 1, x->rank);
    int64_t shape[TN_MAX_RANK], total = 0;
    void *data = NULL;
    if (!memory)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the host has no memory for outputs");
    for (int64_t i = 0; i < rows; i++) {
        const int64_t often = n[times->shape[0] == 1 && !(is_kernel && WRONG(1)) ? 0 : i];
        if (often < 0 && !(is_kernel && WRONG(2)))
            return call->host->fail(call, TN_ERROR_RANGE, "row %lld is wanted %lld times",
                                    (long long)i, (long long)often);
        if (often > 1 << 24)
            return call->host->fail(call, TN_ERROR_RANGE, "row %lld is wanted %lld times",
                                    (long long)i, (long long)often);
        total += often;
    }
    if (is_kernel && WRONG(3) && total == 0) return TN_OK;
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = i ? x->shape[i] : total;
    const tn_status status = memory->allocate(call, 0, x->rank, shape, &data);
    if (status != TN_OK && !(is_kernel && WRONG(4))) return status;
    float *y = data;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < n[times->shape[0] == 1 && !(is_kernel && WRONG(1)) ? 0 : i]; k++) {
            for (int64_t w = 0; w < width; w++)
                y[w] = ((const float *)x->data)[i * width + w];
            y += width;
        }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return repeat(call, false);
}
static tn_status run(tn_call *call) {
    return repeat(call, true);
}

static const char *const cases[] = {"| x=f32[3,2] times=i64[3]{2,0,1}",
                                    "| x=f32[4] times=i64[1]{3}", "| x=f32[2,2] times=i64[2]{0,0}"};
static const tn_operator repeat_each = {
    OPERATOR,       .name = "RepeatEach",   TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "RepeatEach",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("repeat_each", repeat_each, kernel)
