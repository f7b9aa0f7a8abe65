/* SPDX-License-Identifier: Apache-2.0 */
/* Gemm in networks with QuantizeLinear and DequantizeLinear. */
#ifndef TN_LAYERS_GEMM_REWRITES_H
#define TN_LAYERS_GEMM_REWRITES_H

#include <tenon/plugin/rewrite.h>

extern const tn_rewrite *const tn_gemm_rewrites[4];

#endif
