/* SPDX-License-Identifier: Apache-2.0 */
/* Weights and ends; see tile_scaled.h. */
#include "kit/int8/tiles/tile_scaled.h"
#include "kit/int8/weight_scale.h"
#include "kit/math/byte_table.h"
#include "kit/operator/epilogue_bias.h"

#include <string.h>

void tn_tile_quantise(const float *w, int64_t stride, int64_t count, int8_t *to, float *out_scale) {
    float largest = 0;
    for (int64_t i = 0; i < count; i++)
        largest = tn_weight_larger(largest, w[i * stride]);
    *out_scale = tn_weight_scale(largest);
    for (int64_t i = 0; i < count; i++)
        to[i] = tn_weight_quantise(w[i * stride], *out_scale);
}

/* Terms, which are 0, factors and biases. */
static uint64_t table_bytes(const tn_tile_layout *layout) {
    return (uint64_t)(layout->blocks * TN_TILE_COLUMNS) * 4;
}

uint64_t tn_tile_scaled_bytes(const tn_tile_layout *layout) {
    return 3 * table_bytes(layout);
}

void tn_tile_scaled_make(const tn_call *call, const tn_float_epilogue *epilogue,
                         const tn_tile_layout *layout, const float *scales, float scale,
                         const tn_tile_bias *bias, void *tables, tn_tile_scaled *out_scaled) {
    const uint64_t bytes = table_bytes(layout);
    const int64_t columns = layout->columns;
    float *factors = (float *)(void *)((char *)tables + bytes);
    float *biases = (float *)(void *)((char *)tables + 2 * bytes);
    memset(tables, 0, 3 * bytes);
    const float fold = tn_dot_end_make(call, epilogue, &out_scaled->values);
    const float of_x = fold * scale * tn_byte_scale(call->inputs[0]);
    tn_epilogue_gather_bias(call, epilogue, bias->values, bias->stride, bias->factor, 0, columns,
                            biases);
    for (int64_t c = 0; c < columns; c++) {
        factors[c] = scales[c] * of_x;
        biases[c] *= fold;
    }
    out_scaled->end = (tn_tile_end){.terms = tables,
                                    .factors = factors,
                                    .biases = biases,
                                    .values = &out_scaled->values,
                                    .y = call->outputs[0]->data,
                                    .row_stride = columns};
    if (epilogue->residual != UINT32_MAX)
        out_scaled->end.z = call->operands[epilogue->residual]->data;
}
