/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator Transpose and its kernels share: the field, and the copy that a node is. */
#ifndef TN_LAYERS_TRANSPOSE_TRANSPOSE_H
#define TN_LAYERS_TRANSPOSE_TRANSPOSE_H

#include <tenon/kit/region.h>

typedef struct tn_transpose_params {
    uint64_t present;
    tn_i64s perm;
} tn_transpose_params;

/* Reads a node, whose output has its shape, as a copy. */
tn_status tn_transpose_region(tn_call *call, tn_region *out_region);
/* Moves the elements of the output. */
tn_status tn_transpose_move(tn_call *call, tn_region_mover mover);

/* kernels.c */
extern const tn_kernel *const tn_transpose_kernels[5];

#endif
