/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of the host for timing: memory that is used again from candidate to candidate, filled
 * with small numbers (zeros where integers are read: they may be indices), and constants at aligned
 * addresses. See timing_private.h.
 */
#include "base/status.h"
#include "builder/timing/timing_policy.h"
#include "builder/timing/timing_private.h"

#include <string.h>

tn_status tn_timing_take_block(tn_lowering *lowering, tn_timing_blocks *blocks, size_t bytes,
                               void **out_block) {
    const tn_allocator *allocator = lowering->graph->allocator;
    const size_t index = blocks->used;
    if (index == blocks->count) {
        TN_TRY(tn_grow(allocator, (void **)&blocks->items, &blocks->capacity, index + 1,
                       sizeof *blocks->items));
        TN_TRY(tn_grow(allocator, (void **)&blocks->bytes, &blocks->bytes_capacity, index + 1,
                       sizeof *blocks->bytes));
        blocks->items[index] = NULL;
        blocks->bytes[index] = 0;
        blocks->count++;
    }
    if (bytes < 64) bytes = 64;
    if (blocks->bytes[index] < bytes) {
        tn_deallocate(allocator, blocks->items[index]);
        blocks->bytes[index] = 0;
        blocks->items[index] = tn_allocate_aligned(allocator, bytes, 64);
        if (!blocks->items[index]) return tn_fail_memory("the tensors of a kernel to be timed");
        blocks->bytes[index] = bytes;
    }
    blocks->used++;
    *out_block = blocks->items[index];
    return TN_OK;
}

void tn_timing_free_blocks(const tn_allocator *allocator, tn_timing_blocks *blocks) {
    for (size_t i = 0; i < blocks->count; i++)
        tn_deallocate(allocator, blocks->items[i]);
    tn_deallocate(allocator, (void *)blocks->items);
    tn_deallocate(allocator, blocks->bytes);
    *blocks = (tn_timing_blocks){0};
}

/* The first bytes again and again, up to the end. */
static void repeat(void *data, size_t first, size_t bytes) {
    for (size_t done = first; done < bytes;) {
        const size_t next = done < bytes - done ? done : bytes - done;
        memcpy((char *)data + done, data, next);
        done += next;
    }
}

/* Numbers in -0.5 .. 0.5, or all that 8 bits can stand for, without a pattern that a cache or a
 * predictor would like: they repeat after a prime number of them. Lanes of padding get them too:
 * they are read or not, in the same time. */
void tn_timing_fill(const tn_tensor *tensor) {
    size_t bytes = (size_t)tensor->bytes;
    uint32_t state = 12345;
    if (tensor->quantization) {
        const size_t first = bytes < tn_timing_policy.period ? bytes : tn_timing_policy.period;
        for (size_t i = 0; i < first; i++) {
            state = state * 1664525u + 1013904223u;
            ((uint8_t *)tensor->data)[i] = (uint8_t)(state >> 24);
        }
        repeat(tensor->data, first, bytes);
        return;
    }
    if (tensor->type != TN_F32 && tensor->type != TN_F16 && tensor->type != TN_BF16 &&
        tensor->type != TN_F64) {
        memset(tensor->data, 0, bytes);
        return;
    }
    const size_t each = tn_type_bytes(tensor->type), count = bytes / each;
    const size_t first = count < tn_timing_policy.period ? count : tn_timing_policy.period;
    for (size_t i = 0; i < first; i++) {
        state = state * 1664525u + 1013904223u;
        float value = (float)(int32_t)(state >> 16 & 1023) / 1024.0f - 0.5f;
        if (tensor->type == TN_F32)
            ((float *)tensor->data)[i] = value;
        else
            tn_element_set_f64(tensor->data, tensor->type, i, (double)value);
    }
    repeat(tensor->data, first * each, count * each);
}

/* Constants may lie anywhere in a model's file; kernels may rely on 64 bytes. */
static tn_status align_constant(tn_lowering *lowering, tn_tensor_id id, tn_tensor *tensor) {
    const size_t tensors = lowering->graph->tensor_count + 1;
    if (((uintptr_t)tensor->data & 63) == 0) return TN_OK;
    if (!lowering->aligned)
        lowering->aligned = tn_arena_allocate(lowering->arena, tensors, sizeof *lowering->aligned);
    if (!lowering->aligned) return tn_fail_memory("the tensors of a kernel to be timed");
    if (!lowering->aligned[id]) {
        char *copy = tn_arena_allocate(lowering->arena, (size_t)tensor->bytes + 64, 1);
        if (!copy) return tn_fail_memory("the tensors of a kernel to be timed");
        copy += 64 - ((uintptr_t)copy & 63);
        memcpy(copy, tensor->data, (size_t)tensor->bytes);
        lowering->aligned[id] = copy;
    }
    tensor->data = (void *)(uintptr_t)lowering->aligned[id];
    return TN_OK;
}

tn_status tn_timing_give_data(tn_lowering *lowering, tn_timing_blocks *blocks, tn_tensor *tensor) {
    TN_TRY(tn_timing_take_block(lowering, blocks, (size_t)tensor->bytes, &tensor->data));
    tn_timing_fill(tensor);
    return TN_OK;
}

tn_status tn_timing_align_constants(tn_lowering *lowering, uint32_t index,
                                    tn_candidate_call *candidate_call) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && candidate_call->inputs[i].tensor.data)
            TN_TRY(align_constant(lowering, node->inputs[i], &candidate_call->inputs[i].tensor));
    for (uint32_t i = 0; i < candidate_call->call.operand_count; i++) {
        tn_tensor *operand = &candidate_call->operands[i].tensor;
        if (operand->data && operand->format != TN_LINEAR) /* a run provides it in that format */
            operand->data = NULL;
        else if (operand->data)
            TN_TRY(align_constant(lowering, candidate_call->operand_ids[i], operand));
    }
    return TN_OK;
}

tn_status tn_timing_give_tensors(tn_lowering *lowering, tn_timing_blocks *blocks, uint32_t index,
                                 tn_candidate_call *candidate_call) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    blocks->used = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        tn_tensor *input = &candidate_call->inputs[i].tensor;
        if (node->inputs[i] == TN_NO_TENSOR || input->data ||
            (tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_SHAPE_ONLY))
            continue;
        TN_TRY(tn_timing_give_data(lowering, blocks, input));
    }
    for (uint32_t i = 0; i < candidate_call->call.operand_count; i++)
        if (!candidate_call->operands[i].tensor.data)
            TN_TRY(tn_timing_give_data(lowering, blocks, &candidate_call->operands[i].tensor));
    for (uint32_t i = 0; i < node->output_count; i++)
        if (candidate_call->call.outputs[i])
            TN_TRY(tn_timing_give_data(lowering, blocks, candidate_call->call.outputs[i]));
    return TN_OK;
}
