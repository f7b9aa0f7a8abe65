/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of fold_types.h. */
#include "kit/elementwise/fold_types.h"
#include "kit/math/element.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/infer.h>

enum { BLOCK = 512 }; /* cells: two rows of them stay in the first cache */

tn_cell tn_fold_cell(tn_type type) {
    if (tn_element_is_real(type)) return TN_CELL_F64;
    if (type == TN_U64) return TN_CELL_U64;
    if (type == TN_U32) return TN_CELL_U32;
    return tn_element_bytes(type) > 4 ? TN_CELL_I64 : TN_CELL_I32;
}

static bool is_whole(tn_type type) {
    return !tn_element_is_real(type) && type != TN_BOOL;
}

tn_status tn_fold_types_accepts(tn_call *call) {
    const tn_fold_types_user *user = call->user;
    const tn_tensor *y = call->outputs[0];
    if (y->type == TN_F32 || (user->is_of_integers && !is_whole(y->type)))
        return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < call->input_count; i++)
        if (call->inputs[i] && call->inputs[i]->quantization) return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

typedef struct fold_job {
    const tn_call *call;
    const tn_cells_level *level;
    tn_cell cell;
    tn_cell_combine combine; /* null: the first input is copied */
    const tn_tensor *x;
    char *to;      /* the block's cells */
    int64_t begin; /* the block's first element of the output */
} fold_job;

static void fold_row(const void *user, const tn_broadcast_rows *rows, int64_t first,
                     int64_t count) {
    _Alignas(64) char buffer[BLOCK * sizeof(int64_t)];
    const fold_job *job = user;
    const tn_type type = job->x->type;
    const int64_t stride = rows->stride[0], at = rows->offset[0] + first * stride;
    const size_t bytes = tn_cell_bytes(job->cell);
    const void *from = (const char *)job->x->data + (size_t)at * tn_element_bytes(type);
    char *to = job->to + (size_t)(rows->output_offset + first - job->begin) * bytes;
    if (!job->combine && stride) {
        job->level->load(job->cell, type, count, from, to);
        return;
    }
    if (!tn_cell_is_own(job->cell, type)) {
        job->level->load(job->cell, type, stride ? count : 1, from, buffer);
        from = buffer;
    }
    if (job->combine) {
        job->combine(count, to, 1, from, stride, to);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(to + (size_t)i * bytes, from, bytes);
}

/* An item is an element of the output. */
static tn_status fold_elements(void *shared, int64_t begin, int64_t end, uint32_t thread) {
    _Alignas(64) char cells[BLOCK * sizeof(int64_t)];
    const tn_call *call = shared;
    const tn_fold_types_user *user = call->user;
    const tn_tensor *y = call->outputs[0];
    const tn_cell cell = tn_fold_cell(y->type);
    const tn_cell_functions *functions = &user->level->wide[cell];
    const double share = 1 / (double)call->input_count;
    (void)thread;
    for (int64_t i = begin; i < end; i += BLOCK) {
        const int64_t count = end - i < BLOCK ? end - i : BLOCK;
        fold_job job = {.call = call, .level = user->level, .cell = cell, .to = cells, .begin = i};
        for (uint32_t k = 0; k < call->input_count; k++) {
            tn_broadcast_rows rows;
            job.x = tn_infer_input(call, k);
            if (!job.x) continue;
            tn_broadcast_init(&rows, y->rank, y->shape);
            if (tn_element_count(job.x) == 1) /* a bound of Clip may have any rank */
                tn_broadcast_add(&rows, 0, NULL);
            else
                tn_broadcast_add(&rows, job.x->rank, job.x->shape);
            if (!tn_broadcast_begin(&rows)) return TN_OK;
            if (k > 0) job.combine = functions->combines[user->combines[k > 1]];
            tn_broadcast_elements(&rows, i, i + count, fold_row, &job);
        }
        if (user->is_mean) functions->combines[TN_COMBINE_MUL](count, cells, 1, &share, 0, cells);
        user->level->store(cell, y->type, count, cells,
                           (char *)y->data + (size_t)i * tn_element_bytes(y->type));
    }
    return TN_OK;
}

tn_status tn_fold_types_run(tn_call *call) {
    enum { GRAIN = 16384 };
    return call->host->parallel_for(call, tn_element_count(call->outputs[0]), GRAIN, fold_elements,
                                    call);
}
