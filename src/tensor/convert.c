/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions between formats and types; see convert.h. Here a variant is chosen, from the tensors
 * alone, so that every part of a split conversion chooses the same one: copying, types only
 * (convert_types.c, convert_floats.c), channels only (convert_channels.c), or row by row
 * (convert_rows.c).
 */
#include "tensor/quantization.h"
#include "tensor/convert_private.h"
#include "base/status.h"

#include <string.h>

typedef enum convert_variant {
    CONVERT_COPY,
    CONVERT_TYPES,
    CONVERT_CHANNELS,
    CONVERT_FLOATS,
    CONVERT_REAL_CHANNELS,
    CONVERT_ROWS,
    CONVERT_SCALED_ROWS
} convert_variant;

/* Of one item that copies or converts types only. */
#define ITEM_BYTES    32768
#define ITEM_ELEMENTS 8192

static bool is_empty(const tn_tensor *tensor) {
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] <= 0) return true;
    return false;
}

/* Whether the tensor's elements lie as its format says, without gaps. Strides of axes with one
 * element say nothing, nor those of a tensor without elements. */
static bool is_packed(const tn_tensor *tensor) {
    const uint32_t rank = tensor->rank;
    if (is_empty(tensor)) return tensor->bytes == 0;
    const int64_t block = tn_convert_block(tensor);
    const bool is_last = tn_convert_layout(tensor) == TN_LAYOUT_CHANNELS_LAST;
    int64_t stride = block ? block : 1;
    for (uint32_t i = rank; i-- > 0;) {
        /* Channels last: 0, 2, 3, ..., 1. */
        const uint32_t axis = !is_last || i == 0 ? i : i + 1 == rank ? 1 : i + 1;
        int64_t extent = tensor->shape[axis];
        if (block && axis == tn_convert_blocked_axis(tensor))
            extent = extent / block + (extent % block != 0);
        if (extent > 1 && tensor->strides[axis] != stride) return false;
        stride *= extent;
    }
    return tensor->bytes == tn_type_storage(tensor->type, (size_t)stride);
}

static bool has_scale(const tn_tensor *tensor) {
    return tensor->quantization && tensor->quantization->scales;
}

/* Zero points of unlike types are unlike numbers where one is read as the other. */
static bool is_equally_scaled(const tn_tensor *from, const tn_tensor *to) {
    const tn_quantization *a = from->quantization, *b = to->quantization;
    if (!has_scale(from) || !has_scale(to)) return has_scale(from) == has_scale(to);
    if (from->type != to->type && (a->zero_points || b->zero_points)) return false;
    return tn_quantization_equal(a, b, from->type);
}

static bool have_same_strides(const tn_tensor *from, const tn_tensor *to) {
    for (uint32_t i = 0; i < from->rank; i++) {
        if (from->shape[i] > 1 && from->strides[i] != to->strides[i]) return false;
    }
    return true;
}

/* Of a pair of convert_floats.c; COPY stands for none. A padding lane is zero in both: so is the
 * zero point then. */
static convert_variant choose_float_variant(const tn_tensor *from, const tn_tensor *to,
                                            tn_float_conversion *conversion) {
    if (from->type == to->type || !tn_float_conversion_init(conversion, from, to) ||
        !is_packed(from) || !is_packed(to))
        return CONVERT_COPY;
    const int64_t from_block = tn_convert_block(from), to_block = tn_convert_block(to);
    if (conversion->zero != 0 && (from_block || to_block)) return CONVERT_COPY;
    if (from_block == to_block && have_same_strides(from, to)) return CONVERT_FLOATS;
    return from->rank >= 2 ? CONVERT_REAL_CHANNELS : CONVERT_COPY;
}

static convert_variant choose_variant(const tn_tensor *from, const tn_tensor *to,
                                      tn_float_conversion *conversion) {
    const bool is_same_type = from->type == to->type;
    const convert_variant float_variant = choose_float_variant(from, to, conversion);
    if (float_variant != CONVERT_COPY) return float_variant;
    if (!is_equally_scaled(from, to) || (!is_same_type && has_scale(from)))
        return CONVERT_SCALED_ROWS;
    if (!is_packed(from) || !is_packed(to)) return CONVERT_ROWS;
    if (tn_convert_block(from) == tn_convert_block(to) && have_same_strides(from, to))
        return is_same_type ? CONVERT_COPY : CONVERT_TYPES;
    return is_same_type && from->rank >= 2 ? CONVERT_CHANNELS : CONVERT_ROWS;
}

static int64_t count_items(const tn_tensor *from, const tn_tensor *to, convert_variant variant) {
    switch (variant) {
    case CONVERT_COPY:
        return (int64_t)((from->bytes + ITEM_BYTES - 1) / ITEM_BYTES);
    case CONVERT_TYPES:
    case CONVERT_FLOATS:
        return (int64_t)((tn_type_elements(from->type, from->bytes) + ITEM_ELEMENTS - 1) /
                         ITEM_ELEMENTS);
    case CONVERT_CHANNELS:
    case CONVERT_REAL_CHANNELS:
        return tn_convert_channels_items(from, to);
    default:
        return tn_convert_rows_items(from);
    }
}

static void copy_items(const tn_tensor *from, const tn_tensor *to, int64_t begin, int64_t end) {
    const uint64_t first = (uint64_t)begin * ITEM_BYTES;
    uint64_t last = (uint64_t)end * ITEM_BYTES;
    if (last > from->bytes) last = from->bytes;
    memcpy((char *)to->data + first, (const char *)from->data + first, (size_t)(last - first));
}

/* `conversion` is null for types alone. A packed tensor's last byte may have room for more elements
 * than there are. */
static void convert_type_items(const tn_tensor *from, const tn_tensor *to,
                               const tn_float_conversion *conversion, int64_t begin, int64_t end) {
    const size_t element_limit = tn_type_elements(to->type, (size_t)to->bytes);
    const size_t first = (size_t)begin * ITEM_ELEMENTS;
    size_t last = (size_t)end * ITEM_ELEMENTS, all = tn_type_elements(from->type, from->bytes);
    if (all > element_limit) all = element_limit;
    if (last > all) last = all;
    const char *source = (const char *)from->data + tn_type_storage(from->type, first);
    char *target = (char *)to->data + tn_type_storage(to->type, first);
    if (conversion)
        tn_float_conversion_line(conversion, source, target, (int64_t)(last - first));
    else
        tn_convert_types(source, from->type, target, to->type, (int64_t)(last - first));
}

/* As many scales as the shape asks for. */
static bool is_quantization_sound(const tn_tensor *tensor) {
    const tn_quantization *q = tensor->quantization;
    return !has_scale(tensor) ||
           (tn_type_is_valid(q->scale_type) && q->count > 0 &&
            tn_quantization_count(q, tensor->rank, tensor->shape) == q->count);
}

static bool is_same_shape(const tn_tensor *from, const tn_tensor *to) {
    return from->rank == to->rank && from->rank <= TN_MAX_RANK &&
           (from->rank == 0 ||
            memcmp(from->shape, to->shape, from->rank * sizeof(*from->shape)) == 0);
}

/* Threads share no byte of a packed tensor where all of it is read and written in linear order. */
static bool is_whole(const tn_tensor *tensor, const tn_tensor *other) {
    return !tn_type_is_packed(tensor->type) ||
           (is_packed(tensor) && is_packed(other) && other->format == TN_LINEAR &&
            is_equally_scaled(tensor, other));
}

static bool is_convertible(const tn_tensor *from, const tn_tensor *to) {
    return is_same_shape(from, to) && tn_type_is_valid(from->type) && tn_type_is_valid(to->type) &&
           tn_format_fits(from->format, from->rank) && tn_format_fits(to->format, to->rank) &&
           is_quantization_sound(from) && is_quantization_sound(to) && is_whole(from, to) &&
           is_whole(to, from);
}

static tn_status fail_convert(const tn_tensor *from, const tn_tensor *to) {
    char a[TN_SHAPE_TEXT_BYTES], b[TN_SHAPE_TEXT_BYTES];
    if (!is_same_shape(from, to))
        return tn_fail(TN_ERROR_SHAPE,
                       "a tensor of shape %s cannot be converted into one of shape %s",
                       tn_shape_print(from->rank, from->shape, a, sizeof(a)),
                       tn_shape_print(to->rank, to->shape, b, sizeof(b)));
    if (!tn_type_is_valid(from->type) || !tn_type_is_valid(to->type))
        return tn_fail(TN_ERROR_TYPE, "cannot convert from type %s to %s", tn_type_name(from->type),
                       tn_type_name(to->type));
    if (!tn_format_fits(from->format, from->rank) || !tn_format_fits(to->format, to->rank))
        return tn_fail(TN_ERROR_SHAPE, "cannot convert from format %s to %s at rank %u",
                       tn_format_name(from->format), tn_format_name(to->format), from->rank);
    if (!is_whole(from, to) || !is_whole(to, from))
        return tn_fail(TN_ERROR_TYPE,
                       "a packed tensor is converted in linear order alone: %s to %s",
                       tn_type_name(from->type), tn_type_name(to->type));
    const tn_quantization *q = is_quantization_sound(from) ? to->quantization : from->quantization;
    return tn_fail(TN_ERROR_SHAPE,
                   "a tensor of shape %s has %llu scales along %u axes, the first of them %u: "
                   "expected one for the tensor, or one for each block of an axis",
                   tn_shape_print(from->rank, from->shape, a, sizeof(a)),
                   (unsigned long long)q->count, q->axis_count, q->axes[0]);
}

int64_t tn_convert_items(const tn_tensor *from, const tn_tensor *to) {
    if (!is_convertible(from, to)) return 1; /* so that tn_convert is called and says why */
    tn_float_conversion conversion;
    return is_empty(from) ? 0 : count_items(from, to, choose_variant(from, to, &conversion));
}

tn_status tn_convert(const tn_tensor *from, const tn_tensor *to, int64_t begin, int64_t end) {
    if (!is_convertible(from, to)) return fail_convert(from, to);
    if (is_empty(from) || begin >= end) return TN_OK;
    tn_float_conversion conversion;
    const convert_variant variant = choose_variant(from, to, &conversion);
    const int64_t items = count_items(from, to, variant);
    if (begin < 0 || end > items)
        return tn_fail(TN_ERROR_ARGUMENT, "items %lld to %lld are not within 0 to %lld",
                       (long long)begin, (long long)end, (long long)items);
    switch (variant) {
    case CONVERT_COPY:
        copy_items(from, to, begin, end);
        break;
    case CONVERT_TYPES:
        convert_type_items(from, to, NULL, begin, end);
        break;
    case CONVERT_FLOATS:
        convert_type_items(from, to, &conversion, begin, end);
        break;
    case CONVERT_CHANNELS:
        tn_convert_channels(from, to, NULL, begin, end);
        break;
    case CONVERT_REAL_CHANNELS:
        tn_convert_channels(from, to, &conversion, begin, end);
        break;
    default:
        tn_convert_rows(from, to, variant == CONVERT_SCALED_ROWS, begin, end);
        break;
    }
    return TN_OK;
}
