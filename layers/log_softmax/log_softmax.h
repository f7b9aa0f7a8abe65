/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator LogSoftmax and its kernels share. */
#ifndef TN_LAYERS_LOG_SOFTMAX_LOG_SOFTMAX_H
#define TN_LAYERS_LOG_SOFTMAX_LOG_SOFTMAX_H

#include <tenon/kit/lanes.h>

/* The lanes of a node. Before opset 13 a lane is all axes from `axis` on. TN_ERROR_RANGE. */
tn_status tn_log_softmax_lanes(tn_call *call, tn_lanes *out_lanes);

#endif
