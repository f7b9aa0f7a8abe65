/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers about shapes that may be open until run time: products and quotients of extents, and the
 * short lists of integers (shapes, bounds of slices) that the reader follows through the file, so
 * that a shape which is computed from known ones is a constant.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <inttypes.h>

int64_t tn_uff_open(tn_uff_reader *reader) {
    return INT64_MIN + (int64_t)(reader->open_count++ & 0xffffffffu);
}

/* A product taken apart: the known part and the open numbers in it. */
typedef struct product {
    int64_t known;
    int64_t open[2 * TN_MAX_RANK];
    uint32_t open_count;
} product;

static tn_status multiply(uint32_t count, const int64_t *extents, product *out_product) {
    *out_product = (product){.known = 1};
    for (uint32_t i = 0; i < count; i++) {
        if (tn_uff_is_open(extents[i]))
            out_product->open[out_product->open_count++] = extents[i];
        else if (!tn_mul_i64(out_product->known, extents[i], &out_product->known))
            return tn_fail(TN_ERROR_SHAPE, "a shape has more elements than can be counted");
    }
    return TN_OK;
}

int64_t tn_uff_product(tn_uff_reader *reader, uint32_t count, const int64_t *extents) {
    product all;
    if (multiply(count, extents, &all) != TN_OK) {
        tn_error_clear();
        return tn_uff_open(reader);
    }
    if (all.open_count == 0 || all.known == 0) return all.known;
    return all.open_count == 1 && all.known == 1 ? all.open[0] : tn_uff_open(reader);
}

/* Takes what stands on both sides out. */
static void cancel(product *above, product *below) {
    for (uint32_t i = 0; i < below->open_count;) {
        uint32_t j = 0;
        while (j < above->open_count && above->open[j] != below->open[i])
            j++;
        if (j == above->open_count) {
            i++;
            continue;
        }
        above->open[j] = above->open[--above->open_count];
        below->open[i] = below->open[--below->open_count];
    }
}

tn_status tn_uff_quotient(tn_uff_reader *reader, uint32_t count, const int64_t *extents,
                          uint32_t divisor_count, const int64_t *divisors, int64_t *out_number) {
    product above, below;
    TN_TRY(multiply(count, extents, &above));
    TN_TRY(multiply(divisor_count, divisors, &below));
    cancel(&above, &below);
    *out_number = tn_uff_open(reader);
    if (below.open_count > 0 || below.known == 0 || above.known % below.known != 0) return TN_OK;
    const int64_t known = above.known / below.known;
    if (above.open_count == 0) *out_number = known;
    if (above.open_count == 1 && known == 1) *out_number = above.open[0];
    return TN_OK;
}

const int64_t *tn_uff_integers(const tn_uff_value *value, size_t *out_count) {
    if (!value->known || value->rank > 1) return NULL;
    *out_count = value->rank == 0 ? 1 : (size_t)value->extents[0];
    return value->known;
}

tn_status tn_uff_integers_require(const tn_uff_value *value, const char *what, size_t *out_count,
                                  const int64_t **out_integers) {
    size_t count = 0;
    const int64_t *values = tn_uff_integers(value, &count);
    for (size_t i = 0; values && i < count; i++)
        if (tn_uff_is_open(values[i])) values = NULL;
    if (!values)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "%s ('%s') must be a constant list of integers, or computed from known "
                       "shapes",
                       what, value->name);
    *out_count = count;
    *out_integers = values;
    return TN_OK;
}

/* The elements as the value's type has them, so that the list can be used as any constant is. */
static tn_status make_elements(tn_uff_reader *reader, tn_uff_value *value, size_t count) {
    size_t bytes;
    if (!tn_mul_size(count, tn_type_bytes(value->type), &bytes)) return tn_fail_memory("a list");
    char *data = tn_import_allocate(reader->graph, bytes);
    if (!data) return tn_fail_memory("a list");
    for (size_t i = 0; i < count; i++)
        tn_element_set_i64(data, value->type, i, value->known[i]);
    value->data = data;
    value->bytes = bytes;
    return TN_OK;
}

tn_status tn_uff_integers_set(tn_uff_reader *reader, tn_uff_value *value, uint32_t rank,
                              size_t count, const int64_t *values) {
    value->known = tn_arena_copy(reader->arena, values, count * sizeof(*values));
    if (!value->known) return tn_fail_memory("a list");
    value->rank = rank;
    if (rank == 1) value->extents[0] = (int64_t)count;
    if (value->type == TN_NONE) value->type = TN_I32;
    for (size_t i = 0; i < count; i++)
        if (tn_uff_is_open(values[i])) return TN_OK;
    return make_elements(reader, value, count);
}

tn_status tn_uff_axis(int64_t axis, uint32_t rank, uint32_t *out_axis) {
    const int64_t extent = rank;
    if (axis < -extent || axis >= extent)
        return tn_fail(TN_ERROR_FORMAT,
                       "axis %" PRId64 " is not there: the tensor has %" PRIu32 " axes", axis,
                       rank);
    *out_axis = (uint32_t)(axis < 0 ? axis + extent : axis);
    return TN_OK;
}
