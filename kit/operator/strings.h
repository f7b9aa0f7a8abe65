/* SPDX-License-Identifier: Apache-2.0 */
/* Strings in the built-in layers: what moves elements shares a heap or appends to its own. */
#ifndef TN_KIT_OPERATOR_STRINGS_H
#define TN_KIT_OPERATOR_STRINGS_H

#include "kit/operator/layer.h"

#include <tenon/plugin/string.h>

static inline const tn_string_services *tn_strings_of(const tn_call *call) {
    return call->host->extension(call->host, TN_STRINGS);
}

/* The end of an operator whose outputs of strings have elements of input `input`, copied as they
 * are: their heap is shared. */
static inline tn_status tn_strings_share(tn_call *call, uint32_t input) {
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->outputs[i] && call->outputs[i]->type == TN_STRING)
            TN_TRY(tn_strings_of(call)->share(call, i, input));
    return TN_OK;
}

/* Element `to` of output 0 becomes element `from` of a tensor, whose bytes are appended. */
static inline tn_status tn_strings_append(tn_call *call, int64_t to, const tn_tensor *tensor,
                                          int64_t from) {
    tn_string *element = (tn_string *)call->outputs[0]->data + to;
    const char *text = tn_string_at(tensor, (uint64_t)from, &element->bytes);
    return tn_strings_of(call)->append(call, 0, text, element->bytes, &element->offset);
}

/* Elements of output `output` become those of a tensor, one after the other in `to`; the bytes that
 * they name are appended, once each where elements share them. */
static inline tn_status tn_strings_append_all(tn_call *call, uint32_t output,
                                              const tn_tensor *tensor, tn_string *to) {
    const tn_string *from = (const tn_string *)tensor->data;
    const uint64_t count = tensor->bytes / sizeof(*from), heap_bytes = tensor->heap->bytes;
    uint64_t bytes = 0, offset = 0;
    for (uint64_t i = 0; i < count && bytes <= heap_bytes; i++)
        bytes = from[i].bytes > heap_bytes - bytes ? heap_bytes + 1 : bytes + from[i].bytes;
    const bool is_shared = bytes > heap_bytes;
    if (is_shared)
        TN_TRY(tn_strings_of(call)->append(call, output, tensor->heap->data, heap_bytes, &offset));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t length;
        const char *text = tn_string_at(tensor, i, &length);
        to[i] = (tn_string){offset + from[i].offset, length};
        if (!is_shared)
            TN_TRY(tn_strings_of(call)->append(call, output, text, length, &to[i].offset));
    }
    return TN_OK;
}

#endif
