/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of shape rules; see infer.h. */
#include <tenon/kit/infer.h>
#include "kit/math/element.h"

#include <stdio.h>

static const char *port_name(const tn_port *ports, uint32_t count, uint32_t index) {
    if (count == 0) return "?";
    return ports[index < count ? index : count - 1].name;
}

const char *tn_infer_input_name(const tn_call *call, uint32_t index) {
    return port_name(call->op->inputs, call->op->input_count, index);
}

const char *tn_infer_output_name(const tn_call *call, uint32_t index) {
    return port_name(call->op->outputs, call->op->output_count, index);
}

const char *tn_infer_shape_text(uint32_t rank, const int64_t *shape, char *buffer, size_t bytes) {
    size_t used = (size_t)snprintf(buffer, bytes, "[");
    for (uint32_t i = 0; i < rank && used < bytes; i++)
        used += (size_t)snprintf(buffer + used, bytes - used, i ? ", %lld" : "%lld",
                                 (long long)shape[i]);
    if (used < bytes) snprintf(buffer + used, bytes - used, "]");
    return buffer;
}

tn_status tn_infer_require_rank(tn_call *call, uint32_t input, uint32_t low, uint32_t high) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    const char *name = tn_infer_input_name(call, input);
    if (!tensor) return call->host->fail(call, TN_ERROR_ARGUMENT, "input '%s' is missing", name);
    if (tensor->rank >= low && tensor->rank <= high) return TN_OK;
    if (low == high)
        return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' has rank %u, expected %u", name,
                                tensor->rank, low);
    return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' has rank %u, expected %u to %u", name,
                            tensor->rank, low, high);
}

tn_status tn_infer_axis(tn_call *call, const char *what, int64_t axis, uint32_t rank,
                        uint32_t *out_axis) {
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        if (rank == 0)
            return call->host->fail(call, TN_ERROR_RANGE, "%s is %lld, but the tensor is a scalar",
                                    what, (long long)axis);
        return call->host->fail(call, TN_ERROR_RANGE, "%s is %lld, outside -%u..%u", what,
                                (long long)axis, rank, rank - 1);
    }
    *out_axis = (uint32_t)(axis < 0 ? axis + rank : axis);
    return TN_OK;
}

tn_status tn_infer_axes(tn_call *call, const char *what, uint64_t count, const int64_t *axes,
                        uint32_t rank, uint32_t *out_mask) {
    uint32_t mask = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t axis = 0;
        TN_TRY(tn_infer_axis(call, what, axes[i], rank, &axis));
        if (mask & 1u << axis)
            return call->host->fail(call, TN_ERROR_RANGE, "%s names axis %u twice", what, axis);
        mask |= 1u << axis;
    }
    *out_mask = mask;
    return TN_OK;
}

tn_status tn_infer_set_shape(tn_call *call, uint32_t output, uint32_t rank, const int64_t *shape) {
    tn_tensor *tensor = tn_infer_output(call, output);
    const char *name = tn_infer_output_name(call, output);
    char text[TN_INFER_SHAPE_TEXT_BYTES];
    if (!tensor) return TN_OK;
    if (rank > TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE, "output '%s' would have rank %u, at most %d",
                                name, rank, TN_MAX_RANK);
    int64_t bytes = 8; /* of the widest element, so that bytes fit too */
    bool fits = true;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "output '%s' would have the shape %s: negative", name,
                                    tn_infer_shape_text(rank, shape, text, sizeof(text)));
        fits = fits && tn_infer_multiply(bytes, shape[i] ? shape[i] : 1, &bytes);
    }
    if (!fits)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "output '%s' would have the shape %s: too large", name,
                                tn_infer_shape_text(rank, shape, text, sizeof(text)));
    tensor->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        tensor->shape[i] = shape[i];
    return TN_OK;
}

tn_status tn_infer_copy_shape(tn_call *call, uint32_t output, uint32_t input) {
    const tn_tensor *from = tn_infer_input(call, input);
    if (!from)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "input '%s' is missing",
                                tn_infer_input_name(call, input));
    return tn_infer_set_shape(call, output, from->rank, from->shape);
}

tn_status tn_infer_integers(tn_call *call, uint32_t input, uint32_t capacity, int64_t *out_values,
                            uint32_t *out_count) {
    TN_TRY(tn_infer_require_rank(call, input, 0, 1));
    const tn_tensor *tensor = tn_infer_input(call, input);
    const char *name = tn_infer_input_name(call, input);
    int64_t count = tn_element_count(tensor);
    if (count > (int64_t)capacity)
        return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' has %lld elements, at most %u",
                                name, (long long)count, capacity);
    if (!tensor->data)
        return call->host->fail(call, TN_ERROR_STATE, "the value of input '%s' is not known", name);
    for (int64_t i = 0; i < count; i++)
        out_values[i] = tn_element_i64(tensor, i);
    *out_count = (uint32_t)count;
    return TN_OK;
}
