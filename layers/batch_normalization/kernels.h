/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization's own kernels. */
#ifndef TN_LAYERS_BATCH_NORMALIZATION_KERNELS_H
#define TN_LAYERS_BATCH_NORMALIZATION_KERNELS_H

#include <tenon/plugin.h>

extern const tn_kernel *const tn_batch_normalization_kernels[3];

#endif
