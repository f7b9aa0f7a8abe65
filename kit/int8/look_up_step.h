/* SPDX-License-Identifier: Apache-2.0 */
/* A table of bytes behind a kernel that stores bytes (tenon/plugin/look_up.h). */
#ifndef TN_KIT_INT8_LOOK_UP_STEP_H
#define TN_KIT_INT8_LOOK_UP_STEP_H

#include <tenon/plugin/look_up.h>

/* Whether the call has no step, or such a one of bytes as the kernel has them, whose zero point
 * `zero` is. */
static inline bool tn_look_up_fits(const tn_call *call, const tn_tensor *zero) {
    return call->step_count == 0 ||
           (call->step_count == 1 && zero && zero->type == call->outputs[0]->type);
}

/* The 256 bytes; null: there is no step. */
static inline const uint8_t *tn_look_up_table(const tn_call *call) {
    if (call->step_count == 0) return NULL;
    return call->operands[call->steps[0]->inputs[1] & ~TN_STEP_OPERAND]->data;
}

#endif
