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
