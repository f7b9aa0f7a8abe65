/* SPDX-License-Identifier: Apache-2.0 */
/* See compare.h. */
#include "compare.h"

#include <tenon/plugin/string.h>
#include "element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void read_member(const char *text, const char *key, double *inout) {
    const char *at = strstr(text, key);
    if (!at || !(at = strchr(at, ':'))) return;
    char *end;
    const double value = strtod(at + 1, &end);
    if (end != at + 1) *inout = value;
}

void tolerance_read(const char *path, tolerance *inout_tolerance) {
    unsigned char *data;
    size_t bytes;
    if (!whole_file_read(path, &data, &bytes)) return;
    data[bytes] = 0; /* there is room: see whole_file_read */
    read_member((const char *)data, "\"rtol\"", &inout_tolerance->rtol);
    read_member((const char *)data, "\"atol\"", &inout_tolerance->atol);
    free(data);
}

static void print_shape(char *text, size_t bytes, uint32_t rank, const int64_t *shape) {
    size_t at = (size_t)snprintf(text, bytes, "[");
    for (uint32_t i = 0; i < rank && at < bytes; i++)
        at += (size_t)snprintf(text + at, bytes - at, i ? ", %lld" : "%lld", (long long)shape[i]);
    if (at < bytes) snprintf(text + at, bytes - at, "]");
}

static double largest(const file_tensor *tensor) {
    double found = 0;
    for (size_t i = 0; i < file_tensor_count(tensor); i++) {
        const double magnitude = fabs(element_number(tensor->data, tensor->type, i));
        if (isfinite(magnitude) && magnitude > found) found = magnitude;
    }
    return found;
}

static bool compare_numbers(const char *name, const file_tensor *expected, const tn_tensor *found,
                            const tolerance *allowed, char *why, size_t why_bytes) {
    const bool is_bf16 = expected->type == TN_BF16;
    const double rtol = is_bf16 && allowed->rtol < 0x1p-6 ? 0x1p-6 : allowed->rtol;
    const double atol =
        allowed->atol + (allowed->of_largest > 0 ? allowed->of_largest * largest(expected) : 0);
    size_t wrong = 0;
    for (size_t i = 0; i < file_tensor_count(expected); i++) {
        const double a = element_number(expected->data, expected->type, i),
                     b = element_number(found->data, found->type, i);
        const bool is_near =
            a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= atol + rtol * fabs(a);
        if (!is_near && wrong++ == 0)
            snprintf(why, why_bytes, "output '%s': element %zu is %.9g, expected %.9g", name, i, b,
                     a);
    }
    const size_t at = strlen(why);
    if (wrong && at < why_bytes)
        snprintf(why + at, why_bytes - at, " (%zu of %zu differ)", wrong,
                 file_tensor_count(expected));
    return wrong == 0;
}

static bool compare_strings(const char *name, const file_tensor *expected, const tn_tensor *found,
                            char *why, size_t why_bytes) {
    const size_t count = (size_t)found->bytes / sizeof(tn_string);
    tn_heap heap = {.size = sizeof(heap), .data = (const char *)expected->data + found->bytes};
    const tn_tensor wanted = {.data = expected->data, .heap = &heap};
    for (size_t i = 0; i < count; i++) {
        uint64_t a_bytes, b_bytes;
        const char *a = tn_string_at(&wanted, i, &a_bytes), *b = tn_string_at(found, i, &b_bytes);
        if (a_bytes == b_bytes && memcmp(a, b, a_bytes) == 0) continue;
        snprintf(why, why_bytes, "output '%s': string %zu is \"%.*s\", expected \"%.*s\"", name, i,
                 b_bytes < 60 ? (int)b_bytes : 60, b, a_bytes < 60 ? (int)a_bytes : 60, a);
        return false;
    }
    return true;
}

bool compare_tensors(const char *name, const file_tensor *expected, const tn_tensor *found,
                     const tolerance *allowed, char *why, size_t why_bytes) {
    char a[160], b[160];
    if (expected->type != found->type) {
        snprintf(why, why_bytes, "output '%s' is %s, expected %s", name, type_name(found->type),
                 type_name(expected->type));
        return false;
    }
    if (expected->rank != found->rank ||
        memcmp(expected->shape, found->shape, expected->rank * sizeof(int64_t)) != 0) {
        print_shape(a, sizeof(a), found->rank, found->shape);
        print_shape(b, sizeof(b), expected->rank, expected->shape);
        snprintf(why, why_bytes, "output '%s' has shape %s, expected %s", name, a, b);
        return false;
    }
    why[0] = 0;
    if (expected->type == TN_STRING) return compare_strings(name, expected, found, why, why_bytes);
    const bool is_small = expected->type >= TN_F8E4M3 && expected->type <= TN_U2;
    if (is_small || expected->type <= TN_BF16)
        return compare_numbers(name, expected, found, allowed, why, why_bytes);
    if (expected->bytes == 0 || memcmp(expected->data, found->data, expected->bytes) == 0)
        return true;
    size_t i = 0;
    const size_t item = type_bytes(expected->type);
    while (memcmp((const char *)expected->data + i * item, (const char *)found->data + i * item,
                  item) == 0)
        i++;
    snprintf(why, why_bytes, "output '%s': element %zu differs", name, i);
    return false;
}
