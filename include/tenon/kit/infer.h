/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers of shape rules: named ports in messages, axes, checked arithmetic, setting outputs. All
 * of them answer a status after host->fail with the reason, so that a rule reads as a list of
 * TN_TRY.
 */
#ifndef TENON_KIT_INFER_H
#define TENON_KIT_INFER_H

#include <tenon/plugin/try.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The tensor of an input or output, null when it is absent or nobody asked for it. */
static inline const tn_tensor *tn_infer_input(const tn_call *call, uint32_t index) {
    return index < call->input_count ? call->inputs[index] : NULL;
}
static inline tn_tensor *tn_infer_output(const tn_call *call, uint32_t index) {
    return index < call->output_count ? call->outputs[index] : NULL;
}
/* The memory of a tensor that may be absent. */
static inline void *tn_infer_data(const tn_tensor *tensor) {
    return tensor ? tensor->data : NULL;
}
/* The port's name, of the last port for the tensors of a variadic one. */
const char *tn_infer_input_name(const tn_call *call, uint32_t index);
const char *tn_infer_output_name(const tn_call *call, uint32_t index);

/* False when the result does not fit; *out is then untouched. */
static inline bool tn_infer_multiply(int64_t a, int64_t b, int64_t *out) {
    int64_t result;
    if (__builtin_mul_overflow(a, b, &result)) return false;
    *out = result;
    return true;
}
static inline bool tn_infer_add(int64_t a, int64_t b, int64_t *out) {
    int64_t result;
    if (__builtin_add_overflow(a, b, &result)) return false;
    *out = result;
    return true;
}
/* The product of shape[begin..end-1]; 1 for none, INT64_MAX when it does not fit. */
static inline int64_t tn_infer_product(const int64_t *shape, uint32_t begin, uint32_t end) {
    int64_t product = 1;
    for (uint32_t i = begin; i < end; i++)
        if (!tn_infer_multiply(product, shape[i], &product)) product = INT64_MAX;
    return product;
}

/* "[1, 3, 8]" in `buffer`, cut when it does not fit; returns `buffer`. */
#define TN_INFER_SHAPE_TEXT_BYTES 200
const char *tn_infer_shape_text(uint32_t rank, const int64_t *shape, char *buffer, size_t bytes);

/* TN_ERROR_ARGUMENT when the input is absent, TN_ERROR_SHAPE when its rank is outside low..high. */
tn_status tn_infer_require_rank(tn_call *call, uint32_t input, uint32_t low, uint32_t high);
/* An axis of a tensor of `rank`: negative ones count from the end. `what` names the field or port.
 * TN_ERROR_RANGE. */
tn_status tn_infer_axis(tn_call *call, const char *what, int64_t axis, uint32_t rank,
                        uint32_t *out_axis);
/* Several distinct axes as a mask (bit 1 << axis). TN_ERROR_RANGE, also for an axis named twice. */
tn_status tn_infer_axes(tn_call *call, const char *what, uint64_t count, const int64_t *axes,
                        uint32_t rank, uint32_t *out_mask);

/* Sets an output's shape, or nothing where nobody asked for it. Extents that are negative, or more
 * elements than can be addressed, are TN_ERROR_SHAPE. */
tn_status tn_infer_set_shape(tn_call *call, uint32_t output, uint32_t rank, const int64_t *shape);
tn_status tn_infer_copy_shape(tn_call *call, uint32_t output, uint32_t input);
static inline void tn_infer_set_type(tn_call *call, uint32_t output, tn_type type) {
    tn_tensor *tensor = tn_infer_output(call, output);
    if (tensor) tensor->type = type;
}

/* The values of a rank 0 or 1 integer input whose value is needed. TN_ERROR_SHAPE when it has
 * another rank or more than `capacity` elements, TN_ERROR_STATE when the value is not there. */
tn_status tn_infer_integers(tn_call *call, uint32_t input, uint32_t capacity, int64_t *out_values,
                            uint32_t *out_count);

#ifdef __cplusplus
}
#endif

#endif
