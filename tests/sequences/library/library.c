/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the library, and what its operators share. */
#include "sequences.h"

#include <string.h>

void join(tn_tensor *output, const tn_tensor *with, bool is_first) {
    if (is_first) {
        output->rank = with->rank;
        for (uint32_t i = 0; with->rank != TN_RANK_UNKNOWN && i < with->rank; i++)
            output->shape[i] = with->shape[i];
        return;
    }
    if (output->rank != with->rank) output->rank = TN_RANK_UNKNOWN;
    for (uint32_t i = 0; output->rank != TN_RANK_UNKNOWN && i < output->rank; i++)
        if (output->shape[i] != with->shape[i]) output->shape[i] = -1;
}

tn_status read_index(tn_call *call, const tn_tensor *index, uint64_t most, uint64_t otherwise,
                     uint64_t *out_index) {
    *out_index = otherwise;
    if (!index) return TN_OK;
    const int64_t given = *(const int64_t *)index->data;
    const int64_t found = given < 0 ? given + (int64_t)most : given;
    if (found < 0 || (uint64_t)found > most)
        return call->host->fail(call, TN_ERROR_RANGE, "position %lld of a list of %llu items",
                                (long long)given, (unsigned long long)most);
    *out_index = (uint64_t)found;
    return TN_OK;
}

tn_status add_copy(tn_call *call, tn_tensor *output, const tn_tensor *tensor) {
    void *data = NULL;
    const tn_status status = lists(call)->append(call, output, tensor->rank, tensor->shape, &data);
    if (status == TN_OK) memcpy(data, tensor->data, tensor->bytes);
    return status;
}

tn_status add_items(tn_call *call, tn_tensor *output, const tn_tensor *input, uint64_t begin,
                    uint64_t end) {
    tn_status status = TN_OK;
    for (uint64_t i = begin; i < end && status == TN_OK; i++)
        status = lists(call)->append_item(call, output, input, i);
    return status;
}

tn_status read_axis(tn_call *call, int64_t axis, uint32_t rank, uint32_t *out_axis) {
    const int64_t found = axis < 0 ? axis + (int64_t)rank : axis;
    if (found < 0 || found >= (int64_t)rank)
        return call->host->fail(call, TN_ERROR_RANGE, "axis %lld of a tensor of rank %u",
                                (long long)axis, rank);
    *out_axis = (uint32_t)found;
    return TN_OK;
}

static const tn_operator *const operators[] = {
    &construct_operator, &empty_operator,  &insert_operator, &erase_operator,
    &at_operator,        &length_operator, &split_operator,  &concat_operator,
    &optional_operator,  &has_operator,    &get_operator,    &twice_operator};
static const tn_kernel *const kernels[] = {&construct_kernel, &insert_kernel, &at_kernel,
                                           &length_kernel,    &split_kernel,  &concat_kernel};
TN_LIBRARY("sequences", "1.0", operators, kernels)
