/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormalization's own kernels. */
#ifndef TN_LAYERS_LAYER_NORMALIZATION_KERNELS_H
#define TN_LAYERS_LAYER_NORMALIZATION_KERNELS_H

#include <tenon/plugin.h>

extern const tn_kernel *const tn_layer_normalization_kernels[3];

#endif
