/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of boxes of elements; see region.h. */
#include <tenon/kit/parallel.h>
#include <tenon/kit/region.h>
#include <tenon/plugin/string.h>
#include "kit/region/runs.h"
#include "kit/region/tiles.h"
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

/* Every second element is what compilers have vectors for. */
#define COPY_STRIDED(type)                                                                         \
    {                                                                                              \
        const type *restrict source = from;                                                        \
        type *restrict target = to;                                                                \
        if (to_stride == 1 && from_stride == 2)                                                    \
            for (int64_t i = 0; i < count; i++)                                                    \
                target[i] = source[2 * i];                                                         \
        else                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                target[i * to_stride] = source[i * from_stride];                                   \
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
 * that what is read of `from` stays in the first cache until it is used; few rows, or of few
 * elements, need none. */
enum { TILE = 16, FEW = 4 };
static void copy_tiles(size_t bytes, int64_t rows, int64_t count, void *to, int64_t to_stride,
                       const void *from, int64_t from_stride) {
    const tn_transpose_function transpose = tn_transpose_of(TN_KIT_BEST(tn_transpose), bytes);
    const int64_t columns = rows <= FEW ? count : TILE;
    for (int64_t first = 0; first < count; first += columns)
        transpose(rows, count - first < columns ? count - first : columns,
                  (const char *)from + first * from_stride * (int64_t)bytes, from_stride,
                  (char *)to + first * (int64_t)bytes, to_stride);
}

/* Makes rows neighbours that lie beside each other in `from`, where their own elements do not. */
static void order_axes(tn_region *region) {
    const uint32_t last = region->rank - 1;
    uint32_t axis = 0;
    if (region->to_strides[last] != 1 || region->from_strides[last] == 0) return;
    while (axis < last && region->from_strides[axis] != 1)
        axis++;
    if (region->from_strides[last] == 1 || axis == last) return;
    const int64_t extent = region->extents[axis], to_stride = region->to_strides[axis];
    remove_axis(region, axis);
    region->rank++;
    region->extents[last] = region->extents[last - 1];
    region->to_strides[last] = 1;
    region->from_strides[last] = region->from_strides[last - 1];
    region->extents[last - 1] = extent;
    region->to_strides[last - 1] = to_stride;
    region->from_strides[last - 1] = 1;
}

/* Where a row of a simplified region begins, which is its last axis. */
typedef struct row_position {
    int64_t index[TN_MAX_RANK + 1]; /* of axes before the last */
    int64_t to_offset, from_offset; /* in elements */
} row_position;

static void seek(const tn_region *region, int64_t row, row_position *position) {
    memset(position, 0, sizeof(*position));
    for (uint32_t i = region->rank - 1; row > 0 && i-- > 0; row /= region->extents[i]) {
        position->index[i] = row % region->extents[i];
        position->to_offset += position->index[i] * region->to_strides[i];
        position->from_offset += position->index[i] * region->from_strides[i];
    }
}

/* On by so many steps along the axis, at most to its end. */
static void step(const tn_region *region, uint32_t axis, int64_t steps, row_position *position) {
    for (uint32_t i = axis + 1; i-- > 0; steps = 1) {
        position->to_offset += region->to_strides[i] * steps;
        position->from_offset += region->from_strides[i] * steps;
        position->index[i] += steps;
        if (position->index[i] < region->extents[i]) return;
        position->to_offset -= region->to_strides[i] * region->extents[i];
        position->from_offset -= region->from_strides[i] * region->extents[i];
        position->index[i] = 0;
    }
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Rows that are runs on both sides: those along the axis before theirs or, where these are all,
 * those along two. Each of these functions copies rows from `position` on, at most `most`, and
 * returns how many. */
static int64_t copy_runs(const tn_region *region, row_position *position, char *to,
                         const char *from, int64_t most) {
    const int64_t bytes = (int64_t)region->element_bytes, *extents = region->extents;
    const uint32_t last = region->rank - 1;
    tn_runs runs = {.bytes = extents[last] * bytes, .counts = {1, 1}};
    const void *source = from + position->from_offset * bytes;
    void *target = to + position->to_offset * bytes;
    for (uint32_t i = 0; i < 2 && i < last; i++) {
        runs.to_steps[1 - i] = region->to_strides[last - 1 - i] * bytes;
        runs.from_steps[1 - i] = region->from_strides[last - 1 - i] * bytes;
    }
    if (last > 0) runs.counts[1] = least(extents[last - 1] - position->index[last - 1], most);
    const bool are_all = last > 1 && runs.counts[1] == extents[last - 1];
    if (are_all)
        runs.counts[0] =
            least(extents[last - 2] - position->index[last - 2], most / runs.counts[1]);
    tn_runs_best()(&runs, target, source);
    if (are_all)
        step(region, last - 2, runs.counts[0], position);
    else if (last > 0)
        step(region, last - 1, runs.counts[1], position);
    return runs.counts[0] * runs.counts[1];
}

/* Any others. */
static int64_t copy_strided(const tn_region *region, row_position *position, char *to,
                            const char *from, int64_t most) {
    const size_t bytes = region->element_bytes;
    const uint32_t last = region->rank - 1;
    const int64_t *to_strides = region->to_strides, *from_strides = region->from_strides;
    const bool has_tiles = last > 0 && to_strides[last] == 1 && from_strides[last - 1] == 1 &&
                           from_strides[last] && bytes <= 8;
    const void *source = from + position->from_offset * (int64_t)bytes;
    void *target = to + position->to_offset * (int64_t)bytes;
    int64_t rows = 1;
    if (has_tiles) {
        rows = least(region->extents[last - 1] - position->index[last - 1], most);
        if (region->extents[last] > FEW && rows > TILE) rows = TILE;
        copy_tiles(bytes, rows, region->extents[last], target, to_strides[last - 1], source,
                   from_strides[last]);
    } else {
        copy_row(bytes, region->extents[last], target, to_strides[last], source,
                 from_strides[last]);
    }
    if (last > 0) step(region, last - 1, rows, position);
    return rows;
}

/* The outermost axis along which blocks of several rows repeat that lie beside each other in `to`,
 * and stay in the first cache; the last axis: there is none. */
static uint32_t repeated_axis(const tn_region *region) {
    enum { LEAST_BYTES = 1024, MOST_BYTES = 32768 };
    const uint32_t last = region->rank - 1;
    const int64_t bytes = (int64_t)region->element_bytes;
    int64_t block = 1; /* elements within the axis */
    uint32_t found = last;
    for (uint32_t i = region->rank; i-- > 0; block *= region->extents[i]) {
        if (region->to_strides[i] != block || block * bytes > MOST_BYTES) break;
        if (i + 1 < last && region->from_strides[i] == 0 && block * bytes >= LEAST_BYTES) found = i;
    }
    return found;
}

/* `count` blocks beside each other, of which the first one is there. */
static void repeat(char *blocks, size_t bytes, int64_t count) {
    for (int64_t done = 1; done < count;) {
        const int64_t more = least(done, count - done);
        memcpy(blocks + (size_t)done * bytes, blocks, (size_t)more * bytes);
        done += more;
    }
}

static void copy_rows(const tn_region *region, char *to, const char *from, int64_t begin,
                      int64_t end);

/* Blocks along the repeated axis: the first one's rows, then itself. 0: `position` is not at the
 * begin of a block. */
static int64_t copy_blocks(const tn_region *region, uint32_t axis, row_position *position, char *to,
                           const char *from, int64_t most) {
    const int64_t bytes = (int64_t)region->element_bytes;
    tn_region block = {.rank = region->rank - axis - 1, .element_bytes = region->element_bytes};
    int64_t rows = 1;
    for (uint32_t i = 0; i < block.rank; i++) {
        block.extents[i] = region->extents[axis + 1 + i];
        block.to_strides[i] = region->to_strides[axis + 1 + i];
        block.from_strides[i] = region->from_strides[axis + 1 + i];
        if (i + 1 == block.rank) break;
        if (position->index[axis + 1 + i] != 0) return 0;
        rows *= block.extents[i];
    }
    const int64_t count = least(region->extents[axis] - position->index[axis], most / rows);
    if (count == 0) return 0;
    char *target = to + position->to_offset * bytes;
    copy_rows(&block, target, from + position->from_offset * bytes, 0, rows);
    repeat(target, (size_t)(region->to_strides[axis] * bytes), count);
    step(region, axis, count, position);
    return count * rows;
}

/* The rows begin..end-1. */
static void copy_rows(const tn_region *region, char *to, const char *from, int64_t begin,
                      int64_t end) {
    const uint32_t last = region->rank - 1, axis = repeated_axis(region);
    const bool are_runs = region->to_strides[last] == 1 && region->from_strides[last] == 1;
    row_position position;
    seek(region, begin, &position);
    for (int64_t row = begin, rows; row < end; row += rows) {
        rows = axis < last ? copy_blocks(region, axis, &position, to, from, end - row) : 0;
        if (rows == 0)
            rows = (are_runs ? copy_runs : copy_strided)(region, &position, to, from, end - row);
    }
}

static int64_t count_rows(const tn_region *region) {
    int64_t rows = 1;
    for (uint32_t i = 0; i + 1 < region->rank; i++)
        rows *= region->extents[i];
    return rows;
}

/* The rows of a simplified region as they are copied; false: there are none. */
static bool make_rows(const tn_region *region, tn_region *out_rows) {
    *out_rows = *region;
    if (!tn_region_simplify(out_rows)) return false;
    order_axes(out_rows);
    return true;
}

tn_status tn_region_copy(tn_call *call, const tn_region *region, void *to, const void *from) {
    tn_region rows;
    (void)call;
    if (make_rows(region, &rows)) copy_rows(&rows, to, from, 0, count_rows(&rows));
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
    tn_region rows;
    copy_job job = {&rows, to, from};
    if (!make_rows(region, &rows)) return TN_OK;
    if (rows.rank == 1)
        return call->host->parallel_for(call, rows.extents[0], GRAIN, copy_some_elements, &job);
    return call->host->parallel_for(call, count_rows(&rows),
                                    tn_parallel_grain(GRAIN, rows.extents[rows.rank - 1]),
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
