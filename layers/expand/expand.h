/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator Expand and its kernels share. */
#ifndef TN_LAYERS_EXPAND_EXPAND_H
#define TN_LAYERS_EXPAND_EXPAND_H

#include <tenon/kit/region.h>

/* Moves the elements of the output, of linear tensors. */
tn_status tn_expand_move(tn_call *call, tn_region_mover mover);

#endif
