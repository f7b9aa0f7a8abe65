/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How kernels share lanes (tenon/kit/lanes.h) out: contiguous ones one by one, others in groups of
 * columns as wide as the kernel does at once.
 */
#ifndef TN_KIT_REDUCE_LANE_GROUPS_H
#define TN_KIT_REDUCE_LANE_GROUPS_H

#include <tenon/kit/lanes.h>

/* Groups of columns in each of lanes->outer. */
static inline int64_t tn_lane_groups(const tn_lanes *lanes, int64_t width) {
    return (lanes->inner + width - 1) / width;
}

/* Group number `group`, `groups` in each of lanes->outer: its first element in a tensor with
 * lanes->count elements a lane; *out_columns of them, at most `width`. */
static inline int64_t tn_lane_group(const tn_lanes *lanes, int64_t width, int64_t groups,
                                    int64_t group, int64_t *out_columns) {
    const int64_t first = group % groups * width;
    *out_columns = lanes->inner - first < width ? lanes->inner - first : width;
    return group / groups * lanes->count * lanes->inner + first;
}

/* Does all lanes: an item of `do_lanes` is one, of `do_columns` a group. A lane is `each` elements
 * of work; `grain`: elements that a thread takes at least. [called: run] */
static inline tn_status tn_lanes_do(tn_call *call, const tn_lanes *lanes, int64_t each,
                                    int64_t width, int64_t grain, tn_body do_lanes,
                                    tn_body do_columns, void *job) {
    if (lanes->inner == 1)
        return call->host->parallel_for(call, lanes->outer, grain / each + 1, do_lanes, job);
    return call->host->parallel_for(call, lanes->outer * tn_lane_groups(lanes, width),
                                    grain / width / each + 1, do_columns, job);
}

#endif
