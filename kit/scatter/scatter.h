/* SPDX-License-Identifier: Apache-2.0 */
/* What ScatterElements and ScatterND share: how an update meets the element that is there. */
#ifndef TN_KIT_SCATTER_SCATTER_H
#define TN_KIT_SCATTER_SCATTER_H

#include <tenon/plugin.h>

enum {
    TN_SCATTER_NONE = 0,
    TN_SCATTER_ADD = 1,
    TN_SCATTER_MUL = 2,
    TN_SCATTER_MAX = 3,
    TN_SCATTER_MIN = 4
};

/* An axis's index: negative ones count from the end. TN_ERROR_RANGE. */
tn_status tn_scatter_index(tn_call *call, int64_t index, int64_t extent, int64_t *out_index);
/* Element `at` of `output` becomes element `from` of `updates`, or what `reduction` makes of both.
 * Both have one type. */
void tn_scatter_update(const tn_tensor *output, int64_t at, const tn_tensor *updates, int64_t from,
                       uint32_t reduction);

#endif
