/* SPDX-License-Identifier: Apache-2.0 */
/* Scales and zero points; see requantisation.h. */
#include "onednn/requantisation.h"
#include "kit/math/element.h"

#include <math.h>

static bool is_constant(const tn_call *call, uint32_t input) {
    return call->input_count <= input || !call->inputs[input] || call->inputs[input]->data;
}

static bool are_constant(const tn_call *call) {
    for (uint32_t i = TN_DNNL_Q_X_SCALE; i <= TN_DNNL_Q_Y_ZERO; i++)
        if (!call->inputs[i] || !call->inputs[i]->data) return false;
    return is_constant(call, TN_DNNL_Q_BIAS) && is_constant(call, TN_DNNL_Q_Z_SCALE) &&
           is_constant(call, TN_DNNL_Q_Z_ZERO) && is_constant(call, TN_DNNL_Q_SUM_SCALE) &&
           is_constant(call, TN_DNNL_Q_SUM_ZERO);
}

static bool are_zero(const tn_tensor *tensor) {
    for (int64_t i = 0, end = tn_element_count(tensor); i < end; i++)
        if (tn_element_i64(tensor, i) != 0) return false;
    return true;
}

static float scale_at(const tn_call *call, uint32_t input, int64_t index) {
    const tn_tensor *tensor = call->inputs[input];
    return (float)tn_element_f64(tensor, tn_element_count(tensor) == 1 ? 0 : index);
}

/* In the order in which the operator's own kernels multiply. */
static bool fill_factors(const tn_call *call, int64_t count, float *factors) {
    for (int64_t i = 0; i < count; i++) {
        const float product =
            scale_at(call, TN_DNNL_Q_X_SCALE, 0) * scale_at(call, TN_DNNL_Q_W_SCALE, i);
        factors[i] = product / scale_at(call, TN_DNNL_Q_Y_SCALE, 0);
        if (!isfinite(factors[i])) return false;
    }
    return true;
}

static int32_t zero_at(const tn_call *call, uint32_t input) {
    const tn_tensor *zero = call->input_count > input ? call->inputs[input] : NULL;
    return zero ? (int32_t)tn_element_i64(zero, 0) : 0;
}

/* What QLinearConvAdd has beside QLinearConv; false: its scales are too far apart, or the sum has a
 * zero point. */
static bool read_sum(const tn_call *call, tn_dnnl_requantisation *r) {
    const float sum_scale = scale_at(call, TN_DNNL_Q_SUM_SCALE, 0);
    const float own = scale_at(call, TN_DNNL_Q_Y_SCALE, 0) / sum_scale;
    r->added = call->inputs[TN_DNNL_Q_Z];
    r->added_factor = scale_at(call, TN_DNNL_Q_Z_SCALE, 0) / sum_scale;
    r->own_factor = own / r->added_factor;
    r->added_zero = zero_at(call, TN_DNNL_Q_Z_ZERO);
    const bool is_signed = call->outputs[0]->type == TN_I8;
    r->is_signed = is_signed;
    r->low = (float)((is_signed ? -128 : 0) - r->target_zero);
    r->high = (float)((is_signed ? 127 : 255) - r->target_zero);
    return zero_at(call, TN_DNNL_Q_SUM_ZERO) == 0 && isnormal(r->added_factor) &&
           isnormal(r->own_factor) && fabsf(r->added_factor) < 1e6f && fabsf(r->own_factor) < 1e6f;
}

tn_status tn_dnnl_requantisation_read(tn_call *call, tn_dnnl_requantisation *out_requantisation,
                                      float **out_factors) {
    const tn_host *host = call->host;
    if (!are_constant(call) || !are_zero(call->inputs[TN_DNNL_Q_W_ZERO]))
        return host->fail(call, TN_ERROR_UNSUPPORTED,
                          "oneDNN does not do varying scales or zero points of weights");
    const int64_t count = tn_element_count(call->inputs[TN_DNNL_Q_W_SCALE]);
    float *factors = host->allocate(host, (uint64_t)count * sizeof(*factors), 64);
    if (!factors) return host->fail(call, TN_ERROR_MEMORY, "no memory for scales");
    if (!fill_factors(call, count, factors)) {
        host->deallocate(host, factors);
        return host->fail(call, TN_ERROR_UNSUPPORTED, "oneDNN does not do infinite scales");
    }
    *out_requantisation = (tn_dnnl_requantisation){
        .factors = factors,
        .count = count,
        .source_zero = (int32_t)tn_element_i64(call->inputs[TN_DNNL_Q_X_ZERO], 0),
        .target_zero = (int32_t)tn_element_i64(call->inputs[TN_DNNL_Q_Y_ZERO], 0)};
    if (call->input_count > TN_DNNL_Q_Z && !read_sum(call, out_requantisation)) {
        host->deallocate(host, factors);
        return host->fail(call, TN_ERROR_UNSUPPORTED,
                          "oneDNN does not do this sum's scales or zero point");
    }
    *out_factors = factors;
    return TN_OK;
}
