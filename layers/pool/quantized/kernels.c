/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of means.h, on all threads. Channels last a unit of work is a block of the channels
 * of an output position, and its windows' elements are added vector by vector; else it is a plane.
 */
#include "pool/quantized/means.h"
#include <tenon/kit/open.h>
#include <tenon/kit/parallel.h>

enum { BLOCK = 256, GRAIN = 65536 };

typedef struct means_job {
    const tn_call *call;
    const tn_means_level *level;
    tn_means means;
    int64_t channels, blocks, elements, positions; /* elements and positions of a plane */
} means_job;

static bool read_job(tn_call *call, means_job *job) {
    *job = (means_job){.call = call, .level = call->user};
    if (tn_means_read(call, &job->means) != TN_OK) return false;
    const tn_window *window = &job->means.window;
    job->channels = call->inputs[TN_MEANS_X]->shape[1];
    job->blocks = (job->channels + BLOCK - 1) / BLOCK;
    job->elements = tn_window_count(window->rank, window->input);
    job->positions = tn_window_count(window->rank, window->output);
    return tn_window_count(window->rank, window->kernel) < INT32_MAX / 512; /* sums fit */
}

/* Of one position both formats have the same memory. */
static tn_status means_accepts(tn_call *call) {
    means_job job;
    if (tn_open_has(call)) return TN_OK; /* linear: reshape asks for the rest */
    if (!read_job(call, &job)) return TN_ERROR_UNSUPPORTED;
    const bool is_same = call->inputs[TN_MEANS_X]->format == call->outputs[0]->format;
    return is_same || job.positions == 1 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status means_reshape(tn_call *call) {
    return tn_open_ask(call, means_accepts);
}

static void position_of(const tn_window *window, int64_t number, int64_t *out_position) {
    for (uint32_t i = window->rank; i-- > 0; number /= window->output[i])
        out_position[i] = number % window->output[i];
}

/* Elements of x_zero that are in the sums. */
static int64_t seen(const tn_window *window, const tn_window_view *view) {
    return tn_window_count(window->rank, view->count);
}

/* Windows that see padding alone are the mean of nothing. */
static void do_block(const means_job *job, int64_t image, int64_t at, int64_t block) {
    const tn_means *means = &job->means;
    const tn_window *window = &means->window;
    const uint32_t last = window->rank - 1;
    const int64_t first = block * BLOCK, left = job->channels - first;
    const int64_t count = left < BLOCK ? left : BLOCK, step = window->dilation[last];
    const uint8_t *x = job->call->inputs[TN_MEANS_X]->data;
    uint8_t *y = job->call->outputs[0]->data;
    int64_t position[TN_WINDOW_MAX_RANK], index[TN_WINDOW_MAX_RANK] = {0}, divisor = 1;
    int32_t sums[BLOCK] = {0}, excess = 0;
    tn_window_view view;
    x += image * job->elements * job->channels + first;
    position_of(window, at, position);
    if (tn_window_look(window, position, &view)) {
        divisor = tn_means_divisor(job->call, window, position, &view);
        excess = (int32_t)seen(window, &view) * means->x_zero;
        do {
            const int64_t row = tn_window_offset(window, &view, index);
            job->level->add(means->flip, view.count[last], step * job->channels,
                            x + row * job->channels, count, sums);
        } while (tn_window_step(last, view.count, index));
    }
    job->level->store(means, count, sums, excess, divisor,
                      y + (image * job->positions + at) * job->channels + first);
}

static tn_status do_blocks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const means_job *job = user;
    (void)thread;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t position = unit / job->blocks;
        do_block(job, position / job->positions, position % job->positions, unit % job->blocks);
    }
    return TN_OK;
}

static int32_t sum_row(const means_job *job, const uint8_t *from, int64_t count, int64_t step) {
    int32_t sum = 0;
    if (step == 1) return job->level->sum(job->means.flip, count, from);
    for (int64_t i = 0; i < count; i++)
        sum += from[i * step] ^ job->means.flip;
    return sum;
}

static void do_plane(const means_job *job, int64_t plane) {
    const tn_means *means = &job->means;
    const tn_window *window = &means->window;
    const uint32_t last = window->rank - 1;
    const uint8_t *x = (const uint8_t *)job->call->inputs[TN_MEANS_X]->data + plane * job->elements;
    uint8_t *y = (uint8_t *)job->call->outputs[0]->data + plane * job->positions;
    int64_t position[TN_WINDOW_MAX_RANK] = {0};
    do {
        int64_t index[TN_WINDOW_MAX_RANK] = {0}, divisor = 1;
        int32_t sum = 0, excess = 0;
        tn_window_view view;
        if (tn_window_look(window, position, &view)) {
            divisor = tn_means_divisor(job->call, window, position, &view);
            excess = (int32_t)seen(window, &view) * means->x_zero;
            do
                sum += sum_row(job, x + tn_window_offset(window, &view, index), view.count[last],
                               window->dilation[last]);
            while (tn_window_step(last, view.count, index));
        }
        job->level->store(means, 1, &sum, excess, divisor, y++);
    } while (tn_window_step(window->rank, window->output, position));
}

static tn_status do_planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const means_job *job = user;
    (void)thread;
    for (int64_t plane = begin; plane < end; plane++)
        do_plane(job, plane);
    return TN_OK;
}

static tn_status means_run(tn_call *call) {
    means_job job;
    if (!read_job(call, &job)) return TN_ERROR_INTERNAL;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    const int64_t batch = call->inputs[TN_MEANS_X]->shape[0];
    const int64_t taps = tn_window_count(job.means.window.rank, job.means.window.kernel) + 8;
    if (call->inputs[TN_MEANS_X]->format == TN_LINEAR)
        return call->host->parallel_for(call, batch * job.channels,
                                        tn_parallel_grain(GRAIN, job.positions * taps), do_planes,
                                        &job);
    return call->host->parallel_for(
        call, batch * job.positions * job.blocks,
        tn_parallel_grain(GRAIN, taps * (job.channels < BLOCK ? job.channels : BLOCK)), do_blocks,
        &job);
}

static const char *const combinations[] = {"u8|i8:nhwc, f32, *?, f32, *? -> u8|i8:nhwc",
                                           "u8|i8:nhwc, f32, *?, f32, *? -> u8|i8",
                                           "u8|i8, f32, *?, f32, *? -> u8|i8"};
#define MEANS_KERNELS(symbol, operator_name)                                                       \
    TN_LEVEL_KERNELS_OF(, symbol, TN_LEVELS(tn_means), "Tenon", 1, operator_name, "sums",          \
                        "Exact sums of bytes on all threads.",                                     \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                   \
                        TN_COMBINATIONS(combinations), .accepts = means_accepts,                   \
                        .reshape = means_reshape, .run = means_run)
MEANS_KERNELS(tn_quantized_average, "QLinearAveragePool");
MEANS_KERNELS(tn_quantized_global_average, "QLinearGlobalAveragePool");
