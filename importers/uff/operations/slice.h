/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a StridedSlice, between operations_slice.c, which reads and uses them, and
 * slice_bounds.c, which makes tensors of them. */
#ifndef TN_IMPORTERS_UFF_OPERATIONS_SLICE_H
#define TN_IMPORTERS_UFF_OPERATIONS_SLICE_H

#include "importers/uff/uff.h"

typedef struct tn_uff_bounds {
    uint32_t count;                /* of axes that are sliced, from the first on */
    uint32_t shrink;               /* axes, as bits, of which one element is taken */
    uint32_t open_begin, open_end; /* axes whose bound comes at run time; not those that are
                                      shrunk in open_end */
    int64_t begin[TN_MAX_RANK], end[TN_MAX_RANK], step[TN_MAX_RANK];
} tn_uff_bounds;

/* The operator's lists of begins and ends: constants, or computed where a bound is open. */
void tn_uff_bounds_emit(const tn_uff_call *call, const tn_uff_bounds *bounds,
                        tn_import_tensor *out_begin, tn_import_tensor *out_end);

#endif
