/* SPDX-License-Identifier: Apache-2.0 */
/* ConstantOfShape's fields, for the operator and the kernels of every device. */
#ifndef TN_LAYERS_CONSTANT_OF_SHAPE_FIELDS_H
#define TN_LAYERS_CONSTANT_OF_SHAPE_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_constant_of_shape_params {
    uint64_t present;
    const tn_tensor *value;
} tn_constant_of_shape_params;

static const tn_field constant_of_shape_fields[] = {
    TN_FIELD(tn_constant_of_shape_params, value, TN_FIELD_TENSOR, TN_OPTIONAL, NULL,
             "a tensor of one element: the value and its type; absent: zero, in f32"),
};

#endif
