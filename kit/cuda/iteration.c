/* SPDX-License-Identifier: Apache-2.0 */
/* Going through an output in the order in which it lies; see iteration.h. */
#include "kit/cuda/iteration.h"
#include <tenon/kit/strided.h>

static bool is_channels_last(tn_format format, uint32_t rank) {
    return (format & 0xff) == TN_LAYOUT_CHANNELS_LAST && rank > 2;
}

bool tn_cuda_iteration_knows(const tn_tensor *tensor) {
    return (tensor->format & 0xff) != TN_LAYOUT_BLOCKED && tensor->rank <= TN_MAX_RANK;
}

/* The logical axis at this position in memory, slowest first. */
static uint32_t axis_at(tn_format format, uint32_t rank, uint32_t position) {
    if (!is_channels_last(format, rank) || position == 0) return position;
    return position == rank - 1 ? 1 : position + 1;
}

void tn_cuda_iteration_init(tn_cuda_iteration *iteration, const tn_tensor *output) {
    *iteration = (tn_cuda_iteration){.rank = output->rank};
    for (uint32_t i = 0; i < output->rank; i++)
        iteration->extents[i] = output->shape[axis_at(output->format, output->rank, i)];
}

/* Elements from one pixel of a tensor with its channels last to the next. */
static int64_t pitch_of(const tn_tensor *tensor) {
    tn_strided rows;
    tn_strided_init(&rows, tensor);
    return rows.pitch == rows.row ? tensor->shape[1] : rows.pitch;
}

void tn_cuda_iteration_add(tn_cuda_iteration *iteration, const tn_tensor *output,
                           const tn_tensor *tensor, uint32_t rank, const int64_t *shape) {
    const tn_format format = tensor->format;
    int64_t steps[TN_MAX_RANK]; /* along the input's own axes */
    int64_t *strides = iteration->strides[iteration->input_count++];
    uint64_t step = 1; /* unsigned: of an empty tensor it may not fit, and is not used */
    for (uint32_t i = rank; i-- > 0;) {
        const uint32_t axis = axis_at(format, rank, i);
        steps[axis] = shape[axis] == 1 ? 0 : (int64_t)step;
        step *= (uint64_t)shape[axis];
        if (axis == 1 && is_channels_last(format, rank)) step = (uint64_t)pitch_of(tensor);
    }
    for (uint32_t i = 0; i < iteration->rank; i++) {
        const uint32_t axis = axis_at(output->format, output->rank, i);
        const uint32_t missing = output->rank - rank;
        strides[i] = axis < missing ? 0 : steps[axis - missing];
    }
}

static bool can_merge(const tn_cuda_iteration *iteration, uint32_t axis) {
    for (uint32_t k = 0; k < iteration->input_count; k++)
        if (iteration->strides[k][axis] !=
            iteration->strides[k][axis + 1] * iteration->extents[axis + 1])
            return false;
    return true;
}

static void remove_axis(tn_cuda_iteration *iteration, uint32_t axis) {
    for (uint32_t i = axis; i + 1 < iteration->rank; i++) {
        iteration->extents[i] = iteration->extents[i + 1];
        for (uint32_t k = 0; k < iteration->input_count; k++)
            iteration->strides[k][i] = iteration->strides[k][i + 1];
    }
    iteration->rank--;
}

bool tn_cuda_iteration_finish(tn_cuda_iteration *iteration) {
    for (uint32_t i = iteration->rank; i-- > 0;) {
        if (iteration->extents[i] == 0) return false;
        if (iteration->extents[i] == 1) remove_axis(iteration, i);
    }
    for (uint32_t i = iteration->rank; i-- > 1;) {
        if (!can_merge(iteration, i - 1)) continue;
        iteration->extents[i] *= iteration->extents[i - 1];
        remove_axis(iteration, i - 1);
    }
    if (iteration->rank > 0) return true;
    iteration->rank = 1;
    iteration->extents[0] = 1;
    for (uint32_t k = 0; k < iteration->input_count; k++)
        iteration->strides[k][0] = 0;
    return true;
}

bool tn_cuda_iteration_is_small(const tn_cuda_iteration *iteration) {
    for (uint32_t k = 0; k < iteration->input_count; k++) {
        int64_t last = 0, more = 0;
        for (uint32_t i = 0; i < iteration->rank; i++)
            if (__builtin_mul_overflow(iteration->extents[i] - 1, iteration->strides[k][i],
                                       &more) ||
                __builtin_add_overflow(last, more, &last))
                return false;
        if (last > UINT32_MAX) return false;
    }
    return true;
}
