/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of boxes of elements; see region.h. */
#include <tenon/kit/parallel.h>
#include <tenon/kit/region.h>
#include <tenon/plugin/string.h>
#include "kit/operator/tiles.h"
#include "kit/math/byte_table.h"
#include "kit/math/element.h"

void tn_region_strides(uint32_t rank, const int64_t *shape, int64_t *out_strides) {
    uint64_t step = 1; /* unsigned: in an empty tensor it may not fit, and is not used */
    for (uint32_t i = rank; i-- > 0;) {
        out_strides[i] = (int64_t)step;
        step *= (uint64_t)shape[i];
    }
}

void tn_region_init(tn_region *region, uint32_t rank, const int64_t *shape, tn_type type) {
    memset(region, 0, sizeof(*region));
    region->rank = rank;
    region->element_bytes = tn_element_bytes(type);
    for (uint32_t i = 0; i < rank; i++)
        region->extents[i] = shape[i];
    tn_region_strides(rank, shape, region->to_strides);
    tn_region_strides(rank, shape, region->from_strides);
}

static void remove_axis(tn_region *region, uint32_t axis) {
    for (uint32_t i = axis; i + 1 < region->rank; i++) {
        region->extents[i] = region->extents[i + 1];
        region->to_strides[i] = region->to_strides[i + 1];
        region->from_strides[i] = region->from_strides[i + 1];
    }
    region->rank--;
}

bool tn_region_simplify(tn_region *region) {
    for (uint32_t i = region->rank; i-- > 0;) {
        if (region->extents[i] == 0) return false;
        if (region->extents[i] == 1) remove_axis(region, i);
    }
    for (uint32_t i = region->rank; i-- > 1;) {
        const int64_t extent = region->extents[i];
        if (region->to_strides[i - 1] != region->to_strides[i] * extent ||
            region->from_strides[i - 1] != region->from_strides[i] * extent)
            continue;
        region->extents[i] *= region->extents[i - 1];
        remove_axis(region, i - 1);
    }
    if (region->rank == 0) {
        region->extents[0] = region->to_strides[0] = region->from_strides[0] = 1;
        region->rank = 1;
    }
    return true;
}

#define COPY_STRIDED(type)                                                                         \
    {                                                                                              \
        const type *source = (const type *)from;                                                   \
        type *target = (type *)to;                                                                 \
        for (int64_t i = 0; i < count; i++)                                                        \
            target[i * to_stride] = source[i * from_stride];                                       \
        return;                                                                                    \
    }

static void copy_row(size_t bytes, int64_t count, void *to, int64_t to_stride, const void *from,
                     int64_t from_stride) {
    if (to_stride == 1 && from_stride == 1) {
        memcpy(to, from, (size_t)count * bytes);
        return;
    }
    if (to_stride == 1 && from_stride == 0) {
        tn_element_fill(to, bytes, count, from);
        return;
    }
    switch (bytes) {
    case 1:
        COPY_STRIDED(uint8_t)
    case 2:
        COPY_STRIDED(uint16_t)
    case 4:
        COPY_STRIDED(uint32_t)
    case sizeof(tn_string):
        COPY_STRIDED(tn_string)
    default:
        COPY_STRIDED(uint64_t)
    }
}

/* Rows of which neighbours lie beside each other in `from`: several at once, in square tiles, so
 * that what is read of `from` stays in the first cache until it is used. */
enum { TILE = 16 };
static void copy_tiles(size_t bytes, int64_t rows, int64_t count, void *to, int64_t to_stride,
                       const void *from, int64_t from_stride) {
    const tn_transpose_function transpose = tn_transpose_of(&tn_transpose_baseline, bytes);
    for (int64_t first = 0; first < count; first += TILE)
        transpose(rows, count - first < TILE ? count - first : TILE,
                  (const char *)from + first * from_stride * (int64_t)bytes, from_stride,
                  (char *)to + first * (int64_t)bytes, to_stride);
}

/* The rows begin..end-1 of a simplified region; a row is its last axis. */
static void copy_rows(const tn_region *region, void *to, const void *from, int64_t begin,
                      int64_t end) {
    const uint32_t last = region->rank - 1;
    const int64_t bytes = (int64_t)region->element_bytes, *extents = region->extents;
    const int64_t *to_strides = region->to_strides, *from_strides = region->from_strides;
    const bool has_tiles = last > 0 && to_strides[last] == 1 && from_strides[last - 1] == 1 &&
                           from_strides[last] && bytes <= 8;
    int64_t index[TN_MAX_RANK + 1] = {0}, to_offset = 0, from_offset = 0;
    for (uint32_t i = last; i-- > 0;) {
        int64_t rest = begin;
        for (uint32_t k = last; --k > i;)
            rest /= region->extents[k];
        index[i] = rest % region->extents[i];
        to_offset += index[i] * region->to_strides[i];
        from_offset += index[i] * region->from_strides[i];
    }
    for (int64_t row = begin, rows = 1; row < end; row += rows) {
        char *target = (char *)to + to_offset * bytes;
        const char *source = (const char *)from + from_offset * bytes;
        if (has_tiles) {
            rows = extents[last - 1] - index[last - 1];
            if (rows > end - row) rows = end - row;
            if (rows > TILE) rows = TILE;
            copy_tiles(region->element_bytes, rows, extents[last], target, to_strides[last - 1],
                       source, from_strides[last]);
        } else {
            copy_row(region->element_bytes, extents[last], target, to_strides[last], source,
                     from_strides[last]);
        }
        int64_t steps = rows;
        for (uint32_t i = last; i-- > 0; steps = 1) {
            to_offset += to_strides[i] * steps;
            from_offset += from_strides[i] * steps;
            index[i] += steps;
            if (index[i] < extents[i]) break;
            to_offset -= to_strides[i] * extents[i];
            from_offset -= from_strides[i] * extents[i];
            index[i] = 0;
        }
    }
}

static int64_t count_rows(const tn_region *region) {
    int64_t rows = 1;
    for (uint32_t i = 0; i + 1 < region->rank; i++)
        rows *= region->extents[i];
    return rows;
}

tn_status tn_region_copy(tn_call *call, const tn_region *region, void *to, const void *from) {
    tn_region simple = *region;
    (void)call;
    if (tn_region_simplify(&simple)) copy_rows(&simple, to, from, 0, count_rows(&simple));
    return TN_OK;
}

typedef struct copy_job {
    const tn_region *region;
    char *to;
    const char *from;
} copy_job;

static tn_status copy_some_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const copy_job *job = user;
    (void)thread;
    copy_rows(job->region, job->to, job->from, begin, end);
    return TN_OK;
}

/* A region of one row is one run: its elements are shared out instead. */
static tn_status copy_some_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const copy_job *job = user;
    const tn_region *region = job->region;
    const int64_t bytes = (int64_t)region->element_bytes;
    (void)thread;
    copy_row(region->element_bytes, end - begin, job->to + begin * region->to_strides[0] * bytes,
             region->to_strides[0], job->from + begin * region->from_strides[0] * bytes,
             region->from_strides[0]);
    return TN_OK;
}

tn_status tn_region_copy_parallel(tn_call *call, const tn_region *region, void *to,
                                  const void *from) {
    enum { GRAIN = 16384 };
    tn_region simple = *region;
    copy_job job = {&simple, to, from};
    if (!tn_region_simplify(&simple)) return TN_OK;
    if (simple.rank == 1)
        return call->host->parallel_for(call, simple.extents[0], GRAIN, copy_some_elements, &job);
    return call->host->parallel_for(call, count_rows(&simple),
                                    tn_parallel_grain(GRAIN, simple.extents[simple.rank - 1]),
                                    copy_some_rows, &job);
}

const char *const tn_region_bytes_combinations[1] = {"qi8, *?... -> qi8"};

tn_status tn_region_bytes_accepts(tn_call *call) {
    const float scale = call->inputs[0] ? tn_byte_scale(call->inputs[0]) : 0;
    if (scale == 0) return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 1; i < call->input_count; i++) {
        const tn_tensor *input = call->inputs[i];
        if (input && input->quantization && tn_byte_scale(input) != scale)
            return TN_ERROR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (call->outputs[i] && tn_byte_scale(call->outputs[i]) != scale)
            return TN_ERROR_UNSUPPORTED;
    }
    return TN_OK;
}
