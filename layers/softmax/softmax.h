/* SPDX-License-Identifier: Apache-2.0 */
/* What Softmax, LogSoftmax and Hardmax and their kernels share: the lanes that their axis means. */
#ifndef TN_LAYERS_SOFTMAX_SOFTMAX_H
#define TN_LAYERS_SOFTMAX_SOFTMAX_H

#include "kit/operator/layer.h"
#include <tenon/kit/lanes.h>

/* Checks the axis of a node. Each lane sums to one; before opset 13 it is all axes from `axis` on.
 */
tn_status tn_softmax_read(tn_call *call, tn_lanes *out_lanes);

/* kernels.c: those of both; hardmax.c: Hardmax's. */
extern const tn_kernel *const tn_softmax_kernels[4];
TN_LEVEL_KERNELS_EXTERN(tn_hardmax);

#endif
