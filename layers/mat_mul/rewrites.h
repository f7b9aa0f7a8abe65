/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul in networks with QuantizeLinear and DequantizeLinear, and MatMulInteger. */
#ifndef TN_LAYERS_MAT_MUL_REWRITES_H
#define TN_LAYERS_MAT_MUL_REWRITES_H

#include <tenon/plugin/rewrite.h>

extern const tn_rewrite *const tn_mat_mul_rewrites[4];

#endif
