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

static inline int32_t tn_looked_up(const uint8_t *table, bool is_signed, int32_t value) {
    const uint8_t byte = table[(uint8_t)value];
    return is_signed ? (int8_t)byte : byte;
}

/* Whether a table does no more than hold bytes within bounds, which are then set. */
static inline bool tn_look_up_bounds(const uint8_t *table, bool is_signed, int32_t *out_low,
                                     int32_t *out_high) {
    const int32_t first = is_signed ? -128 : 0;
    const int32_t low = tn_looked_up(table, is_signed, first),
                  high = tn_looked_up(table, is_signed, first + 255);
    for (int32_t v = first; v < first + 256; v++)
        if (tn_looked_up(table, is_signed, v) != (v < low ? low : v > high ? high : v))
            return false;
    *out_low = low;
    *out_high = high;
    return true;
}

#endif
