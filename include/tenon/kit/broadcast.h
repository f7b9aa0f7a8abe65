/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multi-directional broadcasting (ONNX's, and NumPy's): the shape rule, iteration over rows of up
 * to six tensors at once, and operators of two inputs made from one scalar function. Adjacent axes
 * are merged where all tensors allow it, so that rows are long.
 */
#ifndef TENON_KIT_BROADCAST_H
#define TENON_KIT_BROADCAST_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_BROADCAST_MAX_INPUTS = 6 };

/* Sets output 0 to the broadcast of the first `input_count` inputs. TN_ERROR_SHAPE names both
 * shapes. */
tn_status tn_broadcast_infer(tn_call *call, uint32_t input_count);
/* The shape rule of all binary operators: inputs 0 and 1. */
tn_status tn_broadcast_infer_binary(tn_call *call) TN_NOEXCEPT;

/* Traverses the output row by row:
 *
 *     tn_broadcast_init(&rows, output->rank, output->shape);
 *     tn_broadcast_add(&rows, a->rank, a->shape);
 *     for (bool more = tn_broadcast_begin(&rows); more; more = tn_broadcast_next(&rows))
 *         for (int64_t i = 0; i < rows.count; i++)
 *             ... output[rows.output_offset + i], a[rows.offset[0] + i * rows.stride[0]]
 *
 * All numbers count elements. */
typedef struct tn_broadcast_rows {
    int64_t count;                           /* elements of this row */
    int64_t output_offset;                   /* of its first element */
    int64_t offset[TN_BROADCAST_MAX_INPUTS]; /* of each input's first element */
    int64_t stride[TN_BROADCAST_MAX_INPUTS]; /* of each input along the row: 0 or 1 */
    /* private */
    uint32_t rank, input_count;
    int64_t extents[TN_MAX_RANK + 1], index[TN_MAX_RANK + 1];
    int64_t strides[TN_BROADCAST_MAX_INPUTS][TN_MAX_RANK + 1];
} tn_broadcast_rows;
void tn_broadcast_init(tn_broadcast_rows *rows, uint32_t rank, const int64_t *shape);
/* One more input, aligned at the last axis; its shape must broadcast to the output's, but may have
 * more axes before, of extent 1. */
void tn_broadcast_add(tn_broadcast_rows *rows, uint32_t rank, const int64_t *shape);
bool tn_broadcast_begin(tn_broadcast_rows *rows); /* false: no elements at all */
bool tn_broadcast_next(tn_broadcast_rows *rows);  /* false: that was the last row */
/* To row number `row`, which there is, after tn_broadcast_begin. */
void tn_broadcast_seek(tn_broadcast_rows *rows, int64_t row);

/* Does `count` elements, from `first` on, of the row that `rows` is at. */
typedef void (*tn_broadcast_piece)(const void *job, const tn_broadcast_rows *rows, int64_t first,
                                   int64_t count);
/* Elements begin..end-1 of the output, row by row; `start` is at the first row. Inline, so that
 * short rows cost no call through a pointer. */
static inline void tn_broadcast_elements(const tn_broadcast_rows *start, int64_t begin, int64_t end,
                                         tn_broadcast_piece piece, const void *job) {
    tn_broadcast_rows rows = *start;
    int64_t first = begin % rows.count;
    tn_broadcast_seek(&rows, begin / rows.count);
    while (begin < end) {
        const int64_t left = rows.count - first;
        const int64_t count = end - begin < left ? end - begin : left;
        piece(job, &rows, first, count);
        begin += count;
        first = 0;
        if (!tn_broadcast_next(&rows)) break;
    }
}

/* A function of two numbers. `params` are the node's. Which member serves is decided by the inputs'
 * types: `row` where all tensors are f32 (give it only where it equals `real` rounded once),
 * `natural` where both are u64, `whole` where neither is real, else `real`. A null member falls to
 * the next (natural, whole, real). Integers are stored with wrap. */
typedef struct tn_broadcast_binary {
    double (*real)(const void *params, double a, double b);
    int64_t (*whole)(const void *params, int64_t a, int64_t b);
    uint64_t (*natural)(const void *params, uint64_t a, uint64_t b);
    tn_row_function row;
} tn_broadcast_binary;
/* The reference of an operator with inputs 0 and 1 and output 0. */
tn_status tn_broadcast_compute(tn_call *call, const tn_broadcast_binary *function);
/* The same with the second input's shape seen as another one (of as many elements). */
tn_status tn_broadcast_compute_shaped(tn_call *call, const tn_broadcast_binary *function,
                                      uint32_t rank, const int64_t *second_shape);

#ifdef __cplusplus
}
#endif

#endif
