/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/counted.h: tensors of a fixed capacity of which a count tells how many elements are
 * there. Sizes that only data knows, and states that grow (a key/value cache), without the host's
 * waiting and without new shapes.
 */
#ifndef TENON_PLUGIN_COUNTED_H
#define TENON_PLUGIN_COUNTED_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* tn_tensor.counted in `run`: null, or along one axis only the first *value indices are there.
 *
 * The tensor's shape, strides and bytes are those of the capacity: shape[axis] elements along the
 * axis, 0 <= *value <= shape[axis]. Elements from the count on have memory and no meaning: reading
 * them is allowed, relying on them is not. `value` is memory of the kernel's device, aligned to 8
 * bytes; it is valid in the order of the stream, as the tensor's data is: a kernel of a device
 * reads it on the device. It may be another number at each run; captured graphs are launched again
 * as they are, so that neither a launch's size nor a pointer may depend on it.
 *
 * Inputs: a kernel whose combination has `counted` at a port ("f32:counted", behind the format and
 * `strided`) is right for every count: what it stores depends on no element from the count on.
 * Where an output's extent follows the count, the host gives that output the same count, and the
 * kernel writes at least the elements below it. Where it does not (a sum over the axis), the kernel
 * reads the count. Operators with the trait TN_OPERATOR_ELEMENTWISE need no such kernel: what any
 * of theirs computes on the capacity is right below the count.
 *
 * Outputs sized by run (TN_PORT_SIZED_BY_RUN), where the combination has `counted` at that port and
 * the tensor has `counted`: `run` leaves the shape alone (it is the shape rule's bound), sets
 * `axis` before it returns, and stores the count to *value in the order of the stream. The host
 * waits for it only where something needs it. Without `counted` in the tensor, `run` writes the
 * shape as ever.
 *
 * All kernels of other operators get tensors without it: the host reads the count first and gives
 * them the true shape, or refuses the network where the count is the caller's
 * (tn_context_set_count). */
typedef struct tn_counted {
    uint32_t size;
    uint32_t axis;
    int64_t *value;
} tn_counted;

#ifdef __cplusplus
}
#endif

TN_FROZEN(tn_counted, value, 8);

#endif
