/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of DFT and STFT in double: the sum of the definition, element by element. Longer
 * rows than DIRECT elements would take too long so and are transformed as the kernels do. */
#include "fourier/fourier.h"
#include "kit/math/element.h"
#include "kit/operator/layer.h"

#include <math.h>

enum { DIRECT = 128 };

typedef struct fourier_pair {
    double re, im;
} fourier_pair;

/* Element j of a row of the input, with the window; the mirror image behind half a spectrum. */
static fourier_pair read_element(const tn_fourier *node, int64_t row, int64_t j) {
    const bool is_mirrored = node->to_real && j > node->length / 2;
    const int64_t source = is_mirrored ? node->length - j : j;
    if (source >= node->given) return (fourier_pair){0, 0};
    const int64_t at = tn_fourier_at(node, &node->in, row) + source * node->in.element;
    fourier_pair value = {tn_element_f64(node->input, at),
                          node->in_parts == 2 ? tn_element_f64(node->input, at + 1) : 0};
    if (node->to_real && (j == 0 || 2 * j == node->length)) value.im = 0;
    if (is_mirrored) value.im = -value.im;
    if (!node->window) return value;
    const double factor = tn_element_f64(node->window, j);
    return (fourier_pair){factor * value.re, factor * value.im};
}

static void do_row(const tn_fourier *node, int64_t row) {
    fourier_pair x[DIRECT], roots[DIRECT];
    double poison = 0; /* NaN where an element is not finite */
    for (int64_t j = 0; j < node->length; j++) {
        const double angle = 6.283185307179586 * (double)j / (double)node->length;
        roots[j] = (fourier_pair){cos(angle), node->is_inverse ? sin(angle) : -sin(angle)};
        x[j] = read_element(node, row, j);
        poison += 0 * x[j].re + 0 * x[j].im;
    }
    const double scale = node->is_inverse ? 1 / (double)node->length : 1;
    for (int64_t k = 0; k < node->bins; k++) {
        fourier_pair sum = {poison, poison};
        for (int64_t j = 0, at_root = 0; j < node->length; j++) { /* at_root: j k mod length */
            const fourier_pair root = roots[at_root];
            sum.re += x[j].re * root.re - x[j].im * root.im;
            sum.im += x[j].re * root.im + x[j].im * root.re;
            at_root = at_root + k < node->length ? at_root + k : at_root + k - node->length;
        }
        const int64_t at = tn_fourier_at(node, &node->out, row) + k * node->out.element;
        tn_element_set_f64(node->output, at, scale * sum.re);
        if (!node->to_real) tn_element_set_f64(node->output, at + 1, scale * sum.im);
    }
}

/* Long rows, one after the other. */
static tn_status do_long_rows(tn_call *call, const tn_fourier *node) {
    const tn_host *host = call->host;
    int64_t doubles = 0;
    tn_fourier_plan plan;
    TN_TRY(tn_fourier_measure(call, node, &doubles));
    double *tables = host->allocate(host, (uint64_t)(doubles + node->length) * sizeof(double), 64);
    if (!tables) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a transform");
    tn_fourier_plan_init(&plan, node, tables);
    double *buffers = host->allocate(host, (uint64_t)plan.buffer_doubles * sizeof(double), 64);
    if (!buffers) {
        host->deallocate(host, tables);
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a transform");
    }
    tn_fourier_work work = {&tn_fft_baseline, &tn_fourier_baseline, node, &plan, NULL};
    if (node->window) {
        tn_element_read_f64(node->window->data, node->window->type, 0, 1, node->length,
                            tables + doubles);
        work.window = tables + doubles;
    }
    tn_fourier_transform(&work, 0, node->rows, buffers);
    host->deallocate(host, buffers);
    host->deallocate(host, tables);
    return TN_OK;
}

tn_status tn_fourier_reference(tn_call *call) {
    tn_fourier node = {0};
    TN_TRY(tn_fourier_read(call, &node));
    if (tn_element_count(node.output) == 0) return TN_OK;
    if (node.length > DIRECT) return do_long_rows(call, &node);
    for (int64_t row = 0; row < node.rows; row++)
        do_row(&node, row);
    return TN_OK;
}
