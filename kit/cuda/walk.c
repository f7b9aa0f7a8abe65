/* SPDX-License-Identifier: Apache-2.0 */
/* Going through an output in the order in which it lies; see walk.h. */
#include "kit/cuda/walk.h"

static bool is_channels_last(tn_format format, uint32_t rank) {
    return (format & 0xff) == TN_LAYOUT_CHANNELS_LAST && rank > 2;
}

bool tn_cuda_walk_knows(const tn_tensor *tensor) {
    return (tensor->format & 0xff) != TN_LAYOUT_BLOCKED && tensor->rank <= TN_MAX_RANK;
}

/* The logical axis at this position in memory, slowest first. */
static uint32_t axis_at(tn_format format, uint32_t rank, uint32_t place) {
    if (!is_channels_last(format, rank) || place == 0) return place;
    return place == rank - 1 ? 1 : place + 1;
}

void tn_cuda_walk_init(tn_cuda_walk *walk, const tn_tensor *output) {
    *walk = (tn_cuda_walk){.rank = output->rank};
    for (uint32_t i = 0; i < output->rank; i++)
        walk->extents[i] = output->shape[axis_at(output->format, output->rank, i)];
}

void tn_cuda_walk_add(tn_cuda_walk *walk, const tn_tensor *output, tn_format format, uint32_t rank,
                      const int64_t *shape) {
    int64_t steps[TN_MAX_RANK]; /* along the input's own axes */
    int64_t *strides = walk->strides[walk->input_count++];
    uint64_t step = 1; /* unsigned: of an empty tensor it may not fit, and is not used */
    for (uint32_t i = rank; i-- > 0;) {
        const uint32_t axis = axis_at(format, rank, i);
        steps[axis] = shape[axis] == 1 ? 0 : (int64_t)step;
        step *= (uint64_t)shape[axis];
    }
    for (uint32_t i = 0; i < walk->rank; i++) {
        const uint32_t axis = axis_at(output->format, output->rank, i);
        const uint32_t missing = output->rank - rank;
        strides[i] = axis < missing ? 0 : steps[axis - missing];
    }
}

static bool can_merge(const tn_cuda_walk *walk, uint32_t axis) {
    for (uint32_t k = 0; k < walk->input_count; k++)
        if (walk->strides[k][axis] != walk->strides[k][axis + 1] * walk->extents[axis + 1])
            return false;
    return true;
}

static void remove_axis(tn_cuda_walk *walk, uint32_t axis) {
    for (uint32_t i = axis; i + 1 < walk->rank; i++) {
        walk->extents[i] = walk->extents[i + 1];
        for (uint32_t k = 0; k < walk->input_count; k++)
            walk->strides[k][i] = walk->strides[k][i + 1];
    }
    walk->rank--;
}

bool tn_cuda_walk_finish(tn_cuda_walk *walk) {
    for (uint32_t i = walk->rank; i-- > 0;) {
        if (walk->extents[i] == 0) return false;
        if (walk->extents[i] == 1) remove_axis(walk, i);
    }
    for (uint32_t i = walk->rank; i-- > 1;) {
        if (!can_merge(walk, i - 1)) continue;
        walk->extents[i] *= walk->extents[i - 1];
        remove_axis(walk, i - 1);
    }
    if (walk->rank > 0) return true;
    walk->rank = 1;
    walk->extents[0] = 1;
    for (uint32_t k = 0; k < walk->input_count; k++)
        walk->strides[k][0] = 0;
    return true;
}
