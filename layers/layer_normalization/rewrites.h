/* SPDX-License-Identifier: Apache-2.0 */
/* How networks without LayerNormalization write it. */
#ifndef TN_LAYERS_LAYER_NORMALIZATION_REWRITES_H
#define TN_LAYERS_LAYER_NORMALIZATION_REWRITES_H

#include <tenon/plugin/rewrite.h>

extern const tn_rewrite *const tn_layer_normalization_rewrites[4];

#endif
