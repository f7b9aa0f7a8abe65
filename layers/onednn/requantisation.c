/* SPDX-License-Identifier: Apache-2.0 */
/* Scales and zero points; see requantisation.h. */
#include "onednn/requantisation.h"
#include "kit/math/element.h"

#include <math.h>

static bool are_constant(const tn_call *call) {
    for (uint32_t i = TN_DNNL_Q_X_SCALE; i <= TN_DNNL_Q_Y_ZERO; i++)
        if (!call->inputs[i] || !call->inputs[i]->data) return false;
    return call->input_count <= TN_DNNL_Q_BIAS || !call->inputs[TN_DNNL_Q_BIAS] ||
           call->inputs[TN_DNNL_Q_BIAS]->data;
}

static bool are_zero(const tn_tensor *tensor) {
    for (int64_t i = 0; i < tn_element_count(tensor); i++)
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
    *out_factors = factors;
    return TN_OK;
}
