/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of elementwise operators of one float tensor around the maps of rows.h: threads, blocks,
 * epilogues. Their tables, one a processor level, are made when the library is loaded: there are
 * hundreds, and they differ in a few members.
 */
#ifndef TN_KIT_ELEMENTWISE_MAP_KERNEL_H
#define TN_KIT_ELEMENTWISE_MAP_KERNEL_H

#include "kit/elementwise/row_program.h"
#include "kit/operator/layer.h"

/* What a kernel's `user` points at. `read` gives the map's alpha and beta when the node runs; null:
 * both are zero. It may also choose another map for the node, and answers false where that hangs on
 * values that are not there yet. */
typedef struct tn_map_kernel_user {
    const tn_rows_level *level;
    uint32_t map;
    bool (*read)(tn_call *call, uint32_t *inout_map, float *out_alpha, float *out_beta);
} tn_map_kernel_user;

/* The same maps on 8-bit tensors that stand for floating-point values: a table of 256 bytes, made
 * once. */
tn_status tn_map_bytes_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_map_bytes_prepare(tn_call *call) TN_NOEXCEPT;
/* For kernels that prepare it in another manner: the 256 floating-point values that elements of
 * input 0 stand for; and the table as call->state, of what `program` makes of them (null: as they
 * are). */
void tn_map_bytes_values(const tn_call *call, float *out_values);
tn_status tn_map_bytes_fill(tn_call *call, const tn_row_program *program, float *values);
tn_status tn_map_bytes_run(tn_call *call) TN_NOEXCEPT;
tn_status tn_map_bytes_run_avx2(tn_call *call) TN_NOEXCEPT;
tn_status tn_map_bytes_run_avx512(tn_call *call) TN_NOEXCEPT;
extern const char *const tn_map_bytes_combinations[2];

/* What the kernels of one operator differ in from another one's: `map` is one of rows.h. */
typedef struct tn_map_kernel_row {
    const char *domain, *op;
    uint32_t map;
    bool (*read)(tn_call *call, uint32_t *inout_map, float *out_alpha, float *out_beta);
} tn_map_kernel_row;

enum { TN_MAP_KERNEL_LEVELS = 3, TN_MAP_KERNEL_COUNT = 2 * TN_MAP_KERNEL_LEVELS };

/* Fills in the kernels of an operator: one a level for floats and for 8 bits, and what their `user`
 * points at. */
void tn_map_kernels_make(const tn_map_kernel_row *row,
                         tn_map_kernel_user users[TN_MAP_KERNEL_LEVELS],
                         tn_kernel kernels[TN_MAP_KERNEL_COUNT]);

#endif
