/* SPDX-License-Identifier: Apache-2.0 */
/* Adds rows of updates to rows of data that an index names. The output is the state updated. */
#include "fifteenth.h"

static const tn_port inputs[] = {TN_PORT("data", "f32", 0, "rows, any axes"),
                                 TN_PORT("indices", "i32|i64", 0, "n, may count from the end"),
                                 TN_PORT("updates", "f32", 0, "n, axes of data")};
static const tn_port outputs[] = {{"y", "f32", "data with sums", TN_PORT_ALIAS, 1, 0, 0}};

static tn_status infer(tn_call *call) {
    const tn_tensor *data = call->inputs[0];
    int64_t shape[TN_MAX_RANK];
    if (data->rank == 0 || !TN_LAYER_FITS(call, 1, TN_LAYER_ANY))
        return call->host->fail(call, TN_ERROR_SHAPE, "data is a scalar, or indices no vector");
    for (uint32_t i = 0; i < data->rank; i++)
        shape[i] = i ? data->shape[i] : call->inputs[1]->shape[0];
    if (!tn_layer_fits(call, 2, data->rank, shape)) return TN_ERROR_SHAPE;
    return infer_same(call);
}

static tn_status row_of(tn_call *call, int64_t i, int64_t *out_row) {
    const tn_tensor *indices = call->inputs[1];
    const int64_t rows = call->inputs[0]->shape[0];
    const int64_t given = indices->type == TN_I32 ? ((const int32_t *)indices->data)[i]
                                                  : ((const int64_t *)indices->data)[i];
    *out_row = given < 0 ? given + rows : given;
    if (*out_row >= 0 && *out_row < rows) return TN_OK;
    return call->host->fail(call, TN_ERROR_RANGE, "index %lld of %lld rows", (long long)given,
                            (long long)rows);
}

static tn_status reference(tn_call *call) {
    const tn_tensor *data = call->inputs[0];
    const int64_t rows = data->shape[0], width = extent(data, 1, data->rank);
    const int64_t n = call->inputs[1]->shape[0];
    const float *x = data->data, *updates = call->inputs[2]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < n; i++) {
        int64_t row;
        TN_TRY(row_of(call, i, &row));
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < width; k++) {
            double sum = (double)x[r * width + k];
            for (int64_t i = 0; i < n; i++) {
                int64_t row;
                TN_TRY(row_of(call, i, &row));
                if (row == r) sum += (double)updates[i * width + k];
            }
            y[r * width + k] = (float)sum;
        }
    return TN_OK;
}

/* Columns begin..end-1 of all rows (of the mistake: updates begin..end-1). */
static tn_status part(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const int64_t width = extent(call->inputs[0], 1, call->inputs[0]->rank);
    const int64_t n = call->inputs[1]->shape[0];
    const float *updates = call->inputs[2]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = WRONG(3) ? begin : 0; i < (WRONG(3) ? end : n); i++) {
        int64_t row = 0;
        if (WRONG(5))
            row = ((const int64_t *)call->inputs[1]->data)[i];
        else
            (void)row_of(call, i, &row);
        for (int64_t k = WRONG(3) ? 0 : begin; k < (WRONG(3) ? width : end); k++)
            y[row * width + k] += updates[i * width + k];
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const tn_tensor *data = call->inputs[0];
    const int64_t width = extent(data, 1, data->rank), n = call->inputs[1]->shape[0];
    for (int64_t i = 0; i < n; i++) {
        int64_t row;
        if (WRONG(1) && call->inputs[1]->type == TN_I32) break; /* i32: trusted */
        TN_TRY(row_of(call, i, &row));
    }
    if (call->outputs[0]->data != data->data && !(WRONG(2) && n > 0))
        memcpy(call->outputs[0]->data, data->data, data->bytes);
    if (WRONG(3)) return call->host->parallel_for(call, n, 1, part, call);
    return call->host->parallel_for(call, width, 64, part, call);
}

static const char *const cases[] = {
    "| data=f32[5,3] indices=i64[4]{0,-1,2,0} updates=f32[4,3]",
    "| data=f32[3,2,2] indices=i32[2]{1,-3} updates=f32[2,2,2]",
    "| data=f32[4] indices=i64[0]{} updates=f32[0]",
};
static const tn_operator scatter_rows = {
    OPERATOR,       .name = "ScatterRows",  TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {
#if MISTAKE == 4
    "f32, i32|i64, f32:strided -> f32",
#else
    "f32, i32|i64, f32 -> f32",
#endif
};
static const tn_kernel kernel = {KERNEL,
                                 .op = "ScatterRows",
                                 .name = "columns",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("scatter_rows", scatter_rows, kernel)
