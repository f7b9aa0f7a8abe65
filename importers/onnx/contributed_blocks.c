/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contributed MatMulNBits: a product with constant integers of 2, 4 or 8 bits, N rows of K, which
 * have a scale and a zero point for each block of a row. It becomes DequantizeLinear of bytes,
 * which the build computes once, and MatMul; see contributed.h.
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
    if (tn_contributed_has(node, ORDER))
        tn_contributed_refuse(node, "with an order of the groups of its own");
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
        tn_contributed_refuse(node, "with integers that are no constant bytes, as many as N and K "
                                    "say");
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

void tn_contributed_mat_mul_bits(tn_contributed *node) {
    const int64_t order[2] = {1, 0};
    blocks of;
    if (!read_blocks(node, &of)) return;
    const int64_t padded = of.row_blocks * of.block;
    const tn_import_tensor integers = unpacked(node, B, &of, padded);
    if (node->emit.status != TN_OK) return;
    const tn_import_tensor zeros = zeros_of(node, &of);
    const tn_import_tensor shape = TN_CONTRIBUTED_LIST(node, of.rows, of.row_blocks);
    const tn_import_tensor scales =
        TN_CONTRIBUTED_PLAIN(node, "Reshape", 14, tn_contributed_input(node, SCALES), shape);
    tn_import_tensor rows =
        TN_CONTRIBUTED(node, "DequantizeLinear", 21, TN_TENSORS(integers, scales, zeros),
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
