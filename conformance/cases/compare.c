/* SPDX-License-Identifier: Apache-2.0 */
/* When two results are the same; see conformance.h. */
#include "conformance.h"
#include "strings/strings.h"
#include "tensor/type.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool tn_kernel_serves(const tn_kernel *kernel, const tn_operator *op) {
    return tn_registry_is_kernel_of(kernel, op);
}

size_t tn_outcome_elements(const tn_outcome *outcome, uint32_t output) {
    return tn_case_elements(outcome->types[output], &outcome->shapes[output],
                            outcome->bytes[output]);
}

/* Of floats of 8 bits and less a unit in the last digit: a value near the middle of two may be
 * rounded to either. */
static double tolerance_of(tn_type type) {
    if (type == TN_F8E8M0) return 1;
    if (type == TN_F4E2M1) return 0.5;
    if (type == TN_F8E5M2 || type == TN_F8E5M2FNUZ) return 0.25;
    if (type == TN_F8E4M3 || type == TN_F8E4M3FNUZ) return 0.125;
    return type == TN_F64 ? 1e-9 : type == TN_F16 ? 2e-3 : type == TN_BF16 ? 2e-2 : 1e-4;
}

static bool is_near(double a, double b, double absolute, double relative) {
    return a == b || (isnan(a) && isnan(b)) ||
           (isfinite(a) && fabs(a - b) <= absolute + relative * fabs(a));
}

static bool has_shape(const tn_outcome *wanted, const tn_outcome *found, uint32_t i, char *why,
                      size_t bytes) {
    char a[128], b[128];
    if (i < found->count && found->types[i] == wanted->types[i] &&
        tn_shape_equal(&found->shapes[i], &wanted->shapes[i]))
        return true;
    snprintf(why, bytes, "output %u has shape %s, expected %s", i,
             i < found->count
                 ? tn_shape_print(found->shapes[i].rank, found->shapes[i].extents, a, sizeof(a))
                 : "none",
             tn_shape_print(wanted->shapes[i].rank, wanted->shapes[i].extents, b, sizeof(b)));
    return false;
}

/* A double does not hold all of 64 bits. */
static bool is_same_integer(const void *wanted, const void *found, tn_type type, size_t index) {
    if (type == TN_U64)
        return ((const uint64_t *)wanted)[index] == ((const uint64_t *)found)[index];
    return tn_element_get_i64(wanted, type, index) == tn_element_get_i64(found, type, index);
}

static void say_integers(const void *wanted, const void *found, tn_type type, uint32_t output,
                         size_t index, char *why, size_t bytes) {
    snprintf(why, bytes, "output %u, element %zu is %" PRId64 ", expected %" PRId64, output, index,
             tn_element_get_i64(found, type, index), tn_element_get_i64(wanted, type, index));
}

/* Both are elements of the one heap, where equal strings are one. */
static bool are_same_strings(const tn_outcome *wanted, const tn_outcome *found, uint32_t output,
                             char *why, size_t bytes) {
    const tn_string *a = wanted->data[output], *b = found->data[output];
    const char *heap = tn_case_heap()->data;
    for (size_t k = 0; k < tn_outcome_elements(wanted, output); k++) {
        if (a[k].offset == b[k].offset && a[k].bytes == b[k].bytes) continue;
        snprintf(why, bytes,
                 "output %u, element %zu is \"%.*s\" (%llu bytes), expected \"%.*s\" "
                 "(%llu bytes)",
                 output, k, (int)(b[k].bytes < 60 ? b[k].bytes : 60), heap + b[k].offset,
                 (unsigned long long)b[k].bytes, (int)(a[k].bytes < 60 ? a[k].bytes : 60),
                 heap + a[k].offset, (unsigned long long)a[k].bytes);
        return false;
    }
    return true;
}

static bool is_output_near(const tn_outcome *wanted, const tn_outcome *found, uint32_t output,
                           const double *slack, bool is_exact, char *why, size_t bytes) {
    const tn_type type = wanted->types[output];
    const void *from = wanted->data[output], *to = found->data[output];
    const size_t count = tn_outcome_elements(wanted, output);
    const bool is_float = tn_type_is_float(type) && !is_exact;
    if (type == TN_STRING) return are_same_strings(wanted, found, output, why, bytes);
    double largest = 1e-6;
    for (size_t k = 0; is_float && k < count; k++) {
        const double value = fabs(tn_element_get_f64(from, type, k));
        largest =
            value > largest && isfinite(value) && !(slack && isinf(slack[k])) ? value : largest;
    }
    const double relative = is_float ? tolerance_of(type) : 0;
    for (size_t k = 0; k < count; k++) {
        const double a = tn_element_get_f64(from, type, k), b = tn_element_get_f64(to, type, k);
        const double allowed = slack ? slack[k] : 0;
        if (isinf(allowed) ||
            (is_near(a, b, relative * 0.1 * largest + allowed, relative) &&
             (tn_type_is_float(type) || allowed > 0 || is_same_integer(from, to, type, k))))
            continue;
        if (tn_type_is_float(type))
            snprintf(why, bytes, "output %u, element %zu is %.9g, expected %.9g", output, k, b, a);
        else
            say_integers(from, to, type, output, k, why, bytes);
        return false;
    }
    return true;
}

bool tn_results_near(const tn_outcome *wanted, const tn_outcome *found, double *const *slack,
                     bool is_exact, char *why, size_t bytes) {
    for (uint32_t i = 0; i < wanted->count; i++)
        if (!has_shape(wanted, found, i, why, bytes) ||
            (!wanted->is_random &&
             !is_output_near(wanted, found, i, slack ? slack[i] : NULL, is_exact, why, bytes)))
            return false;
    return true;
}

bool tn_results_equal(const tn_outcome *wanted, const tn_outcome *found, bool is_exact, char *why,
                      size_t bytes) {
    return tn_results_near(wanted, found, NULL, is_exact, why, bytes);
}

static tn_outcome outcome_of(tn_type type, const tn_shape *shape, void *data, size_t bytes) {
    return (tn_outcome){
        .count = 1, .types = {type}, .shapes = {*shape}, .data = {data}, .bytes = {bytes}};
}

bool tn_case_agrees(const tn_operator *op, const tn_case *c, const tn_outcome *found, char *why,
                    size_t bytes) {
    for (uint32_t i = 0; i < c->expected_count; i++) {
        const tn_case_input *said = &c->expected[i];
        const uint32_t at = said->port;
        char how[300];
        if (at >= found->count) continue;
        const tn_outcome wanted =
            outcome_of(said->type, &said->shape, said->data, said->has_values ? said->bytes : 0);
        const tn_outcome one =
            outcome_of(found->types[at], &found->shapes[at], found->data[at], found->bytes[at]);
        if (tn_results_equal(&wanted, &one, false, how, sizeof(how))) continue;
        snprintf(why, bytes, "the case says otherwise of output '%s': %s", op->outputs[at].name,
                 how);
        return false;
    }
    return true;
}
