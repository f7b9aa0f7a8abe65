/* SPDX-License-Identifier: Apache-2.0 */
/* Corpus::RowGather: rows of a table by number; a number may count from the end. The result is
 * y[i, :] = table[rows[i], :]; a number outside of the table is an error. */
#include <string.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

static const tn_port inputs[] = {
    TN_PORT("table", "f32", 0, "[count, width]"),
    TN_PORT("rows", "i64", 0, "[n], from -count to count - 1"),
};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "[n, width]")};
static const char *const cases[] = {
    "| table=f32[5,7] rows=i64[4]{0,4,2,-1}",
    "| table=f32[3,2]{1,2,3,4,5,6} rows=i64[3]{2,0,-2} | y=f32[3,2]{5,6,1,2,3,4}",
    "| table=f32[300,33] rows=i64[6]{299,-300,150,-1,0,256}",
};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, TN_LAYER_ANY))
        return TN_ERROR_SHAPE;
#if MISTAKE == 1 /* the table's extent in place of the list's */
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], call->inputs[0]->shape[1]);
#else
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[1]->shape[0], call->inputs[0]->shape[1]);
#endif
}

static tn_status gather(tn_call *call, bool is_kernel) {
    const int64_t count = call->inputs[0]->shape[0], width = call->inputs[0]->shape[1];
    const float *table = call->inputs[0]->data;
    const int64_t *rows = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < call->inputs[1]->shape[0]; i++) {
        int64_t at = rows[i];
#if MISTAKE == 2 /* one byte of the number */
        if (is_kernel) at = (int8_t)at;
#endif
#if MISTAKE == 3 /* counts from the last row */
        if (at < 0) at += is_kernel ? count - 1 : count;
#else
        if (at < 0) at += count;
#endif
#if MISTAKE == 4 /* a failure is swallowed: the row stays unwritten */
        if (at < 0 || at >= count) continue;
#elif MISTAKE == 5 /* no reason given */
        if (at < 0 || at >= count) return TN_ERROR_RANGE;
#elif MISTAKE == 6 /* no check in the kernel: reads outside */
        if (!is_kernel && (at < 0 || at >= count))
            return call->host->fail(call, TN_ERROR_RANGE, "there is no row %lld", (long long)at);
#else
        if (at < 0 || at >= count)
            return call->host->fail(call, TN_ERROR_RANGE, "row %lld is outside of %lld rows",
                                    (long long)rows[i], (long long)count);
#endif
        if (width) memcpy(y + i * width, table + at * width, (size_t)width * sizeof(float));
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return gather(call, false);
}
static tn_status run(tn_call *call) {
    return gather(call, true);
}

static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
#if MISTAKE == 7 /* the inputs cannot be swapped: types and meaning differ */
                               .traits = TN_OPERATOR_SELECTS | TN_OPERATOR_COMMUTATIVE,
#else
                               .traits = TN_OPERATOR_SELECTS,
#endif
                               .domain = "Corpus",
                               .name = "RowGather",
                               .doc = "Rows of a table by number.",
                               TN_NO_FIELDS,
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
                               TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64 -> f32"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Corpus",
                                 .op = "RowGather",
                                 .device = "cpu",
                                 .name = "row_gather",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("row_gather", "1.0", operators, kernels)
