/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of cells: the functions of tenon/kit/rows.h in the other arithmetics of expressions
 * (docs/expressions.md), which are double precision, and integers of 64 bits, signed and unsigned;
 * in 32 bits where no step needs more, and in bytes for truths; and elements of any type as cells,
 * or as 32-bit floats, and back. Compiled once a processor level (cells_body.h).
 */
#ifndef TN_KIT_ELEMENTWISE_CELLS_H
#define TN_KIT_ELEMENTWISE_CELLS_H

#include <tenon/kit/rows.h>

typedef enum tn_cell {
    TN_CELL_F32, /* rows of 32-bit floats */
    TN_CELL_F64,
    TN_CELL_I64,
    TN_CELL_U64,
    TN_CELL_I32,
    TN_CELL_U32,
    TN_CELL_BOOL, /* bytes, 0 or 1 */
    TN_CELL_COUNT
} tn_cell;

/* Functions of integers alone, numbered behind those of rows.h. */
enum {
    TN_CELL_MAP_BIT_NOT = TN_MAP_COUNT,
    TN_CELL_MAP_COUNT,
    TN_CELL_BIT_AND = TN_COMBINE_COUNT,
    TN_CELL_BIT_OR,
    TN_CELL_BIT_XOR,
    TN_CELL_SHIFT_LEFT,
    TN_CELL_SHIFT_RIGHT,
    TN_CELL_COMBINE_COUNT
};

static inline size_t tn_cell_bytes(tn_cell cell) {
    static const size_t bytes[TN_CELL_COUNT] = {4, 8, 8, 8, 4, 4, 1};
    return bytes[cell];
}
/* Whether elements of the type are such cells as they are. */
static inline bool tn_cell_is_own(tn_cell cell, tn_type type) {
    static const tn_type own[] = {TN_F32, TN_F64, TN_I64, TN_U64, TN_I32, TN_U32};
    return cell != TN_CELL_BOOL && own[cell] == type; /* a bool's byte may be any */
}

/* y may be x, and strides are 0 or 1, as in rows.h. */
typedef void (*tn_cell_map)(int64_t count, const void *x, void *y);
typedef void (*tn_cell_combine)(int64_t count, const void *a, int64_t a_stride, const void *b,
                                int64_t b_stride, void *y);
typedef void (*tn_cell_choose)(int64_t count, const void *const rows[3], const int64_t strides[3],
                               void *y);

/* Of one arithmetic; null: it has no such function. */
typedef struct tn_cell_functions {
    tn_cell_map maps[TN_CELL_MAP_COUNT];
    tn_cell_combine combines[TN_CELL_COMBINE_COUNT];
    tn_cell_combine truths[TN_CELL_COMBINE_COUNT]; /* those whose results are 0 or 1, as bytes */
    tn_cell_choose choose;
} tn_cell_functions;

typedef struct tn_cells_level {
    tn_cell_functions wide[TN_CELL_COUNT]; /* by tn_cell; F32: truths, rows.h has the others */
    /* Elements beside each other as cells. Floats become integers without their fraction;
     * integers keep their low bits when they are stored, and bool is whether one is not 0. Floats
     * that are stored as integers have no fraction and saturate. */
    void (*load)(tn_cell cell, tn_type type, int64_t count, const void *from, void *to);
    void (*store)(tn_cell cell, tn_type type, int64_t count, const void *from, void *to);
    /* Floating-point cells as integers of a type, in 64 bits: without their fraction; what is out
     * of range of 64 bits (of 32 bits, for TN_I32) becomes the lowest number, as x86 has it. */
    void (*truncate)(tn_cell cell, tn_type type, int64_t count, const void *from, int64_t *to);
    /* 32-bit floats without their fraction as TN_I32 has them; answers whether all were within
     * its range. */
    bool (*truncate_32)(int64_t count, const float *from, int32_t *to);
} tn_cells_level;

extern const tn_cells_level tn_cells_baseline, tn_cells_avx2, tn_cells_avx512;

#endif
