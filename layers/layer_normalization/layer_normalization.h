/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of LayerNormalization and RMSNormalization, and which scales their kernels take, for
 * the operator and the kernels of every device. */
#ifndef TN_LAYERS_LAYER_NORMALIZATION_LAYER_NORMALIZATION_H
#define TN_LAYERS_LAYER_NORMALIZATION_LAYER_NORMALIZATION_H

#include <tenon/kit/open.h>

typedef struct tn_layer_normalization_params {
    uint64_t present;
    int64_t axis;
    float epsilon;
    uint32_t stash_type; /* in ONNX's numbering of types */
} tn_layer_normalization_params;

static const tn_field layer_normalization_fields[] = {
    TN_FIELD(tn_layer_normalization_params, axis, TN_FIELD_I64, TN_OPTIONAL, "-1",
             "first of the axes that are normalised together; negative: from the end"),
    TN_FIELD(tn_layer_normalization_params, epsilon, TN_FIELD_F32, TN_OPTIONAL, "1e-05",
             "added to the variance before the root"),
    TN_FIELD_CHOICE(tn_layer_normalization_params, stash_type, TN_FIELD_ENUM, TN_OPTIONAL, "f32",
                    "f32=1|f16=10|f64=11|bf16=16",
                    "type of the outputs Mean and InvStdDev; computed in double or 32 bits"),
};

/* Whether the tensor has an element for each of a lane, and no axes before them, as far as extents
 * are known. */
static inline bool tn_layer_normalization_is_lane(const tn_tensor *tensor, const tn_tensor *x,
                                                  uint32_t axis) {
    if (!tensor) return true;
    if (tensor->rank != x->rank - axis) return false;
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (!tn_open_fits(tensor->shape[i], x->shape[axis + i])) return false;
    return true;
}

#endif
