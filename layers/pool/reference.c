/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The references of the pools. NaN counts as larger than all numbers, the first one found stays;
 * otherwise the first of equal elements is the one whose offset MaxPool's Indices have.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "pool/pool.h"

#include <math.h>

/* Computes element `at` of the output from the window at `position` of the plane that begins at
 * element `plane` of X. */
typedef void (*window_function)(const tn_call *call, const tn_window *window, int64_t plane,
                                const int64_t *position, int64_t at);

static tn_status do_windows(tn_call *call, window_function function) {
    const tn_tensor *x = call->inputs[0];
    tn_window window;
    TN_TRY(tn_pool_window(call, &window));
    if (tn_element_count(call->outputs[TN_POOL_Y]) == 0) return TN_OK;
    const int64_t planes = x->shape[0] * x->shape[1];
    const int64_t plane_elements = tn_window_count(window.rank, window.input);
    for (int64_t plane = 0, at = 0; plane < planes; plane++) {
        int64_t position[TN_WINDOW_MAX_RANK] = {0};
        do
            function(call, &window, plane * plane_elements, position, at++);
        while (tn_window_step(window.rank, window.output, position));
    }
    return TN_OK;
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
    return do_windows(call, store_largest);
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
    return do_windows(call, store_mean);
}

/* ----------------------------------------------------------------------------------------------
 * whole planes */

/* Of no elements the largest is minus infinity, the mean NaN. */
static tn_status do_planes(tn_call *call, bool is_mean) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[TN_POOL_Y];
    const int64_t planes = tn_element_count(y), count = planes ? tn_element_count(x) / planes : 0;
    for (int64_t plane = 0; plane < planes; plane++) {
        double sum = 0, largest = -(double)INFINITY;
        for (int64_t i = 0; i < count; i++) {
            const double value = tn_element_f64(x, plane * count + i);
            sum += value;
            if (value > largest || isnan(value)) largest = value;
        }
        const double mean = count ? sum / (double)count : (double)NAN;
        tn_element_set_f64(y, plane, is_mean ? mean : largest);
    }
    return TN_OK;
}

tn_status tn_global_max_pool_reference(tn_call *call) {
    return do_planes(call, false);
}

tn_status tn_global_average_pool_reference(tn_call *call) {
    return do_planes(call, true);
}
