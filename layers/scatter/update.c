/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of elements; see update.h. */
#include "kit/math/element.h"
#include "scatter/update.h"

#include <math.h>

enum { COPIED_AT_ONCE = 65536 }; /* bytes */

typedef struct copy_job {
    const char *from;
    char *to;
} copy_job;

static tn_status copy_bytes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const copy_job *job = user;
    (void)thread;
    memcpy(job->to + begin, job->from + begin, (size_t)(end - begin));
    return TN_OK;
}

tn_status tn_scatter_copy(tn_call *call) {
    if (call->inputs[0]->data != call->outputs[0]->data)
        tn_element_copy(call->inputs[0], call->outputs[0]);
    return TN_OK;
}

tn_status tn_scatter_copy_parallel(tn_call *call) {
    const tn_tensor *data = call->inputs[0], *output = call->outputs[0];
    const int64_t bytes = tn_element_count(output) * (int64_t)tn_element_bytes(output->type);
    copy_job job = {data->data, output->data};
    if (bytes == 0 || data->data == output->data) return TN_OK;
    return call->host->parallel_for(call, bytes, COPIED_AT_ONCE, copy_bytes, &job);
}

static double combine_floats(double a, double b, uint32_t reduction) {
    if (reduction == TN_SCATTER_ADD) return a + b;
    if (reduction == TN_SCATTER_MUL) return a * b;
    if (isnan(a) || isnan(b)) return a + b;
    return (reduction == TN_SCATTER_MAX) == (a > b) ? a : b;
}

static uint64_t combine_integers(int64_t a, int64_t b, uint32_t reduction, bool is_natural) {
    if (reduction == TN_SCATTER_ADD) return (uint64_t)a + (uint64_t)b;
    if (reduction == TN_SCATTER_MUL) return (uint64_t)a * (uint64_t)b;
    const bool is_above = is_natural ? (uint64_t)a > (uint64_t)b : a > b;
    return (uint64_t)((reduction == TN_SCATTER_MAX) == is_above ? a : b);
}

static void update_element(const tn_tensor *output, int64_t at, const tn_tensor *updates,
                           int64_t from, uint32_t reduction) {
    const tn_type type = output->type;
    if (tn_element_is_real(type)) {
        tn_element_store_f64(output->data, type, at,
                             combine_floats(tn_element_load_f64(output->data, type, at),
                                            tn_element_load_f64(updates->data, type, from),
                                            reduction));
    } else {
        const uint64_t value = combine_integers(tn_element_load_i64(output->data, type, at),
                                                tn_element_load_i64(updates->data, type, from),
                                                reduction, type == TN_U64);
        tn_element_store_i64(output->data, type, at, (int64_t)value);
    }
}

void tn_scatter_update(const tn_tensor *output, int64_t at, const tn_tensor *updates, int64_t from,
                       int64_t count, uint32_t reduction) {
    const size_t bytes = tn_element_bytes(output->type);
    if (reduction == TN_SCATTER_NONE && count > 0)
        memcpy((char *)output->data + (size_t)at * bytes,
               (const char *)updates->data + (size_t)from * bytes, (size_t)count * bytes);
    for (int64_t i = 0; i < count && reduction != TN_SCATTER_NONE; i++)
        update_element(output, at + i, updates, from + i, reduction);
}

/* Elements whose bits are moved, by their size, and those that are combined in their own type. */
#define PUT_ROW(type, value)                                                                       \
    {                                                                                              \
        const type *from = (const type *)row->updates->data + row->from;                           \
        type *to = (type *)row->output->data + row->at;                                            \
        for (int64_t i = 0; i < count; i++) {                                                      \
            type *const element = to + i * row->step + offsets[i];                                 \
            *element = (type)(value);                                                              \
        }                                                                                          \
        return;                                                                                    \
    }

static void put_elements(const tn_scatter_row *row, int64_t count, const int64_t *offsets) {
    switch (tn_element_bytes(row->output->type)) {
    case 1:
        PUT_ROW(uint8_t, from[i])
    case 2:
        PUT_ROW(uint16_t, from[i])
    case 4:
        PUT_ROW(uint32_t, from[i])
    default:
        PUT_ROW(uint64_t, from[i])
    }
}

static void add_elements(const tn_scatter_row *row, int64_t count, const int64_t *offsets) {
    switch (row->output->type) {
    case TN_F32:
        PUT_ROW(float, *element + from[i])
    case TN_F64:
        PUT_ROW(double, *element + from[i])
    case TN_I32:
        PUT_ROW(uint32_t, *element + from[i])
    case TN_I64:
        PUT_ROW(uint64_t, *element + from[i])
    default:
        for (int64_t i = 0; i < count; i++)
            update_element(row->output, row->at + i * row->step + offsets[i], row->updates,
                           row->from + i, TN_SCATTER_ADD);
    }
}

void tn_scatter_row_update(const tn_scatter_row *row, int64_t count, const int64_t *offsets,
                           uint32_t reduction) {
    if (reduction == TN_SCATTER_NONE)
        put_elements(row, count, offsets);
    else if (reduction == TN_SCATTER_ADD)
        add_elements(row, count, offsets);
    else
        for (int64_t i = 0; i < count; i++)
            update_element(row->output, row->at + i * row->step + offsets[i], row->updates,
                           row->from + i, reduction);
}
