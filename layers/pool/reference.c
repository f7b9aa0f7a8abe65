/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The references of the pools. NaN counts as larger than all numbers, the first one found stays;
 * otherwise the first of equal elements is the one whose offset MaxPool's Indices have.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/parallel.h>
#include "pool/pool.h"

#include <math.h>

/* Computes element `at` of the output from the window at `position` of the plane that begins at
 * element `plane` of X. */
typedef void (*window_function)(const tn_call *call, const tn_window *window, int64_t plane,
                                const int64_t *position, int64_t at);

typedef struct window_job {
    const tn_call *call;
    window_function function;
    tn_window window;
    int64_t plane_elements, plane_windows;
} window_job;

/* An item is a plane. */
static tn_status do_planes_of_windows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const window_job *job = user;
    const tn_window *window = &job->window;
    (void)thread;
    for (int64_t plane = begin, at = begin * job->plane_windows; plane < end; plane++) {
        int64_t position[TN_WINDOW_MAX_RANK] = {0};
        do
            job->function(job->call, window, plane * job->plane_elements, position, at++);
        while (tn_window_step(window->rank, window->output, position));
    }
    return TN_OK;
}

static tn_status do_windows(tn_call *call, window_function function, bool is_parallel) {
    enum { GRAIN = 4096 };
    const tn_tensor *x = call->inputs[0];
    window_job job = {.call = call, .function = function};
    TN_TRY(tn_pool_window(call, &job.window));
    if (tn_element_count(call->outputs[TN_POOL_Y]) == 0) return TN_OK;
    const int64_t planes = x->shape[0] * x->shape[1];
    job.plane_elements = tn_window_count(job.window.rank, job.window.input);
    job.plane_windows = tn_window_count(job.window.rank, job.window.output);
    if (!is_parallel) return do_planes_of_windows(&job, 0, planes, 0);
    return call->host->parallel_for(call, planes, tn_parallel_grain(GRAIN, job.plane_windows),
                                    do_planes_of_windows, &job);
}

/* ----------------------------------------------------------------------------------------------
 * MaxPool */

/* The smallest value of a type: what a window of padding alone gives. */
static double lowest_value(tn_type type) {
    if (type == TN_I8) return -128;
    return type == TN_U8 ? 0 : -(double)INFINITY;
}

/* The offset of the window's largest element in its plane, -1 when there is none. */
static int64_t find_largest(const tn_tensor *x, int64_t plane, const tn_window *window,
                            const int64_t *position, double *out_value) {
    int64_t index[TN_WINDOW_MAX_RANK] = {0}, best = -1;
    uint32_t last = window->rank - 1;
    tn_window_view view;
    *out_value = lowest_value(x->type);
    if (!tn_window_look(window, position, &view)) return -1;
    do {
        int64_t row = tn_window_offset(window, &view, index);
        for (int64_t i = 0; i < view.count[last]; i++) {
            int64_t at = row + i * window->dilation[last];
            double value = tn_element_f64(x, plane + at);
            if (best >= 0 && (value <= *out_value || isnan(*out_value))) continue;
            best = at;
            *out_value = value;
        }
    } while (tn_window_step(last, view.count, index));
    return best;
}

/* An offset in row-major order of the spatial axes as one in column-major order. */
static int64_t turn_offset(const tn_window *window, int64_t offset) {
    int64_t turned = 0;
    for (uint32_t i = window->rank; i-- > 0;) {
        turned = turned + offset % window->input[i] * tn_infer_product(window->input, 0, i);
        offset /= window->input[i];
    }
    return turned;
}

static void store_largest(const tn_call *call, const tn_window *window, int64_t plane,
                          const int64_t *position, int64_t at) {
    const tn_pool_params *params = call->params;
    const tn_tensor *y = call->outputs[TN_POOL_Y];
    const tn_tensor *indices = tn_infer_output(call, TN_POOL_INDICES);
    double value;
    int64_t offset = find_largest(call->inputs[0], plane, window, position, &value);
    tn_element_set_f64(y, at, value);
    if (offset >= 0 && params->storage_order == 1) offset = turn_offset(window, offset);
    if (indices) ((int64_t *)indices->data)[at] = offset < 0 ? -1 : plane + offset;
}

tn_status tn_max_pool_reference(tn_call *call) {
    return do_windows(call, store_largest, false);
}

tn_status tn_max_pool_run(tn_call *call) {
    return do_windows(call, store_largest, true);
}

/* ----------------------------------------------------------------------------------------------
 * AveragePool */

/* What the sum of a window is divided by: its elements inside the input or, where the field says
 * so, inside the input and its pads (what ceil_mode adds beyond them never counts). */
static double divisor_of(const tn_pool_params *params, const tn_window *window,
                         const int64_t *position, const tn_window_view *view) {
    double divisor = 1;
    for (uint32_t i = 0; i < window->rank; i++) {
        int64_t count = view->count[i];
        if (params->count_include_pad) {
            int64_t begin = position[i] * window->stride[i] - window->pad_begin[i];
            int64_t end = window->input[i] + window->pad_end[i];
            count = (end - begin - 1) / window->dilation[i] + 1;
            if (count > window->kernel[i]) count = window->kernel[i];
        }
        divisor *= (double)count;
    }
    return divisor;
}

/* Zero where the window sees padding alone. */
static void store_mean(const tn_call *call, const tn_window *window, int64_t plane,
                       const int64_t *position, int64_t at) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[TN_POOL_Y];
    int64_t index[TN_WINDOW_MAX_RANK] = {0};
    uint32_t last = window->rank - 1;
    tn_window_view view;
    double sum = 0, divisor = 1;
    if (tn_window_look(window, position, &view)) {
        divisor = divisor_of(call->params, window, position, &view);
        do {
            int64_t row = plane + tn_window_offset(window, &view, index);
            for (int64_t i = 0; i < view.count[last]; i++)
                sum += tn_element_f64(x, row + i * window->dilation[last]);
        } while (tn_window_step(last, view.count, index));
    }
    tn_element_set_f64(y, at, sum / divisor);
}

tn_status tn_average_pool_reference(tn_call *call) {
    return do_windows(call, store_mean, false);
}

tn_status tn_average_pool_run(tn_call *call) {
    return do_windows(call, store_mean, true);
}

/* ----------------------------------------------------------------------------------------------
 * LpPool */

/* What an element adds to a sum of which the root is the length, (sum of |x|^p)^(1/p). */
static double power_of(double x, double p) {
    return p == 1 ? fabs(x) : p == 2 ? x * x : pow(fabs(x), p);
}
static double root_of(double sum, double p) {
    return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / p);
}

/* Padding counts as zeros. */
static void store_length(const tn_call *call, const tn_window *window, int64_t plane,
                         const int64_t *position, int64_t at) {
    const tn_tensor *x = call->inputs[0];
    const double p = ((const tn_pool_params *)call->params)->p;
    int64_t index[TN_WINDOW_MAX_RANK] = {0};
    uint32_t last = window->rank - 1;
    tn_window_view view;
    double sum = 0;
    if (tn_window_look(window, position, &view)) {
        do {
            int64_t row = plane + tn_window_offset(window, &view, index);
            for (int64_t i = 0; i < view.count[last]; i++)
                sum += power_of(tn_element_f64(x, row + i * window->dilation[last]), p);
        } while (tn_window_step(last, view.count, index));
    }
    tn_element_set_f64(call->outputs[TN_POOL_Y], at, root_of(sum, p));
}

tn_status tn_lp_pool_reference(tn_call *call) {
    return do_windows(call, store_length, false);
}

tn_status tn_lp_pool_run(tn_call *call) {
    return do_windows(call, store_length, true);
}

/* ----------------------------------------------------------------------------------------------
 * whole planes */

/* An item is a plane. Of no elements the largest is minus infinity, the mean NaN. */
static void do_planes(const tn_call *call, int64_t begin, int64_t end, bool is_mean) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[TN_POOL_Y];
    const int64_t count = tn_element_count(x) / tn_element_count(y);
    for (int64_t plane = begin; plane < end; plane++) {
        double sum = 0, largest = -(double)INFINITY;
        for (int64_t i = 0; i < count; i++) {
            const double value = tn_element_f64(x, plane * count + i);
            sum += value;
            if (value > largest || isnan(value)) largest = value;
        }
        const double mean = count ? sum / (double)count : (double)NAN;
        tn_element_set_f64(y, plane, is_mean ? mean : largest);
    }
}
static tn_status find_largest_of_planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    do_planes(user, begin, end, false);
    return TN_OK;
}
static tn_status find_means(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    do_planes(user, begin, end, true);
    return TN_OK;
}

static tn_status find_lengths(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[TN_POOL_Y];
    const double p = ((const tn_global_lp_pool_params *)call->params)->p;
    const int64_t count = tn_element_count(x) / tn_element_count(y);
    (void)thread;
    for (int64_t plane = begin; plane < end; plane++) {
        double sum = 0;
        for (int64_t i = 0; i < count; i++)
            sum += power_of(tn_element_f64(x, plane * count + i), p);
        tn_element_set_f64(y, plane, root_of(sum, p));
    }
    return TN_OK;
}

static tn_status do_all(tn_call *call, tn_body body, bool is_parallel) {
    enum { GRAIN = 16384 };
    const int64_t planes = tn_element_count(call->outputs[TN_POOL_Y]);
    if (planes == 0) return TN_OK;
    if (!is_parallel) return body(call, 0, planes, 0);
    const int64_t count = tn_element_count(call->inputs[0]) / planes;
    return call->host->parallel_for(call, planes, GRAIN / (count + 1) + 1, body, call);
}

#define WHOLE_PLANES(prefix, body)                                                                 \
    tn_status tn_##prefix##_reference(tn_call *call) {                                             \
        return do_all(call, body, false);                                                          \
    }                                                                                              \
    tn_status tn_##prefix##_run(tn_call *call) {                                                   \
        return do_all(call, body, true);                                                           \
    }
WHOLE_PLANES(global_max_pool, find_largest_of_planes)
WHOLE_PLANES(global_average_pool, find_means)
WHOLE_PLANES(global_lp_pool, find_lengths)
