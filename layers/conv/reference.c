/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference of Conv: for sixteen output positions at a time the inputs that each of them sees
 * are gathered into a panel of doubles, and every filter is multiplied with it. All filters are
 * summed in the same order: channel by channel, the kernel's elements in row-major order.
 */
#include "common/element.h"
#include "common/infer.h"
#include "common/product.h"
#include "conv/conv.h"

enum { COLUMNS = TN_PRODUCT_COLUMNS };

typedef struct conv_job {
    tn_window window;
    const tn_tensor *x, *w, *b;
    tn_tensor *y;
    int64_t group_count, channels, filters; /* of one group */
    int64_t taps, depth, positions, plane;  /* plane: elements of one input channel */
    int64_t *offsets; /* taps x COLUMNS: in a channel's plane, or -1 for padding */
    tn_product product;
} conv_job;

/* Where in the input's plane tap `tap` of the output position `position` lies; -1 in the padding.
 */
static int64_t find_offset(const tn_window *window, const int64_t *position, const int64_t *tap) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < window->rank; i++) {
        int64_t at =
            position[i] * window->stride[i] - window->pad_begin[i] + tap[i] * window->dilation[i];
        if (at < 0 || at >= window->input[i]) return -1;
        offset = offset * window->input[i] + at;
    }
    return offset;
}

/* The offsets of the panel that begins at `position`, which is stepped past it; columns after the
 * last position are padding. */
static void fill_offsets(conv_job *job, int64_t count, int64_t *position) {
    const tn_window *window = &job->window;
    for (int64_t column = 0; column < COLUMNS; column++) {
        int64_t tap[TN_WINDOW_MAX_RANK] = {0};
        for (int64_t k = 0; k < job->taps; k++) {
            job->offsets[k * COLUMNS + column] =
                column < count ? find_offset(window, position, tap) : -1;
            tn_window_step(window->rank, window->kernel, tap);
        }
        if (column < count) tn_window_step(window->rank, window->output, position);
    }
}

static void gather_channel(const conv_job *job, int64_t first, double *panel) {
    const int64_t *offsets = job->offsets;
    int64_t count = job->taps * COLUMNS;
    if (job->x->type == TN_F32) {
        const float *plane = (const float *)job->x->data + first;
        for (int64_t i = 0; i < count; i++)
            panel[i] = offsets[i] < 0 ? 0.0 : (double)plane[offsets[i]];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        panel[i] = offsets[i] < 0
                       ? 0.0
                       : tn_element_load_f64(job->x->data, job->x->type, first + offsets[i]);
}

/* All filters of one group against the panel. `first` is the first position of the panel. */
static void multiply_group(const conv_job *job, int64_t image, int64_t group, int64_t first,
                           int64_t count) {
    const tn_product *product = &job->product;
    for (int64_t filter = 0; filter < job->filters; filter += TN_PRODUCT_ROWS) {
        int64_t rows = job->filters - filter < TN_PRODUCT_ROWS ? 1 : TN_PRODUCT_ROWS;
        int64_t begin = group * job->filters + filter;
        tn_element_read_f64(job->w->data, job->w->type, begin * job->depth, 1, rows * job->depth,
                            product->rows);
        if (rows == 1 && job->depth) /* the second row is not used, but must be numbers */
            memset(product->rows + job->depth, 0, (size_t)job->depth * sizeof(double));
        tn_product_tile(job->depth, product->rows, product->panel, product->sums);
        for (int64_t row = 0; row < rows; row++) {
            double *sums = product->sums + row * COLUMNS;
            double bias =
                job->b ? tn_element_load_f64(job->b->data, job->b->type, begin + row) : 0.0;
            for (int64_t i = 0; i < count; i++)
                sums[i] += bias;
            int64_t plane = image * job->group_count * job->filters + begin + row;
            tn_element_write_f64(job->y->data, job->y->type, plane * job->positions + first, count,
                                 sums);
        }
    }
}

static void compute(conv_job *job) {
    int64_t position[TN_WINDOW_MAX_RANK] = {0};
    for (int64_t first = 0; first < job->positions; first += COLUMNS) {
        int64_t count = job->positions - first < COLUMNS ? job->positions - first : COLUMNS;
        fill_offsets(job, count, position);
        for (int64_t image = 0; image < job->x->shape[0]; image++) {
            for (int64_t group = 0; group < job->group_count; group++) {
                int64_t channel = (image * job->group_count + group) * job->channels;
                for (int64_t c = 0; c < job->channels; c++)
                    gather_channel(job, (channel + c) * job->plane,
                                   job->product.panel + c * job->taps * COLUMNS);
                multiply_group(job, image, group, first, count);
            }
        }
    }
}

tn_status tn_conv_reference(tn_call *call) {
    const tn_conv_params *params = call->params;
    conv_job job = {.x = call->inputs[TN_CONV_X],
                    .w = call->inputs[TN_CONV_W],
                    .b = tn_infer_input(call, TN_CONV_B),
                    .y = call->outputs[0],
                    .group_count = params->group};
    TN_TRY(tn_conv_window(call, &job.window));
    if (tn_element_count(job.y) == 0) return TN_OK;
    job.positions = tn_window_count(job.window.rank, job.window.output);
    job.filters = job.w->shape[0] / params->group;
    job.channels = job.w->shape[1];
    if (job.channels) { /* else X and W have no elements, and their other extents mean nothing */
        job.taps = tn_window_count(job.window.rank, job.window.kernel);
        job.plane = tn_window_count(job.window.rank, job.window.input);
    }
    job.depth = job.channels * job.taps;

    void *offsets = NULL;
    TN_TRY(tn_product_create(call, job.depth, &job.product));
    tn_status status = tn_product_allocate(call, job.taps, COLUMNS * sizeof(int64_t), &offsets);
    if (status == TN_OK) {
        job.offsets = offsets;
        compute(&job);
    }
    call->host->deallocate(call->host, offsets);
    tn_product_destroy(call, &job.product);
    return status;
}
