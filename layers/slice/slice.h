/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator Slice and its kernels share. */
#ifndef TN_LAYERS_SLICE_SLICE_H
#define TN_LAYERS_SLICE_SLICE_H

#include <tenon/kit/region.h>

/* Moves the elements of the output: linear tensors, or those with their channels last. */
tn_status tn_slice_move(tn_call *call, tn_region_mover mover);

#endif
