/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Pick, rows of x by their numbers, from the end where they are negative: and the mistakes
 * that indices of other ranges show. */
#include "mistake.h"

#include <stdlib.h>
#include <string.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows"),
                                 TN_PORT("rows", "i32|i64", 0, "which of them, of rank 1")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "the rows")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank != 2 || call->inputs[1]->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x must be of rank 2, rows of rank 1");
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = call->inputs[1]->shape[0];
    call->outputs[0]->shape[1] = call->inputs[0]->shape[1];
    return TN_OK;
}

static int64_t row_at(const tn_tensor *rows, int64_t i, bool is_kernel) {
    const bool is_narrow = rows->type == TN_I32;
    const int64_t row =
        is_narrow ? ((const int32_t *)rows->data)[i] : ((const int64_t *)rows->data)[i];
    if (WITH(index_of_32_bits) && is_kernel) return (int32_t)row;
    if (WITH(index_unsigned) && is_kernel && is_narrow) return (uint32_t)row;
    return row;
}

static tn_status pick(tn_call *call, bool is_kernel) {
    const int64_t count = call->inputs[0]->shape[0], length = call->inputs[0]->shape[1];
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < call->inputs[1]->shape[0]; i++) {
        if (WITH(index_table_of_1024) && is_kernel && i >= 1024) {
            memset(y + i * length, 0, (size_t)length * sizeof(float));
            continue;
        }
        int64_t row = row_at(call->inputs[1], i, is_kernel);
        if (WITH(index_clamped) && is_kernel)
            row = row < -count ? -count : row >= count ? count - 1 : row;
        if (row < 0) row += count;
        if (WITH(index_verified_once) && is_kernel && *(bool *)call->context)
            row = row < 0 ? 0 : row >= count ? count - 1 : row;
        if (WITH(index_of_count) && is_kernel && row == count) row--;
        void *volatile kept = WITH(leaks_where_refused) && is_kernel ? malloc(64) : NULL;
        if (WITH(refuses_without_reason) && (row < 0 || row >= count)) return TN_ERROR_RANGE;
        if (row < 0 || row >= count)
            return call->host->fail(call, TN_ERROR_ARGUMENT, "there is no row %lld",
                                    (long long)row);
        free(kept);
        memcpy(y + i * length, x + row * length, (size_t)length * sizeof(float));
    }
    if (is_kernel) *(bool *)call->context = true;
    return TN_OK;
}
/* Whether the context has run. */
static tn_status open_context(tn_call *call) {
    bool *has_run = call->host->allocate(call->host, 64, 64);
    if (!has_run) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a context");
    *has_run = false;
    call->context = has_run;
    return TN_OK;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
static tn_status reference(tn_call *call) {
    return pick(call, false);
}
static tn_status run(tn_call *call) {
    return pick(call, true);
}

static const char *const cases[] = {"| x=f32[4,5] rows=i64[3]{1,3,0}",
                                    "| x=f32[6,2] rows=i32[4]{5,2,2,0}"};
static const tn_operator pick_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "Bad",
                                          .name = "Pick",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(inputs),
                                          TN_OUTPUTS(outputs),
                                          .infer = infer,
                                          .reference = reference,
                                          TN_CASES(cases)};
static const tn_kernel pick_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Pick",
                                   .device = "cpu",
                                   .name = "plain",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   .open = open_context,
                                   .close = close_context,
                                   .run = run};
static const tn_operator *const operators[] = {&pick_operator};
static const tn_kernel *const kernels[] = {&pick_cpu};
TN_LIBRARY("bad_indices", "1", operators, kernels)
