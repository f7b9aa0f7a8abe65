/* SPDX-License-Identifier: Apache-2.0 */
/* Heaps that kernels append to; see strings.h. */
#include "plugin/strings/strings.h"
#include "base/memory.h"

#include <string.h>

enum { LEAST_CAPACITY = 256 };

void tn_owned_heap_init(tn_owned_heap *heap, const tn_allocator *allocator) {
    *heap = (tn_owned_heap){.heap = {.size = sizeof(tn_heap)}, .allocator = allocator};
}

void tn_owned_heap_deinit(tn_owned_heap *heap) {
    if (heap->allocator) tn_deallocate(heap->allocator, heap->memory);
    *heap = (tn_owned_heap){0};
}

void tn_owned_heap_clear(tn_owned_heap *heap) {
    heap->heap = (tn_heap){.size = sizeof(tn_heap), .data = heap->memory};
    heap->is_shared = false;
}

void tn_owned_heap_share(tn_owned_heap *heap, const tn_heap *other) {
    heap->heap = *other;
    heap->is_shared = true;
}

/* Room for `needed` bytes; what was appended moves. `*out_old`: memory to be freed once nothing is
 * copied from it. */
static bool reserve(tn_owned_heap *heap, uint64_t needed, char **out_old) {
    uint64_t capacity = heap->capacity > LEAST_CAPACITY ? heap->capacity : LEAST_CAPACITY;
    *out_old = NULL;
    if (needed <= heap->capacity) return true;
    while (capacity < needed)
        capacity = capacity > UINT64_MAX / 2 ? needed : capacity * 2;
    char *memory = tn_allocate(heap->allocator, capacity);
    if (!memory) return false;
    if (heap->heap.bytes > 0) memcpy(memory, heap->memory, heap->heap.bytes);
    *out_old = heap->memory;
    heap->memory = memory;
    heap->capacity = capacity;
    heap->heap.data = memory;
    return true;
}

static bool is_of_strings(const tn_tensor *tensor) {
    return tensor && tensor->type == TN_STRING;
}

static tn_status find_output(tn_call *call, uint32_t output, tn_owned_heap **out_heap) {
    if (output >= call->output_count || !is_of_strings(call->outputs[output]))
        return call->host->fail(call, TN_ERROR_ARGUMENT, "output %u is no tensor of strings",
                                output);
    if (!call->outputs[output]->heap)
        return call->host->fail(call, TN_ERROR_STATE,
                                "strings can be written in the reference and in run alone");
    *out_heap = (tn_owned_heap *)call->outputs[output]->heap;
    return TN_OK;
}

static tn_status append_text(tn_call *call, uint32_t output, const void *bytes, uint64_t count,
                             uint64_t *out_offset) {
    tn_owned_heap *heap = NULL;
    char *old = NULL;
    uint64_t needed;
    const tn_status status = find_output(call, output, &heap);
    if (status != TN_OK) return status;
    if ((count > 0 && !bytes) || !out_offset)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "append needs the string's bytes and out_offset");
    if (heap->is_shared)
        return call->host->fail(call, TN_ERROR_STATE,
                                "output %u shares an input's heap, to which nothing is appended",
                                output);
    if (__builtin_add_overflow(heap->heap.bytes, count, &needed) || !reserve(heap, needed, &old))
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the strings of output %u",
                                output);
    if (count > 0) memcpy(heap->memory + heap->heap.bytes, bytes, count);
    *out_offset = heap->heap.bytes;
    heap->heap.bytes = needed;
    tn_deallocate(heap->allocator, old);
    return TN_OK;
}

static tn_status share_heap(tn_call *call, uint32_t output, uint32_t input) {
    tn_owned_heap *heap = NULL;
    const tn_status status = find_output(call, output, &heap);
    if (status != TN_OK) return status;
    if (input >= call->input_count || !is_of_strings(call->inputs[input]) ||
        !call->inputs[input]->heap)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "input %u is no tensor of strings whose heap is there", input);
    if (heap->heap.bytes > 0 && !heap->is_shared)
        return call->host->fail(call, TN_ERROR_STATE, "something was appended to output %u already",
                                output);
    tn_owned_heap_share(heap, call->inputs[input]->heap);
    return TN_OK;
}

const tn_string_services *tn_string_service_table(void) {
    static const tn_string_services table = {
        .size = sizeof(table), .append = append_text, .share = share_heap};
    return &table;
}
