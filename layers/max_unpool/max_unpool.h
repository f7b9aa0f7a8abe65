/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator MaxUnpool and its CUDA kernel share. */
#ifndef TN_LAYERS_MAX_UNPOOL_MAX_UNPOOL_H
#define TN_LAYERS_MAX_UNPOOL_MAX_UNPOOL_H

#include <tenon/plugin.h>

enum { TN_UNPOOL_X = 0, TN_UNPOOL_INDICES = 1 };

/* The shape of the tensor that MaxPool had before it, over whose axes indices count; of TN_MAX_RANK
 * extents. TN_ERROR_SHAPE, TN_ERROR_RANGE. */
tn_status tn_unpool_read(tn_call *call, int64_t *out_shape);

#endif
