/* SPDX-License-Identifier: Apache-2.0 */
/* What Softmax and LogSoftmax and their kernels share: the lanes that their axis means. */
#ifndef TN_LAYERS_SOFTMAX_SOFTMAX_H
#define TN_LAYERS_SOFTMAX_SOFTMAX_H

#include <tenon/kit/lanes.h>

/* Checks the axis of a node. Each lane sums to one; before opset 13 it is all axes from `axis` on.
 */
tn_status tn_softmax_read(tn_call *call, tn_lanes *out_lanes);

/* LogSoftmax on the engine's threads, in double precision. */
tn_status tn_log_softmax_run(tn_call *call) TN_NOEXCEPT;
tn_status tn_hardmax_run(tn_call *call) TN_NOEXCEPT;

/* kernels.c: those of both. */
extern const tn_kernel *const tn_softmax_kernels[11];

#endif
