/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/output.h: outputs of which no bound is known before they are computed (what a
 * decoder writes, the distinct elements of a tensor, decompressed data). The shape rule says so,
 * and `run` asks for the memory once it knows the size.
 *
 * The shape rule of an operator with TN_PORT_SIZED_BY_RUN answers TN_UNBOUNDED for each extent that
 * only `run` knows and of which no bound is worth allocating. Types, rank and all other extents are
 * as ever, and those are exact, no bounds. In a kernel's callbacks such an output has the extents
 * that the shape rule answered, strides -1, 0 bytes and no data; those that describe a node (facet,
 * operations) may see a guess. In `run`, or in the operator's reference, `allocate` fills the
 * descriptor.
 */
#ifndef TENON_PLUGIN_OUTPUT_H
#define TENON_PLUGIN_OUTPUT_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* host->extension(host, TN_OUTPUT_MEMORY): tn_output_memory. */
#define TN_OUTPUT_MEMORY "tn.output/1"

/* An extent that `infer` answers for an output sized by run. At any other port it is an error. (-1,
 * which `accepts`, `tactics` and `prepare` may see, is an extent that the node's callers decide.)
 */
enum { TN_UNBOUNDED = -2 };

/* What `infer` adds to the rank of such an output where only the run knows even that: rank and
 * extents are then an example, one that the run may find, by which the nodes behind are looked at.
 * In a kernel's callbacks the rank is TN_RANK_UNKNOWN (tenon/plugin/sequence.h), without extents,
 * and `allocate` takes any rank. */
#define TN_RANK_OPEN 0x40000000u

typedef struct tn_output_memory {
    uint32_t size;
    uint32_t reserved;
    /* Memory for output `index`, of so many elements along each of its `rank` axes. Every output of
     * the call that has an extent TN_UNBOUNDED is asked for exactly once a run, also where it has
     * no elements; the shape is final then. The extents are at least 0, and those of the shape rule
     * where it answered others than TN_UNBOUNDED. On success shape, strides, bytes and data of
     * call->outputs[index] are set, and *out_data is its data: aligned as all tensors are, contents
     * undefined, of the call's device and valid in the order of its stream. The host owns it; sizes
     * that earlier runs had are not allocated again. A failure leaves the output as it was, and
     * `run` returns it.
     *
     * TN_ERROR_STATE: outside of run and reference, a second time, or on another thread than that
     * of the callback (a body of parallel_for). TN_ERROR_ARGUMENT: an output that is absent or
     * bounded. TN_ERROR_SHAPE: a rank or extents that are not the shape rule's, or too large.
     * TN_ERROR_MEMORY. [thread: the callback's own; called: run, reference; may fail] */
    tn_status (*allocate)(tn_call *call, uint32_t index, uint32_t rank, const int64_t *extents,
                          void **out_data) TN_NOEXCEPT;
} tn_output_memory;

#ifdef __cplusplus
}
#endif

TN_FROZEN(tn_output_memory, allocate, 8);

#endif
