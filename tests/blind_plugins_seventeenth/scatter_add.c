/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are added to those of a tensor that indices name, several to one as well, in order. The
 * tensor may be updated in place. */
#include "seventeenth.h"

static const tn_port inputs[] = {TN_PORT("data", "T:f32|i64", 0, "rows, features"),
                                 TN_PORT("indices", "i64", 0, "updates; may count from the end"),
                                 TN_PORT("updates", "T", 0, "updates, features")};
static const tn_port outputs[] = {{"y", "T", "as data", TN_PORT_ALIAS, 1, 0, 0}};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 2, call->inputs[1]->shape[0], call->inputs[0]->shape[1]))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static size_t width_of(const tn_call *call) {
    return call->inputs[0]->type == TN_I64 ? 8 : 4;
}

/* All indices are looked at before anything is written. */
static tn_status check(tn_call *call, bool is_kernel) {
    const int64_t rows = call->inputs[0]->shape[0];
    for (int64_t u = 0; u < call->inputs[1]->shape[0]; u++) {
        const int64_t at = ((const int64_t *)call->inputs[1]->data)[u];
        if (at < -rows || at >= rows + (is_kernel && WRONG(3)))
            return call->host->fail(call, TN_ERROR_RANGE, "index %lld is %lld, of %lld rows",
                                    (long long)u, (long long)at, (long long)rows);
    }
    return TN_OK;
}

static void update(const tn_call *call, int64_t u) {
    const tn_tensor *data = call->inputs[0], *y = call->outputs[0];
    const int64_t features = data->shape[1], given = ((const int64_t *)call->inputs[1]->data)[u];
    const int64_t at = (given < 0 ? given + data->shape[0] : given) * features;
    for (int64_t f = 0; f < features; f++) {
        if (data->type == TN_I64) {
            uint64_t *to = (uint64_t *)y->data + at + f;
            *to += ((const uint64_t *)call->inputs[2]->data)[u * features + f];
        } else {
            ((float *)y->data)[at + f] += ((const float *)call->inputs[2]->data)[u * features + f];
        }
    }
}

static void copy(const tn_call *call) {
    const size_t bytes = (size_t)tn_layer_count(call->inputs[0]) * width_of(call);
    if (bytes > 0 && call->outputs[0]->data != call->inputs[0]->data)
        memcpy(call->outputs[0]->data, call->inputs[0]->data, bytes);
}

static tn_status reference(tn_call *call) {
    TN_TRY(check(call, false));
    copy(call);
    for (int64_t u = 0; u < call->inputs[1]->shape[0]; u++)
        update(call, u);
    return TN_OK;
}

static tn_status updates(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t u = begin; u < end; u++)
        update(user, u);
    return TN_OK;
}

/* The sums of all updates first, then the data on top. */
static void sums_first(const tn_call *call) {
    const tn_tensor *data = call->inputs[0], *y = call->outputs[0];
    const int64_t count = tn_layer_count(data);
    if (count > 0) memset(y->data, 0, (size_t)count * width_of(call));
    for (int64_t u = 0; u < call->inputs[1]->shape[0]; u++)
        update(call, u);
    for (int64_t i = 0; i < count; i++) {
        if (data->type == TN_I64)
            ((uint64_t *)y->data)[i] += ((const uint64_t *)data->data)[i];
        else
            ((float *)y->data)[i] += ((const float *)data->data)[i];
    }
}

static tn_status run(tn_call *call) {
    TN_TRY(check(call, true));
    if (WRONG(2)) {
        sums_first(call);
        return TN_OK;
    }
    copy(call);
    if (WRONG(1))
        return call->host->parallel_for(call, call->inputs[1]->shape[0], 1, updates, call);
    return updates(call, 0, call->inputs[1]->shape[0], 0);
}

static const char *const cases[] = {
    "| data=f32[4,3] indices=i64[5]{0,3,-1,1,0} updates=f32[5,3]",
    "| data=i64[2,5] indices=i64[3]{1,1,-2} updates=i64[3,5]",
    "| data=f32[3,200] indices=i64[2]{2,0} updates=f32[2,200]",
};
static const tn_operator scatter_add = {
    OPERATOR,       .name = "ScatterAdd",   TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32|i64, i64, f32|i64 -> f32|i64"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "ScatterAdd",
                                 .device = "cpu",
                                 .name = "updates",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("scatter_add", scatter_add, kernel)
