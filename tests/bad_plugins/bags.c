/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Bags, the rows of a table that each bag names, summed and divided by how many there are, and
 * the numbers themselves without the -1 among them, which fills their rows up. With the mistakes in
 * the width of numbers, in bags of none, and at the ends of rows. */
#include "mistake.h"

static const tn_port inputs[] = {TN_PORT("table", "f32", 0, "rows"),
                                 TN_PORT("bags", "i64|i32", 0, "N, length: numbers of rows or -1")};
static const tn_port outputs[] = {
    TN_PORT("y", "f32", 0, "N"),
    TN_PORT("found", "i32", 0, "N, length: those that are rows, then -1")};

static tn_status infer(tn_call *call) {
    const tn_tensor *bags = call->inputs[1];
    if (call->inputs[0]->rank != 1 || bags->rank != 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "a table has one axis, bags have two");
    for (uint32_t o = 0; o < 2; o++) {
        if (!call->outputs[o]) continue;
        call->outputs[o]->rank = o + 1;
        call->outputs[o]->shape[0] = bags->shape[0];
        if (o == 1) call->outputs[o]->shape[1] = bags->shape[1];
    }
    return TN_OK;
}

static tn_status fill(tn_call *call, bool is_kernel) {
    const tn_tensor *bags = call->inputs[1];
    const int64_t rows = call->inputs[0]->shape[0], length = bags->shape[1];
    const bool is_wide = bags->type == TN_I64 || (is_kernel && WITH(bags_of_one_width));
    for (int64_t n = 0; n < bags->shape[0]; n++) {
        int32_t *found = call->outputs[1] ? (int32_t *)call->outputs[1]->data + n * length : 0;
        int64_t count = 0;
        float sum = 0;
        for (int64_t k = n * length; k < (n + 1) * length; k++) {
            const int64_t row =
                is_wide ? ((const int64_t *)bags->data)[k] : ((const int32_t *)bags->data)[k];
            if (row < -1 || row >= rows)
                return call->host->fail(call, TN_ERROR_RANGE, "there is no row %lld",
                                        (long long)row);
            if (row < 0) continue;
            if (found) found[count] = (int32_t)row;
            sum += ((const float *)call->inputs[0]->data)[row];
            count++;
        }
        const bool is_divided = count > 0 || (is_kernel && WITH(bag_of_none) && length == 0);
        if (call->outputs[0])
            ((float *)call->outputs[0]->data)[n] = is_divided ? sum / (float)count : 0;
        const bool is_filled = !is_kernel || !WITH(row_not_filled_up);
        for (int64_t k = count; found && k < length && is_filled; k++)
            found[k] = -1;
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return fill(call, false);
}
static tn_status run(tn_call *call) {
    return fill(call, true);
}

static const char *const cases[] = {"| table=f32[5] bags=i64[2,3]{0,4,2,1,1,3}",
                                    "| table=f32[2] bags=i64[1,4]{1,0,1,1}"};
static const char *const combinations[] = {"f32, i64|i32 -> f32, i32"};
static const tn_operator bags = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Bad",
                                 .name = "Bags",
                                 TN_NO_FIELDS,
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = reference,
                                 TN_CASES(cases)};
static const tn_kernel bags_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Bags",
                                   .device = "cpu",
                                   .name = "plain",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .run = run};
static const tn_operator *const operators[] = {&bags};
static const tn_kernel *const kernels[] = {&bags_cpu};
TN_LIBRARY("bad_bags", "1", operators, kernels)
