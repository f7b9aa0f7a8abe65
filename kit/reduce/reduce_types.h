/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of elements of any type along adjacent axes, by rows of the arithmetic that holds the
 * type (kit/elementwise/cells.h): double precision for floats, 64 bits for integers, which wrap.
 * 32-bit floats where no kernel of reduce_kernel.h has the function, too.
 */
#ifndef TN_KIT_REDUCE_REDUCE_TYPES_H
#define TN_KIT_REDUCE_REDUCE_TYPES_H

#include "kit/elementwise/cells.h"
#include "kit/operator/layer.h"

/* What is done with the cells before they are joined, and with the result. */
typedef enum tn_reduce_types_map {
    TN_REDUCE_TYPES_PLAIN,
    TN_REDUCE_TYPES_ABSOLUTE,
    TN_REDUCE_TYPES_SQUARE
} tn_reduce_types_map;
typedef enum tn_reduce_types_finish {
    TN_REDUCE_TYPES_AS_IT_IS,
    TN_REDUCE_TYPES_MEAN,
    TN_REDUCE_TYPES_ROOT,
    TN_REDUCE_TYPES_LOG,
    TN_REDUCE_TYPES_LOG_SUM_EXP /* the largest is taken out of the exponents first */
} tn_reduce_types_finish;

typedef struct tn_reduce_types_row {
    uint32_t combine; /* of rows.h */
    tn_reduce_types_map map;
    tn_reduce_types_finish finish;
} tn_reduce_types_row;

/* What a kernel's `user` points at. */
typedef struct tn_reduce_types_user {
    const tn_cells_level *cells;
    tn_reduce_types_row row;
} tn_reduce_types_user;

tn_status tn_reduce_types_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_reduce_types_run(tn_call *call) TN_NOEXCEPT;

#define TN_REDUCE_TYPES_USER(prefix, level, ...)                                                   \
    static const tn_reduce_types_user prefix##_user_##level = {&tn_cells_##level, {__VA_ARGS__}}
/* Defines the kernels PREFIX of an operator; what follows the
 * name is a tn_reduce_types_row. */
#define TN_REDUCE_TYPES_KERNELS(prefix, operator_name, ...)                                        \
    TN_REDUCE_TYPES_USER(prefix, baseline, __VA_ARGS__);                                           \
    TN_REDUCE_TYPES_USER(prefix, avx2, __VA_ARGS__);                                               \
    TN_REDUCE_TYPES_USER(prefix, avx512, __VA_ARGS__);                                             \
    TN_LEVEL_KERNELS(prefix, prefix##_user, operator_name, "types",                                \
                     "Lanes of any type along adjacent axes, on all threads.",                     \
                     .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                      \
                     .accepts = tn_reduce_types_accepts, .run = tn_reduce_types_run)

#endif
