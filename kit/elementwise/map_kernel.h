/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of elementwise operators of one float tensor around the maps of rows.h: threads, blocks,
 * epilogues, and one kernel table a processor level.
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

tn_status tn_map_kernel_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_map_kernel_run(tn_call *call) TN_NOEXCEPT;

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

/* Inputs after the first are bounds and the like: for 8 bits and padded lanes, of known values.
 * The formats are all the same to a map, but for the lanes that must stay zero. */
extern const char *const tn_map_kernel_combinations[4];

#define TN_MAP_KERNEL_LEVEL(prefix, domain_name, operator_name, map_number, read_function, level)  \
    static const tn_map_kernel_user prefix##_user_##level = {&tn_rows_##level, map_number,         \
                                                             read_function};                       \
    TN_CPU_KERNEL_OF(                                                                              \
        prefix##_##level, TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE | TN_KERNEL_ANY_SHAPE,      \
        domain_name, operator_name, "rows_" #level, "Rows of floats on all threads.",              \
        .requires_features = TN_KIT_FEATURES_##level, .absorbs = TN_ROW_ABSORBS,                   \
        TN_COMBINATIONS(tn_map_kernel_combinations), .accepts = tn_map_kernel_accepts,             \
        .prepare = tn_row_epilogue_prepare, .release = tn_kernel_state_destroy,                    \
        .run = tn_map_kernel_run, .user = (void *)(uintptr_t)&prefix##_user_##level)

/* The table is made by floats of the lowest level: it is the same at all. */
#define TN_MAP_BYTES_KERNEL(prefix, domain_name, operator_name, suffix, features)                  \
    TN_CPU_KERNEL_OF(prefix##_bytes##suffix, TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,         \
                     domain_name, operator_name, "int8_table" #suffix,                             \
                     "8-bit elements looked up in a table.", .requires_features = features,        \
                     .absorbs = TN_ROW_ABSORBS, TN_COMBINATIONS(tn_map_bytes_combinations),        \
                     .accepts = tn_map_bytes_accepts, .prepare = tn_map_bytes_prepare,             \
                     .release = tn_kernel_state_destroy, .run = tn_map_bytes_run##suffix,          \
                     .user = (void *)(uintptr_t)&prefix##_user_baseline)

/* Defines the array PREFIX_kernels of an operator: one kernel a level for floats and for 8 bits.
 * `map_number` is one of rows.h. */
#define TN_MAP_KERNELS(prefix, domain_name, operator_name, map_number, read_function)              \
    TN_MAP_KERNEL_LEVEL(prefix, domain_name, operator_name, map_number, read_function, baseline);  \
    TN_MAP_KERNEL_LEVEL(prefix, domain_name, operator_name, map_number, read_function, avx2);      \
    TN_MAP_KERNEL_LEVEL(prefix, domain_name, operator_name, map_number, read_function, avx512);    \
    TN_MAP_BYTES_KERNEL(prefix, domain_name, operator_name, , NULL);                               \
    TN_MAP_BYTES_KERNEL(prefix, domain_name, operator_name, _avx2, TN_KIT_FEATURES_avx2);          \
    TN_MAP_BYTES_KERNEL(prefix, domain_name, operator_name, _avx512, TN_KIT_FEATURES_avx512);      \
    static const tn_kernel *const prefix##_kernels[] = {                                           \
        TN_LEVEL_LIST(prefix), &prefix##_bytes_avx512, &prefix##_bytes_avx2, &prefix##_bytes}

#endif
