/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator Transpose and its kernels share. */
#ifndef TN_LAYERS_TRANSPOSE_TRANSPOSE_H
#define TN_LAYERS_TRANSPOSE_TRANSPOSE_H

#include <tenon/kit/region.h>

extern const tn_rewrite *const tn_transpose_rewrites[2]; /* rewrites.c */

/* Moves the elements of the output. */
tn_status tn_transpose_move(tn_call *call, tn_region_mover mover);

#endif
