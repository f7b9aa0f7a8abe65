/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool's own kernels. */
#ifndef TN_LAYERS_MAX_POOL_KERNELS_H
#define TN_LAYERS_MAX_POOL_KERNELS_H

#include <tenon/plugin.h>

extern const tn_kernel *const tn_max_pool_kernels[6];

#endif
