/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax's own kernels. */
#ifndef TN_LAYERS_SOFTMAX_KERNELS_H
#define TN_LAYERS_SOFTMAX_KERNELS_H

#include <tenon/plugin.h>

extern const tn_kernel tn_softmax_int8_baseline, tn_softmax_int8_avx2, tn_softmax_int8_avx512;
extern const tn_kernel *const tn_softmax_kernels[6];

#endif
