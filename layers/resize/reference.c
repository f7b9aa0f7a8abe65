/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference of Resize. Nearest copies elements of any type as they are; the others work in
 * double, one axis after the other, on the block behind the first axis that changes, and round once
 * at the end.
 */
#include "kit/gemm/product.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/window/window.h"
#include "resize/resize.h"

/* All taps of one axis: output x taps. Positions outside the cropped region have no weights and
 * `is_inside` false. */
typedef struct resize_table {
    int64_t *indices;
    double *weights;
    bool *is_inside;
} resize_table;

static void destroy_table(const tn_call *call, resize_table *table) {
    call->host->deallocate(call->host, table->indices);
    call->host->deallocate(call->host, table->weights);
    call->host->deallocate(call->host, table->is_inside);
    *table = (resize_table){0};
}

static tn_status create_table(tn_call *call, const tn_resize_plan *plan, uint32_t index,
                              resize_table *out_table) {
    const tn_resize_axis *axis = &plan->axes[index];
    int64_t count;
    void *memory[3] = {NULL, NULL, NULL};
    if (!tn_infer_multiply(axis->output, axis->taps, &count)) count = INT64_MAX;
    tn_status status = tn_product_allocate(call, count, sizeof(int64_t), &memory[0]);
    if (status == TN_OK) status = tn_product_allocate(call, count, sizeof(double), &memory[1]);
    if (status == TN_OK) status = tn_product_allocate(call, axis->output, 1, &memory[2]);
    resize_table table = {memory[0], memory[1], memory[2]};
    if (status != TN_OK) {
        destroy_table(call, &table);
        return status;
    }
    for (int64_t i = 0; i < axis->output; i++) {
        int64_t at = i * axis->taps;
        table.is_inside[i] = tn_resize_taps(plan, index, i, table.indices + at, table.weights + at);
    }
    *out_table = table;
    return TN_OK;
}

/* --- nearest -----------------------------------------------------------------------------------
 */

/* The offset of an output position's element in the input; -1 outside the cropped region. */
static int64_t find_element(const tn_resize_plan *plan, const resize_table *tables,
                            const int64_t *position) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < plan->rank; i++) {
        if (!tables[i].is_inside[position[i]]) return -1;
        offset = offset * plan->axes[i].input + tables[i].indices[position[i]];
    }
    return offset;
}

static void copy_nearest(const tn_call *call, const tn_resize_plan *plan,
                         const resize_table *tables) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    size_t bytes = tn_element_bytes(x->type);
    int64_t position[TN_MAX_RANK] = {0}, extents[TN_MAX_RANK], at = 0;
    for (uint32_t i = 0; i < plan->rank; i++)
        extents[i] = plan->axes[i].output;
    do {
        int64_t from = find_element(plan, tables, position);
        if (from < 0)
            tn_element_store_f64(y->data, y->type, at, plan->extrapolation_value);
        else
            memcpy((char *)y->data + (size_t)at * bytes,
                   (const char *)x->data + (size_t)from * bytes, bytes);
        at++;
    } while (tn_window_step(plan->rank, extents, position));
}

static tn_status resize_nearest(tn_call *call, const tn_resize_plan *plan) {
    resize_table tables[TN_MAX_RANK] = {{0}};
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < plan->rank && status == TN_OK; i++)
        status = create_table(call, plan, i, &tables[i]);
    if (status == TN_OK) copy_nearest(call, plan, tables);
    for (uint32_t i = 0; i < plan->rank; i++)
        destroy_table(call, &tables[i]);
    return status;
}

/* --- linear and cubic --------------------------------------------------------------------------
 */

/* from [outer, input, inner] to [outer, output, inner] along one axis. */
static void resample(const tn_resize_plan *plan, uint32_t index, const resize_table *table,
                     int64_t outer, int64_t inner, const double *from, double *to) {
    const tn_resize_axis *axis = &plan->axes[index];
    for (int64_t row = 0; row < outer * axis->output; row++) {
        int64_t position = row % axis->output, base = row / axis->output * axis->input;
        double *values = to + row * inner;
        for (int64_t j = 0; j < inner; j++)
            values[j] = table->is_inside[position] ? 0 : plan->extrapolation_value;
        if (!table->is_inside[position]) continue;
        for (int64_t t = 0; t < axis->taps; t++) {
            double weight = table->weights[position * axis->taps + t];
            const double *input = from + (base + table->indices[position * axis->taps + t]) * inner;
            if (weight == 0) continue; /* what is not looked at may be infinite */
            for (int64_t j = 0; j < inner; j++)
                values[j] += weight * input[j];
        }
    }
}

typedef struct resize_block {
    uint32_t first;        /* the first axis that changes */
    int64_t count;         /* blocks: the extents before it */
    int64_t input, output; /* elements of a block */
    int64_t largest;       /* elements of the largest step between */
} resize_block;

static resize_block find_block(const tn_resize_plan *plan) {
    resize_block block = {.count = 1};
    int64_t shape[TN_MAX_RANK];
    for (uint32_t i = 0; i < plan->rank; i++)
        shape[i] = plan->axes[i].input;
    while (block.first < plan->rank && plan->axes[block.first].is_identity)
        block.count *= shape[block.first++];
    block.input = block.output = block.largest = tn_infer_product(shape, block.first, plan->rank);
    for (uint32_t i = block.first; i < plan->rank; i++) {
        shape[i] = plan->axes[i].output;
        block.output = tn_infer_product(shape, block.first, plan->rank);
        if (block.output > block.largest) block.largest = block.output;
    }
    return block;
}

/* One block through all its axes; the result is in one of the two buffers. */
static double *resize_one(const tn_resize_plan *plan, const resize_table *tables, uint32_t first,
                          double *from, double *to) {
    int64_t shape[TN_MAX_RANK];
    for (uint32_t i = 0; i < plan->rank; i++)
        shape[i] = plan->axes[i].input;
    for (uint32_t i = first; i < plan->rank; i++) {
        if (plan->axes[i].is_identity) continue;
        resample(plan, i, &tables[i], tn_infer_product(shape, first, i),
                 tn_infer_product(shape, i + 1, plan->rank), from, to);
        shape[i] = plan->axes[i].output;
        double *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

tn_status tn_resize_smooth(tn_call *call, const tn_resize_plan *plan, const tn_resize_ends *ends) {
    resize_table tables[TN_MAX_RANK] = {{0}};
    resize_block block = find_block(plan);
    void *buffers[2] = {NULL, NULL};
    tn_status status = tn_product_allocate(call, block.largest, sizeof(double), &buffers[0]);
    if (status == TN_OK)
        status = tn_product_allocate(call, block.largest, sizeof(double), &buffers[1]);
    for (uint32_t i = block.first; i < plan->rank && status == TN_OK; i++)
        if (!plan->axes[i].is_identity) status = create_table(call, plan, i, &tables[i]);
    for (int64_t i = 0; i < block.count && status == TN_OK; i++) {
        ends->read(call, i * block.input, block.input, buffers[0]);
        const double *result = resize_one(plan, tables, block.first, buffers[0], buffers[1]);
        ends->write(call, i * block.output, block.output, result);
    }
    for (uint32_t i = 0; i < plan->rank; i++)
        destroy_table(call, &tables[i]);
    call->host->deallocate(call->host, buffers[0]);
    call->host->deallocate(call->host, buffers[1]);
    return status;
}

static void read_elements(const tn_call *call, int64_t begin, int64_t count, double *to) {
    const tn_tensor *x = call->inputs[0];
    tn_element_read_f64(x->data, x->type, begin, 1, count, to);
}

static void write_elements(const tn_call *call, int64_t begin, int64_t count, const double *from) {
    const tn_tensor *y = call->outputs[0];
    tn_element_write_f64(y->data, y->type, begin, count, from);
}

static bool is_copy(const tn_resize_plan *plan) {
    uint32_t i = 0;
    while (i < plan->rank && plan->axes[i].is_identity)
        i++;
    return i == plan->rank;
}

tn_status tn_resize_reference(tn_call *call) {
    static const tn_resize_ends ends = {read_elements, write_elements};
    tn_resize_plan plan;
    TN_TRY(tn_resize_read(call, &plan));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    if (plan.mode == TN_RESIZE_NEAREST) return resize_nearest(call, &plan);
    if (is_copy(&plan)) {
        tn_element_copy(call->inputs[0], call->outputs[0]);
        return TN_OK;
    }
    return tn_resize_smooth(call, &plan, &ends);
}
