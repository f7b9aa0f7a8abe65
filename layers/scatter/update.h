/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an update of a scatter meets the element that is there, and the copy of the data. Output 0 is
 * input 0 updated (TN_PORT_ALIAS); where both have one memory nothing is copied.
 */
#ifndef TN_LAYERS_SCATTER_UPDATE_H
#define TN_LAYERS_SCATTER_UPDATE_H

#include <tenon/plugin.h>

enum {
    TN_SCATTER_NONE = 0,
    TN_SCATTER_ADD = 1,
    TN_SCATTER_MUL = 2,
    TN_SCATTER_MAX = 3,
    TN_SCATTER_MIN = 4
};

/* Output 0 becomes a copy of input 0 where it does not lie on it: by the calling thread, which
 * never fails, or by the engine's threads. */
tn_status tn_scatter_copy(tn_call *call);
tn_status tn_scatter_copy_parallel(tn_call *call); /* [called: run] */
/* The `count` elements of `output` from `at` on become those of `updates` from `from` on, or what
 * `reduction` computes from both. Both have one type. */
void tn_scatter_update(const tn_tensor *output, int64_t at, const tn_tensor *updates, int64_t from,
                       int64_t count, uint32_t reduction);

/* Single elements, in their order: number i of `updates`, counted from `from`, meets the one at
 * at + i * step + offsets[i] of `output`. */
typedef struct tn_scatter_row {
    const tn_tensor *output, *updates;
    int64_t at, step, from;
} tn_scatter_row;
void tn_scatter_row_update(const tn_scatter_row *row, int64_t count, const int64_t *offsets,
                           uint32_t reduction);

#endif
