/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution of 3 x 3 by Winograd's algorithm F(4 x 4, 3 x 3) on blocked channels of 32-bit floats
 * (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016): the outputs are cut
 * into tiles of 4 x 4, and
 *
 *     y = A^T [(G g G^T) * (B^T x B)] A
 *
 * where g are 3 x 3 weights, x the 6 x 6 elements that a tile sees, and * is element by element.
 * Summed over channels, each of the 36 elements is a product of matrices, [tiles, channels] by
 * [channels, filters]: 36 multiplications for 144.
 *
 * The matrices are those of Toom and Cook for the points 0, 5/8, -5/8, 3/2, -3/2 and infinity,
 * which round less than 0, 1, -1, 2, -2 (Alam, Anderson, Barabasz and Gregg, "Winograd Convolution
 * for Deep Neural Networks: Efficient Point Selection", 2022) and whose powers are exact. What a
 * level computes is tiles_body.h, in which order run.c.
 */
#ifndef TN_LAYERS_CONV_WINOGRAD_TILES_H
#define TN_LAYERS_CONV_WINOGRAD_TILES_H

#include <tenon/plugin.h>

enum {
    TN_WINOGRAD_KERNEL = 3,
    TN_WINOGRAD_OUTPUTS = 4,   /* a side of a tile */
    TN_WINOGRAD_POINTS = 6,    /* a side of what it sees, and of its transform */
    TN_WINOGRAD_ELEMENTS = 36, /* of a transform */
    TN_WINOGRAD_VECTORS = 2,   /* of filters in a panel of the transformed weights */
    TN_WINOGRAD_ROWS = 12      /* of tiles, the most that a level multiplies at once */
};

/* Where a vector of filters of a tile goes. */
typedef struct tn_winograd_output {
    const float *sums;      /* of element 0 */
    int64_t element_floats; /* from an element to the next one */
    const float *bias;      /* a vector */
    float *y;               /* its corner */
    const float *residual;  /* the same elements of another tensor; null: none */
    int64_t row_floats;     /* of y and residual */
    int64_t height, width;  /* that y has of it, up to 4 */
    int64_t filters;        /* that there are from here on; lanes behind them are zeros in y */
    uint32_t activation;
    float alpha, beta;
} tn_winograd_output;

typedef struct tn_winograd_level {
    int64_t lanes; /* the block of channels */
    int64_t rows;  /* that are multiplied at once, at most */
    /* v[element] = (B^T x B)[element] of a vector of channels; x has 6 rows of 6 positions. */
    void (*transform)(const float *x, int64_t row_floats, float *v, int64_t element_floats);
    /* sums[row][filter] = the sum over c of v[row][c] * u[c][filter], of `index` + 1 rows and the
     * filters of a panel. */
    void (*multiply[TN_WINOGRAD_ROWS])(const float *v, int64_t v_floats, const float *u,
                                       int64_t channels, float *sums, int64_t sums_floats);
    void (*store)(const tn_winograd_output *output); /* A^T sums A, bias, residual, activation */
} tn_winograd_level;

extern const tn_winograd_level tn_winograd_avx2, tn_winograd_avx512;

#endif
