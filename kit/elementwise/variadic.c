/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of variadic.h. */
#include "kit/elementwise/variadic.h"
#include "kit/math/element.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/infer.h>

const char *const tn_variadic_kernel_combinations[2] = {"f32... -> f32", "f32:nhwc... -> f32:nhwc"};

/* ------------------------------------------------------------------------------------------------
 * kernels */

/* Other formats than linear are traversed in memory order, which takes equal shapes. */
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

typedef struct fold {
    tn_combine_function function; /* null: the first input is copied */
    const float *x;
    float *y;
} fold;

static void fold_row(const void *user, const tn_broadcast_rows *rows, int64_t first,
                     int64_t count) {
    const fold *f = user;
    const float *from = f->x + rows->offset[0] + first * rows->stride[0];
    float *to = f->y + rows->output_offset + first;
    if (f->function) {
        f->function(count, to, 1, from, rows->stride[0], to);
    } else if (rows->stride[0]) {
        memcpy(to, from, (size_t)count * sizeof(*to));
    } else {
        for (int64_t i = 0; i < count; i++)
            to[i] = *from;
    }
}

/* An item is an element of the output. */
static tn_status fold_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_variadic_kernel_user *kernel = call->user;
    const tn_tensor *y = call->outputs[0];
    const float share = 1.0f / (float)call->input_count;
    (void)thread;
    for (int64_t i = begin; i < end; i += TN_ROW_PROGRAM_BLOCK) {
        const int64_t count = end - i < TN_ROW_PROGRAM_BLOCK ? end - i : TN_ROW_PROGRAM_BLOCK;
        float *block = (float *)y->data + i;
        fold f = {.y = y->data};
        for (uint32_t k = 0; k < call->input_count; k++) {
            tn_broadcast_rows rows;
            tn_broadcast_init(&rows, y->rank, y->shape);
            tn_broadcast_add(&rows, call->inputs[k]->rank, call->inputs[k]->shape);
            if (!tn_broadcast_begin(&rows)) return TN_OK;
            f.x = call->inputs[k]->data;
            tn_broadcast_elements(&rows, i, i + count, fold_row, &f);
            f.function = kernel->level->combines[kernel->combine];
        }
        if (kernel->is_mean)
            kernel->level->combines[TN_COMBINE_MUL](count, block, 1, &share, 0, block);
        tn_row_epilogue_run(call->state, kernel->level, count, block);
    }
    return TN_OK;
}

tn_status tn_variadic_kernel_run(tn_call *call) {
    enum { GRAIN = 16384 };
    return call->host->parallel_for(call, tn_element_count(call->outputs[0]), GRAIN, fold_elements,
                                    call);
}
