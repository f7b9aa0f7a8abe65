/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, and what a format makes of them; see shape.h. */
#include "tensor/shape.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <tenon/plugin/output.h>
#include <tenon/plugin/sequence.h>

tn_status tn_shape_set(tn_shape *shape, uint32_t rank, const int64_t *extents) {
    tn_shape result = {.rank = rank};
    size_t count;
    char text[TN_SHAPE_TEXT_BYTES];
    if (rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %u is above the highest, %d", rank, TN_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++) {
        if (extents[i] < 0)
            return tn_fail(TN_ERROR_SHAPE, "shape %s has a negative extent",
                           tn_shape_print(rank, extents, text, sizeof(text)));
        result.extents[i] = extents[i];
    }
    TN_TRY(tn_shape_count(&result, &count));
    *shape = result;
    return TN_OK;
}

bool tn_shape_equal(const tn_shape *a, const tn_shape *b) {
    return a->rank == b->rank && memcmp(a->extents, b->extents, a->rank * sizeof(int64_t)) == 0;
}

bool tn_shape_is_broadcast(const tn_shape *a, const tn_shape *to) {
    if (a->rank > to->rank) return false;
    const uint32_t missing = to->rank - a->rank;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->extents[i] != 1 && a->extents[i] != to->extents[missing + i]) return false;
    return true;
}

tn_status tn_shape_count(const tn_shape *shape, size_t *out_count) {
    size_t count = 1;
    bool is_empty = false;
    char text[TN_SHAPE_TEXT_BYTES];
    for (uint32_t i = 0; i < shape->rank; i++)
        is_empty |= shape->extents[i] == 0;
    for (uint32_t i = 0; i < shape->rank && !is_empty; i++) {
        /* So many elements that their bytes, in the widest type, still fit. */
        if (!tn_mul_size(count, (size_t)shape->extents[i], &count) || count > SIZE_MAX / 32)
            return tn_fail(TN_ERROR_SHAPE, "shape %s has more elements than can be addressed",
                           tn_shape_print(shape->rank, shape->extents, text, sizeof(text)));
    }
    *out_count = is_empty ? 0 : count;
    return TN_OK;
}

const char *tn_shape_print(uint32_t rank, const int64_t *extents, char *buffer, size_t bytes) {
    size_t at = 0;
    int written = snprintf(buffer, bytes, "[");
    for (uint32_t i = 0; i < rank && written >= 0; i++) {
        at += (size_t)written;
        if (at >= bytes) return buffer;
        written = extents[i] < 0 ? snprintf(buffer + at, bytes - at, i ? ", ?" : "?")
                                 : snprintf(buffer + at, bytes - at, i ? ", %lld" : "%lld",
                                            (long long)extents[i]);
    }
    at += written > 0 ? (size_t)written : 0;
    if (at < bytes) snprintf(buffer + at, bytes - at, "]");
    return buffer;
}

typedef struct format_row {
    tn_format format;
    const char *name;
} format_row;
static const format_row formats[] = {{TN_LINEAR, "linear"}, {TN_NHWC, "nhwc"}, {TN_C2, "c2"},
                                     {TN_C4, "c4"},         {TN_C8, "c8"},     {TN_C16, "c16"},
                                     {TN_C32, "c32"},       {TN_C64, "c64"}};
#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

bool tn_format_is_valid(tn_format format) {
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (formats[i].format == format) return true;
    }
    return false;
}

static uint32_t layout_of(tn_format format) {
    return format & 0xff;
}
uint32_t tn_format_axis(tn_format format) {
    return format >> 8 & 0xff;
}
int64_t tn_format_block(tn_format format) {
    return (int64_t)(format >> 16);
}

bool tn_format_fits(tn_format format, uint32_t rank) {
    if (!tn_format_is_valid(format)) return false;
    if (layout_of(format) == TN_LAYOUT_CHANNELS_LAST) return rank >= 3;
    return layout_of(format) == TN_LAYOUT_LINEAR || tn_format_axis(format) < rank;
}

const char *tn_format_name(tn_format format) {
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (formats[i].format == format) return formats[i].name;
    }
    return "unknown";
}

bool tn_format_parse(const char *name, size_t length, tn_format *out_format) {
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (strlen(formats[i].name) == length && memcmp(formats[i].name, name, length) == 0) {
            *out_format = formats[i].format;
            return true;
        }
    }
    return false;
}

void tn_format_axes(tn_format format, uint32_t rank, uint32_t *out_order) {
    for (uint32_t i = 0; i < rank; i++)
        out_order[i] = i;
    if (layout_of(format) != TN_LAYOUT_CHANNELS_LAST) return;
    for (uint32_t i = 1; i + 1 < rank; i++)
        out_order[i] = i + 1;
    out_order[rank - 1] = 1;
}

/* Strides and the number of elements stored, padding included. */
static tn_status lay_out(tn_format format, const tn_shape *shape, int64_t *out_strides,
                         size_t *out_stored) {
    uint32_t order[TN_MAX_RANK];
    char text[TN_SHAPE_TEXT_BYTES];
    if (!tn_format_fits(format, shape->rank))
        return tn_fail(TN_ERROR_SHAPE, "format %s does not fit rank %u", tn_format_name(format),
                       shape->rank);
    tn_format_axes(format, shape->rank, order);
    const bool is_blocked = layout_of(format) == TN_LAYOUT_BLOCKED;
    int64_t stride = is_blocked ? tn_format_block(format) : 1;
    bool is_empty = false;
    for (uint32_t i = shape->rank; i-- > 0;) {
        int64_t extent = shape->extents[order[i]];
        if (is_blocked && order[i] == tn_format_axis(format))
            extent = extent / tn_format_block(format) + (extent % tn_format_block(format) != 0);
        if (out_strides) out_strides[order[i]] = stride;
        is_empty |= extent == 0;
        if (!tn_mul_i64(stride, extent ? extent : 1, &stride) || stride > INT64_MAX / 64)
            return tn_fail(TN_ERROR_SHAPE, "shape %s is larger than can be addressed",
                           tn_shape_print(shape->rank, shape->extents, text, sizeof(text)));
    }
    *out_stored = is_empty ? 0 : (size_t)stride;
    return TN_OK;
}

tn_status tn_format_strides(tn_format format, const tn_shape *shape, int64_t *out_strides) {
    size_t stored;
    return lay_out(format, shape, out_strides, &stored);
}

static tn_status fits_type(tn_format format, tn_type type) {
    if (format == TN_LINEAR || !tn_type_is_packed(type)) return TN_OK;
    return tn_fail(TN_ERROR_TYPE, "elements of type %s lie in linear order alone, not as %s",
                   tn_type_name(type), tn_format_name(format));
}

tn_status tn_format_bytes(tn_format format, tn_type type, const tn_shape *shape,
                          size_t *out_bytes) {
    size_t stored;
    TN_TRY(lay_out(format, shape, NULL, &stored));
    *out_bytes = tn_type_storage(type, stored);
    return fits_type(format, type);
}

tn_status tn_tensor_init(tn_tensor_storage *storage, tn_type type, tn_format format,
                         const tn_shape *shape) {
    size_t stored;
    TN_TRY(lay_out(format, shape, storage->strides, &stored));
    TN_TRY(fits_type(format, type));
    storage->shape = *shape;
    storage->tensor = (tn_tensor){.size = sizeof(tn_tensor),
                                  .type = type,
                                  .format = format,
                                  .rank = shape->rank,
                                  .bytes = tn_type_storage(type, stored),
                                  .shape = storage->shape.extents,
                                  .strides = storage->strides,
                                  .name = ""};
    return TN_OK;
}

void tn_tensor_init_open(tn_tensor_storage *storage, tn_type type, uint32_t rank) {
    storage->shape = (tn_shape){.rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        storage->shape.extents[i] = storage->strides[i] = -1;
    storage->tensor = (tn_tensor){.size = sizeof(tn_tensor),
                                  .type = type,
                                  .rank = rank,
                                  .shape = storage->shape.extents,
                                  .strides = storage->strides,
                                  .name = ""};
}

void tn_tensor_unbound(tn_tensor_storage *storage, uint32_t axes) {
    if (axes == 0) return;
    for (uint32_t i = 0; i < storage->shape.rank; i++) {
        if (axes >> i & 1) storage->shape.extents[i] = TN_UNBOUNDED;
        storage->strides[i] = -1;
    }
    if (axes & TN_UNBOUNDED_RANK) storage->tensor.rank = TN_RANK_UNKNOWN;
    storage->tensor.bytes = 0;
}
