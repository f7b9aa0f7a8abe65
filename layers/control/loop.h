/* SPDX-License-Identifier: Apache-2.0 */
/* The ports of a Loop, which its shape rule (loop_infer.c) and its run (loop.c) read. */
#ifndef TN_LAYERS_CONTROL_LOOP_H
#define TN_LAYERS_CONTROL_LOOP_H

#include "control.h"

typedef struct tn_loop_params {
    uint64_t present;
    const tn_body_graph *body;
} tn_loop_params;

enum { TN_LOOP_LIMIT = 0, TN_LOOP_CONDITION = 1, TN_LOOP_CARRIED = 2 };

static inline const tn_body_graph *tn_loop_body(const tn_call *call) {
    return ((const tn_loop_params *)call->params)->body;
}
/* How many tensors are carried. */
static inline uint32_t tn_loop_carried(const tn_call *call) {
    const uint32_t own = call->input_count - tn_loop_body(call)->capture_count;
    return own > TN_LOOP_CARRIED ? own - TN_LOOP_CARRIED : 0;
}
/* How many iterations at most, -1: nothing limits them. The value must be known. */
static inline int64_t tn_loop_limit(const tn_call *call) {
    const tn_tensor *limit = tn_infer_input(call, TN_LOOP_LIMIT);
    if (!limit) return -1;
    const int64_t count = *(const int64_t *)limit->data;
    return count > 0 ? count : 0;
}

tn_status tn_loop_infer(tn_call *call);

#endif
