/* SPDX-License-Identifier: Apache-2.0 */
/* Steps after elementwise kernels; see row_chain.h. */
#include "kit/elementwise/row_chain.h"

#include <string.h>

bool tn_row_chain_read(const tn_call *call, tn_known_steps *out_steps) {
    if (!tn_known_steps_read(call, out_steps)) return false;
    for (uint32_t i = 0; i < out_steps->count; i++) {
        const tn_known_step *step = &out_steps->items[i];
        const bool is_map = step->kind == TN_KNOWN_ACTIVATION && step->activation < TN_MAP_COUNT &&
                            tn_rows_baseline.maps[step->activation];
        if (!is_map && !(step->kind == TN_KNOWN_ROW && step->row)) return false;
        if (step->type != TN_F32 && step->type != TN_NONE) return false;
    }
    return true;
}

bool tn_row_chain_accepts(const tn_call *call) {
    tn_known_steps steps;
    return tn_row_chain_read(call, &steps);
}

void tn_row_chain_apply(const tn_known_steps *steps, const tn_rows_level *level, int64_t count,
                        float *row) {
    for (uint32_t i = 0; i < steps->count; i++) {
        const tn_known_step *step = &steps->items[i];
        if (step->kind == TN_KNOWN_ACTIVATION) {
            level->maps[step->activation](step->alpha, step->beta, count, row, row);
            continue;
        }
        float copy[TN_ROW_BLOCK]; /* a row function need not work in place */
        const float *input = copy;
        const uint64_t stride = 1;
        memcpy(copy, row, (size_t)count * sizeof(*copy));
        step->row(step->params, (uint64_t)count, &input, &stride, row);
    }
}
