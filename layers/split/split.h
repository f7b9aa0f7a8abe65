/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator Split and its kernels share. */
#ifndef TN_LAYERS_SPLIT_SPLIT_H
#define TN_LAYERS_SPLIT_SPLIT_H

#include <tenon/kit/region.h>

/* Copies every part to its output, in any format. */
tn_status tn_split_move(tn_call *call, tn_region_mover mover);

#endif
