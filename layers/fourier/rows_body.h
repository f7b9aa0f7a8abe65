/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a tensor to the buffers of a transform and back (fourier.h), for one processor level.
 * Included by a file a level, which names the table as TN_FOURIER_LEVEL. The loops are written for
 * any element type and compiled for float and double.
 */
#include "fourier/fourier.h"
#include "kit/math/element.h"

#define ROWS_INLINE static inline __attribute__((always_inline))

typedef struct rows_pair {
    double re, im;
} rows_pair;

/* Element j of each row, which begins at at[l], or zero behind the given ones; times the window. */
ROWS_INLINE rows_pair load_element(const tn_fourier_rows *rows, tn_type type, int64_t at,
                                   int64_t j) {
    const tn_fourier *node = rows->node;
    if (j >= node->given) return (rows_pair){0, 0};
    const double factor = rows->window ? rows->window[j] : 1;
    at += j * node->in.element;
    return (rows_pair){
        factor * tn_element_load_f64(node->input->data, type, at),
        node->in_parts == 2 ? factor * tn_element_load_f64(node->input->data, type, at + 1) : 0};
}

ROWS_INLINE void store_element(const tn_fourier_rows *rows, tn_type type, int64_t at,
                               double value) {
    void *data = rows->node->output->data;
    if (type == TN_F32)
        ((float *)data)[at] = (float)value;
    else if (type == TN_F64)
        ((double *)data)[at] = value;
    else
        tn_element_store_f64(data, type, at, value);
}

ROWS_INLINE void find_rows(const tn_fourier_rows *rows, const tn_fourier_strides *strides,
                           int64_t at[TN_FOURIER_ROWS]) {
    for (int64_t l = 0; l < rows->rows; l++)
        at[l] = tn_fourier_at(rows->node, strides, rows->first + l);
}

/* ----------------------------------------------------------------------------------------------
 * load */

ROWS_INLINE void load_halved(const tn_fourier_rows *rows, tn_type type, const int64_t *at) {
    for (int64_t j = 0; j < rows->node->length / 2; j++)
        for (int64_t l = 0; l < rows->rows; l++) {
            rows->re[j * rows->rows + l] = load_element(rows, type, at[l], 2 * j).re;
            rows->im[j * rows->rows + l] = load_element(rows, type, at[l], 2 * j + 1).re;
        }
}

/* Element k of the spectrum of a real row of any length, whose ends are real. */
ROWS_INLINE rows_pair load_mirrored(const tn_fourier_rows *rows, tn_type type, int64_t at,
                                    int64_t k) {
    const int64_t length = rows->node->length;
    const bool is_mirrored = k > length / 2;
    rows_pair value = load_element(rows, type, at, is_mirrored ? length - k : k);
    if (k == 0 || 2 * k == length) value.im = 0;
    if (is_mirrored) value.im = -value.im;
    return value;
}

/* Z[k] = E[k] + i O[k], twice that, for the transform to two real elements at once. */
ROWS_INLINE void load_spectrum(const tn_fourier_rows *rows, tn_type type, const int64_t *at) {
    const int64_t half = rows->node->length / 2;
    for (int64_t k = 0; k < half; k++) {
        const double w_re = rows->real[2 * k], w_im = rows->real[2 * k + 1];
        for (int64_t l = 0; l < rows->rows; l++) {
            const rows_pair a = load_mirrored(rows, type, at[l], k);
            const rows_pair b = load_mirrored(rows, type, at[l], half - k);
            const rows_pair even = {a.re + b.re, a.im - b.im};
            const rows_pair rest = {a.re - b.re, a.im + b.im};
            const rows_pair odd = {rest.re * w_re + rest.im * w_im,
                                   rest.im * w_re - rest.re * w_im};
            rows->re[k * rows->rows + l] = even.re - odd.im;
            rows->im[k * rows->rows + l] = even.im + odd.re;
        }
    }
}

ROWS_INLINE void load_all(const tn_fourier_rows *rows, tn_type type, const int64_t *at) {
    const tn_fourier *node = rows->node;
    for (int64_t j = 0; j < node->length; j++)
        for (int64_t l = 0; l < rows->rows; l++) {
            const rows_pair value = node->to_real ? load_mirrored(rows, type, at[l], j)
                                                  : load_element(rows, type, at[l], j);
            rows->re[j * rows->rows + l] = value.re;
            rows->im[j * rows->rows + l] = value.im;
        }
}

ROWS_INLINE void load_rows(const tn_fourier_rows *rows, tn_type type) {
    int64_t at[TN_FOURIER_ROWS];
    find_rows(rows, &rows->node->in, at);
    if (!rows->real)
        load_all(rows, type, at);
    else if (rows->node->to_real)
        load_spectrum(rows, type, at);
    else
        load_halved(rows, type, at);
}

static void load(const tn_fourier_rows *rows) {
    const tn_type type = rows->node->input->type;
    if (type == TN_F32)
        load_rows(rows, TN_F32);
    else if (type == TN_F64)
        load_rows(rows, TN_F64);
    else
        load_rows(rows, type);
}

/* ----------------------------------------------------------------------------------------------
 * store */

/* X[k] from Z; behind the middle the mirror image. */
ROWS_INLINE void store_spectrum(const tn_fourier_rows *rows, tn_type type, const int64_t *at) {
    const tn_fourier *node = rows->node;
    const int64_t half = node->length / 2;
    for (int64_t k = 0; k < node->bins; k++) {
        const int64_t source = k <= half ? k : node->length - k;
        const int64_t first = source % half * rows->rows,
                      last = (half - source) % half * rows->rows;
        const double w_re = rows->real[2 * source], w_im = rows->real[2 * source + 1];
        const double sign = k <= half ? 1 : -1;
        double re[TN_FOURIER_ROWS], im[TN_FOURIER_ROWS]; /* of all rows, before they part */
        for (int64_t l = 0; l < rows->rows; l++) {
            const rows_pair a = {rows->re[first + l], rows->im[first + l]};
            const rows_pair b = {rows->re[last + l], rows->im[last + l]};
            const rows_pair even = {0.5 * (a.re + b.re), 0.5 * (a.im - b.im)};
            const rows_pair odd = {0.5 * (a.im + b.im), 0.5 * (b.re - a.re)};
            re[l] = even.re + w_re * odd.re - w_im * odd.im + rows->poison[l];
            im[l] = sign * (even.im + w_re * odd.im + w_im * odd.re) + rows->poison[l];
        }
        for (int64_t l = 0; l < rows->rows; l++) {
            store_element(rows, type, at[l] + k * node->out.element, re[l]);
            store_element(rows, type, at[l] + k * node->out.element + 1, im[l]);
        }
    }
}

/* Two real elements from each complex one. */
ROWS_INLINE void store_halved(const tn_fourier_rows *rows, tn_type type, const int64_t *at) {
    const tn_fourier *node = rows->node;
    const double scale = 1 / (double)node->length;
    for (int64_t j = 0; j < node->length / 2; j++)
        for (int64_t l = 0; l < rows->rows; l++) {
            const int64_t to = at[l] + 2 * j * node->out.element;
            store_element(rows, type, to, scale * rows->re[j * rows->rows + l] + rows->poison[l]);
            store_element(rows, type, to + node->out.element,
                          scale * rows->im[j * rows->rows + l] + rows->poison[l]);
        }
}

ROWS_INLINE void store_all(const tn_fourier_rows *rows, tn_type type, const int64_t *at) {
    const tn_fourier *node = rows->node;
    const double scale = node->is_inverse ? 1 / (double)node->length : 1;
    for (int64_t k = 0; k < node->bins; k++)
        for (int64_t l = 0; l < rows->rows; l++) {
            const int64_t to = at[l] + k * node->out.element;
            store_element(rows, type, to, scale * rows->re[k * rows->rows + l] + rows->poison[l]);
            if (!node->to_real)
                store_element(rows, type, to + 1,
                              scale * rows->im[k * rows->rows + l] + rows->poison[l]);
        }
}

ROWS_INLINE void store_rows(const tn_fourier_rows *rows, tn_type type) {
    int64_t at[TN_FOURIER_ROWS];
    find_rows(rows, &rows->node->out, at);
    if (!rows->real)
        store_all(rows, type, at);
    else if (rows->node->to_real)
        store_halved(rows, type, at);
    else
        store_spectrum(rows, type, at);
}

static void store(const tn_fourier_rows *rows) {
    const tn_type type = rows->node->output->type;
    if (type == TN_F32)
        store_rows(rows, TN_F32);
    else if (type == TN_F64)
        store_rows(rows, TN_F64);
    else
        store_rows(rows, type);
}

const tn_fourier_level TN_FOURIER_LEVEL = {load, store};
