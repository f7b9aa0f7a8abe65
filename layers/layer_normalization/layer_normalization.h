/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator LayerNormalization and its kernels share. */
#ifndef TN_LAYERS_LAYER_NORMALIZATION_LAYER_NORMALIZATION_H
#define TN_LAYERS_LAYER_NORMALIZATION_LAYER_NORMALIZATION_H

#include <tenon/plugin/rewrite.h>

typedef struct tn_layer_normalization_params {
    uint64_t present;
    int64_t axis;
    float epsilon;
    uint32_t stash_type; /* in ONNX's numbering of types */
} tn_layer_normalization_params;

enum {
    TN_LAYER_NORMALIZATION_X = 0,
    TN_LAYER_NORMALIZATION_SCALE = 1,
    TN_LAYER_NORMALIZATION_B = 2
};

/* Checks the shapes of a LayerNormalization node; the first of the axes that are normalised
 * together. TN_ERROR_SHAPE, TN_ERROR_RANGE. */
tn_status tn_layer_normalization_read(tn_call *call, uint32_t *out_axis);

/* kernels.c */
extern const tn_kernel *const tn_layer_normalization_kernels[3];
/* rewrites.c: how networks without LayerNormalization write it. */
extern const tn_rewrite *const tn_layer_normalization_rewrites[3];

#endif
