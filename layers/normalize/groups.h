/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation by mean and variance of groups of channels, one image at a time: operators and
 * kernels for operator.c's table. */
#ifndef TN_LAYERS_NORMALIZE_GROUPS_H
#define TN_LAYERS_NORMALIZE_GROUPS_H

#include "kit/operator/layer.h"

extern const tn_operator tn_instance_normalization_6, tn_group_normalization_18,
    tn_group_normalization_21;
extern const tn_kernel tn_instance_normalization_planes, tn_group_normalization_groups;
/* Of 32-bit floats. */
TN_LEVEL_KERNELS_EXTERN(tn_instance_rows);
TN_LEVEL_KERNELS_EXTERN(tn_group_rows);

#endif
