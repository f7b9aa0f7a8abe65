/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicQuantizeLinear, whose scale and zero point follow from the tensor: see dynamic.c. */
#ifndef TN_LAYERS_QUANTIZE_DYNAMIC_H
#define TN_LAYERS_QUANTIZE_DYNAMIC_H

#include <tenon/plugin.h>

extern const tn_operator tn_dynamic_quantize_11;
extern const tn_kernel tn_dynamic_quantize_baseline, tn_dynamic_quantize_avx2,
    tn_dynamic_quantize_avx512;

#endif
