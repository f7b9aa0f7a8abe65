/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of Cast and CastLike on the processor; see kernel.c. */
#ifndef TN_LAYERS_CAST_CAST_H
#define TN_LAYERS_CAST_CAST_H

#include "kit/operator/layer.h"

TN_LEVEL_KERNELS_EXTERN(tn_cast);
TN_LEVEL_KERNELS_EXTERN(tn_cast_like);

/* Types of at least 8 bits, floats of at least 16. */
tn_status tn_cast_accepts(tn_call *call) TN_NOEXCEPT;

#endif
