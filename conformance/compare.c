/* SPDX-License-Identifier: Apache-2.0 */
/* When two results are the same; see conformance.h. */
#include "conformance.h"
#include "tensor/type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool tn_kernel_serves(const tn_kernel *kernel, const tn_operator *op) {
    return tn_registry_is_kernel_of(kernel, op);
}

static double tolerance_of(tn_type type) {
    return type == TN_F64 ? 1e-9 : type == TN_F16 ? 2e-3 : type == TN_BF16 ? 2e-2 : 1e-4;
}

static bool is_near(double a, double b, double absolute, double relative) {
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= absolute + relative * fabs(a);
}

bool tn_results_equal(const tn_outcome *wanted, const tn_outcome *found, bool is_exact, char *why,
                      size_t bytes) {
    for (uint32_t i = 0; i < wanted->count; i++) {
        if (i >= found->count || found->types[i] != wanted->types[i] ||
            !tn_shape_equal(&found->shapes[i], &wanted->shapes[i])) {
            char a[128], b[128];
            snprintf(
                why, bytes, "output %u has shape %s, expected %s", i,
                i < found->count
                    ? tn_shape_print(found->shapes[i].rank, found->shapes[i].extents, a, sizeof(a))
                    : "none",
                tn_shape_print(wanted->shapes[i].rank, wanted->shapes[i].extents, b, sizeof(b)));
            return false;
        }
        const tn_type type = wanted->types[i];
        const size_t count = wanted->bytes[i] / tn_type_bytes(type);
        const bool is_float = tn_type_is_float(type) && !is_exact;
        double largest = 1e-6;
        for (size_t k = 0; is_float && k < count; k++) {
            const double value = fabs(tn_element_get_f64(wanted->data[i], type, k));
            largest = value > largest && isfinite(value) ? value : largest;
        }
        const double relative = is_float ? tolerance_of(type) : 0;
        for (size_t k = 0; k < count; k++) {
            const double a = tn_element_get_f64(wanted->data[i], type, k);
            const double b = tn_element_get_f64(found->data[i], type, k);
            if (is_near(a, b, relative * 0.1 * largest, relative)) continue;
            snprintf(why, bytes, "output %u, element %zu is %.9g, expected %.9g", i, k, b, a);
            return false;
        }
    }
    return true;
}
