/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MeanVarianceNormalization: y = (x - mean) / (deviation + 1e-9), with the mean and the standard
 * deviation (of the whole population) along axes.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>

#include <math.h>

typedef struct mean_variance_params {
    uint64_t present;
    tn_i64s axes;
} mean_variance_params;

static const tn_field mean_variance_fields[] = {
    TN_FIELD(mean_variance_params, axes, TN_FIELD_I64S, TN_OPTIONAL, "[0, 2, 3]",
             "axes that are taken together; negative: from the end"),
};

static tn_status read_axes(tn_call *call, uint32_t *out_mask) {
    const mean_variance_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    return tn_infer_axes(call, "field 'axes'", params->axes.count, params->axes.items,
                         call->inputs[0]->rank, out_mask);
}

static tn_status mean_variance_infer(tn_call *call) {
    uint32_t mask = 0;
    TN_TRY(read_axes(call, &mask));
    return tn_infer_copy_shape(call, 0, 0);
}

/* The elements of the axes in a mask, as offsets into the tensor, one after the other. */
typedef struct walk {
    uint32_t rank;
    int64_t extents[TN_MAX_RANK], strides[TN_MAX_RANK], count;
} walk;

static walk walk_axes(const tn_tensor *x, uint32_t mask) {
    int64_t strides[TN_MAX_RANK];
    walk w = {.count = 1};
    tn_region_strides(x->rank, x->shape, strides);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!(mask >> i & 1)) continue;
        w.extents[w.rank] = x->shape[i];
        w.strides[w.rank++] = strides[i];
        w.count *= x->shape[i];
    }
    return w;
}

static int64_t offset_of(const walk *w, int64_t number) {
    int64_t offset = 0;
    for (uint32_t i = w->rank; i-- > 0; number /= w->extents[i])
        offset += number % w->extents[i] * w->strides[i];
    return offset;
}

static void normalize(const tn_tensor *x, const tn_tensor *y, const walk *inside, int64_t first) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < inside->count; i++)
        sum += tn_element_load_f64(x->data, x->type, first + offset_of(inside, i));
    const double mean = sum / (double)inside->count;
    for (int64_t i = 0; i < inside->count; i++) {
        const double apart =
            tn_element_load_f64(x->data, x->type, first + offset_of(inside, i)) - mean;
        squares += apart * apart;
    }
    const double deviation = sqrt(squares / (double)inside->count) + 1e-9;
    for (int64_t i = 0; i < inside->count; i++) {
        const int64_t at = first + offset_of(inside, i);
        tn_element_store_f64(y->data, y->type, at,
                             (tn_element_load_f64(x->data, x->type, at) - mean) / deviation);
    }
}

static tn_status mean_variance_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    uint32_t mask = 0;
    TN_TRY(read_axes(call, &mask));
    if (tn_element_count(x) == 0) return TN_OK;
    const walk inside = walk_axes(x, mask), outside = walk_axes(x, ~mask);
    for (int64_t i = 0; i < outside.count; i++)
        normalize(x, call->outputs[0], &inside, offset_of(&outside, i));
    return TN_OK;
}

static const tn_port mean_variance_inputs[] = {TN_PORT("X", "T:float", 0, "any tensor")};
static const tn_port mean_variance_outputs[] = {TN_PORT("Y", "T", 0, "the tensor normalised")};
static const char *const mean_variance_cases[] = {
    "| X=f32[2,3,5,7]",     "axes=[1] | X=f32[2,9,3]", "axes=[-1,0] | X=f64[3,4,5]",
    "axes=[0] | X=f16[33]", "axes=[0,1] | X=f32[4,0]", "axes=[2,3] | X=f32[1,16,28,28]",
};

TN_OPERATOR(mean_variance, "", "MeanVarianceNormalization", 9,
            "Brings a tensor to mean zero and deviation one along axes.",
            TN_FIELDS(mean_variance_params, mean_variance_fields));

TN_LAYER_WITHOUT_KERNELS(mean_variance_normalization, TN_OPERATORS(&mean_variance_9));
