/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Greatest, the greatest of each row and where it lies: outputs of two types, each of which
 * may be unasked for; and the mistakes that are made with them. */
#include "mistake.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "of rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("most", "f32", 0, "x without its last axis"),
                                  TN_PORT("index", "i64", 0, "the first position of it")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1 || x->shape[x->rank - 1] < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x must have elements along an axis");
    for (uint32_t k = 0; k < 2; k++) {
        if (!call->outputs[k]) continue;
        call->outputs[k]->rank = x->rank - 1;
        for (uint32_t i = 0; i + 1 < x->rank; i++)
            call->outputs[k]->shape[i] = x->shape[i];
    }
    return TN_OK;
}

static tn_status find(const tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0], *most = call->outputs[0], *index = call->outputs[1];
    if (WITH(index_needs_most) && is_kernel && !most) return TN_OK;
    const int64_t length = x->shape[x->rank - 1], rows = count_of(x) / length;
    for (int64_t r = 0; r < rows; r++) {
        const float *row = (const float *)x->data + r * length;
        int64_t at = 0;
        for (int64_t i = 1; i < length; i++)
            if (row[i] > row[at]) at = i;
        if (most || (WITH(both_always) && is_kernel)) ((float *)most->data)[r] = row[at];
        if (WITH(one_row_of_indices) && is_kernel && r > 0) continue;
        if (WITH(narrow_index) && is_kernel)
            ((int32_t *)index->data)[r] = (int32_t)at;
        else if (index || (WITH(both_always) && is_kernel))
            ((int64_t *)index->data)[r] = at;
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return find(call, false);
}
static tn_status run(tn_call *call) {
    return find(call, true);
}

static const char *const cases[] = {
    "| x=f32[4,6]", "| x=f32[2,3,5]",
    "| x=f32[2,3]{1,3,2,-1,-2,-3} | most=f32[2]{3,-1} index=i64[2]{1,0}"};
static const tn_operator greatest = {.size = sizeof(tn_operator),
                                     .since_version = 1,
                                     .state_version = 1,
                                     .domain = "Bad",
                                     .name = "Greatest",
                                     TN_NO_FIELDS,
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer,
                                     .reference = reference,
                                     TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32?, i64?"};
static const tn_kernel greatest_cpu = {.size = sizeof(tn_kernel),
                                       .revision = 1,
                                       .domain = "Bad",
                                       .op = "Greatest",
                                       .device = "cpu",
                                       .name = "rows",
                                       .traits = TN_KERNEL_DETERMINISTIC,
                                       TN_COMBINATIONS(combinations),
                                       .run = run};
static const tn_operator *const operators[] = {&greatest};
static const tn_kernel *const kernels[] = {&greatest_cpu};
TN_LIBRARY("bad_greatest", "1", operators, kernels)
