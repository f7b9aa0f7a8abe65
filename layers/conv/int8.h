/* SPDX-License-Identifier: Apache-2.0 */
/* The quantised convolution's kernels, one a processor level; see int8.c. */
#ifndef TN_LAYERS_CONV_INT8_H
#define TN_LAYERS_CONV_INT8_H

#include <tenon/plugin.h>

extern const tn_kernel tn_conv_int8_baseline, tn_conv_int8_avx2, tn_conv_int8_avx512vnni;

#endif
