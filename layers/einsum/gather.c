/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum's operands in another order of axes, with some axes summed; see einsum.h. */
#include "einsum/einsum.h"
#include "kit/math/element.h"
#include <tenon/kit/region.h>

#include <string.h>

/* A row is the last label of the order. */
typedef struct gather_job {
    const tn_einsum_gather *gather;
    tn_einsum_list outer;
    int64_t count, stride; /* of a row, in `from` */
} gather_job;

#define GATHER_ROW(name, type)                                                                     \
    static void name(const gather_job *job, const void *source, void *target) {                    \
        const tn_einsum_gather *gather = job->gather;                                              \
        int64_t index[TN_EINSUM_LABELS] = {0}, offset = 0;                                         \
        const int64_t count = job->count, stride = job->stride;                                    \
        const type *from = source;                                                                 \
        type *to = target;                                                                         \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = from[i * stride];                                                              \
        while (tn_einsum_step(gather->einsum, &gather->sums, index, gather->strides, &offset)) {   \
            const type *more = from + offset;                                                      \
            if (stride == 1) {                                                                     \
                for (int64_t i = 0; i < count; i++)                                                \
                    to[i] += more[i];                                                              \
            } else {                                                                               \
                for (int64_t i = 0; i < count; i++)                                                \
                    to[i] += more[i * stride];                                                     \
            }                                                                                      \
        }                                                                                          \
    }
GATHER_ROW(gather_row_f32, float)
GATHER_ROW(gather_row_f64, double)
GATHER_ROW(gather_row_32, uint32_t) /* integers, which wrap */
GATHER_ROW(gather_row_64, uint64_t)

static tn_status gather_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const gather_job *job = user;
    const tn_einsum_gather *gather = job->gather;
    const int64_t bytes = (int64_t)tn_element_bytes(gather->type);
    int64_t index[TN_EINSUM_LABELS] = {0}, offset = 0, rest = begin;
    (void)thread;
    for (uint32_t i = job->outer.count; i-- > 0;) {
        const uint8_t label = job->outer.labels[i];
        index[i] = rest % gather->einsum->extents[label];
        rest /= gather->einsum->extents[label];
        offset += index[i] * gather->strides[label];
    }
    for (int64_t row = begin; row < end; row++) {
        (gather->type == TN_F32   ? gather_row_f32
         : gather->type == TN_F64 ? gather_row_f64
         : bytes == 4             ? gather_row_32
                                  : gather_row_64)(job, (const char *)gather->from + offset * bytes,
                                       (char *)gather->to + row * job->count * bytes);
        (void)tn_einsum_step(gather->einsum, &job->outer, index, gather->strides, &offset);
    }
    return TN_OK;
}

/* Where nothing is summed, elements are moved alone. */
static tn_status move(tn_call *call, const tn_einsum_gather *gather) {
    int64_t shape[TN_MAX_RANK] = {0};
    const uint32_t rank = gather->order.count;
    tn_region region;
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = gather->einsum->extents[gather->order.labels[i]];
    tn_region_init(&region, rank, shape, gather->type);
    for (uint32_t i = 0; i < rank; i++)
        region.from_strides[i] = gather->strides[gather->order.labels[i]];
    return tn_region_copy_parallel(call, &region, gather->to, gather->from);
}

tn_status tn_einsum_gather_run(tn_call *call, const tn_einsum_gather *gather) {
    enum { GRAIN = 8192 };
    gather_job job = {.gather = gather, .outer = gather->order, .count = 1, .stride = 1};
    const int64_t elements = tn_einsum_count(gather->einsum, &gather->order);
    const int64_t sums = tn_einsum_count(gather->einsum, &gather->sums);
    if (elements == 0) return TN_OK;
    if (gather->sums.count == 0 && gather->order.count <= TN_MAX_RANK) return move(call, gather);
    if (sums == 0) {
        memset(gather->to, 0, (size_t)elements * tn_element_bytes(gather->type));
        return TN_OK;
    }
    if (job.outer.count > 0) {
        const uint8_t last = job.outer.labels[--job.outer.count];
        job.count = gather->einsum->extents[last];
        job.stride = gather->strides[last];
    }
    const int64_t each = job.count < GRAIN && sums < GRAIN ? job.count * sums : GRAIN;
    return call->host->parallel_for(call, elements / job.count, GRAIN / (each + 1) + 1, gather_rows,
                                    &job);
}
