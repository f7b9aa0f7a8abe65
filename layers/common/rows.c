/* SPDX-License-Identifier: Apache-2.0 */
/* Row functions of the baseline level; see rows.h. */
#include "common/rows.h"

void tn_rows_map(uint32_t map, float alpha, float beta, uint64_t count, const float *const *inputs,
                 const uint64_t *strides, float *output) {
    const tn_map_function function = tn_rows_baseline.maps[map];
    if (strides[0] == 1 || count == 0) {
        function(alpha, beta, (int64_t)count, inputs[0], output);
        return;
    }
    float value;
    function(alpha, beta, 1, inputs[0], &value);
    for (uint64_t i = 0; i < count; i++)
        output[i] = value;
}
