/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator Concat and its kernels share. */
#ifndef TN_LAYERS_CONCAT_CONCAT_H
#define TN_LAYERS_CONCAT_CONCAT_H

#include <tenon/kit/region.h>

/* Copies every input to its offset in the output, in any format. */
tn_status tn_concat_move(tn_call *call, tn_region_mover mover);

#endif
