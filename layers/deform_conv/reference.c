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

static double sum_window(const tn_call *call, const tn_deform_geometry *geometry, int64_t image,
                         int64_t filter, int64_t position) {
    const tn_tensor *b = tn_infer_input(call, TN_DEFORM_B);
    const int64_t channels = geometry->channels / geometry->group;
    const int64_t first = filter / (geometry->filters / geometry->group) * channels;
    double sum = b ? tn_element_f64(b, filter) : 0;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t tap = 0; tap < geometry->taps; tap++)
            sum += tn_element_f64(call->inputs[TN_DEFORM_W],
                                  (filter * channels + c) * geometry->taps + tap) *
                   read_tap(call, geometry, image, first + c, tap, position);
    return sum;
}

tn_status tn_deform_conv_reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    tn_deform_geometry geometry;
    TN_TRY(tn_deform_conv_read(call, &geometry));
    for (int64_t i = 0; i < tn_element_count(y); i++) {
        const int64_t position = i % geometry.positions, filter = i / geometry.positions;
        tn_element_set_f64(y, i,
                           sum_window(call, &geometry, filter / geometry.filters,
                                      filter % geometry.filters, position));
    }
    return TN_OK;
}
