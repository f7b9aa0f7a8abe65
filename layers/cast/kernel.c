/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cast and CastLike between all types, block by block over cells (kit/elementwise/cells.h): what is
 * loaded as cells is stored as the other type, and one of both needs nothing where the elements are
 * such cells.
 */
#include "cast/cast.h"
#include "kit/elementwise/cells.h"
#include "kit/math/element.h"

enum { BLOCK = 1024 };

typedef struct cast_job {
    const tn_cells_level *cells;
    const char *x;
    char *y;
    tn_type from, to;
} cast_job;

/* The cells that both types go through without a loss. */
static tn_cell choose_cell(tn_type from, tn_type to) {
    if (!tn_element_is_real(from)) {
        if (to == TN_F32) return TN_CELL_F32;
        if (to == TN_F64) return TN_CELL_F64;
        if (to == TN_U32) return TN_CELL_U32; /* low bits are all there is */
        if (to == TN_I32 || (tn_element_bytes(from) <= 4 && !tn_element_is_real(to) &&
                             to != TN_BOOL && tn_element_bytes(to) <= 4))
            return TN_CELL_I32;
        return from == TN_U64 ? TN_CELL_U64 : TN_CELL_I64;
    }
    return from == TN_F64 || to == TN_F64 ? TN_CELL_F64 : TN_CELL_F32;
}

/* Floats that 32 bits hold without their fraction; false: there are others, and a type that wants
 * them. */
static bool truncate_block(const cast_job *job, int64_t count, const float *x, int32_t *whole,
                           char *y) {
    if (job->to == TN_I32) {
        job->cells->truncate_32(count, x, (int32_t *)(void *)y);
        return true;
    }
    if (!job->cells->truncate_32(count, x, whole)) return false;
    if (tn_element_bytes(job->to) == 8)
        job->cells->load(TN_CELL_I64, TN_I32, count, whole, y);
    else
        job->cells->store(TN_CELL_I32, job->to, count, whole, y);
    return true;
}

static void cast_block(const cast_job *job, int64_t count, const char *x, char *y) {
    _Alignas(64) char block[BLOCK * 8];
    _Alignas(64) int64_t whole[BLOCK];
    const tn_cell cell = choose_cell(job->from, job->to);
    const bool is_truncated =
        tn_element_is_real(job->from) && !tn_element_is_real(job->to) && job->to != TN_BOOL;
    if (tn_cell_is_own(cell, job->to)) {
        job->cells->load(cell, job->from, count, x, y);
        return;
    }
    const void *cells = x;
    if (!tn_cell_is_own(cell, job->from)) {
        job->cells->load(cell, job->from, count, x, block);
        cells = block;
    }
    if (!is_truncated) {
        job->cells->store(cell, job->to, count, cells, y);
        return;
    }
    if (cell == TN_CELL_F32 && truncate_block(job, count, cells, (int32_t *)whole, y)) return;
    job->cells->truncate(cell, job->to, count, cells, whole);
    job->cells->store(TN_CELL_I64, job->to, count, whole, y);
}

/* An item is an element. */
static tn_status cast_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const cast_job *job = user;
    const int64_t from = (int64_t)tn_element_bytes(job->from),
                  to = (int64_t)tn_element_bytes(job->to);
    (void)thread;
    if (job->from == job->to) {
        memcpy(job->y + begin * to, job->x + begin * from, (size_t)((end - begin) * to));
        return TN_OK;
    }
    for (int64_t at = begin; at < end; at += BLOCK)
        cast_block(job, end - at < BLOCK ? end - at : BLOCK, job->x + at * from, job->y + at * to);
    return TN_OK;
}

static tn_status cast_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    cast_job job = {call->user, x->data, y->data, x->type, y->type};
    if (tn_element_count(y) == 0) return TN_OK;
    return call->host->parallel_for(call, tn_element_count(y), GRAIN, cast_elements, &job);
}

#define CAST_KERNELS(prefix, operator_name)                                                        \
    TN_LEVEL_KERNELS_OF(, tn_##prefix, TN_LEVELS(tn_cells), "", 1, operator_name, "rows",          \
                        "Rows of elements in another type, on all threads.",                       \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                   \
                        .accepts = tn_cast_accepts, .run = cast_run)
CAST_KERNELS(cast, "Cast");
CAST_KERNELS(cast_like, "CastLike");
