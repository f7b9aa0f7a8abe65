/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/string.h: tensors of strings. A tensor of TN_STRING has elements of 16 bytes that
 * point into a heap of bytes beside it; who selects elements (Gather, Slice) copies 16 bytes each
 * and shares the heap.
 */
#ifndef TENON_PLUGIN_STRING_H
#define TENON_PLUGIN_STRING_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One element: `bytes` bytes at heap->data + offset. They are UTF-8 by convention, which nobody
 * checks: any byte may be there, a zero byte too, and none ends the string. offset + bytes is at
 * most heap->bytes, without overflow, of an empty string as well; elements may share bytes, and
 * bytes that no element names are allowed. Equal strings may have different offsets. */
typedef struct tn_string {
    uint64_t offset, bytes;
} tn_string;

/* tn_tensor.heap: the bytes of a tensor's elements, of the host, not null where the type is
 * TN_STRING and the tensor's data is there. Kernels and references read it and never write to it or
 * replace the pointer. An input's heap has the lifetime of its data, and does not move in the call;
 * an output's may move at each append. `data` may have any alignment, and may be null when `bytes`
 * is 0. */
typedef struct tn_heap {
    uint32_t size;
    uint32_t reserved;
    uint64_t bytes;
    const char *data;
} tn_heap;

/* Such a tensor is linear, packed, not quantised and in the host's memory: no kernel of a device
 * gets it, and none has `strided`, `counted` or another format at such a port. Ports name the type
 * "string"; no group (any) holds it. Its outputs never lie on inputs (TN_KERNEL_IN_PLACE,
 * TN_PORT_ALIAS) and are no windows (view.h); TN_PORT_VIEW shares elements and heap. No node with
 * such an output is folded, and no TN_PORT_VALUE_NEEDED port accepts a string but from a constant.
 * An operator with an expression or a row function has no such port.
 *
 * Where one block of memory holds a tensor of n strings (constants: tn_graph_add_constant; inputs
 * of a network: tn_context_bind_input), it begins with the n elements, and the heap is what follows
 * them: bytes - 16 * n bytes. */

/* host->extension(host, TN_STRINGS): how outputs get their heap. When `run` or `reference` begins,
 * the heap of each output of strings is empty; `run` then writes all elements of the output, and
 * either appends their bytes, or shares the heap of one input.
 *
 * The memory is the host's: a context keeps it from one run to the next, so that runs of the same
 * sizes allocate nothing, and frees it at the context's end. What a run wrote is there until the
 * next run begins.
 *
 * [thread: the callback's own, never a body of parallel_for; called: run, reference] */
#define TN_STRINGS "tn.strings/1"
typedef struct tn_string_services {
    uint32_t size;
    uint32_t reserved;
    /* Copies `count` bytes to the end of the heap of output `output`; *out_offset: where they lie.
     * What is appended next lies behind them, so that one string may come in pieces. `bytes` may
     * lie in a heap, in this one too; null is allowed when `count` is 0. TN_ERROR_ARGUMENT: the
     * output is none of strings; TN_ERROR_STATE: its heap is shared; TN_ERROR_MEMORY: the heap is
     * as it was. */
    tn_status (*append)(tn_call *call, uint32_t output, const void *bytes, uint64_t count,
                        uint64_t *out_offset) TN_NOEXCEPT;
    /* The output's heap becomes that of input `input`: the output's elements are then elements of
     * this input, in any order and number. TN_ERROR_ARGUMENT: one of the two is no tensor of
     * strings; TN_ERROR_STATE: something was appended already. */
    tn_status (*share)(tn_call *call, uint32_t output, uint32_t input) TN_NOEXCEPT;
} tn_string_services;

/* Element `index` (linear) of a tensor of strings. */
static inline const char *tn_string_at(const tn_tensor *tensor, uint64_t index,
                                       uint64_t *out_bytes) {
    const tn_string *element = (const tn_string *)tensor->data + index;
    *out_bytes = element->bytes;
    return element->bytes > 0 ? tensor->heap->data + element->offset : "";
}

#ifdef __cplusplus
}
#endif

TN_STATIC_ASSERT(sizeof(tn_string) == 16, "a string is 16 bytes");
TN_FROZEN(tn_string, bytes, 8);
TN_FROZEN(tn_heap, data, 16);
TN_FROZEN(tn_string_services, share, 16);
TN_FROZEN(tn_tensor, heap, 80);

#endif
