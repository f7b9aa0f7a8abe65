/* SPDX-License-Identifier: Apache-2.0 */
/* Binary operators as facets; see operand.h. */
#include "kit/operator/operand.h"
#include "kit/operator/axis_broadcast.h"
#include <tenon/kit/infer.h>

static bool has_shape_of(const tn_tensor *a, const tn_tensor *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

/* The one axis of `y` along which a tensor of this shape (aligned at the end) varies. */
static bool find_channel_axis(const tn_tensor *y, uint32_t rank, const int64_t *shape,
                              int32_t *out_axis) {
    bool is_found = false;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] == 1) continue;
        if (is_found) return false;
        is_found = true;
        *out_axis = (int32_t)(y->rank - rank + i);
    }
    return is_found && rank <= y->rank;
}

tn_status tn_operand_facet(const tn_call *call, uint32_t input, const char *name, uint32_t rank,
                           const int64_t *shape, const char *vector, const char *whole,
                           tn_facet *out_facet) {
    if (input > 1) return TN_ERROR_UNSUPPORTED;
    const tn_tensor *x = tn_infer_input(call, input), *operand = tn_infer_input(call, 1 - input);
    const tn_tensor *y = tn_infer_output(call, 0);
    tn_facet_operand form = {.input = 1 - input};
    if (!x || !operand || !y || !has_shape_of(x, y)) return TN_ERROR_UNSUPPORTED;
    if (whole && has_shape_of(operand, y)) {
        if (!tn_known_is(name, whole)) return TN_ERROR_UNSUPPORTED;
        form.form = TN_OPERAND_WHOLE;
        *(uint32_t *)out_facet->what = sizeof(uint32_t);
    } else if (vector && operand->data && find_channel_axis(y, rank, shape, &form.axis)) {
        TN_TRY(tn_known_axis(name, vector, form.axis, out_facet));
        form.form = TN_OPERAND_VECTOR;
    } else {
        return TN_ERROR_UNSUPPORTED;
    }
    out_facet->operand_count = 1;
    out_facet->operands[0] = form;
    return TN_OK;
}

tn_status tn_operand_facet_plain(const tn_call *call, uint32_t input, const char *name,
                                 const char *vector, const char *whole, tn_facet *out_facet) {
    const tn_tensor *operand = input < 2 ? tn_infer_input(call, 1 - input) : NULL;
    if (!operand) return TN_ERROR_UNSUPPORTED;
    return tn_operand_facet(call, input, name, operand->rank, operand->shape, vector, whole,
                            out_facet);
}

tn_status tn_operand_facet_axis(tn_call *call, uint32_t input, const char *name, const char *vector,
                                const char *whole, tn_facet *out_facet) {
    uint32_t rank = 0;
    int64_t shape[TN_MAX_RANK];
    if (input != 0) return TN_ERROR_UNSUPPORTED;
    TN_TRY(tn_axis_broadcast_shape(call, &rank, shape));
    return tn_operand_facet(call, input, name, rank, shape, vector, whole, out_facet);
}
