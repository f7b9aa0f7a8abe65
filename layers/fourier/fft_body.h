/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes of the fast Fourier transform (fft.h) for one processor level. Included by a file a
 * level, which names the table as TN_FFT_LEVEL. With w the twiddle factors of p, for q below s:
 *
 *     y[q + s (r p + k)] = w^k * sum over j of x[q + s (p + m j)] exp(-2 pi i j k / r)
 *
 * The loops over q are left to the compiler's vectors: nothing overlaps.
 */
#include "fourier/fft.h"

#if defined(__clang__) /* warns of loops that it does not vectorize, as at -O1, where it is told   \
                          to */
#define FFT_INDEPENDENT
#else
#define FFT_INDEPENDENT _Pragma("GCC ivdep")
#endif

typedef struct fft_pair {
    double re, im;
} fft_pair;

static inline __attribute__((always_inline)) fft_pair load(const double *restrict re,
                                                           const double *restrict im, int64_t at) {
    return (fft_pair){re[at], im[at]};
}
static inline __attribute__((always_inline)) fft_pair add(fft_pair a, fft_pair b) {
    return (fft_pair){a.re + b.re, a.im + b.im};
}
static inline __attribute__((always_inline)) fft_pair subtract(fft_pair a, fft_pair b) {
    return (fft_pair){a.re - b.re, a.im - b.im};
}
/* x + factor * y */
static inline __attribute__((always_inline)) fft_pair add_scaled(fft_pair x, double factor,
                                                                 fft_pair y) {
    return (fft_pair){x.re + factor * y.re, x.im + factor * y.im};
}
/* x - i y and x + i y */
static inline __attribute__((always_inline)) fft_pair turn_down(fft_pair x, fft_pair y) {
    return (fft_pair){x.re + y.im, x.im - y.re};
}
static inline __attribute__((always_inline)) fft_pair turn_up(fft_pair x, fft_pair y) {
    return (fft_pair){x.re - y.im, x.im + y.re};
}
/* w times x, the twiddle factor number k of those at `twiddles`. */
static inline __attribute__((always_inline)) void store(double *restrict re, double *restrict im,
                                                        int64_t at, fft_pair x, const double *w) {
    re[at] = x.re * w[0] - x.im * w[1];
    im[at] = x.re * w[1] + x.im * w[0];
}

static void pass_2(const tn_fft_pass *pass) {
    const int64_t m = pass->m, s = pass->s;
    for (int64_t p = 0; p < m; p++) {
        const double *restrict re = pass->x_re + s * p, *restrict im = pass->x_im + s * p;
        double *restrict y_re = pass->y_re + s * 2 * p, *restrict y_im = pass->y_im + s * 2 * p;
        const double w[2] = {pass->twiddles[2 * p], pass->twiddles[2 * p + 1]};
        FFT_INDEPENDENT for (int64_t q = 0; q < s; q++) {
            const fft_pair a = load(re, im, q), b = load(re, im, q + s * m);
            y_re[q] = a.re + b.re;
            y_im[q] = a.im + b.im;
            store(y_re, y_im, q + s, subtract(a, b), w);
        }
    }
}

static void pass_3(const tn_fft_pass *pass) {
    const double sine = 0.86602540378443864676; /* of 2 pi / 3 */
    const int64_t m = pass->m, s = pass->s;
    for (int64_t p = 0; p < m; p++) {
        const double *restrict re = pass->x_re + s * p, *restrict im = pass->x_im + s * p;
        double *restrict y_re = pass->y_re + s * 3 * p, *restrict y_im = pass->y_im + s * 3 * p;
        const double *from = pass->twiddles + 4 * p;
        const double w[4] = {from[0], from[1], from[2], from[3]};
        FFT_INDEPENDENT for (int64_t q = 0; q < s; q++) {
            const fft_pair a = load(re, im, q), b = load(re, im, q + s * m),
                           c = load(re, im, q + 2 * s * m);
            const fft_pair sum = add(b, c), rest = subtract(b, c);
            const fft_pair middle = add_scaled(a, -0.5, sum);
            const fft_pair side = {sine * rest.re, sine * rest.im};
            y_re[q] = a.re + sum.re;
            y_im[q] = a.im + sum.im;
            store(y_re, y_im, q + s, turn_down(middle, side), w);
            store(y_re, y_im, q + 2 * s, turn_up(middle, side), w + 2);
        }
    }
}

static void pass_4(const tn_fft_pass *pass) {
    const int64_t m = pass->m, s = pass->s;
    for (int64_t p = 0; p < m; p++) {
        const double *restrict re = pass->x_re + s * p, *restrict im = pass->x_im + s * p;
        double *restrict y_re = pass->y_re + s * 4 * p, *restrict y_im = pass->y_im + s * 4 * p;
        const double *from = pass->twiddles + 6 * p;
        const double w[6] = {from[0], from[1], from[2], from[3], from[4], from[5]};
        FFT_INDEPENDENT for (int64_t q = 0; q < s; q++) {
            const fft_pair a = load(re, im, q), b = load(re, im, q + s * m),
                           c = load(re, im, q + 2 * s * m), d = load(re, im, q + 3 * s * m);
            const fft_pair even = add(a, c), even_rest = subtract(a, c);
            const fft_pair odd = add(b, d), odd_rest = subtract(b, d);
            y_re[q] = even.re + odd.re;
            y_im[q] = even.im + odd.im;
            store(y_re, y_im, q + s, turn_down(even_rest, odd_rest), w);
            store(y_re, y_im, q + 2 * s, subtract(even, odd), w + 2);
            store(y_re, y_im, q + 3 * s, turn_up(even_rest, odd_rest), w + 4);
        }
    }
}

static void pass_5(const tn_fft_pass *pass) {
    const double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410; /* cos 2, 4 pi / 5 */
    const double s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;  /* their sines */
    const int64_t m = pass->m, s = pass->s;
    for (int64_t p = 0; p < m; p++) {
        const double *restrict re = pass->x_re + s * p, *restrict im = pass->x_im + s * p;
        double *restrict y_re = pass->y_re + s * 5 * p, *restrict y_im = pass->y_im + s * 5 * p;
        const double *from = pass->twiddles + 8 * p;
        const double w[8] = {from[0], from[1], from[2], from[3],
                             from[4], from[5], from[6], from[7]};
        FFT_INDEPENDENT for (int64_t q = 0; q < s; q++) {
            const fft_pair a = load(re, im, q), b = load(re, im, q + s * m),
                           c = load(re, im, q + 2 * s * m), d = load(re, im, q + 3 * s * m),
                           e = load(re, im, q + 4 * s * m);
            const fft_pair outer = add(b, e), outer_rest = subtract(b, e);
            const fft_pair inner = add(c, d), inner_rest = subtract(c, d);
            const fft_pair first = add_scaled(add_scaled(a, c1, outer), c2, inner);
            const fft_pair second = add_scaled(add_scaled(a, c2, outer), c1, inner);
            const fft_pair first_side =
                add_scaled((fft_pair){s1 * outer_rest.re, s1 * outer_rest.im}, s2, inner_rest);
            const fft_pair second_side =
                add_scaled((fft_pair){s2 * outer_rest.re, s2 * outer_rest.im}, -s1, inner_rest);
            y_re[q] = a.re + outer.re + inner.re;
            y_im[q] = a.im + outer.im + inner.im;
            store(y_re, y_im, q + s, turn_down(first, first_side), w);
            store(y_re, y_im, q + 2 * s, turn_down(second, second_side), w + 2);
            store(y_re, y_im, q + 3 * s, turn_up(second, second_side), w + 4);
            store(y_re, y_im, q + 4 * s, turn_up(first, first_side), w + 6);
        }
    }
}

const tn_fft_level TN_FFT_LEVEL = {{[2] = pass_2, [3] = pass_3, [4] = pass_4, [5] = pass_5}};
