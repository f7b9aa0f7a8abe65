/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of 8-bit activations with 8-bit weights, summed exactly in 32 bits: what the quantised
 * kernels of Conv, Gemm and MatMul have in common. The lanes of a vector are output channels; each
 * lane takes a GROUP of neighbouring inputs at once (4 with AVX2 and with VNNI, 2 elsewhere). A
 * tile of rows x vectors of sums stays in registers over all groups; where a group lies is a table
 * of offsets, so that one loop serves matrices and convolutions of any window. The inner loop is
 * compiled once a processor level; weights are packed by tenon/kit/dot_pack.h, and
 * tenon/kit/int8_matrix.h has whole kernels.
 *
 * Activations are kept as the level multiplies them (tn_dot_form): with VNNI as bytes with 128
 * added (one factor of its products is unsigned; the sums then begin at -128 times the weights'
 * sum), with AVX2 alone as bytes, too, or as they are where a run has no negative ones; elsewhere
 * as 16 bits.
 */
#ifndef TENON_KIT_DOT_H
#define TENON_KIT_DOT_H

#include <tenon/kit/levels.h>
#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_DOT_ROWS    12 /* the most rows of a tile */
#define TN_DOT_VECTORS 4  /* the most vectors of output channels of a tile */
/* Longer sums might not fit 32 bits: 2^31 / (128 * 127), rounded down. */
#define TN_DOT_DEPTH_LIMIT 132104

/* What becomes of the sums: value = sum * scale + bias, then + residual, activation, unit, bounds.
 * All but `unit` are in steps of the output's scale, see dot_end.h. */
typedef struct tn_dot_end {
    tn_type type; /* of output and residual: TN_I8 or TN_F32; TN_I32: the sums are stored as they
                     are, and nothing else here counts; TN_U8: bytes of either kind with a zero
                     point, side by side: sum * scale within the bounds, which is finite, rounded,
                     and `zero` added, which gives what the byte can be */
    int32_t zero;
    uint32_t activation;
    float alpha, beta;
    float residual_scale;
    float unit;      /* after the activation */
    float low, high; /* bounds, before rounding */
    bool is_plain;   /* no residual, no activation, unit 1 */
} tn_dot_end;

typedef struct tn_dot_tile {
    const void *x;
    const int32_t *rows;    /* of each row from x, in elements */
    const int32_t *offsets; /* of each group from its row, in elements */
    int64_t groups;
    const int8_t *weights; /* groups x vectors x lanes x group */
    /* Where the level has tn_dot_narrow: the groups' order; the first so many are in pairs the
     * sums of whose products 16 bits hold, and up to the next so many those of one group's. */
    const uint16_t *order;
    int64_t folded, single;
    const int32_t *initial;    /* sums begin here: vectors x lanes, as the next two */
    const float *scale, *bias; /* see tn_dot_end */
    const int8_t *ahead;       /* weights to be fetched meanwhile, */
    int64_t ahead_step;        /* so many bytes on with each group; 0: none */
    int64_t vectors;           /* of columns */
    int64_t columns;           /* valid ones */
    void *output;
    const void *residual;              /* strides as the output; null: none */
    int64_t row_stride, column_stride; /* of the output, in elements */
    const tn_dot_end *end;
} tn_dot_tile;

typedef void (*tn_dot_function)(const tn_dot_tile *tile);

/* How activations are kept. `clear` writes zeros. */
typedef struct tn_dot_form {
    uint32_t element_bytes;
    int32_t shift; /* 0 or 128, which is added to each */
    void (*load)(void *to, const int8_t *from, int64_t count);
    void (*clear)(void *to, int64_t count);
    /* to[i * channels + c] = from[c * plane + i] for all i < count. */
    void (*interleave)(void *to, const int8_t *from, int64_t plane, int64_t channels,
                       int64_t count);
} tn_dot_form;

typedef struct tn_dot_level tn_dot_level;

/* Activations, `low` to `high`; none yet: TN_DOT_NO_RANGE. */
typedef struct tn_dot_range {
    int8_t low, high;
} tn_dot_range;
#define TN_DOT_NO_RANGE ((tn_dot_range){INT8_MAX, INT8_MIN})

/* The groups of a block, ordered by the sums of weights of one sign that lanes of 16 bits have. */
typedef struct tn_dot_arranged {
    int32_t largest; /* sum of a group */
    int32_t of_any;  /* the first groups so many, which may be multiplied by any bytes */
    int32_t first_pair, last_pair; /* sums of these; INT32_MAX: there are none */
} tn_dot_arranged;

/* What a level has whose products of bytes are summed in lanes of 16 bits, and which therefore goes
 * by how large weights and activations are. */
typedef struct tn_dot_narrow {
    const tn_dot_form *forms[2]; /* of bytes: as they are, none negative; with 128 added */
    /* Widens *inout_range to bytes, each of which is inverted by `flip` first. */
    void (*range)(const uint8_t *from, int64_t count, uint8_t flip, tn_dot_range *inout_range);
    /* Orders a block's groups; two neighbours at 2i are a pair, and out_pairs[i] is the largest sum
     * of one up to the i-th. */
    tn_dot_arranged (*arrange)(int8_t *weights, int64_t groups, int64_t columns,
                               uint16_t *out_order, uint16_t *out_pairs);
} tn_dot_narrow;

struct tn_dot_level {
    uint32_t lanes, group, vectors;
    uint32_t rows[TN_DOT_VECTORS]; /* the most of a tile with index + 1 vectors */
    tn_dot_function functions[TN_DOT_ROWS][TN_DOT_VECTORS];
    const tn_dot_form *form;
    const tn_dot_narrow *narrow; /* or null */
};

/* One for a kernel a level (TN_KIT_FEATURES_...); packed weights are of the level that they were
 * packed for. */
extern const tn_dot_level tn_dot_baseline, tn_dot_avx2, tn_dot_avx512vnni;

#ifdef __cplusplus
}
#endif

#endif
