/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator Col2Im and its CUDA kernel share. */
#ifndef TN_LAYERS_COL2IM_COL2IM_H
#define TN_LAYERS_COL2IM_COL2IM_H

#include "kit/window/window.h"

/* The windows over the image, whose number is that of the columns. TN_ERROR_SHAPE, TN_ERROR_RANGE.
 */
tn_status tn_col2im_window(tn_call *call, tn_window *out_window);

#endif
