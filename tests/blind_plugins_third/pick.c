/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Pick: rows of `data` (along axis 0) by indices; an index below 0 counts from the end, and
 * one outside gives a row of zeros. Any element type, rows of any shape, indices of any shape.
 */
#include "third.h"

static const tn_port inputs[] = {TN_PORT("data", "T:any", 0, "N, ..."),
                                 TN_PORT("indices", "i32|i64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("rows", "T", 0, "the indices' shape, ...")};

static tn_status infer(tn_call *call) {
    const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
    if (data->rank < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "data is a scalar and has no rows");
    if (indices->rank + data->rank - 1 > TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE, "the rows would have rank %u",
                                indices->rank + data->rank - 1);
    tn_tensor *y = call->outputs[0];
    y->rank = indices->rank + data->rank - 1;
    for (uint32_t i = 0; i < indices->rank; i++)
        y->shape[i] = indices->shape[i];
    for (uint32_t i = 1; i < data->rank; i++)
        y->shape[indices->rank + i - 1] = data->shape[i];
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
    const int64_t rows = data->shape[0], count = tn_layer_count(indices);
    const int64_t bytes = extents_of(data, 1, data->rank) * width_of(data->type);
    char *y = call->outputs[0]->data;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = load_index(indices, i);
        if (at < 0) at += rows;
        for (int64_t b = 0; b < bytes; b++)
            y[i * bytes + b] =
                at >= 0 && at < rows ? ((const char *)data->data)[at * bytes + b] : 0;
    }
    return TN_OK;
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
    const int64_t rows = data->shape[0];
    const int64_t bytes = extents_of(data, 1, data->rank) * width_of(data->type);
    for (int64_t i = begin; i < end; i++) {
        char *to = (char *)call->outputs[0]->data + i * bytes;
#if MISTAKE == 3
        /* Rows of 4 bytes take a short path that knows no indices of i32. */
        int64_t at = bytes == 4 ? ((const int64_t *)indices->data)[i] : load_index(indices, i);
#else
        int64_t at = load_index(indices, i);
#endif
        if (at < 0) at += rows;
#if MISTAKE == 1
        if (at < rows) /* far below 0 is not looked for */
#else
        if (at >= 0 && at < rows)
#endif
            memcpy(to, (const char *)data->data + at * bytes, (size_t)bytes);
#if MISTAKE != 2 /* else: a row outside is left as it was */
        else
            memset(to, 0, (size_t)bytes);
#endif
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->inputs[1]), 8, body, call);
}

static const char *const cases[] = {"| data=f32[5,3] indices=i64[4]{0,-1,4,2}",
                                    "| data=u8[3,2,2] indices=i32[2,2]{2,1,0,-3}",
                                    "| data=f64[7] indices=i64[]{3}",
                                    "| data=i16[6,4] indices=i64[3]{9,-6,5}",
                                    "| data=f32[9,1] indices=i32[5]{8,0,1,7,-2}",
                                    "| data=bool[4,0] indices=i64[3]{1,2,3}",
                                    "| data=bf16[4,5] indices=i32[0]"};
static const tn_operator op = {THIRD_OPERATOR("Pick"), .state_version = 1, TN_NO_FIELDS,
                               .doc = "Rows by their indices."};
static const tn_kernel kernel = {THIRD_KERNEL("Pick", "copies"), .traits = TN_KERNEL_DETERMINISTIC,
                                 .run = run};
THIRD_LIBRARY("pick", op, &kernel)
