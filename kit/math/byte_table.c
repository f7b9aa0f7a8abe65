/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of 256 bytes; see byte_table.h. */
#include "kit/math/byte_table.h"

#include <math.h>

float tn_byte_scale(const tn_tensor *tensor) {
    const tn_quantization *q = tensor->quantization;
    if (tensor->type != TN_I8 || !q || !q->scales || q->scale_type != TN_F32 ||
        q->axis_count != 0 || (q->zero_points && *(const int8_t *)q->zero_points != 0))
        return 0;
    const float scale = *(const float *)q->scales;
    return scale > 0 && isfinite(scale) ? scale : 0;
}

int8_t tn_byte_round(float value, float scale) {
    const float steps = rintf(value / scale);
    if (!(steps > -128.0f)) return -128;
    return (int8_t)(steps < 127.0f ? steps : 127.0f);
}

void tn_byte_table_read(tn_byte_table *table, const uint8_t *values) {
    for (int i = 0; i < 256; i++)
        table->values[i] = (int8_t)values[i ^ 0x80];
}

void tn_byte_table_rescale(tn_byte_table *table, float from_scale, float to_scale) {
    for (int i = 0; i < 256; i++)
        table->values[i] = tn_byte_round((float)(i - 128) * from_scale, to_scale);
}

void tn_byte_table_apply(const tn_byte_table *table, int64_t count, const int8_t *from,
                         int8_t *to) {
    for (int64_t i = 0; i < count; i++)
        to[i] = table->values[from[i] + 128];
}
