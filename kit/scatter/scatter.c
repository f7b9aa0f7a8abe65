/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of elements; see scatter.h. */
#include "kit/scatter/scatter.h"
#include "kit/math/element.h"

#include <math.h>

tn_status tn_scatter_index(tn_call *call, int64_t index, int64_t extent, int64_t *out_index) {
    if (index < -extent || index >= extent)
        return call->host->fail(call, TN_ERROR_RANGE, "index %lld is outside %lld..%lld",
                                (long long)index, (long long)-extent, (long long)extent - 1);
    *out_index = index < 0 ? index + extent : index;
    return TN_OK;
}

static double combine_reals(double a, double b, uint32_t reduction) {
    if (reduction == TN_SCATTER_ADD) return a + b;
    if (reduction == TN_SCATTER_MUL) return a * b;
    if (isnan(a) || isnan(b)) return a + b;
    return (reduction == TN_SCATTER_MAX) == (a > b) ? a : b;
}

static uint64_t combine_integers(int64_t a, int64_t b, uint32_t reduction, bool is_natural) {
    if (reduction == TN_SCATTER_ADD) return (uint64_t)a + (uint64_t)b;
    if (reduction == TN_SCATTER_MUL) return (uint64_t)a * (uint64_t)b;
    const bool is_above = is_natural ? (uint64_t)a > (uint64_t)b : a > b;
    return (uint64_t)((reduction == TN_SCATTER_MAX) == is_above ? a : b);
}

void tn_scatter_update(const tn_tensor *output, int64_t at, const tn_tensor *updates, int64_t from,
                       uint32_t reduction) {
    const tn_type type = output->type;
    const size_t bytes = tn_element_bytes(type);
    if (reduction == TN_SCATTER_NONE) {
        memcpy((char *)output->data + (size_t)at * bytes,
               (const char *)updates->data + (size_t)from * bytes, bytes);
    } else if (tn_element_is_real(type)) {
        tn_element_store_f64(output->data, type, at,
                             combine_reals(tn_element_load_f64(output->data, type, at),
                                           tn_element_load_f64(updates->data, type, from),
                                           reduction));
    } else {
        const uint64_t value = combine_integers(tn_element_load_i64(output->data, type, at),
                                                tn_element_load_i64(updates->data, type, from),
                                                reduction, type == TN_U64);
        tn_element_store_i64(output->data, type, at, (int64_t)value);
    }
}
