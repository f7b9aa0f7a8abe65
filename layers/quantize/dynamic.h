/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicQuantizeLinear, whose scale and zero point follow from the tensor: see dynamic.c. */
#ifndef TN_LAYERS_QUANTIZE_DYNAMIC_H
#define TN_LAYERS_QUANTIZE_DYNAMIC_H

#include "kit/operator/layer.h"

extern const tn_operator tn_dynamic_quantize_11;
TN_LEVEL_KERNELS_EXTERN(tn_dynamic_quantize);

#endif
