/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a DeformConv node, and finds what a window's elements read; see deform_conv.h. */
#include "deform_conv/deform_conv.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>

#include <math.h>

static tn_status check_channels(tn_call *call, const tn_deform_geometry *geometry) {
    const tn_tensor *w = call->inputs[TN_DEFORM_W], *b = tn_infer_input(call, TN_DEFORM_B);
    int64_t channels;
    if (!tn_infer_multiply(w->shape[1], geometry->group, &channels) ||
        channels != geometry->channels)
        return call->host->fail(
            call, TN_ERROR_SHAPE, "X has %lld channels, but W has %lld a group in %lld groups",
            (long long)geometry->channels, (long long)w->shape[1], (long long)geometry->group);
    if (geometry->filters % geometry->group != 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "W has %lld filters, which %lld groups cannot share evenly",
                                (long long)geometry->filters, (long long)geometry->group);
    if (geometry->channels % geometry->offset_group != 0)
        return call->host->fail(
            call, TN_ERROR_SHAPE,
            "X has %lld channels, which %lld groups of offsets cannot share evenly",
            (long long)geometry->channels, (long long)geometry->offset_group);
    if (b && (b->rank != 1 || b->shape[0] != geometry->filters))
        return call->host->fail(call, TN_ERROR_SHAPE, "B must be a vector of W's %lld filters",
                                (long long)geometry->filters);
    return TN_OK;
}

/* Whether the input is [images, offset_group * taps * each, positions along each axis]. */
static tn_status check_maps(tn_call *call, const tn_deform_geometry *geometry, uint32_t input,
                            int64_t each) {
    const tn_tensor *maps = tn_infer_input(call, input);
    const tn_window *window = &geometry->window;
    int64_t channels = 0;
    if (!maps) return TN_OK;
    bool fits = maps->rank == window->rank + 2 && maps->shape[0] == geometry->images &&
                tn_infer_multiply(geometry->offset_group * each, geometry->taps, &channels) &&
                maps->shape[1] == channels;
    for (uint32_t i = 0; fits && i < window->rank; i++)
        fits = maps->shape[2 + i] == window->output[i];
    if (fits) return TN_OK;
    char text[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(
        call, TN_ERROR_SHAPE,
        "input '%s' has the shape %s; expected %lld images, %lld values for each of %lld groups "
        "and %lld elements of the window, and the output's positions",
        tn_infer_input_name(call, input),
        tn_infer_shape_text(maps->rank, maps->shape, text, sizeof(text)),
        (long long)geometry->images, (long long)each, (long long)geometry->offset_group,
        (long long)geometry->taps);
}

static tn_status check_kernel_shape(tn_call *call, uint32_t rank) {
    const tn_deform_conv_params *params = call->params;
    const tn_tensor *w = call->inputs[TN_DEFORM_W];
    bool fits = params->kernel_shape.count == 0 || params->kernel_shape.count == rank;
    for (uint32_t i = 0; fits && i < params->kernel_shape.count; i++)
        fits = params->kernel_shape.items[i] == w->shape[2 + i];
    if (fits) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "field 'kernel_shape' says other extents than W has");
}

tn_status tn_deform_conv_read(tn_call *call, tn_deform_geometry *out_geometry) {
    const tn_deform_conv_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, TN_DEFORM_X, 3, 2 + TN_DEFORM_MOST_AXES));
    const tn_tensor *x = call->inputs[TN_DEFORM_X];
    TN_TRY(tn_infer_require_rank(call, TN_DEFORM_W, x->rank, x->rank));
    const tn_tensor *w = call->inputs[TN_DEFORM_W];
    const uint32_t rank = x->rank - 2;
    *out_geometry = (tn_deform_geometry){.images = x->shape[0],
                                         .channels = x->shape[1],
                                         .filters = w->shape[0],
                                         .group = params->group,
                                         .offset_group = params->offset_group};
    TN_TRY(check_kernel_shape(call, rank));
    TN_TRY(check_channels(call, out_geometry));
    const tn_window_fields fields = {.kernel = {rank, w->shape + 2},
                                     .strides = params->strides,
                                     .dilations = params->dilations,
                                     .pads = params->pads};
    TN_TRY(tn_window_resolve(call, &fields, rank, x->shape + 2, &out_geometry->window));
    out_geometry->taps = tn_infer_product(w->shape, 2, w->rank);
    out_geometry->plane = tn_infer_product(x->shape, 2, x->rank);
    out_geometry->positions = tn_infer_product(out_geometry->window.output, 0, rank);
    TN_TRY(check_maps(call, out_geometry, TN_DEFORM_OFFSET, rank));
    return check_maps(call, out_geometry, TN_DEFORM_MASK, 1);
}

/* Along each axis i: o[i] * stride - pad + k[i] * dilation + offset. */
static void find_point(const tn_call *call, const tn_deform_geometry *geometry, int64_t map,
                       int64_t tap, int64_t position, double *out_at) {
    const tn_window *window = &geometry->window;
    const tn_tensor *offset = call->inputs[TN_DEFORM_OFFSET];
    int64_t rest = position;
    for (uint32_t i = window->rank; i-- > 0;) {
        const int64_t o = rest % window->output[i], k = tap % window->kernel[i];
        const int64_t element = (map * window->rank + i) * geometry->positions + position;
        const int64_t begin =
            o * window->stride[i] - window->pad_begin[i] + k * window->dilation[i];
        out_at[i] = (double)begin + tn_element_f64(offset, element);
        rest /= window->output[i];
        tap /= window->kernel[i];
    }
}

void tn_deform_conv_corners(const tn_call *call, const tn_deform_geometry *geometry, int64_t image,
                            int64_t offset_group, int64_t tap, int64_t position,
                            tn_deform_corners *out_corners) {
    const tn_window *window = &geometry->window;
    const int64_t map = (image * geometry->offset_group + offset_group) * geometry->taps + tap;
    double at[TN_DEFORM_MOST_AXES];
    find_point(call, geometry, map, tap, position, at);
    for (uint32_t corner = 0; corner < 1u << window->rank; corner++) {
        int64_t element = 0;
        double weight = 1;
        for (uint32_t i = 0; i < window->rank; i++) {
            const double index = floor(at[i]) + (corner >> i & 1);
            const bool is_inside = index >= 0 && index < (double)window->input[i];
            weight = is_inside ? weight * (1 - fabs(at[i] - index)) : 0;
            element = element * window->input[i] + (is_inside ? (int64_t)index : 0);
        }
        out_corners->at[corner] = weight != 0 ? element : 0;
        out_corners->weight[corner] = weight;
    }
}

double tn_deform_conv_mask(const tn_call *call, const tn_deform_geometry *geometry, int64_t image,
                           int64_t offset_group, int64_t tap, int64_t position) {
    const tn_tensor *mask = tn_infer_input(call, TN_DEFORM_MASK);
    const int64_t map = (image * geometry->offset_group + offset_group) * geometry->taps + tap;
    return mask ? tn_element_f64(mask, map * geometry->positions + position) : 1;
}
