/* SPDX-License-Identifier: Apache-2.0 */
/* The function of columns.h for one processor level. Before it is included, TN_DEFORM_COLUMNS_READ
 * names the function to define. */
#include "deform_conv/columns.h"

void TN_DEFORM_COLUMNS_READ(const tn_deform_columns *columns, const float *plane,
                            float *restrict to) {
    const int64_t count = columns->count;
    for (int64_t j = 0; j < count; j++)
        to[j] = 0;
    for (uint32_t i = 0; i < columns->corners; i++) {
        const int32_t *restrict at = columns->at[i];
        const float *restrict weight = columns->weight[i];
        for (int64_t j = 0; j < count; j++) {
            const float value = plane[at[j]] * weight[j];
            to[j] += weight[j] != 0 ? value : 0;
        }
    }
    for (int64_t j = 0; j < count; j++)
        to[j] *= columns->mask[j];
}
