/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crop of Caffe: the part of a tensor that has another tensor's extents, from `axis` on, beginning
 * at `offset`.
 */
#include "caffe_crop/fields.h"
#include "kit/operator/moves.h"
#include "kit/operator/window_facet.h"

enum { CROP_X = 0, CROP_LIKE = 1 };

/* The output's shape, and where it begins in X. */
static tn_status read_part(tn_call *call, int64_t *out_shape, int64_t *out_begin) {
    const tn_caffe_crop_params *params = call->params;
    uint32_t axis = 0;
    TN_TRY(tn_infer_require_rank(call, CROP_X, 1, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[CROP_X];
    TN_TRY(tn_infer_require_rank(call, CROP_LIKE, x->rank, x->rank));
    const tn_tensor *like = call->inputs[CROP_LIKE];
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, &axis));
    const uint64_t count = params->offset.count;
    if (count > 1 && count != x->rank - axis)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "field 'offset' has %llu numbers for %u cropped axes",
                                (unsigned long long)count, x->rank - axis);
    for (uint32_t i = 0; i < x->rank; i++) {
        const bool is_cropped = i >= axis;
        const int64_t begin =
            !is_cropped || count == 0 ? 0 : params->offset.items[count == 1 ? 0 : i - axis];
        out_shape[i] = is_cropped ? like->shape[i] : x->shape[i];
        out_begin[i] = begin;
        if (begin < 0 || begin > x->shape[i] || out_shape[i] > x->shape[i] - begin)
            return call->host->fail(
                call, TN_ERROR_SHAPE,
                "axis %u has %lld elements, and %lld from %lld on are asked for", i,
                (long long)x->shape[i], (long long)out_shape[i], (long long)begin);
    }
    return TN_OK;
}

/* A window of X. */
static tn_status crop_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    int64_t shape[TN_MAX_RANK];
    tn_view *view = tn_window_facet(name, out_facet);
    if (!view || input != CROP_X) return TN_ERROR_UNSUPPORTED;
    view->kind = TN_VIEW_OF_INPUT;
    return read_part(call, shape, view->offsets);
}

static tn_status crop_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK], begin[TN_MAX_RANK];
    TN_TRY(read_part(call, shape, begin));
    return tn_infer_set_shape(call, 0, call->inputs[CROP_X]->rank, shape);
}

static tn_status move_part(tn_call *call, tn_region_mover mover) {
    int64_t shape[TN_MAX_RANK], begin[TN_MAX_RANK], offset = 0;
    tn_region region;
    TN_TRY(read_part(call, shape, begin));
    const tn_tensor *x = call->inputs[CROP_X], *y = call->outputs[0];
    if (tn_element_count(y) == 0) return TN_OK;
    tn_region_init(&region, y->rank, y->shape, y->type);
    tn_region_strides(x->rank, x->shape, region.from_strides);
    for (uint32_t i = 0; i < x->rank; i++)
        offset += begin[i] * region.from_strides[i];
    return mover(call, &region, y->data,
                 (const char *)x->data + (size_t)offset * region.element_bytes);
}

TN_MOVES(crop, move_part)

static const tn_port crop_inputs[] = {
    TN_PORT("X", "T:any", 0, "any tensor"),
    TN_PORT("like", "any", TN_PORT_SHAPE_ONLY, "a tensor of the same rank, whose extents to take"),
};
static const tn_port crop_outputs[] = {TN_PORT("Y", "T", 0, "the part")};
static const char *const crop_cases[] = {
    "| X=f32[2,3,5,7] like=f32[1,1,4,6]",
    "offset=[1] | X=f32[2,3,5,7] like=f32[9,9,4,6]",
    "axis=1 offset=[1,0,3] | X=f16[2,3,5,7] like=f32[1,2,5,4]",
    "axis=-1 | X=i8[4,5] like=i64[0,2]",
    "axis=0 offset=[2] | X=bool[7] like=u8[0]",
    "offset=[19] | X=f32[1,21,544,544] like=f32[1,3,500,500]",
};

TN_OPERATOR(crop, "Caffe", "Crop", 1, "A part of a tensor, with the extents of another one.",
            TN_FIELDS(tn_caffe_crop_params, crop_fields), .traits = TN_OPERATOR_SELECTS,
            .facet = crop_facet);

static const tn_kernel crop_runs = TN_REGION_KERNEL_OF("Caffe", "Crop", crop_run);

TN_LAYER(caffe_crop, TN_OPERATORS(&crop_1), TN_KERNELS(&crop_runs));
