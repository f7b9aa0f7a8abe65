/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The references of convolutions: for sixteen output positions at a time the inputs that each of
 * them sees are gathered into a panel of doubles, and every filter is multiplied with it
 * (product.h). All filters are summed in the same order: channel by channel, the kernel's elements
 * in row-major order. Which input a kernel's element meets is the operator's business.
 */
#ifndef TN_KIT_WINDOW_CONVOLVE_H
#define TN_KIT_WINDOW_CONVOLVE_H

#include "kit/window/window.h"

typedef struct tn_convolution {
    const tn_tensor *x, *w, *b; /* b null: no bias */
    tn_tensor *y;               /* batch, groups * filters, window->output */
    const tn_window *window;
    int64_t groups, channels, filters; /* channels and filters of one group */
    /* Whether w is [groups * channels, filters, kernel], as transposed convolutions have it, not
     * [groups * filters, channels, kernel]. */
    bool channels_first;
    /* The input offset in a channel's plane that meets element `tap` at output `position`; -1 where
     * that is padding. */
    int64_t (*find)(const tn_window *window, const int64_t *position, const int64_t *tap);
} tn_convolution;

/* Computes y. Shapes have been checked. TN_ERROR_MEMORY. */
tn_status tn_convolve(tn_call *call, const tn_convolution *convolution);
/* The same on all threads, in so many bytes of the workspace for each; 0: too many. */
uint64_t tn_convolve_bytes(const tn_convolution *convolution);
tn_status tn_convolve_parallel(tn_call *call, const tn_convolution *convolution);

#endif
