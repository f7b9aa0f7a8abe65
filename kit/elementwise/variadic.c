/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of variadic.h. */
#include "kit/elementwise/variadic.h"
#include "kit/math/element.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/infer.h>

const char *const tn_variadic_kernel_combinations[2] = {"f32... -> f32", "f32:nhwc... -> f32:nhwc"};

/* Does `count` elements of the output from `begin` on, of one input's: `at` counts from `begin`. */
typedef void (*piece)(void *user, const tn_tensor *x, int64_t at, int64_t count, int64_t x_first,
                      int64_t x_stride);

static void walk_input(const tn_tensor *x, const tn_tensor *y, int64_t begin, int64_t count,
                       piece visit, void *user) {
    tn_broadcast_rows rows;
    tn_broadcast_init(&rows, y->rank, y->shape);
    tn_broadcast_add(&rows, x->rank, x->shape);
    if (!tn_broadcast_begin(&rows)) return;
    int64_t first = begin % rows.count, at = 0;
    tn_broadcast_seek(&rows, begin / rows.count);
    while (at < count) {
        const int64_t left = rows.count - first;
        const int64_t some = count - at < left ? count - at : left;
        visit(user, x, at, some, rows.offset[0] + first * rows.stride[0], rows.stride[0]);
        at += some;
        first = 0;
        if (!tn_broadcast_next(&rows)) return;
    }
}

/* ------------------------------------------------------------------------------------------------
 * kernels */

/* Other formats than linear are walked as they lie, which takes equal shapes. */
tn_status tn_variadic_kernel_accepts(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    if (!tn_row_epilogue_accepts(call)) return TN_ERROR_UNSUPPORTED;
    for (uint32_t k = 0; k < call->input_count && y->format != TN_LINEAR; k++) {
        const tn_tensor *x = call->inputs[k];
        if (x->rank != y->rank || tn_element_count(x) != tn_element_count(y))
            return TN_ERROR_UNSUPPORTED;
    }
    return TN_OK;
}

typedef struct variadic_job {
    const tn_call *call;
    const tn_variadic_kernel_user *user;
} variadic_job;

typedef struct combiner {
    tn_combine_function function; /* null: the first input is copied */
    float *y;
} combiner;

static void combine_piece(void *user, const tn_tensor *x, int64_t at, int64_t count,
                          int64_t x_first, int64_t x_stride) {
    const combiner *c = user;
    const float *from = (const float *)x->data + x_first;
    float *to = c->y + at;
    if (c->function) {
        c->function(count, to, 1, from, x_stride, to);
    } else if (x_stride) {
        memcpy(to, from, (size_t)count * sizeof(*to));
    } else {
        for (int64_t i = 0; i < count; i++)
            to[i] = *from;
    }
}

/* An item is an element of the output. */
static tn_status combine_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const variadic_job *job = user;
    const tn_call *call = job->call;
    const tn_rows_level *level = job->user->level;
    const tn_tensor *y = call->outputs[0];
    const float share = 1.0f / (float)call->input_count;
    (void)thread;
    for (int64_t i = begin; i < end; i += TN_ROW_PROGRAM_BLOCK) {
        const int64_t count = end - i < TN_ROW_PROGRAM_BLOCK ? end - i : TN_ROW_PROGRAM_BLOCK;
        combiner c = {.y = (float *)y->data + i};
        for (uint32_t k = 0; k < call->input_count; k++) {
            walk_input(call->inputs[k], y, i, count, combine_piece, &c);
            c.function = level->combines[job->user->combine];
        }
        if (job->user->is_mean) level->combines[TN_COMBINE_MUL](count, c.y, 1, &share, 0, c.y);
        tn_row_epilogue_run(call->state, level, count, c.y);
    }
    return TN_OK;
}

tn_status tn_variadic_kernel_run(tn_call *call) {
    enum { GRAIN = 16384 };
    variadic_job job = {.call = call, .user = call->user};
    return call->host->parallel_for(call, tn_element_count(call->outputs[0]), GRAIN,
                                    combine_elements, &job);
}
