/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions between formats and types; see convert.h. A work item is one row of the outer axes:
 * all positions of the last axis for one index of the others (one block of channels at a time in
 * blocked formats). 4-byte elements of one type move as they are; everything else goes number by
 * number through the widest type that holds it.
 */
#include "tensor/convert.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* Rows: the product of all extents but the last. */
static int64_t row_count(const tn_tensor *tensor) {
    int64_t rows = 1;
    for (uint32_t i = 0; i + 1 < tensor->rank; i++)
        rows *= tensor->shape[i];
    return rows;
}

static int64_t row_length(const tn_tensor *tensor) {
    return tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
}

int64_t tn_convert_items(const tn_tensor *from, const tn_tensor *to) {
    (void)to;
    for (uint32_t i = 0; i < from->rank; i++) {
        if (from->shape[i] == 0) return 0;
    }
    return row_count(from);
}

static int64_t block_of(const tn_tensor *tensor) {
    return (tensor->format & 0xff) == TN_LAYOUT_BLOCKED ? (int64_t)(tensor->format >> 16) : 0;
}

static uint32_t blocked_axis(const tn_tensor *tensor) {
    return tensor->format >> 8 & 0xff;
}

/* The place of an index, of which the last axis is `last`. */
static int64_t place(const tn_tensor *tensor, const int64_t *index, int64_t last) {
    const int64_t block = block_of(tensor);
    int64_t at = 0;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        const int64_t value = i + 1 == tensor->rank ? last : index[i];
        if (block && i == blocked_axis(tensor))
            at += value / block * tensor->strides[i] + value % block;
        else
            at += value * tensor->strides[i];
    }
    return at;
}

/* How a row's elements lie: constant step, or by blocks when the last axis is the blocked one. */
static bool row_is_strided(const tn_tensor *tensor) {
    return tensor->rank == 0 || !block_of(tensor) || blocked_axis(tensor) + 1 != tensor->rank;
}

static int64_t row_step(const tn_tensor *tensor) {
    return tensor->rank ? tensor->strides[tensor->rank - 1] : 1;
}

static void move_row_32(const uint32_t *restrict from, int64_t from_step, uint32_t *restrict to,
                        int64_t to_step, int64_t count) {
    if (from_step == 1 && to_step == 1) {
        memcpy(to, from, (size_t)count * sizeof(*to));
    } else if (to_step == 16) {
        for (int64_t i = 0; i < count; i++)
            to[i * 16] = from[i * from_step];
    } else if (from_step == 16) {
        for (int64_t i = 0; i < count; i++)
            to[i * to_step] = from[i * 16];
    } else {
        for (int64_t i = 0; i < count; i++)
            to[i * to_step] = from[i * from_step];
    }
}

typedef struct scaling {
    const float *scale;
    const int32_t *zero_point;
    uint64_t count;
    uint32_t axis;
} scaling;

static bool scaling_read(const tn_tensor *tensor, scaling *out) {
    const tn_quantization *q = tensor->quantization;
    if (!q || !q->scale) return false;
    *out = (scaling){q->scale, q->zero_point, q->count,
                     (uint32_t)(q->axis < 0 ? q->axis + (int32_t)tensor->rank : q->axis)};
    return true;
}

static size_t scaling_index(const scaling *how, const tn_tensor *tensor, const int64_t *index,
                            int64_t last) {
    if (how->count <= 1 || how->axis >= tensor->rank) return 0;
    return (size_t)(how->axis + 1 == tensor->rank ? last : index[how->axis]);
}

static void convert_scaled(const tn_tensor *from, const tn_tensor *to, const scaling *a,
                           const scaling *b, const int64_t *index, int64_t last) {
    double value = tn_element_get_f64(from->data, from->type, (size_t)place(from, index, last));
    if (a) {
        const size_t i = scaling_index(a, from, index, last);
        value = (value - (a->zero_point ? a->zero_point[i] : 0)) * (double)a->scale[i];
    }
    if (b) {
        const size_t i = scaling_index(b, to, index, last);
        value = nearbyint(value / (double)b->scale[i]) + (b->zero_point ? b->zero_point[i] : 0);
    }
    tn_element_set_f64(to->data, to->type, (size_t)place(to, index, last), value);
}

/* One number, as Cast converts it. */
static void convert_element(const tn_tensor *from, size_t source, const tn_tensor *to,
                            size_t target) {
    const bool is_exact = !tn_type_is_float(from->type) && !tn_type_is_float(to->type);
    if (is_exact && from->type == TN_U64 && to->type == TN_U64) {
        memcpy((uint64_t *)to->data + target, (const uint64_t *)from->data + source, 8);
    } else if (is_exact) {
        tn_element_set_i64(to->data, to->type, target,
                           tn_element_get_i64(from->data, from->type, source));
    } else {
        double value = tn_element_get_f64(from->data, from->type, source);
        if (!tn_type_is_float(to->type) && to->type != TN_BOOL)
            value = isnan(value) ? 0 : trunc(value);
        tn_element_set_f64(to->data, to->type, target, value);
    }
}

static void convert_row(const tn_tensor *from, const tn_tensor *to, const int64_t *index) {
    const int64_t count = row_length(from);
    scaling a, b;
    const bool has_a = scaling_read(from, &a), has_b = scaling_read(to, &b);
    if (has_a || has_b) {
        for (int64_t i = 0; i < count; i++)
            convert_scaled(from, to, has_a ? &a : NULL, has_b ? &b : NULL, index, i);
        return;
    }
    const bool is_strided = row_is_strided(from) && row_is_strided(to);
    if (from->type == to->type && is_strided && tn_type_bytes(from->type) == 4) {
        move_row_32((const uint32_t *)from->data + place(from, index, 0), row_step(from),
                    (uint32_t *)to->data + place(to, index, 0), row_step(to), count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const size_t source = (size_t)place(from, index, i), target = (size_t)place(to, index, i);
        const size_t bytes = tn_type_bytes(from->type);
        if (from->type == to->type)
            memcpy((char *)to->data + target * bytes, (const char *)from->data + source * bytes,
                   bytes);
        else
            convert_element(from, source, to, target);
    }
}

/* Writes zero into the lanes past the end of the blocked axis, for the row `index` of the last
 * block. */
static void clear_padding(const tn_tensor *to, const int64_t *index) {
    const int64_t block = block_of(to);
    if (!block) return;
    const uint32_t axis = blocked_axis(to);
    const int64_t extent = to->shape[axis], bytes = (int64_t)tn_type_bytes(to->type);
    const bool is_last_axis = axis + 1 == to->rank;
    if (extent % block == 0 || (!is_last_axis && index[axis] != extent - 1)) return;
    const int64_t count = is_last_axis ? 1 : row_length(to);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = place(to, index, is_last_axis ? extent - 1 : i) + 1;
        memset((char *)to->data + at * bytes, 0, (size_t)((block - extent % block) * bytes));
    }
}

/* The next row, last outer axis fastest. */
static void advance(const tn_tensor *tensor, int64_t *index) {
    for (uint32_t i = tensor->rank - 1; i-- > 0;) {
        if (++index[i] < tensor->shape[i]) return;
        index[i] = 0;
    }
}

tn_status tn_convert(const tn_tensor *from, const tn_tensor *to, int64_t begin, int64_t end) {
    char a[TN_SHAPE_TEXT_BYTES], b[TN_SHAPE_TEXT_BYTES];
    if (from->rank != to->rank || memcmp(from->shape, to->shape, from->rank * sizeof(int64_t)) != 0)
        return tn_fail(TN_ERROR_SHAPE,
                       "a tensor of shape %s cannot be converted into one of shape %s",
                       tn_shape_print(from->rank, from->shape, a, sizeof(a)),
                       tn_shape_print(to->rank, to->shape, b, sizeof(b)));
    if (!tn_type_is_valid(from->type) || !tn_type_is_valid(to->type))
        return tn_fail(TN_ERROR_TYPE, "cannot convert from %s to %s", tn_type_name(from->type),
                       tn_type_name(to->type));
    if (begin >= end) return TN_OK;
    if (from->format == to->format && from->type == to->type && !from->quantization &&
        !to->quantization && begin == 0 && end == tn_convert_items(from, to)) {
        memcpy(to->data, from->data, (size_t)from->bytes);
        return TN_OK;
    }
    int64_t index[TN_MAX_RANK] = {0}, rest = begin;
    for (uint32_t i = from->rank ? from->rank - 1 : 0; i-- > 0;) {
        index[i] = rest % from->shape[i];
        rest /= from->shape[i];
    }
    for (int64_t item = begin; item < end; item++) {
        convert_row(from, to, index);
        clear_padding(to, index);
        if (from->rank) advance(from, index);
    }
    return TN_OK;
}
