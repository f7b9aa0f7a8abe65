/* SPDX-License-Identifier: Apache-2.0 */
/* Where the tensors of a run lie, and what is in them; see probe.h. */
#ifndef TN_CONFORMANCE_WORKER_PROBE_MEMORY_H
#define TN_CONFORMANCE_WORKER_PROBE_MEMORY_H

#include "worker/probe/probe_state.h"

/* Where tensors lie in their pages. */
typedef struct tn_position {
    bool is_at_end;
    uint32_t shift;
    uint8_t slack;
    bool is_flush;
} tn_position;

/* Where outputs lie: what is copied from behind an input is not what lies behind the output. */
tn_position tn_memory_of_outputs(const tn_probe_memory *memory);
/* `kind` and `index` are what a fault in it is called by (guarded.h). */
tn_status tn_memory_map(size_t bytes, const tn_position *where, tn_guarded *buffer, uint32_t kind,
                        uint32_t index);

/* The tensor at `data`, linear in its own type or as it is stored. `quantization` is what it points
 * to where it has a scale. */
tn_status tn_memory_describe(const tn_probe_port *port, bool is_own, void *data,
                             tn_tensor_storage *storage, tn_quantization *quantization);

#endif
