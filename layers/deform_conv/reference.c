/* SPDX-License-Identifier: Apache-2.0 */
/* DeformConv's reference: sums in double precision, in the order of the filter's elements. */
#include "deform_conv/deform_conv.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>

/* What tap `tap` reads in channel `channel`. */
static double read_tap(const tn_call *call, const tn_deform_geometry *geometry, int64_t image,
                       int64_t channel, int64_t tap, int64_t position) {
    const int64_t offset_group = channel / (geometry->channels / geometry->offset_group);
    const int64_t plane = (image * geometry->channels + channel) * geometry->plane;
    tn_deform_corners corners;
    double sum = 0;
    tn_deform_conv_corners(call, geometry, image, offset_group, tap, position, &corners);
    for (uint32_t i = 0; i < 1u << geometry->window.rank; i++)
        if (corners.weight[i] != 0)
            sum += corners.weight[i] *
                   tn_element_f64(call->inputs[TN_DEFORM_X], plane + corners.at[i]);
    return sum * tn_deform_conv_mask(call, geometry, image, offset_group, tap, position);
}

/* What all taps of a window read, channel by channel. */
static void read_window(const tn_call *call, const tn_deform_geometry *geometry, int64_t image,
                        int64_t position, double *out_values) {
    for (int64_t i = 0; i < geometry->channels * geometry->taps; i++)
        out_values[i] =
            read_tap(call, geometry, image, i / geometry->taps, i % geometry->taps, position);
}

static double sum_window(const tn_call *call, const tn_deform_geometry *geometry, int64_t filter,
                         const double *values) {
    const tn_tensor *b = tn_infer_input(call, TN_DEFORM_B);
    const int64_t depth = geometry->channels / geometry->group * geometry->taps;
    const int64_t first = filter / (geometry->filters / geometry->group) * depth;
    double sum = b ? tn_element_f64(b, filter) : 0;
    for (int64_t i = 0; i < depth; i++)
        sum += tn_element_f64(call->inputs[TN_DEFORM_W], filter * depth + i) * values[first + i];
    return sum;
}

static void compute(const tn_call *call, const tn_deform_geometry *geometry, double *values) {
    for (int64_t i = 0; i < geometry->images * geometry->positions; i++) {
        const int64_t image = i / geometry->positions, position = i % geometry->positions;
        read_window(call, geometry, image, position, values);
        for (int64_t filter = 0; filter < geometry->filters; filter++)
            tn_element_set_f64(call->outputs[0],
                               (image * geometry->filters + filter) * geometry->positions +
                                   position,
                               sum_window(call, geometry, filter, values));
    }
}

tn_status tn_deform_conv_reference(tn_call *call) {
    tn_deform_geometry geometry;
    int64_t bytes = 0;
    TN_TRY(tn_deform_conv_read(call, &geometry));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    if (!tn_infer_multiply(geometry.channels * geometry.taps + 1, sizeof(double), &bytes))
        return call->host->fail(call, TN_ERROR_MEMORY, "a window has too many elements");
    double *values = call->host->allocate(call->host, (uint64_t)bytes, 64);
    if (!values) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a window");
    compute(call, &geometry, values);
    call->host->deallocate(call->host, values);
    return TN_OK;
}
