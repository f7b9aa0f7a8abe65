/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What If, Loop and Scan share: descriptors for the questions to a body, shapes of results that may
 * be open, results that are handed out, and memory that grows. Their bodies are run by the host
 * (tenon/plugin/body.h).
 */
#ifndef TN_LAYERS_CONTROL_H
#define TN_LAYERS_CONTROL_H

#include "kit/operator/layer.h"
#include "kit/operator/strings.h"
#include <tenon/plugin/body.h>
#include <tenon/plugin/output.h>
#include <tenon/plugin/sequence.h>

extern const tn_operator tn_control_if, tn_control_loop, tn_control_scan_8, tn_control_scan_9,
    tn_control_scan_11;
extern const tn_kernel tn_control_if_kernel, tn_control_loop_kernel, tn_control_scan_8_kernel,
    tn_control_scan_kernel;

static inline const tn_body_service *tn_control_bodies(const tn_call *call) {
    return (const tn_body_service *)call->host->extension(call->host, TN_BODIES);
}

/* --- shapes.c --- */
/* Descriptors of a body's ports with room for their extents. */
typedef struct tn_control_shapes {
    tn_tensor tensors[TN_BODY_MAX_PORTS];
    tn_tensor *pointers[TN_BODY_MAX_PORTS];
    int64_t extents[TN_BODY_MAX_PORTS][TN_MAX_RANK];
} tn_control_shapes;
void tn_control_shapes_init(tn_control_shapes *shapes);
/* The same tensor without data, its extents in `shapes`. */
void tn_control_shapes_set(tn_control_shapes *shapes, uint32_t index, const tn_tensor *tensor);

/* Asks a body for the types and shapes of its outputs. A rank of TN_CONTROL_NO_RANK: only the type
 * is known. */
#define TN_CONTROL_NO_RANK TN_RANK_OPEN
tn_status tn_control_ask(tn_call *call, const tn_body_graph *body, const tn_tensor *const *inputs,
                         tn_control_shapes *made);

/* The rank of a result, which may be open. */
static inline uint32_t tn_control_rank(const tn_tensor *tensor) {
    return tensor->rank & ~TN_RANK_OPEN;
}
/* What two descriptors have in common, into the first: extents that differ have no bound, ranks
 * that differ are open. */
void tn_control_join(tn_tensor *into, const tn_tensor *other);
/* Whether they are the same, and nothing in them is open. */
bool tn_control_is_same(const tn_tensor *a, const tn_tensor *b);
/* Writes the shape of an output: that of a result, with an extent more at `axis` where `length` is
 * one (TN_UNBOUNDED: one that is not known); without: TN_CONTROL_NO_LENGTH. */
enum { TN_CONTROL_NO_LENGTH = -1 };
tn_status tn_control_write(tn_call *call, uint32_t output, const tn_tensor *result, uint32_t axis,
                           int64_t length);
/* Refuses a result whose type is not the one of `like`. `what` names it: "result", "state". */
tn_status tn_control_check_type(tn_call *call, const char *what, uint32_t index,
                                const tn_tensor *like, const tn_tensor *result);
const char *tn_control_type(tn_type type);
/* One element, of rank 0 or 1. */
tn_status tn_control_require_one(tn_call *call, uint32_t input);

/* --- results.c --- */
/* Memory that is kept from one run to the next. */
typedef struct tn_control_buffer {
    unsigned char *memory;
    uint64_t bytes;
    uint64_t used;
} tn_control_buffer;
/* Room for `bytes` in all; what is used so far stays. */
tn_status tn_control_reserve(tn_call *call, tn_control_buffer *buffer, uint64_t bytes);

/* One for each port of a body. Made by a kernel's `open`, or for one call of a reference. */
typedef struct tn_control_state {
    tn_control_buffer inputs[TN_BODY_MAX_PORTS], outputs[TN_BODY_MAX_PORTS];
} tn_control_state;
tn_status tn_control_open(tn_call *call);
void tn_control_close(tn_call *call);
/* Calls `run` with a state of its own, for a reference. */
tn_status tn_control_with_state(tn_call *call,
                                tn_status (*run)(tn_call *call, tn_control_state *state));

/* Writes an output: what was computed elsewhere, or nothing where nobody asked for it. */
tn_status tn_control_hand_out(tn_call *call, uint32_t output, const tn_tensor *made);
/* The memory of an output of this shape: its own, or what the host has for one without a bound. */
tn_status tn_control_memory(tn_call *call, uint32_t output, uint32_t rank, const int64_t *extents,
                            void **out_data);

#endif
