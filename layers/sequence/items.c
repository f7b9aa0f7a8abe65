/* SPDX-License-Identifier: Apache-2.0 */
/* Items of lists: see sequence.h. */
#include "sequence.h"

#include <string.h>

void tn_sequence_join(tn_tensor *output, const tn_tensor *with, bool is_first) {
    if (is_first) output->rank = with->rank;
    for (uint32_t i = 0; is_first && with->rank != TN_RANK_UNKNOWN && i < with->rank; i++)
        output->shape[i] = with->shape[i];
    if (is_first) return;
    if (output->rank != with->rank) output->rank = TN_RANK_UNKNOWN;
    for (uint32_t i = 0; output->rank != TN_RANK_UNKNOWN && i < output->rank; i++)
        if (output->shape[i] != with->shape[i]) output->shape[i] = -1;
}

tn_status tn_sequence_position(tn_call *call, uint32_t input, uint64_t length, int64_t most,
                               uint64_t otherwise, uint64_t *out_position) {
    const tn_tensor *position = tn_infer_input(call, input);
    *out_position = otherwise;
    if (!position) return TN_OK;
    if (tn_element_count(position) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'position' must be one number");
    const int64_t given = tn_element_i64(position, 0);
    const int64_t found = given < 0 && given >= -(int64_t)length ? given + (int64_t)length : given;
    if (found < 0 || found > most)
        return call->host->fail(call, TN_ERROR_RANGE, "position %lld in a list of %llu items",
                                (long long)given, (unsigned long long)length);
    *out_position = (uint64_t)found;
    return TN_OK;
}

tn_status tn_sequence_add(tn_call *call, tn_tensor *output, const tn_tensor *tensor) {
    void *data = NULL;
    TN_TRY(tn_sequence_lists(call)->append(call, output, tensor->rank, tensor->shape, &data));
    if (tensor->bytes > 0) memcpy(data, tensor->data, tensor->bytes);
    return TN_OK;
}

tn_status tn_sequence_add_items(tn_call *call, tn_tensor *output, const tn_tensor *input,
                                uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; i++)
        TN_TRY(tn_sequence_lists(call)->append_item(call, output, input, i));
    return TN_OK;
}

void tn_sequence_copy(const tn_tensor *output, const tn_tensor *tensor) {
    if (tensor->bytes > 0) memcpy(output->data, tensor->data, tensor->bytes);
}
