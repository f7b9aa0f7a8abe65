/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole kernels for operators whose right side is a constant matrix (Gemm, MatMul) and whose
 * tensors of 8 bits stand for floating-point values, on tiles: beside those of
 * tenon/kit/int8_matrix.h, with the same reading of a node as a product.
 */
#ifndef TN_KIT_INT8_TILE_MATRIX_H
#define TN_KIT_INT8_TILE_MATRIX_H

#include "kit/int8/tiles/tile_rows.h"
#include "kit/operator/kernel_memory.h"
#include "kit/operator/layer.h"
#include <tenon/kit/matrix_kernel.h>

/* What a kernel's `user` points at; `read` as in tn_int8_matrix_user. */
typedef struct tn_tile_matrix_user {
    const tn_tile_level *level;
    bool (*read)(const tn_call *call, tn_matrix_problem *out_problem);
} tn_tile_matrix_user;

tn_status tn_tile_matrix_accepts(tn_call *call);
tn_status tn_tile_matrix_prepare(tn_call *call);
tn_status tn_tile_matrix_reshape(tn_call *call);
tn_status tn_tile_matrix_run(tn_call *call);

/* Defines the kernels PREFIX of an operator of ONNX's and what their `user` points at; `table`: as
 * in TN_INT8_MATRIX_KERNELS. TN_LEVEL_LIST(PREFIX) is their entry in a table. */
#define TN_TILE_MATRIX_KERNELS(prefix, operator_name, read_function, table)                        \
    static const tn_tile_matrix_user prefix##_avx512vnni = {&tn_tile_avx512vnni, read_function};   \
    static const tn_tile_matrix_user prefix##_amx = {&tn_tile_amx, read_function};                 \
    TN_LEVEL_KERNELS_OF(static, prefix, TN_LEVELS_TILES(prefix), "", 1, operator_name, "tiles",    \
                        "8-bit products on tiles, exact sums; weights quantised a column.",        \
                        .traits = TN_KERNEL_DETERMINISTIC,                                         \
                        .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),                        \
                        TN_COMBINATIONS(table), .accepts = tn_tile_matrix_accepts,                 \
                        .prepare = tn_tile_matrix_prepare, .release = tn_kernel_state_destroy,     \
                        .reshape = tn_tile_matrix_reshape, .run = tn_tile_matrix_run)

#endif
