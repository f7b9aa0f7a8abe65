/* SPDX-License-Identifier: Apache-2.0 */
/* Resize, one axis: the elements and weights that an output position depends on; declared in
 * resize.h, the formulas are axis_body.h. */
#include "resize/axis_body.h"

bool tn_resize_taps(const tn_resize_plan *plan, uint32_t index, int64_t position,
                    int64_t *out_indices, double *out_weights) {
    const tn_resize_axis *axis = &plan->axes[index];
    out_indices[0] = position;
    out_weights[0] = 1;
    if (axis->is_identity) return true;
    double x = tn_resize_axis_find_position(plan, axis, position), sum = 0;
    double last = (double)(axis->input - 1);
    if (plan->coordinates == TN_RESIZE_TF_CROP_AND_RESIZE && !(x >= 0 && x <= last)) return false;
    if (plan->mode == TN_RESIZE_NEAREST) {
        out_indices[0] =
            tn_resize_axis_clamp(tn_resize_axis_round_position(plan, axis, x), 0, axis->input - 1);
        return true;
    }
    double left = floor(x);
    for (int64_t i = 0; i < axis->taps; i++) {
        double at = left + (double)(axis->first_tap + i);
        bool is_outside = at < 0 || at > last;
        double weight = tn_resize_axis_filter(plan, axis->filter_scale * (at - x));
        out_indices[i] = tn_resize_axis_clamp(at, 0, axis->input - 1);
        out_weights[i] = plan->exclude_outside && is_outside ? 0 : weight;
        sum += out_weights[i];
    }
    if (!plan->exclude_outside && !plan->antialias) return true; /* they sum to one as they are */
    for (int64_t i = 0; i < axis->taps && sum != 0; i++)
        out_weights[i] /= sum;
    return true;
}
