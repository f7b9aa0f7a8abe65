/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operators of sequences and optionals share: what items have in common, positions, and
 * items that are added. Lists belong to the host (tenon/plugin/sequence.h), which shares items that
 * several lists have.
 */
#ifndef TN_LAYERS_SEQUENCE_H
#define TN_LAYERS_SEQUENCE_H

#include "kit/operator/layer.h"
#include "kit/operator/strings.h"
#include <tenon/plugin/sequence.h>

extern const tn_operator tn_sequence_empty, tn_sequence_construct, tn_sequence_insert,
    tn_sequence_erase, tn_sequence_at, tn_sequence_length, tn_sequence_split, tn_sequence_concat,
    tn_sequence_map, tn_sequence_optional, tn_sequence_has_element_15, tn_sequence_has_element_18,
    tn_sequence_get_element, tn_sequence_optional_sequence, tn_sequence_has_sequence,
    tn_sequence_get_sequence;
extern const tn_kernel tn_sequence_map_kernel;

static inline const tn_sequence_service *tn_sequence_lists(const tn_call *call) {
    return (const tn_sequence_service *)call->host->extension(call->host, TN_SEQUENCES);
}

/* Writes what a tensor, or all items of a list, have in common with what `output` has already. */
void tn_sequence_join(tn_tensor *output, const tn_tensor *with, bool is_first);
/* The shape rule of an optional of input 0; `type`: of the items where that is absent. */
tn_status tn_sequence_infer_optional(tn_call *call, tn_type type);
/* A position of 0 .. most, which may count from the end of `length` items; absent: `otherwise`. */
tn_status tn_sequence_position(tn_call *call, uint32_t input, uint64_t length, int64_t most,
                               uint64_t otherwise, uint64_t *out_position);
/* Elements of a tensor: rows of `bytes` each, `pitch` apart, the first one `offset` bytes behind
 * its data. */
typedef struct tn_block {
    uint64_t offset, rows, bytes, pitch;
} tn_block;
/* Adds an item of this shape with copies of these elements, as many as it has. */
tn_status tn_sequence_add_elements(tn_call *call, tn_tensor *output, const tn_tensor *tensor,
                                   uint32_t rank, const int64_t *extents, const tn_block *block);
/* Adds a copy of a dense tensor. */
tn_status tn_sequence_add(tn_call *call, tn_tensor *output, const tn_tensor *tensor);
/* Adds items begin..end-1 of a list. */
tn_status tn_sequence_add_items(tn_call *call, tn_tensor *output, const tn_tensor *input,
                                uint64_t begin, uint64_t end);
/* Output 0, dense, with the elements of a tensor of its shape. */
tn_status tn_sequence_copy(tn_call *call, const tn_tensor *tensor);

#endif
