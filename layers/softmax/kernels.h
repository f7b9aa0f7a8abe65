/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax's own kernels, and how they share lanes out: contiguous ones one by one, others in groups
 * of columns as wide as a vector. */
#ifndef TN_LAYERS_SOFTMAX_KERNELS_H
#define TN_LAYERS_SOFTMAX_KERNELS_H

#include "softmax/softmax.h"

/* Groups of columns in each of lanes->outer. */
static inline int64_t tn_softmax_groups(const tn_softmax_lanes *lanes, int64_t width) {
    return (lanes->inner + width - 1) / width;
}

/* Group number `group`, `groups` in each of lanes->outer: its first element; *out_columns of them,
 * at most `width`. */
static inline int64_t tn_softmax_group(const tn_softmax_lanes *lanes, int64_t width, int64_t groups,
                                       int64_t group, int64_t *out_columns) {
    const int64_t first = group % groups * width;
    *out_columns = lanes->inner - first < width ? lanes->inner - first : width;
    return group / groups * lanes->count * lanes->inner + first;
}

/* Does all lanes: an item of `do_lanes` is one, of `do_columns` a group. `grain`: elements that a
 * thread should take at least. */
static inline tn_status tn_softmax_do(tn_call *call, const tn_softmax_lanes *lanes, int64_t width,
                                      int64_t grain, tn_body do_lanes, tn_body do_columns,
                                      void *job) {
    if (lanes->inner == 1)
        return call->host->parallel_for(call, lanes->outer, grain / lanes->count + 1, do_lanes,
                                        job);
    return call->host->parallel_for(call, lanes->outer * tn_softmax_groups(lanes, width),
                                    grain / width / lanes->count + 1, do_columns, job);
}

extern const tn_kernel tn_softmax_int8_baseline, tn_softmax_int8_avx2, tn_softmax_int8_avx512;
extern const tn_kernel *const tn_softmax_kernels[6];

#endif
