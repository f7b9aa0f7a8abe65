/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference of MaxPool. NaN counts as larger than all numbers, the first one found stays;
 * otherwise the first of equal elements is the one whose place is told.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "max_pool/max_pool.h"

#include <math.h>

/* The smallest value of a type: what a window of padding alone gives. */
static double lowest_value(tn_type type) {
    if (type == TN_I8) return -128;
    return type == TN_U8 ? 0 : -(double)INFINITY;
}

/* The place of the view's largest element in its plane, -1 when there is none. */
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
            double value = tn_element_load_f64(x->data, x->type, plane + at);
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

tn_status tn_max_pool_reference(tn_call *call) {
    const tn_max_pool_params *params = call->params;
    const tn_tensor *x = call->inputs[0];
    const tn_tensor *y = call->outputs[TN_MAX_POOL_Y];
    const tn_tensor *indices = tn_infer_output(call, TN_MAX_POOL_INDICES);
    tn_window window;
    TN_TRY(tn_max_pool_window(call, &window));
    if (tn_element_count(y) == 0) return TN_OK;
    int64_t planes = x->shape[0] * x->shape[1], at = 0;
    int64_t plane_elements = tn_window_count(window.rank, window.input);
    for (int64_t plane = 0; plane < planes; plane++) {
        int64_t position[TN_WINDOW_MAX_RANK] = {0}, first = plane * plane_elements;
        do {
            double value;
            int64_t place = find_largest(x, first, &window, position, &value);
            tn_element_store_f64(y->data, y->type, at, value);
            if (place >= 0 && params->storage_order == 1) place = turn_offset(&window, place);
            if (indices) ((int64_t *)indices->data)[at] = place < 0 ? -1 : first + place;
            at++;
        } while (tn_window_step(window.rank, window.output, position));
    }
    return TN_OK;
}
