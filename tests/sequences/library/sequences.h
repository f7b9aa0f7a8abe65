/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of sequences and optionals, shaped like ONNX's in a domain of their own. */
#ifndef TN_TESTS_SEQUENCES_H
#define TN_TESTS_SEQUENCES_H

#include <tenon/plugin/sequence.h>

extern const tn_operator construct_operator, empty_operator, insert_operator, erase_operator,
    at_operator, length_operator, split_operator, concat_operator, optional_operator, has_operator,
    get_operator, twice_operator;
extern const tn_kernel construct_kernel, insert_kernel, at_kernel, length_kernel, split_kernel,
    concat_kernel;

/* What has the same callbacks in all of them. */
#define SEQUENCE_OPERATOR(operator_name, text)                                                     \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Test",         \
    .name = (operator_name), .doc = (text), .infer = infer, .reference = run
#define SEQUENCE_KERNEL(operator_name, text)                                                       \
    .size = sizeof(tn_kernel), .revision = 1, .domain = "Test", .op = (operator_name),             \
    .device = "cpu", .name = "list", .doc = (text), .run = run

static inline const tn_sequence_service *lists(const tn_call *call) {
    return call->host->extension(call->host, TN_SEQUENCES);
}

/* Writes what a tensor, or all items of a list, have in common with what `output` has already. */
void join(tn_tensor *output, const tn_tensor *with, bool is_first);
/* The number of items, and an index that may count from the end, of a scalar; absent: `otherwise`.
 */
tn_status read_index(tn_call *call, const tn_tensor *index, uint64_t most, uint64_t otherwise,
                     uint64_t *out_index);
/* Adds a copy of a dense tensor. */
tn_status add_copy(tn_call *call, tn_tensor *output, const tn_tensor *tensor);
/* Adds items begin..end-1 of a list. */
tn_status add_items(tn_call *call, tn_tensor *output, const tn_tensor *input, uint64_t begin,
                    uint64_t end);
/* An axis that may count from the end. */
tn_status read_axis(tn_call *call, int64_t axis, uint32_t rank, uint32_t *out_axis);

#endif
