/* SPDX-License-Identifier: Apache-2.0 */
/* DepthToSpace and SpaceToDepth as functions of a mover. [called: run, and by the reference] */
#ifndef TN_LAYERS_BLOCKS_BLOCKS_H
#define TN_LAYERS_BLOCKS_BLOCKS_H

#include <tenon/kit/region.h>

tn_status tn_depth_to_space_move(tn_call *call, tn_region_mover mover);
tn_status tn_space_to_depth_move(tn_call *call, tn_region_mover mover);

#endif
