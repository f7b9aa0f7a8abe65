/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast Fourier transform of any length, in double precision, of several rows at once: X[k] =
 * sum over j of x[j] exp(-2 pi i j k / n). Lengths of factors 2, 3 and 5 by Stockham's algorithm in
 * passes of radix 4, 2, 3 and 5 (Cochran et al., "What is the Fast Fourier Transform?", 1967);
 * others as a convolution by one of at least twice the length (Bluestein, "A Linear Filtering
 * Approach to the Computation of Discrete Fourier Transform", 1970).
 *
 * Real and imaginary parts are in arrays of their own; element j of row l is at j * rows + l, so
 * that every loop inside is over neighbours in memory:
 *
 *     | x[0] of row 0 .. row L-1 | x[1] of row 0 .. row L-1 | ..
 */
#ifndef TN_LAYERS_FOURIER_FFT_H
#define TN_LAYERS_FOURIER_FFT_H

#include <tenon/kit/levels.h>
#include <tenon/plugin.h>

/* One pass over a length radix * m: `s` neighbours share their twiddle factors. From x to y. */
typedef struct tn_fft_pass {
    int64_t m, s;
    const double *twiddles; /* m times radix - 1 pairs of cosine and sine */
    const double *x_re, *x_im;
    double *y_re, *y_im;
} tn_fft_pass;
typedef void (*tn_fft_pass_function)(const tn_fft_pass *pass);

typedef struct tn_fft_level {
    tn_fft_pass_function passes[6]; /* by radix */
} tn_fft_level;
extern const tn_fft_level tn_fft_baseline, tn_fft_avx2, tn_fft_avx512;

/* A length: its tables are the caller's memory. */
typedef struct tn_fft {
    int64_t length;
    int64_t inner; /* of the passes: `length`, or that of Bluestein's convolution */
    uint32_t pass_count;
    uint8_t radices[64];
    const double *twiddles;
    const double *chirp;  /* Bluestein: exp(-pi i j^2 / n), pairs; else null */
    const double *filter; /* its transform over `inner`, divided by it, pairs */
} tn_fft;

/* Re and im of `inner` * rows doubles each, twice: a pass goes from one pair to the other. */
typedef struct tn_fft_buffers {
    double *re, *im, *other_re, *other_im;
} tn_fft_buffers;

/* Doubles of the tables of a length from 1 on, and the length of the passes. False when they do not
 * fit. */
bool tn_fft_measure(int64_t length, int64_t *out_doubles, int64_t *out_inner);
/* Fills the tables. */
void tn_fft_init(tn_fft *out_fft, int64_t length, double *tables);
/* Transforms `rows` rows in buffers->re and im; afterwards these point at the result. The inverse
 * is not divided by the length. */
void tn_fft_run(const tn_fft_level *level, const tn_fft *fft, int64_t rows, bool is_inverse,
                tn_fft_buffers *buffers);

#endif
