/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shape rules of nodes with bodies answered lately, by node: such a rule infers whole
 * graphs, and a run whose shapes are found step by step asks it each time. Where types, shapes and
 * the values that the rule sees are those of an earlier question, so is the answer. The memory is
 * there from the start, so that runs that are alike allocate nothing.
 */
#include "base/status.h"
#include "graph/body.h"
#include "graph/infer_private.h"

#include <string.h>

/* What a rule sees of an input. */
typedef struct memo_input {
    tn_type type;
    uint32_t rank, value_bytes;
    bool is_there, has_value;
    int64_t extents[TN_MAX_RANK];
    unsigned char value[TN_MEMO_VALUE_BYTES];
} memo_input;

/* What it wrote of an output. */
typedef struct memo_output {
    tn_type type;
    uint32_t rank;
    int64_t extents[TN_MAX_RANK];
} memo_output;

typedef struct memo_entry {
    bool is_known;
    memo_input *inputs;
    memo_output *outputs;
} memo_entry;

enum { MEMO_ENTRIES = 4 };
struct tn_infer_memo {
    memo_input *now; /* the question at hand */
    bool is_readable;
    memo_entry entries[MEMO_ENTRIES];
    uint32_t next; /* the oldest */
};

tn_status tn_infer_memo_create(const tn_graph_node *node, const tn_allocator *allocator,
                               tn_infer_memo **out_memo) {
    const size_t inputs = node->input_count + 1u, outputs = node->output_count + 1u;
    tn_infer_memo *memo = tn_allocate_zero(allocator, 1, sizeof(*memo));
    if (!memo) return tn_fail_memory("an inference");
    *out_memo = memo;
    memo->now = tn_allocate_zero(allocator, inputs, sizeof(*memo->now));
    bool is_there = memo->now != NULL;
    for (int i = 0; i < MEMO_ENTRIES; i++) {
        memo_entry *entry = &memo->entries[i];
        entry->inputs = tn_allocate_zero(allocator, inputs, sizeof(*entry->inputs));
        entry->outputs = tn_allocate_zero(allocator, outputs, sizeof(*entry->outputs));
        is_there = is_there && entry->inputs && entry->outputs;
    }
    return is_there ? TN_OK : tn_fail_memory("an inference");
}

void tn_infer_memo_destroy(tn_infer_memo *memo, const tn_allocator *allocator) {
    if (!memo) return;
    for (int i = 0; i < MEMO_ENTRIES; i++) {
        tn_deallocate(allocator, memo->entries[i].inputs);
        tn_deallocate(allocator, memo->entries[i].outputs);
    }
    tn_deallocate(allocator, memo->now);
    tn_deallocate(allocator, memo);
}

/* False: more than is remembered. */
static bool read_input(const tn_tensor *tensor, memo_input *input) {
    memset(input, 0, sizeof(*input));
    input->is_there = tensor != NULL;
    if (!tensor) return true;
    if (tensor->kind || tensor->rank > TN_MAX_RANK) return false;
    input->type = tensor->type;
    input->rank = tensor->rank;
    for (uint32_t axis = 0; axis < tensor->rank; axis++)
        input->extents[axis] = tensor->shape[axis];
    if (!tensor->data) return true;
    if (tensor->bytes > TN_MEMO_VALUE_BYTES || tensor->type == TN_STRING) return false;
    input->has_value = true;
    input->value_bytes = (uint32_t)tensor->bytes;
    if (tensor->bytes > 0) memcpy(input->value, tensor->data, (size_t)tensor->bytes);
    return true;
}

static const memo_entry *find(const tn_infer_memo *memo, const tn_graph_node *node) {
    const size_t bytes = node->input_count * sizeof(*memo->now);
    for (int i = 0; i < MEMO_ENTRIES; i++)
        if (memo->entries[i].is_known &&
            (bytes == 0 || memcmp(memo->now, memo->entries[i].inputs, bytes) == 0))
            return &memo->entries[i];
    return NULL;
}

bool tn_infer_memo_recall(tn_infer_memo *memo, const tn_graph_node *node,
                          const tn_tensor *const *inputs, tn_tensor *const *outputs) {
    memo->is_readable = true;
    for (uint32_t i = 0; i < node->input_count && memo->is_readable; i++)
        memo->is_readable = read_input(inputs[i], &memo->now[i]);
    const memo_entry *entry = memo->is_readable ? find(memo, node) : NULL;
    for (uint32_t i = 0; entry && i < node->output_count; i++) {
        if (!outputs[i]) continue;
        outputs[i]->type = entry->outputs[i].type;
        outputs[i]->rank = entry->outputs[i].rank;
        memcpy(outputs[i]->shape, entry->outputs[i].extents, sizeof(entry->outputs[i].extents));
    }
    return entry != NULL;
}

void tn_infer_memo_note(tn_infer_memo *memo, const tn_graph_node *node, tn_tensor *const *outputs) {
    memo_entry *entry = &memo->entries[memo->next];
    if (!memo->is_readable) return;
    entry->is_known = true;
    if (node->input_count > 0)
        memcpy(entry->inputs, memo->now, node->input_count * sizeof(*memo->now));
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (!outputs[i]) continue;
        if (outputs[i]->kind) entry->is_known = false;
        entry->outputs[i].type = outputs[i]->type;
        entry->outputs[i].rank = outputs[i]->rank;
        memcpy(entry->outputs[i].extents, outputs[i]->shape, sizeof(entry->outputs[i].extents));
    }
    memo->next = (memo->next + 1) % MEMO_ENTRIES;
}
