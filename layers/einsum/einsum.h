/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Einsum's equation, read and met with the shapes of the inputs: operator.c has the tables and the
 * reference, equation.c reads, products.c and multiply.c compute by a matrix product, gather.c
 * copies operands into the order that it needs.
 */
#ifndef TN_LAYERS_EINSUM_EINSUM_H
#define TN_LAYERS_EINSUM_EINSUM_H

#include <tenon/plugin.h>

typedef struct tn_einsum_params {
    uint64_t present;
    const char *equation;
} tn_einsum_params;

/* Labels are numbers: letters in the order of their codes, then the axes of ellipses, aligned at
 * the last one. */
enum {
    TN_EINSUM_LETTERS = 52,
    TN_EINSUM_LABELS = TN_EINSUM_LETTERS + TN_MAX_RANK,
    TN_EINSUM_MOST_INPUTS = 32
};

typedef struct tn_einsum_list {
    uint32_t count;
    uint8_t labels[TN_EINSUM_LABELS];
} tn_einsum_list;

typedef struct tn_einsum {
    uint32_t input_count;
    tn_einsum_list inputs[TN_EINSUM_MOST_INPUTS]; /* a label an axis; may repeat */
    tn_einsum_list output;                        /* distinct ones */
    int64_t extents[TN_EINSUM_LABELS];            /* -1: nobody has the label */
} tn_einsum;

/* TN_ERROR_ARGUMENT (the equation), TN_ERROR_SHAPE. */
tn_status tn_einsum_read(tn_call *call, tn_einsum *out_einsum);

/* How far each label steps in input `input`, which is row-major; 0 for those that it lacks, and
 * along axes of one element that are broadcast. */
void tn_einsum_strides(const tn_call *call, const tn_einsum *einsum, uint32_t input,
                       int64_t *out_strides);

bool tn_einsum_has(const tn_einsum_list *list, uint8_t label);
void tn_einsum_add(tn_einsum_list *list, uint8_t label);
/* The product of the labels' extents; INT64_MAX: it does not fit. */
int64_t tn_einsum_count(const tn_einsum *einsum, const tn_einsum_list *list);
/* Steps indices over the labels of a list, the last one fastest, and an offset with them; false
 * after the last, when all are zero again. */
bool tn_einsum_step(const tn_einsum *einsum, const tn_einsum_list *list, int64_t *index,
                    const int64_t *strides, int64_t *inout_offset);

/* to[o] = sum over s of from[o, s]: `order` are the labels of `to`, which is row-major, `sums`
 * those that are summed. */
typedef struct tn_einsum_gather {
    const tn_einsum *einsum;
    tn_type type; /* f32, f64, or an integer of 32 or 64 bits */
    tn_einsum_list order, sums;
    int64_t strides[TN_EINSUM_LABELS]; /* of `from` */
    const void *from;
    void *to;
} tn_einsum_gather;
/* On the engine's threads. [called: run] */
tn_status tn_einsum_gather_run(tn_call *call, const tn_einsum_gather *gather);

/* operator.c */
extern const tn_kernel tn_einsum_elements;
/* products.c */
extern const tn_kernel *const tn_einsum_kernels[4];

#endif
