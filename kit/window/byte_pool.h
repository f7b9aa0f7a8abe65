/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling of 8-bit tensors that stand for floating-point values, the largest or the mean of each
 * window, as kernels for the operators whose folders say how their node reads: rows of a window are
 * joined first, then its columns, all channels of a position at once where they lie last. The loops
 * are byte_pool_body.h, compiled once a processor level.
 */
#ifndef TN_KIT_WINDOW_BYTE_POOL_H
#define TN_KIT_WINDOW_BYTE_POOL_H

#include "kit/operator/layer.h"
#include "kit/window/window.h"

/* A pooling of rows and columns; of one axis there is one row. */
typedef struct tn_byte_pool {
    int64_t batch, channels;
    int64_t in_height, in_width, out_height, out_width;
    int64_t kernel_height, kernel_width, stride_height, stride_width;
    int64_t dilation_height, dilation_width;
    int64_t pad_top, pad_left, pad_bottom, pad_right;
    bool is_mean;
    bool counts_padding; /* of means: padding counts as zeros */
} tn_byte_pool;

/* From the shape of input 0 and a resolved window of one or two axes; false for others. The rest of
 * *out_pool is zero. */
bool tn_byte_pool_of_window(const tn_call *call, const tn_window *window, tn_byte_pool *out_pool);

/* Of means: 1 / how many of a window's rows count, one a row of the output, and the same of
 * columns; 0 where none does. */
void tn_byte_pool_row_factors(const tn_byte_pool *pool, float *out_factors);
void tn_byte_pool_column_factors(const tn_byte_pool *pool, float *out_factors);

/* The columns of one output row. `row` holds the joined rows, pool->channels for each of the
 * columns that are seen, padding written out, and may be read 64 elements past its end; so may
 * `out` be written. */
typedef struct tn_byte_pool_level {
    /* to = max(to, from ^ flip); flip is 0 or -128. */
    void (*larger)(int8_t *to, const int8_t *from, int8_t flip, int64_t count);
    void (*larger_columns)(const tn_byte_pool *pool, const int8_t *row, int8_t *out);
    void (*add)(int32_t *to, const int8_t *from, int64_t count);
    /* `scales` has one a column of the output. */
    void (*mean_columns)(const tn_byte_pool *pool, const int32_t *row, const float *scales,
                         int8_t *out);
} tn_byte_pool_level;

extern const tn_byte_pool_level tn_byte_pool_baseline, tn_byte_pool_avx2, tn_byte_pool_avx512vnni;

/* What a kernel's `user` points at. `read` answers false for nodes that are no such pooling. */
typedef struct tn_byte_pool_user {
    const tn_byte_pool_level *level;
    bool (*read)(const tn_call *call, tn_byte_pool *out_pool);
} tn_byte_pool_user;

tn_status tn_byte_pool_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_byte_pool_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_byte_pool_run(tn_call *call) TN_NOEXCEPT;

extern const char *const tn_byte_pool_mean_combinations[3], *const tn_byte_pool_max_combinations[7];

#define TN_BYTE_POOL_USER(prefix, read_function, level)                                            \
    static const tn_byte_pool_user prefix##_bytes_user_##level = {&tn_byte_pool_##level,           \
                                                                  read_function}
/* Defines the kernels PREFIX_bytes of an operator. `kind`: max or mean. */
#define TN_BYTE_POOL_KERNELS(prefix, operator_name, kind, read_function)                           \
    TN_BYTE_POOL_USER(prefix, read_function, baseline);                                            \
    TN_BYTE_POOL_USER(prefix, read_function, avx2);                                                \
    TN_BYTE_POOL_USER(prefix, read_function, avx512vnni);                                          \
    TN_LEVEL_KERNELS_OF(                                                                           \
        static, prefix##_bytes, TN_LEVELS_VNNI(prefix##_bytes_user), "", 1, operator_name, "int8", \
        "8-bit rows of a window joined first, then its columns.",                                  \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                                   \
        TN_COMBINATIONS(tn_byte_pool_##kind##_combinations), .accepts = tn_byte_pool_accepts,      \
        .reshape = tn_byte_pool_reshape, .run = tn_byte_pool_run)

#endif
