/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversion that does everything, row by row: any strides, formats, types and scales. A row is
 * taken in pieces: gathered into a line, converted there when the types differ, and put down. The
 * variants for what networks do all day are in convert_channels.c and convert_types.c.
 */
#include "tensor/quantization.h"
#include "tensor/convert_private.h"

#include <math.h>
#include <string.h>

#define PIECE        256
#define WIDEST_BYTES 8

static int64_t row_length(const tn_tensor *tensor) {
    return tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
}

int64_t tn_convert_rows_items(const tn_tensor *from) {
    int64_t rows = 1;
    for (uint32_t i = 0; i + 1 < from->rank; i++)
        rows *= from->shape[i];
    return rows;
}

/* Where value `value` of an axis lies. */
static int64_t axis_offset(const tn_tensor *tensor, uint32_t axis, int64_t value) {
    const int64_t block = tn_convert_block(tensor);
    if (block && axis == tn_convert_blocked_axis(tensor))
        return value / block * tensor->strides[axis] + value % block;
    return value * tensor->strides[axis];
}

/* The offset of a row's first element; `index` is that of all axes but the last. */
static int64_t row_offset(const tn_tensor *tensor, const int64_t *index) {
    int64_t at = 0;
    for (uint32_t i = 0; i + 1 < tensor->rank; i++)
        at += axis_offset(tensor, i, index[i]);
    return at;
}

static int64_t element_offset(const tn_tensor *tensor, const int64_t *index, int64_t last) {
    return row_offset(tensor, index) +
           (tensor->rank ? axis_offset(tensor, tensor->rank - 1, last) : 0);
}

/* Offsets of `count` elements of a row from its element `first` on, in bytes. */
static void piece_offsets(const tn_tensor *tensor, int64_t row, int64_t first, int64_t count,
                          size_t *out_offsets) {
    const size_t bytes = tn_type_bytes(tensor->type);
    for (int64_t i = 0; i < count; i++) {
        const int64_t step = tensor->rank ? axis_offset(tensor, tensor->rank - 1, first + i) : 0;
        out_offsets[i] = (size_t)(row + step) * bytes;
    }
}

static void gather(const char *data, const size_t *offsets, size_t bytes, int64_t count, char *to) {
    switch (bytes) {
#define CASE(n)                                                                                    \
    case n:                                                                                        \
        for (int64_t i = 0; i < count; i++)                                                        \
            memcpy(to + i * n, data + offsets[i], n);                                              \
        break
        CASE(1);
        CASE(2);
        CASE(4);
        CASE(8);
#undef CASE
    default:
        break;
    }
}

static void scatter(const char *from, size_t bytes, int64_t count, char *data,
                    const size_t *offsets) {
    switch (bytes) {
#define CASE(n)                                                                                    \
    case n:                                                                                        \
        for (int64_t i = 0; i < count; i++)                                                        \
            memcpy(data + offsets[i], from + i * n, n);                                            \
        break
        CASE(1);
        CASE(2);
        CASE(4);
        CASE(8);
#undef CASE
    default:
        break;
    }
}

static void convert_row(const tn_tensor *from, const tn_tensor *to, const int64_t *index) {
    _Alignas(8) char taken[PIECE * WIDEST_BYTES], converted[PIECE * WIDEST_BYTES];
    size_t offsets[PIECE];
    const int64_t length = row_length(from);
    const int64_t from_row = row_offset(from, index), to_row = row_offset(to, index);
    for (int64_t first = 0; first < length; first += PIECE) {
        const int64_t count = length - first < PIECE ? length - first : PIECE;
        const char *line = taken;
        piece_offsets(from, from_row, first, count, offsets);
        gather(from->data, offsets, tn_type_bytes(from->type), count, taken);
        if (from->type != to->type) {
            tn_convert_types(taken, from->type, converted, to->type, count);
            line = converted;
        }
        piece_offsets(to, to_row, first, count, offsets);
        scatter(line, tn_type_bytes(to->type), count, to->data, offsets);
    }
}

/* Which of the scales is that of an element. */
static uint64_t scale_index(const tn_tensor *tensor, const int64_t *index, int64_t last) {
    int64_t whole[TN_MAX_RANK];
    if (tensor->quantization->axis_count == 0) return 0;
    memcpy(whole, index, tensor->rank * sizeof *whole);
    whole[tensor->rank - 1] = last;
    return tn_quantization_index(tensor->quantization, tensor->shape, whole);
}

static void convert_scaled(const tn_tensor *from, const tn_tensor *to, const int64_t *index,
                           int64_t last) {
    const tn_quantization *a = from->quantization, *b = to->quantization;
    double value =
        tn_element_get_f64(from->data, from->type, (size_t)element_offset(from, index, last));
    if (a && a->scales) {
        const uint64_t i = scale_index(from, index, last);
        value =
            (value - (double)tn_quantization_zero(a, from->type, i)) * tn_quantization_scale(a, i);
    }
    if (b && b->scales) {
        const uint64_t i = scale_index(to, index, last);
        const double scale = tn_quantization_scale(b, i);
        /* 32-bit floats are divided as such: the same bits as in convert_floats.c. */
        const double quotient = from->type == TN_F32 && !(a && a->scales)
                                    ? (double)((float)value / (float)scale)
                                    : value / scale;
        value = (tn_type_is_float(to->type) ? quotient
                 : isnan(quotient)          ? 0
                                            : nearbyint(quotient)) +
                (double)tn_quantization_zero(b, to->type, i);
    } else if (!tn_type_is_float(to->type) && to->type != TN_BOOL) {
        value = isnan(value) ? 0 : trunc(value);
    }
    tn_element_set_f64(to->data, to->type, (size_t)element_offset(to, index, last), value);
}

/* Writes zero into the lanes past the end of the blocked axis, for the row `index` of the last
 * block. */
static void clear_padding(const tn_tensor *to, const int64_t *index) {
    const int64_t block = tn_convert_block(to);
    if (!block) return;
    const uint32_t axis = tn_convert_blocked_axis(to);
    const int64_t extent = to->shape[axis], bytes = (int64_t)tn_type_bytes(to->type);
    const bool is_last_axis = axis + 1 == to->rank;
    if (extent % block == 0 || (!is_last_axis && index[axis] != extent - 1)) return;
    const int64_t count = is_last_axis ? 1 : row_length(to);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = element_offset(to, index, is_last_axis ? extent - 1 : i) + 1;
        memset((char *)to->data + at * bytes, 0, (size_t)((block - extent % block) * bytes));
    }
}

/* The index of row `item`, last outer axis fastest. */
static void row_index(const tn_tensor *tensor, int64_t item, int64_t *out_index) {
    for (uint32_t i = tensor->rank ? tensor->rank - 1 : 0; i-- > 0;) {
        out_index[i] = item % tensor->shape[i];
        item /= tensor->shape[i];
    }
}

static void next_row(const tn_tensor *tensor, int64_t *index) {
    for (uint32_t i = tensor->rank ? tensor->rank - 1 : 0; i-- > 0;) {
        if (++index[i] < tensor->shape[i]) return;
        index[i] = 0;
    }
}

void tn_convert_rows(const tn_tensor *from, const tn_tensor *to, bool is_scaled, int64_t begin,
                     int64_t end) {
    int64_t index[TN_MAX_RANK] = {0};
    row_index(from, begin, index);
    for (int64_t item = begin; item < end; item++) {
        if (is_scaled) {
            for (int64_t i = 0; i < row_length(from); i++)
                convert_scaled(from, to, index, i);
        } else {
            convert_row(from, to, index);
        }
        clear_padding(to, index);
        next_row(from, index);
    }
}
