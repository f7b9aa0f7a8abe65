/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths, tables and passes of the fast Fourier transform; see fft.h. */
#include "fourier/fft.h"
#include <tenon/kit/infer.h>

#include <math.h>
#include <string.h>

static const double two_pi = 6.283185307179586476925286766559;

/* ----------------------------------------------------------------------------------------------
 * lengths */

/* The length without its factors 2, 3 and 5. */
static int64_t rough_part(int64_t length) {
    for (int64_t prime = 2; prime <= 5; prime++)
        while (length % prime == 0)
            length /= prime;
    return length;
}

/* The least 2^k, 3 2^k, 5 2^k, 9 2^k or 15 2^k from `length` on. */
static int64_t smooth_from(int64_t length) {
    static const int64_t odd[] = {1, 3, 5, 9, 15};
    int64_t best = INT64_MAX;
    for (uint32_t i = 0; i < TN_COUNT(odd); i++) {
        int64_t candidate = odd[i];
        while (candidate < length)
            candidate *= 2;
        if (candidate < best) best = candidate;
    }
    return best;
}

static bool is_smooth(int64_t length) {
    return rough_part(length) == 1;
}

bool tn_fft_measure(int64_t length, int64_t *out_doubles, int64_t *out_inner) {
    if (length < 1 || length > (int64_t)1 << 55) return false;
    const int64_t inner = is_smooth(length) ? length : smooth_from(2 * length - 1);
    /* Of twiddle factors there are fewer than two pairs an element: the passes have m (radix - 1),
     * and m falls by the radix. Bluestein: chirp, filter, and what makes it. */
    *out_doubles = 4 * inner + (inner == length ? 0 : 2 * length + 6 * inner) + 8;
    *out_inner = inner;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * passes */

static void run_passes(const tn_fft_level *level, const tn_fft *fft, int64_t rows,
                       tn_fft_buffers *buffers) {
    int64_t left = fft->inner, s = rows;
    const double *twiddles = fft->twiddles;
    for (uint32_t i = 0; i < fft->pass_count; i++) {
        const int64_t radix = fft->radices[i], m = left / radix;
        const tn_fft_pass pass = {
            m, s, twiddles, buffers->re, buffers->im, buffers->other_re, buffers->other_im};
        level->passes[radix](&pass);
        *buffers = (tn_fft_buffers){buffers->other_re, buffers->other_im, buffers->re, buffers->im};
        twiddles += 2 * m * (radix - 1);
        left = m;
        s *= radix;
    }
}

/* Multiplies rows of `count` elements by pairs. */
static void multiply(const double *pairs, int64_t count, int64_t rows, double *re, double *im) {
    for (int64_t j = 0; j < count; j++) {
        const double a = pairs[2 * j], b = pairs[2 * j + 1];
        for (int64_t l = j * rows; l < (j + 1) * rows; l++) {
            const double x = re[l], y = im[l];
            re[l] = x * a - y * b;
            im[l] = x * b + y * a;
        }
    }
}

static tn_fft_buffers swapped(const tn_fft_buffers *buffers) {
    return (tn_fft_buffers){buffers->im, buffers->re, buffers->other_im, buffers->other_re};
}

/* The inverse transform is the forward one with real and imaginary parts exchanged. */
static void run_forward(const tn_fft_level *level, const tn_fft *fft, int64_t rows,
                        tn_fft_buffers *buffers) {
    if (!fft->chirp) {
        run_passes(level, fft, rows, buffers);
        return;
    }
    const size_t padding = (size_t)((fft->inner - fft->length) * rows) * sizeof(double);
    multiply(fft->chirp, fft->length, rows, buffers->re, buffers->im);
    memset(buffers->re + fft->length * rows, 0, padding);
    memset(buffers->im + fft->length * rows, 0, padding);
    run_passes(level, fft, rows, buffers);
    multiply(fft->filter, fft->inner, rows, buffers->re, buffers->im);
    *buffers = swapped(buffers);
    run_passes(level, fft, rows, buffers);
    *buffers = swapped(buffers);
    multiply(fft->chirp, fft->length, rows, buffers->re, buffers->im);
}

void tn_fft_run(const tn_fft_level *level, const tn_fft *fft, int64_t rows, bool is_inverse,
                tn_fft_buffers *buffers) {
    if (is_inverse) *buffers = swapped(buffers);
    run_forward(level, fft, rows, buffers);
    if (is_inverse) *buffers = swapped(buffers);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static double *fill_twiddles(tn_fft *fft, double *tables) {
    int64_t left = fft->inner;
    fft->twiddles = tables;
    while (left > 1) {
        const int64_t radix = left % 4 == 0 ? 4 : left % 2 == 0 ? 2 : left % 3 == 0 ? 3 : 5;
        const int64_t m = left / radix;
        for (int64_t p = 0; p < m; p++)
            for (int64_t j = 1; j < radix; j++, tables += 2) {
                const double angle = two_pi * ((double)(j * p) / (double)left);
                tables[0] = cos(angle);
                tables[1] = -sin(angle);
            }
        fft->radices[fft->pass_count++] = (uint8_t)radix;
        left = m;
    }
    return tables;
}

/* exp(-pi i j^2 / n). The square is kept below 2 n, where the angle is exact. */
static double *fill_chirp(tn_fft *fft, double *tables) {
    int64_t square = 0;
    fft->chirp = tables;
    for (int64_t j = 0; j < fft->length; j++, tables += 2) {
        const double angle = two_pi * ((double)square / (double)(2 * fft->length));
        tables[0] = cos(angle);
        tables[1] = -sin(angle);
        square = (square + 2 * j + 1) % (2 * fft->length);
    }
    return tables;
}

/* The transform of the conjugate chirp, wrapped around, divided by `inner`. */
static void fill_filter(tn_fft *fft, double *tables) {
    const int64_t inner = fft->inner;
    double *memory = tables + 2 * inner;
    tn_fft_buffers buffers = {memory, memory + inner, memory + 2 * inner, memory + 3 * inner};
    memset(memory, 0, (size_t)(2 * inner) * sizeof(double));
    for (int64_t j = 0; j < fft->length; j++) {
        const int64_t mirrored = j == 0 ? 0 : inner - j;
        buffers.re[j] = buffers.re[mirrored] = fft->chirp[2 * j] / (double)inner;
        buffers.im[j] = buffers.im[mirrored] = -fft->chirp[2 * j + 1] / (double)inner;
    }
    run_passes(&tn_fft_baseline, fft, 1, &buffers);
    for (int64_t k = 0; k < inner; k++) {
        tables[2 * k] = buffers.re[k];
        tables[2 * k + 1] = buffers.im[k];
    }
    fft->filter = tables;
}

void tn_fft_init(tn_fft *out_fft, int64_t length, double *tables) {
    *out_fft = (tn_fft){.length = length,
                        .inner = is_smooth(length) ? length : smooth_from(2 * length - 1)};
    tables = fill_twiddles(out_fft, tables);
    if (out_fft->inner == length) return;
    tables = fill_chirp(out_fft, tables);
    fill_filter(out_fft, tables);
}
