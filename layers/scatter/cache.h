/* SPDX-License-Identifier: Apache-2.0 */
/* TensorScatter, for operator.c's table. */
#ifndef TN_LAYERS_SCATTER_CACHE_H
#define TN_LAYERS_SCATTER_CACHE_H

#include <tenon/plugin.h>

extern const tn_operator tn_tensor_scatter_24;
extern const tn_kernel tn_tensor_scatter_updates;

#endif
