/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the conversion share; convert.c chooses a variant, each other file is one. All
 * variants answer the same for any split of their items.
 */
#ifndef TN_TENSOR_CONVERT_PRIVATE_H
#define TN_TENSOR_CONVERT_PRIVATE_H

#include "tensor/convert.h"

static inline uint32_t tn_convert_layout(const tn_tensor *tensor) {
    return tensor->format & 0xff;
}
/* Elements a block; 0: the format has no blocks. */
static inline int64_t tn_convert_block(const tn_tensor *tensor) {
    return tn_convert_layout(tensor) == TN_LAYOUT_BLOCKED ? (int64_t)(tensor->format >> 16) : 0;
}
static inline uint32_t tn_convert_blocked_axis(const tn_tensor *tensor) {
    return tensor->format >> 8 & 0xff;
}

/* convert_types.c: `count` elements that lie one after the other. */
void tn_convert_types(const void *from, tn_type from_type, void *to, tn_type to_type,
                      int64_t count);

/* convert_floats.c: 32-bit floats to or from 16-bit floats, or 8 bits with one scale. */
typedef struct tn_float_conversion {
    tn_type type; /* the lower one */
    bool is_up;   /* to 32-bit floats */
    int level;    /* of processors */
    float scale, low, high;
    int32_t zero;
} tn_float_conversion;
/* False for other pairs. */
bool tn_float_conversion_init(tn_float_conversion *out_conversion, const tn_tensor *from,
                              const tn_tensor *to);
/* `count` elements that lie one after the other; padding that is zero stays zero where the zero
 * point is. */
void tn_float_conversion_line(const tn_float_conversion *conversion, const void *from, void *to,
                              int64_t count);

/* convert_channels.c: elements of one type, or of a pair of convert_floats.c, between linear,
 * channels last and blocked channels. An item is a tile of channels at a few positions of one
 * image. Both tensors without gaps. */
int64_t tn_convert_channels_items(const tn_tensor *from, const tn_tensor *to);
/* `conversion` is null where both have one type. */
void tn_convert_channels(const tn_tensor *from, const tn_tensor *to,
                         const tn_float_conversion *conversion, int64_t begin, int64_t end);

/* convert_bytes.c: to[c * to_row + r] = from[r * from_row + c] for all rows and columns. */
void tn_convert_transpose_bytes(int64_t rows, int64_t columns, const uint8_t *from,
                                int64_t from_row, uint8_t *to, int64_t to_row);

/* convert_rows.c: everything. An item is one row: all positions of the last axis for one index of
 * the others. With `is_scaled` stored values go through floating-point values. */
int64_t tn_convert_rows_items(const tn_tensor *from);
void tn_convert_rows(const tn_tensor *from, const tn_tensor *to, bool is_scaled, int64_t begin,
                     int64_t end);

#endif
