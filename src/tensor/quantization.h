/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisations: reading, comparing and making them; what the members mean says tenon/plugin.h. */
#ifndef TN_TENSOR_QUANTIZATION_H
#define TN_TENSOR_QUANTIZATION_H

#include "tensor/shape.h"

/* Scale and zero point number `index`; `type` is the quantised tensor's. */
double tn_quantization_scale(const tn_quantization *q, uint64_t index);
int64_t tn_quantization_zero(const tn_quantization *q, tn_type type, uint64_t index);
/* Which of them are those of the element at `index`, in a tensor of this shape. */
uint64_t tn_quantization_index(const tn_quantization *q, const int64_t *shape,
                               const int64_t *index);
/* How many scales a tensor of this shape has; 0 when the axes and blocks do not fit it. */
uint64_t tn_quantization_count(const tn_quantization *q, uint32_t rank, const int64_t *shape);
/* One scale, a 32-bit float, for the whole tensor: what storages of lower types have. */
bool tn_quantization_is_plain(const tn_quantization *q);
/* By content; null, not quantised, equals null alone. `type` is the tensors'. */
bool tn_quantization_equal(const tn_quantization *a, const tn_quantization *b, tn_type type);

/* Numbers as plans keep them. */
typedef struct tn_quantization_parameters {
    uint32_t axis_count, axes[2];
    int64_t blocks[2];
    tn_type scale_type;
    size_t count;
    const float *scales;
    const int32_t *zero_points; /* null: all zero */
} tn_quantization_parameters;
/* A quantisation of a tensor of `type`; everything in `arena`. TN_ERROR_MEMORY. */
tn_status tn_quantization_make(tn_arena *arena, const tn_quantization_parameters *parameters,
                               tn_type type, const tn_quantization **out_quantization);

#endif
