/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ScatterElements and ScatterND share: the copy of the data, how an update meets the element
 * that is there, and the kernels' table. Output 0 is input 0 updated (TN_PORT_ALIAS); where both
 * have one memory nothing is copied. Indices are checked before anything is written, so that a
 * state whose update fails stays what it was.
 */
#ifndef TN_KIT_SCATTER_SCATTER_H
#define TN_KIT_SCATTER_SCATTER_H

#include <tenon/plugin.h>

enum {
    TN_SCATTER_NONE = 0,
    TN_SCATTER_ADD = 1,
    TN_SCATTER_MUL = 2,
    TN_SCATTER_MAX = 3,
    TN_SCATTER_MIN = 4
};

/* An axis's index: negative ones count from the end. TN_ERROR_RANGE. */
tn_status tn_scatter_index(tn_call *call, int64_t index, int64_t extent, int64_t *out_index);
/* Output 0 becomes a copy of input 0 where it does not lie on it: by the calling thread, which
 * never fails, or by the engine's threads. */
tn_status tn_scatter_copy(tn_call *call);
tn_status tn_scatter_copy_parallel(tn_call *call); /* [called: run] */
/* The `count` elements of `output` from `at` on become those of `updates` from `from` on, or what
 * `reduction` computes from both. Both have one type. */
void tn_scatter_update(const tn_tensor *output, int64_t at, const tn_tensor *updates, int64_t from,
                       int64_t count, uint32_t reduction);

/* Updates are applied in the order of the indices, by one thread: an index may occur twice. */
#define TN_SCATTER_KERNEL(operator_name, combination_table, kernel_run)                            \
    {                                                                                              \
        .size = sizeof(tn_kernel), .revision = 1, .domain = "", .op = operator_name,               \
        .device = "cpu", .name = "in_place_updates",                                               \
        .doc = "Updates on the data's own memory where nobody else reads it, else on a copy.",     \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                                   \
        TN_COMBINATIONS(combination_table), .run = kernel_run,                                     \
    }

#endif
