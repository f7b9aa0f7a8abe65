/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contributed operators on constant integers of 2, 4 or 8 bits which have a scale and a zero point
 * for each block of a row: MatMulNBits, a product with N rows of K, and GatherBlockQuantized, a
 * table of rows. They become DequantizeLinear of bytes, which the build computes once, and MatMul;
 * or Gather of bytes and of their scales. See contributed.h.
 */
#include "importers/onnx/contributed.h"
#include "base/status.h"

enum { A = 0, B = 1, SCALES = 2, ZEROS = 3, ORDER = 4, BIAS = 5 };

typedef struct blocks {
    int64_t rows, depth, block, bits;
    int64_t row_blocks; /* of a row, the last one padded */
} blocks;

static bool read_blocks(tn_contributed *node, blocks *out) {
    out->rows = tn_contributed_integer(node, "N", 0);
    out->depth = tn_contributed_integer(node, "K", 0);
    out->block = tn_contributed_integer(node, "block_size", 0);
    out->bits = tn_contributed_integer(node, "bits", 4);
    if (out->rows < 1 || out->rows > INT32_MAX || out->depth < 1 || out->depth > INT32_MAX ||
        out->block < 2 || out->block > 65536 || out->block % 2 != 0)
        tn_contributed_refuse(node, "with these extents in 'N', 'K' and 'block_size'");
    if (out->bits != 2 && out->bits != 4 && out->bits != 8)
        tn_contributed_refuse(node, "with other integers than those of 2, 4 and 8 bits");
    if (node->emit.status != TN_OK) return false;
    out->row_blocks = (out->depth + out->block - 1) / out->block;
    return true;
}

/* Integers of a constant as bytes [rows, columns]; a row begins at a byte of its own. */
static tn_import_tensor unpacked(tn_contributed *node, uint32_t input, const blocks *of,
                                 int64_t columns) {
    const tn_import_tensor_info info =
        tn_import_tensor_at(node->emit.graph, tn_contributed_input(node, input));
    const int64_t row_bytes = (columns * of->bits + 7) / 8, shape[2] = {of->rows, columns};
    const int64_t per_byte = 8 / of->bits;
    const uint8_t *from = info.data;
    if (!from || info.type != TN_U8 || info.bytes != (uint64_t)(row_bytes * of->rows)) {
        tn_contributed_refuse(node, "with integers that are no constant bytes, as many as its "
                                    "attributes say");
        return TN_IMPORT_NO_TENSOR;
    }
    uint8_t *to = tn_import_allocate(node->emit.graph, (size_t)(of->rows * columns));
    if (!to) tn_emit_keep(&node->emit, tn_fail_memory("a constant"));
    for (int64_t row = 0; to && row < of->rows; row++, from += row_bytes)
        for (int64_t i = 0; i < columns; i++)
            to[row * columns + i] =
                (uint8_t)(from[i / per_byte] >> i % per_byte * of->bits & ((1 << of->bits) - 1));
    return tn_emit_lent(&node->emit, "integers", TN_U8, 2, shape, to);
}

/* Not given: the middle of the integers. */
static tn_import_tensor zeros_of(tn_contributed *node, const blocks *of) {
    const int64_t shape[2] = {of->rows, of->row_blocks};
    const size_t count = (size_t)(of->rows * of->row_blocks);
    if (tn_contributed_has(node, ZEROS)) return unpacked(node, ZEROS, of, of->row_blocks);
    uint8_t *to = tn_import_allocate(node->emit.graph, count);
    if (!to) tn_emit_keep(&node->emit, tn_fail_memory("a constant"));
    if (to) memset(to, 1 << (of->bits - 1), count);
    return tn_emit_lent(&node->emit, "zeros", TN_U8, 2, shape, to);
}

static tn_import_tensor reshaped_blocks(tn_contributed *node, tn_import_tensor x,
                                        const blocks *of) {
    const tn_import_tensor shape = TN_CONTRIBUTED_LIST(node, of->rows, of->row_blocks);
    return TN_CONTRIBUTED_PLAIN(node, "Reshape", 14, x, shape);
}

static bool has_floating_zeros(const tn_contributed *node, uint32_t input) {
    const tn_import_tensor_info info =
        tn_import_tensor_at(node->emit.graph, tn_contributed_input(node, input));
    return tn_contributed_has(node, input) && info.type != TN_NONE && info.type != TN_U8;
}

/* Which block each column belongs to: consecutive ones, unless an input says otherwise. */
static tn_import_tensor blocks_of_columns(tn_contributed *node, const blocks *of) {
    const int64_t padded = of->row_blocks * of->block;
    if (tn_contributed_has(node, ORDER)) return tn_contributed_input(node, ORDER);
    int32_t *to = tn_import_allocate(node->emit.graph, (size_t)padded * sizeof(*to));
    if (!to) tn_emit_keep(&node->emit, tn_fail_memory("a constant"));
    for (int64_t i = 0; to && i < padded; i++)
        to[i] = (int32_t)(i / of->block);
    return tn_emit_lent(&node->emit, "blocks", TN_I32, 1, &padded, to);
}

/* The floats of rows whose blocks are no consecutive columns, or have zeros that are floats. */
static tn_import_tensor rows_by_columns(tn_contributed *node, const blocks *of,
                                        tn_import_tensor integers, tn_import_tensor scales) {
    const int64_t padded = of->row_blocks * of->block;
    const tn_import_tensor columns = blocks_of_columns(node, of);
    const tn_import_tensor begin = TN_CONTRIBUTED_LIST(node, 0);
    const tn_import_tensor end = TN_CONTRIBUTED_LIST(node, padded);
    /* an order may have one block for each column of K alone */
    const tn_import_tensor_info order = tn_import_tensor_at(node->emit.graph, columns);
    const bool is_short = order.type != TN_NONE && order.rank == 1 && order.extents[0] < padded;
    const tn_import_tensor last = is_short ? TN_CONTRIBUTED_LIST(node, order.extents[0]) : end;
    const tn_import_tensor axis = TN_CONTRIBUTED_LIST(node, 1);
    const tn_import_tensor used =
        TN_CONTRIBUTED_PLAIN(node, "Slice", 13, integers, begin, last, axis);
    const tn_import_tensor zeros =
        has_floating_zeros(node, ZEROS)
            ? reshaped_blocks(node, tn_contributed_input(node, ZEROS), of)
            : zeros_of(node, of);
    const tn_attribute by_column = tn_emit_i64("axis", 1);
    const tn_import_tensor column_scales =
        tn_contributed_emit(node, "Gather", 13, TN_TENSORS(scales, columns), 1, &by_column);
    const tn_import_tensor column_zeros =
        tn_contributed_emit(node, "Gather", 13, TN_TENSORS(zeros, columns), 1, &by_column);
    const tn_import_tensor wide = TN_CONTRIBUTED_PLAIN(node, "CastLike", 15, used, scales);
    const tn_import_tensor wide_zeros =
        TN_CONTRIBUTED_PLAIN(node, "CastLike", 15, column_zeros, scales);
    const tn_import_tensor above = TN_CONTRIBUTED_PLAIN(node, "Sub", 14, wide, wide_zeros);
    return TN_CONTRIBUTED_PLAIN(node, "Mul", 14, above, column_scales);
}

void tn_contributed_mat_mul_bits(tn_contributed *node) {
    const int64_t order[2] = {1, 0};
    blocks of;
    if (!read_blocks(node, &of)) return;
    const int64_t padded = of.row_blocks * of.block;
    const tn_import_tensor integers = unpacked(node, B, &of, padded);
    if (node->emit.status != TN_OK) return;
    const tn_import_tensor scales = reshaped_blocks(node, tn_contributed_input(node, SCALES), &of);
    tn_import_tensor rows;
    if (tn_contributed_has(node, ORDER) || has_floating_zeros(node, ZEROS))
        rows = rows_by_columns(node, &of, integers, scales);
    else
        rows = TN_CONTRIBUTED(node, "DequantizeLinear", 21,
                              TN_TENSORS(integers, scales, zeros_of(node, &of)),
                              tn_emit_i64("axis", 1), tn_emit_i64("block_size", of.block));
    if (padded > of.depth) {
        const tn_import_tensor begin = TN_CONTRIBUTED_LIST(node, 0);
        const tn_import_tensor end = TN_CONTRIBUTED_LIST(node, of.depth);
        const tn_import_tensor axis = TN_CONTRIBUTED_LIST(node, 1);
        rows = TN_CONTRIBUTED_PLAIN(node, "Slice", 13, rows, begin, end, axis);
    }
    const tn_import_tensor columns =
        TN_CONTRIBUTED(node, "Transpose", 13, TN_TENSORS(rows), tn_emit_i64s("perm", 2, order));
    const tn_import_tensor y =
        TN_CONTRIBUTED_PLAIN(node, "MatMul", 13, tn_contributed_input(node, A), columns);
    tn_contributed_output(node, 0, tn_contributed_add(node, y, tn_contributed_input(node, BIAS)));
}

/* ----------------------------------------------------------------------------------------------
 * GatherBlockQuantized */

/* The integers of a table and of its zero points, one byte each: those that lie packed in bytes
 * along the last axis, or are of a type of 4 bits. */
static tn_import_tensor table_of(tn_contributed *node, uint32_t input, int64_t bits) {
    const tn_import_tensor x = tn_contributed_input(node, input);
    const tn_import_tensor_info info = tn_import_tensor_at(node->emit.graph, x);
    int64_t shape[TN_MAX_RANK], rows = 1;
    if (info.type == TN_I4 || info.type == TN_U4)
        return TN_CONTRIBUTED(node, "Cast", 13, TN_TENSORS(x),
                              tn_emit_text("to", info.type == TN_I4 ? "i8" : "u8"));
    if (info.type != TN_U8 || bits == 8) return x;
    if (info.rank < 1 || info.rank > TN_MAX_RANK) {
        tn_contributed_refuse(node, "with a table without axes");
        return x;
    }
    for (uint32_t i = 0; i < info.rank; i++) {
        shape[i] = info.extents[i];
        if (i + 1 < info.rank) rows *= shape[i];
    }
    shape[info.rank - 1] *= 8 / bits;
    const blocks of = {.rows = rows, .bits = bits};
    const tn_import_tensor bytes = unpacked(node, input, &of, shape[info.rank - 1]);
    return info.rank == 2 ? bytes : tn_contributed_reshaped(node, bytes, info.rank, shape);
}

/* Rows of bytes, of scales and of zero points are picked, and then made floats. */
void tn_contributed_gather_blocks(tn_contributed *node) {
    enum { DATA = 0, INDICES = 1, TABLE_SCALES = 2, TABLE_ZEROS = 3 };
    const tn_import_tensor_info data =
        tn_import_tensor_at(node->emit.graph, tn_contributed_input(node, DATA));
    const int64_t bits = tn_contributed_integer(node, "bits", 4);
    const int64_t block = tn_contributed_integer(node, "block_size", 128);
    const int64_t axis = tn_contributed_integer(node, "quantize_axis", 1);
    const int64_t from_end = axis < 0 ? axis : axis - (int64_t)data.rank;
    const bool is_packed = data.type == TN_U8;
    tn_contributed_only(node, "gather_axis", 0);
    if (data.type == TN_NONE || data.rank < 2 || from_end >= 0 || from_end <= -(int64_t)data.rank)
        tn_contributed_refuse(node, "with blocks along the axis that it gathers from");
    if (bits != 2 && bits != 4 && bits != 8)
        tn_contributed_refuse(node, "with other integers than those of 2, 4 and 8 bits");
    if (node->emit.status != TN_OK) return;
    const tn_import_tensor indices = tn_contributed_input(node, INDICES);
    const tn_import_tensor table = table_of(node, DATA, bits);
    const tn_import_tensor rows = TN_CONTRIBUTED_PLAIN(node, "Gather", 13, table, indices);
    const tn_import_tensor scales =
        TN_CONTRIBUTED_PLAIN(node, "Gather", 13, tn_contributed_input(node, TABLE_SCALES), indices);
    tn_import_tensor zeros = TN_IMPORT_NO_TENSOR;
    if (tn_contributed_has(node, TABLE_ZEROS)) {
        zeros =
            TN_CONTRIBUTED_PLAIN(node, "Gather", 13, table_of(node, TABLE_ZEROS, bits), indices);
    } else if (is_packed) {
        const tn_import_tensor middle = tn_contributed_like(node, 1 << (bits - 1), rows);
        const tn_import_tensor shape = TN_CONTRIBUTED_PLAIN(node, "Shape", 13, scales);
        zeros = TN_CONTRIBUTED_PLAIN(node, "Expand", 13, middle, shape);
    }
    tn_contributed_output(
        node, 0,
        TN_CONTRIBUTED(node, "DequantizeLinear", 21, TN_TENSORS(rows, scales, zeros),
                       tn_emit_i64("axis", from_end), tn_emit_i64("block_size", block)));
}
