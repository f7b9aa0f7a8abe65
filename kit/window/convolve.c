/* SPDX-License-Identifier: Apache-2.0 */
/* The references of convolutions; see convolve.h. */
#include "kit/gemm/product.h"
#include "kit/math/element.h"
#include "kit/window/convolve.h"

enum { COLUMNS = TN_PRODUCT_COLUMNS };

typedef struct convolve_job {
    const tn_convolution *c;
    int64_t taps, depth, positions, panels, plane; /* plane: elements of one input channel */
    int64_t filter_stride, channel_stride;         /* of w */
    int64_t *offsets;                              /* taps x COLUMNS, -1 for padding */
    tn_product product;
} convolve_job;

/* The offsets of the panel that begins at `position`, which is stepped past it; columns after the
 * last position are padding. */
static void fill_offsets(const convolve_job *job, int64_t count, int64_t *position) {
    const tn_window *window = job->c->window;
    for (int64_t column = 0; column < COLUMNS; column++) {
        int64_t tap[TN_WINDOW_MAX_RANK] = {0};
        for (int64_t k = 0; k < job->taps; k++) {
            job->offsets[k * COLUMNS + column] =
                column < count ? job->c->find(window, position, tap) : -1;
            tn_window_step(window->rank, window->kernel, tap);
        }
        if (column < count) tn_window_step(window->rank, window->output, position);
    }
}

static void gather_channel(const convolve_job *job, int64_t first, double *panel) {
    const tn_tensor *x = job->c->x;
    const int64_t *offsets = job->offsets;
    int64_t count = job->taps * COLUMNS;
    if (x->type == TN_F32) {
        const float *plane = (const float *)x->data + first;
        for (int64_t i = 0; i < count; i++)
            panel[i] = offsets[i] < 0 ? 0.0 : (double)plane[offsets[i]];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        panel[i] = offsets[i] < 0 ? 0.0 : tn_element_f64(x, first + offsets[i]);
}

/* The weights of one filter as doubles, channel by channel; zeros for a filter that is not there,
 * so that the product has two rows. */
static void read_filter(const convolve_job *job, int64_t group, int64_t filter, double *row) {
    const tn_convolution *c = job->c;
    if (filter >= c->filters) {
        for (int64_t i = 0; i < job->depth; i++)
            row[i] = 0;
        return;
    }
    int64_t first = group * c->filters * job->depth + filter * job->filter_stride;
    if (job->channel_stride == job->taps) {
        tn_element_read_f64(c->w->data, c->w->type, first, 1, job->depth, row);
        return;
    }
    for (int64_t channel = 0; channel < c->channels; channel++)
        tn_element_read_f64(c->w->data, c->w->type, first + channel * job->channel_stride, 1,
                            job->taps, row + channel * job->taps);
}

static void store_filter(const convolve_job *job, int64_t plane, int64_t bias_index, int64_t first,
                         int64_t count, double *sums) {
    const tn_tensor *b = job->c->b, *y = job->c->y;
    double bias = b ? tn_element_f64(b, bias_index) : 0.0;
    for (int64_t i = 0; i < count; i++)
        sums[i] += bias;
    tn_element_write_f64(y->data, y->type, plane * job->positions + first, count, sums);
}

static bool is_finite(const double *values, int64_t count) {
    double zero = 0;
    for (int64_t i = 0; i < count; i++)
        zero += 0 * values[i];
    return zero == 0;
}

/* A transposed convolution has no zeros that a weight of NaN or infinity would meet: where no input
 * is, nothing is added. */
static void sum_present(const convolve_job *job, const double *row, double *sums) {
    const double *panel = job->product.panel;
    for (int64_t column = 0; column < COLUMNS; column++) {
        sums[column] = 0;
        for (int64_t k = 0; k < job->depth; k++)
            if (job->offsets[k % job->taps * COLUMNS + column] >= 0)
                sums[column] += row[k] * panel[k * COLUMNS + column];
    }
}

/* All filters of one group against the panel. `first` is the first position of the panel. */
static void multiply_group(const convolve_job *job, int64_t image, int64_t group, int64_t first,
                           int64_t count) {
    const tn_convolution *c = job->c;
    const tn_product *product = &job->product;
    for (int64_t filter = 0; filter < c->filters; filter += TN_PRODUCT_ROWS) {
        for (int64_t row = 0; row < TN_PRODUCT_ROWS; row++)
            read_filter(job, group, filter + row, product->rows + row * job->depth);
        tn_product_tile(job->depth, product->rows, product->panel, product->sums);
        for (int64_t row = 0; row < TN_PRODUCT_ROWS && filter + row < c->filters; row++) {
            int64_t index = group * c->filters + filter + row;
            const double *weights = product->rows + row * job->depth;
            if (c->channels_first && !is_finite(weights, job->depth))
                sum_present(job, weights, product->sums + row * COLUMNS);
            store_filter(job, image * c->groups * c->filters + index, index, first, count,
                         product->sums + row * COLUMNS);
        }
    }
}

/* The panels begin..end-1, of all images and groups. */
static void compute(const convolve_job *job, int64_t begin, int64_t end) {
    const tn_convolution *c = job->c;
    const tn_window *window = c->window;
    int64_t position[TN_WINDOW_MAX_RANK] = {0}, rest = begin * COLUMNS;
    for (uint32_t i = window->rank; i-- > 0; rest /= window->output[i])
        position[i] = rest % window->output[i];
    for (int64_t panel = begin; panel < end; panel++) {
        const int64_t first = panel * COLUMNS, left = job->positions - first;
        const int64_t count = left < COLUMNS ? left : COLUMNS;
        fill_offsets(job, count, position);
        for (int64_t image = 0; image < c->x->shape[0]; image++) {
            for (int64_t group = 0; group < c->groups; group++) {
                int64_t channel = (image * c->groups + group) * c->channels;
                for (int64_t i = 0; i < c->channels; i++)
                    gather_channel(job, (channel + i) * job->plane,
                                   job->product.panel + i * job->taps * COLUMNS);
                multiply_group(job, image, group, first, count);
            }
        }
    }
}

static convolve_job make_job(const tn_convolution *convolution) {
    const tn_window *window = convolution->window;
    convolve_job job = {.c = convolution};
    job.positions = tn_window_count(window->rank, window->output);
    job.panels = (job.positions + COLUMNS - 1) / COLUMNS;
    if (convolution->channels) { /* else x and w are empty, and their extents mean nothing */
        job.taps = tn_window_count(window->rank, window->kernel);
        job.plane = tn_window_count(window->rank, window->input);
    }
    job.depth = convolution->channels * job.taps;
    job.filter_stride = convolution->channels_first ? job.taps : job.depth;
    job.channel_stride = convolution->channels_first ? convolution->filters * job.taps : job.taps;
    return job;
}

tn_status tn_convolve(tn_call *call, const tn_convolution *convolution) {
    if (tn_element_count(convolution->y) == 0) return TN_OK;
    convolve_job job = make_job(convolution);
    void *offsets = NULL;
    tn_status status = tn_product_create(call, job.depth, &job.product);
    if (status == TN_OK)
        status = tn_product_allocate(call, job.taps, COLUMNS * sizeof(int64_t), &offsets);
    if (status == TN_OK) {
        job.offsets = offsets;
        compute(&job, 0, job.panels);
    }
    call->host->deallocate(call->host, offsets);
    tn_product_destroy(call, &job.product);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * on all threads; a thread's memory is a panel, sums, rows, offsets */

uint64_t tn_convolve_bytes(const tn_convolution *convolution) {
    const convolve_job job = make_job(convolution);
    const uint64_t each = COLUMNS + TN_PRODUCT_ROWS, limit = UINT64_C(1) << 56;
    if (job.depth < 0 || (uint64_t)job.depth > limit / each) return 0;
    const uint64_t elements =
        (uint64_t)job.depth * each + COLUMNS * TN_PRODUCT_ROWS + (uint64_t)job.taps * COLUMNS;
    return (elements * sizeof(double) + 63) / 64 * 64;
}

typedef struct shared_job {
    const convolve_job *job;
    char *workspace;
    uint64_t bytes; /* of a thread */
} shared_job;

static tn_status compute_panels(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const shared_job *shared = user;
    convolve_job job = *shared->job;
    job.product.panel = (double *)(void *)(shared->workspace + thread * shared->bytes);
    job.product.sums = job.product.panel + job.depth * COLUMNS;
    job.product.rows = job.product.sums + COLUMNS * TN_PRODUCT_ROWS;
    job.offsets = (int64_t *)(void *)(job.product.rows + job.depth * TN_PRODUCT_ROWS);
    compute(&job, begin, end);
    return TN_OK;
}

tn_status tn_convolve_parallel(tn_call *call, const tn_convolution *convolution) {
    if (tn_element_count(convolution->y) == 0) return TN_OK;
    const convolve_job job = make_job(convolution);
    shared_job shared = {&job, call->workspace, tn_convolve_bytes(convolution)};
    return call->host->parallel_for(call, job.panels, 1, compute_panels, &shared);
}
