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

tn_status tn_sequence_infer_optional(tn_call *call, tn_type type) {
    const tn_tensor *element = tn_infer_input(call, 0);
    call->outputs[0]->rank = TN_RANK_UNKNOWN;
    if (element)
        tn_sequence_join(call->outputs[0], element, true);
    else
        tn_infer_set_type(call, 0, type);
    return TN_OK;
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

tn_status tn_sequence_add_elements(tn_call *call, tn_tensor *output, const tn_tensor *tensor,
                                   uint32_t rank, const int64_t *extents, const tn_block *block) {
    const tn_sequence_service *lists = tn_sequence_lists(call);
    const unsigned char *from = (const unsigned char *)tensor->data + block->offset;
    const tn_string *strings = (const tn_string *)(const void *)from;
    const uint64_t each = block->bytes / sizeof(tn_string),
                   pitch = block->pitch / sizeof(tn_string);
    uint64_t heap_bytes = 0, at = 0;
    tn_string *to = NULL;
    char *heap = NULL;
    void *data = NULL;
    if (tensor->type != TN_STRING) {
        TN_TRY(lists->append(call, output, rank, extents, &data));
        for (uint64_t row = 0; row < block->rows && block->bytes > 0; row++)
            memcpy((unsigned char *)data + row * block->bytes, from + row * block->pitch,
                   block->bytes);
        return TN_OK;
    }
    for (uint64_t row = 0; row < block->rows; row++)
        for (uint64_t i = 0; i < each; i++)
            heap_bytes += strings[row * pitch + i].bytes;
    TN_TRY(lists->append_strings(call, output, rank, extents, heap_bytes, &to, &heap));
    for (uint64_t row = 0; row < block->rows; row++)
        for (uint64_t i = 0; i < each; i++, to++) {
            const tn_string *string = &strings[row * pitch + i];
            *to = (tn_string){at, string->bytes};
            if (string->bytes > 0)
                memcpy(heap + at, tensor->heap->data + string->offset, string->bytes);
            at += string->bytes;
        }
    return TN_OK;
}

tn_status tn_sequence_add(tn_call *call, tn_tensor *output, const tn_tensor *tensor) {
    const tn_block whole = {.rows = 1, .bytes = tensor->bytes, .pitch = tensor->bytes};
    return tn_sequence_add_elements(call, output, tensor, tensor->rank, tensor->shape, &whole);
}

tn_status tn_sequence_add_items(tn_call *call, tn_tensor *output, const tn_tensor *input,
                                uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; i++)
        TN_TRY(tn_sequence_lists(call)->append_item(call, output, input, i));
    return TN_OK;
}

tn_status tn_sequence_copy(tn_call *call, const tn_tensor *tensor) {
    const tn_tensor *output = call->outputs[0];
    if (tensor->type == TN_STRING) return tn_strings_append_all(call, 0, tensor, output->data);
    if (tensor->bytes > 0) memcpy(output->data, tensor->data, tensor->bytes);
    return TN_OK;
}
