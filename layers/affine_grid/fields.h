/* SPDX-License-Identifier: Apache-2.0 */
/* AffineGrid's fields, for the operator and the kernels of every device. */
#ifndef TN_LAYERS_AFFINE_GRID_FIELDS_H
#define TN_LAYERS_AFFINE_GRID_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_affine_grid_params {
    uint64_t present;
    bool align_corners;
} tn_affine_grid_params;

static const tn_field affine_grid_fields[] = {
    TN_FIELD(tn_affine_grid_params, align_corners, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether -1 and 1 are the middles of the outer elements instead of their edges")};

#endif
