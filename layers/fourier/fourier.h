/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discrete Fourier transforms of rows of a tensor: what DFT and STFT (operator.c), their reference
 * (reference.c) and their kernels (kernels.c) share. All of it is computed in double precision,
 * since float32 spectra have elements near zero beside large ones. Every element of a spectrum
 * depends on the whole row: one that is not finite makes all of them NaN.
 *
 * A real row of even length n is transformed as a complex one of n / 2, z[j] = x[2j] + i x[2j+1],
 * whose spectrum Z has that of the even elements and of the odd ones in it:
 *
 *     E[k] = (Z[k] + conj Z[n/2-k]) / 2,  O[k] = (Z[k] - conj Z[n/2-k]) / 2i,
 *     X[k] = E[k] + exp(-2 pi i k / n) O[k]
 */
#ifndef TN_LAYERS_FOURIER_FOURIER_H
#define TN_LAYERS_FOURIER_FOURIER_H

#include "fourier/fft.h"

enum { TN_FOURIER_ROWS = 8 /* rows that are transformed together, at most */ };

/* A node. Row r = o * inner + i begins at o * outer + i * inner elements of input and output; `in`
 * and `out` have the strides of these three. A complex element is two beside each other. */
typedef struct tn_fourier_strides {
    int64_t outer, inner, element;
} tn_fourier_strides;

typedef struct tn_fourier {
    int64_t length; /* of the transform, at least 1 */
    int64_t given;  /* elements of the input's rows that are used; behind them are zeros */
    int64_t bins;   /* elements of the output's rows */
    int64_t rows, inner;
    tn_fourier_strides in, out;
    uint32_t in_parts; /* 1: real; 2: complex */
    bool is_inverse;
    bool to_real; /* inverse: of the first half of a spectrum, whose rest is its mirror image */
    const tn_tensor *input, *window; /* window: null, or a factor for each of the row's elements */
    const tn_tensor *output;
} tn_fourier;

/* Tables and memory for a node's transforms. */
typedef struct tn_fourier_plan {
    tn_fft fft; /* of length, or half of it */
    const double
        *real;        /* exp(-2 pi i k / length) for k up to length / 2, pairs; null: not halved */
    int64_t together; /* rows that are transformed together */
    int64_t buffer_doubles; /* of a thread */
} tn_fourier_plan;

/* Rows that are being transformed: element j of row l of re and im at j * rows + l. */
typedef struct tn_fourier_rows {
    const tn_fourier *node;
    const double *real;   /* the plan's */
    const double *window; /* null: none */
    int64_t rows, first;
    double *re, *im;
    double poison[TN_FOURIER_ROWS]; /* of each row: zero, or NaN, which is added to its output */
} tn_fourier_rows;

typedef struct tn_fourier_level {
    void (*load)(const tn_fourier_rows *rows);
    void (*store)(const tn_fourier_rows *rows);
} tn_fourier_level;
extern const tn_fourier_level tn_fourier_baseline, tn_fourier_avx2, tn_fourier_avx512;

static inline bool tn_fourier_is_halved(const tn_fourier *node) {
    return node->length % 2 == 0 && (node->is_inverse ? node->to_real : node->in_parts == 1);
}
static inline int64_t tn_fourier_at(const tn_fourier *node, const tn_fourier_strides *strides,
                                    int64_t row) {
    return row / node->inner * strides->outer + row % node->inner * strides->inner;
}

/* The node of a call, by its operator's reader. */
typedef tn_status (*tn_fourier_reader)(tn_call *call, tn_fourier *out_node);
tn_status tn_fourier_read(tn_call *call, tn_fourier *out_node);

/* kernels.c. Doubles of a plan's tables. TN_ERROR_MEMORY. */
tn_status tn_fourier_measure(tn_call *call, const tn_fourier *node, int64_t *out_doubles);
void tn_fourier_plan_init(tn_fourier_plan *out_plan, const tn_fourier *node, double *tables);
/* Rows begin..end-1, each time `together`; `memory` has buffer_doubles. */
typedef struct tn_fourier_work {
    const tn_fft_level *fft;
    const tn_fourier_level *rows;
    const tn_fourier *node;
    const tn_fourier_plan *plan;
    const double *window;
} tn_fourier_work;
void tn_fourier_transform(const tn_fourier_work *work, int64_t begin, int64_t end, double *memory);

tn_status tn_fourier_reference(tn_call *call) TN_NOEXCEPT;
extern const tn_kernel *const tn_fourier_kernels[2];

#endif
