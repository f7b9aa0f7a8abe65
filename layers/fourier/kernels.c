/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of DFT and STFT: tables for a context's shapes, made once in reshape, and groups of rows
 * on all threads. A group's rows never depend on the threads. */
#include "fourier/fourier.h"
#include "kit/math/element.h"
#include "kit/operator/kernel_memory.h"
#include "kit/operator/layer.h"
#include <tenon/kit/parallel.h>

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * plans */

static int64_t complex_length(const tn_fourier *node) {
    return tn_fourier_is_halved(node) ? node->length / 2 : node->length;
}

tn_status tn_fourier_measure(tn_call *call, const tn_fourier *node, int64_t *out_doubles) {
    int64_t inner = 0;
    if (!tn_fft_measure(complex_length(node), out_doubles, &inner))
        return call->host->fail(call, TN_ERROR_MEMORY,
                                "a transform of %lld elements needs more memory than there can be",
                                (long long)node->length);
    *out_doubles += node->length + 2; /* pairs for half of the length, both ends included */
    return TN_OK;
}

void tn_fourier_plan_init(tn_fourier_plan *out_plan, const tn_fourier *node, double *tables) {
    enum { CACHE_DOUBLES = 1 << 15 };
    const double two_pi = 6.283185307179586476925286766559;
    const int64_t half = node->length / 2;
    tn_fourier_plan plan = {.real = NULL};
    if (tn_fourier_is_halved(node)) {
        for (int64_t k = 0; k < half; k++) {
            tables[2 * k] = cos(two_pi * ((double)k / (double)node->length));
            tables[2 * k + 1] = -sin(two_pi * ((double)k / (double)node->length));
        }
        tables[2 * half] = -1;
        tables[2 * half + 1] = 0;
        plan.real = tables;
        tables += 2 * half + 2;
    }
    tn_fft_init(&plan.fft, complex_length(node), tables);
    const int64_t fitting = CACHE_DOUBLES / plan.fft.inner;
    plan.together = fitting < 1 ? 1 : fitting < TN_FOURIER_ROWS ? fitting : TN_FOURIER_ROWS;
    plan.buffer_doubles = 4 * plan.fft.inner * plan.together;
    *out_plan = plan;
}

/* The first element of a transform is the sum of all that went in, real and imaginary parts apart
 * (of Bluestein's all elements are): it is finite where they are. */
static void find_poison(tn_fourier_rows *job) {
    for (int64_t l = 0; l < job->rows; l++)
        job->poison[l] = 0 * job->re[l] + 0 * job->im[l];
}

void tn_fourier_transform(const tn_fourier_work *work, int64_t begin, int64_t end, double *memory) {
    const tn_fourier_plan *plan = work->plan;
    for (int64_t row = begin; row < end; row += plan->together) {
        const int64_t rows = end - row < plan->together ? end - row : plan->together;
        const int64_t part = plan->fft.inner * rows;
        tn_fft_buffers buffers = {memory, memory + part, memory + 2 * part, memory + 3 * part};
        tn_fourier_rows job = {work->node, plan->real, work->window, rows,
                               row,        buffers.re, buffers.im,   {0}};
        work->rows->load(&job);
        tn_fft_run(work->fft, &plan->fft, rows, work->node->is_inverse, &buffers);
        job.re = buffers.re;
        job.im = buffers.im;
        find_poison(&job);
        work->rows->store(&job);
    }
}

/* ----------------------------------------------------------------------------------------------
 * kernels */

typedef struct fourier_level {
    const tn_fft_level *fft;
    const tn_fourier_level *rows;
} fourier_level;

typedef struct fourier_context {
    tn_kernel_context kept;
    tn_fourier_plan plan;
} fourier_context;

static tn_status fourier_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(fourier_context));
}

/* The workspace: the window in double, then each thread's buffers. */
static int64_t window_doubles(const tn_fourier *node) {
    return node->window ? (node->length + 7) / 8 * 8 : 0;
}

static tn_status fourier_reshape(tn_call *call) {
    fourier_context *context = call->context;
    tn_fourier node = {0};
    int64_t doubles = 0, bytes = 0;
    TN_TRY(tn_fourier_read(call, &node));
    TN_TRY(tn_fourier_measure(call, &node, &doubles));
    TN_TRY(tn_kernel_context_reserve(call, (uint64_t)doubles * sizeof(double)));
    tn_fourier_plan_init(&context->plan, &node, context->kept.tables);
    if (!tn_infer_multiply(context->plan.buffer_doubles, (int64_t)call->threads, &doubles) ||
        !tn_infer_add(doubles, window_doubles(&node), &doubles) ||
        !tn_infer_multiply(doubles, (int64_t)sizeof(double), &bytes))
        return call->host->fail(call, TN_ERROR_MEMORY,
                                "transforms of %lld elements need more memory than there can be",
                                (long long)node.length);
    call->workspace_bytes = (uint64_t)bytes;
    return TN_OK;
}

typedef struct fourier_run {
    tn_fourier_work work;
    double *buffers;
} fourier_run;

/* An item is a group of rows that are transformed together. */
static tn_status do_groups(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const fourier_run *run = user;
    const tn_fourier_plan *plan = run->work.plan;
    const int64_t last = end * plan->together, rows = run->work.node->rows;
    tn_fourier_transform(&run->work, begin * plan->together, last < rows ? last : rows,
                         run->buffers + (int64_t)thread * plan->buffer_doubles);
    return TN_OK;
}

static tn_status fourier_run_all(tn_call *call) {
    enum { GRAIN = 4096 }; /* elements */
    const fourier_level *level = call->user;
    const fourier_context *context = call->context;
    tn_fourier node = {0};
    double *workspace = call->workspace;
    TN_TRY(tn_fourier_read(call, &node));
    if (tn_element_count(node.output) == 0) return TN_OK;
    fourier_run run = {.work = {level->fft, level->rows, &node, &context->plan, NULL},
                       .buffers = workspace + window_doubles(&node)};
    if (node.window) {
        tn_element_read_f64(node.window->data, node.window->type, 0, 1, node.length, workspace);
        run.work.window = workspace;
    }
    const int64_t together = context->plan.together;
    return call->host->parallel_for(call, (node.rows + together - 1) / together,
                                    tn_parallel_grain(GRAIN, context->plan.fft.inner * together),
                                    do_groups, &run);
}

#define FOURIER_LEVEL(level)                                                                       \
    static const fourier_level level_##level = {&tn_fft_##level, &tn_fourier_##level}
FOURIER_LEVEL(baseline);
FOURIER_LEVEL(avx2);
FOURIER_LEVEL(avx512);

#define FOURIER_KERNELS(prefix, name)                                                              \
    TN_LEVEL_KERNELS(prefix, level, name, "fft",                                                   \
                     "Fast Fourier transform in double precision, several rows at once.",          \
                     .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                      \
                     .open = fourier_open, .close = tn_kernel_context_destroy,                     \
                     .reshape = fourier_reshape, .run = fourier_run_all)
FOURIER_KERNELS(dft, "DFT");
FOURIER_KERNELS(stft, "STFT");

const tn_kernel *const tn_fourier_kernels[2] = {TN_LEVEL_LIST(dft), TN_LEVEL_LIST(stft)};
