/* SPDX-License-Identifier: Apache-2.0 */
/* Maps and combinations as row functions, at the best level of the processor; see rows.h. */
#include <tenon/kit/rows.h>

void tn_rows_map(uint32_t map, float alpha, float beta, uint64_t count, const float *const *inputs,
                 const uint64_t *strides, float *output) {
    const tn_map_function function = TN_KIT_BEST(tn_rows)->maps[map];
    if (strides[0] == 1 || count == 0) {
        function(alpha, beta, (int64_t)count, inputs[0], output);
        return;
    }
    float value;
    function(alpha, beta, 1, inputs[0], &value);
    for (uint64_t i = 0; i < count; i++)
        output[i] = value;
}

void tn_rows_combine(uint32_t combine, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    TN_KIT_BEST(tn_rows)->combines[combine]((int64_t)count, inputs[0], (int64_t)strides[0],
                                            inputs[1], (int64_t)strides[1], output);
}
