/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of combine_kernel.h. */
#include "kit/elementwise/combine_kernel.h"
#include "kit/operator/axis_broadcast.h"
#include <tenon/kit/infer.h>
#include "kit/operator/physical.h"

static const char *const combinations[] = {"f32, f32 -> f32", "f32:nhwc, f32:nhwc -> f32:nhwc",
                                           "f32:c16, f32:c16 -> f32:c16",
                                           "f32:c8, f32:c8 -> f32:c8"};

/* Other formats than linear are traversed in memory order: the inputs have all axes of the output,
 * and its channels. */
static bool fits_format(const tn_call *call, uint32_t input) {
    const tn_tensor *x = call->inputs[input], *y = call->outputs[0];
    return y->format == TN_LINEAR || (x->rank == y->rank && x->shape[1] == y->shape[1]);
}

static tn_status combine_accepts(tn_call *call) {
    const tn_combine_kernel_user *user = call->user;
    tn_row_program program;
    if (!tn_row_program_make(call, TN_ROW_START_COMBINE, user->combine, &program, NULL, 0) ||
        !fits_format(call, 0) || !fits_format(call, 1) ||
        (tn_physical_is_padded(call->outputs[0]) && !tn_row_program_keeps_zero(&program)))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

static tn_status combine_prepare(tn_call *call) {
    const tn_combine_kernel_user *user = call->user;
    return tn_row_program_prepare(call, TN_ROW_START_COMBINE, user->combine);
}

/* One more input with the extents `shape`, in the layout of the output's format. */
static void add_input(tn_broadcast_rows *rows, const tn_tensor *output, uint32_t rank,
                      const int64_t *shape) {
    tn_physical physical;
    tn_physical_init(&physical, output->format, rank, shape);
    tn_broadcast_add(rows, physical.rank, physical.shape);
}

tn_status tn_combine_rows(tn_call *call, tn_broadcast_rows *rows, int64_t *out_elements) {
    const tn_tensor *output = call->outputs[0];
    uint32_t rank = call->inputs[1]->rank;
    int64_t shape[TN_MAX_RANK];
    tn_physical physical;
    tn_physical_init(&physical, output->format, output->rank, output->shape);
    tn_broadcast_init(rows, physical.rank, physical.shape);
    add_input(rows, output, call->inputs[0]->rank, call->inputs[0]->shape);
    if (call->op->since_version < 7) TN_TRY(tn_axis_broadcast_shape(call, &rank, shape));
    add_input(rows, output, rank, call->op->since_version < 7 ? shape : call->inputs[1]->shape);
    *out_elements =
        tn_broadcast_begin(rows) ? tn_infer_product(physical.shape, 0, physical.rank) : 0;
    return TN_OK;
}

static tn_status combine_run(tn_call *call) {
    const tn_combine_kernel_user *user = call->user;
    const float *const tensors[] = {call->inputs[0]->data, call->inputs[1]->data};
    tn_broadcast_rows rows;
    int64_t elements = 0;
    TN_TRY(tn_combine_rows(call, &rows, &elements));
    if (elements == 0) return TN_OK;
    return tn_row_program_run_broadcast(call, call->state, user->level, &rows, tensors, elements);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const struct {
    const tn_rows_level *rows;
    const char *features, *rows_name, *bytes_name;
} levels[TN_COMBINE_KERNEL_LEVELS] = {
    {&tn_rows_avx512, TN_KIT_FEATURES_avx512, "rows_avx512", "int8_avx512"},
    {&tn_rows_avx2, TN_KIT_FEATURES_avx2, "rows_avx2", "int8_avx2"},
    {&tn_rows_baseline, TN_KIT_FEATURES_baseline, "rows_baseline", "int8_baseline"}};

static const tn_kernel rows_kernel = {
    TN_KERNEL_BEGIN("cpu", "", NULL, NULL, 1, "Rows of floats on all threads."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE | TN_KERNEL_ANY_SHAPE,
    .absorbs = TN_ROW_ABSORBS,
    TN_COMBINATIONS(combinations),
    .accepts = combine_accepts,
    .prepare = combine_prepare,
    .release = tn_kernel_state_destroy,
    .run = combine_run};

static const tn_kernel bytes_kernel = {
    TN_KERNEL_BEGIN("cpu", "", NULL, NULL, 1, "Rows of 8-bit elements on all threads."),
    .traits = TN_KERNEL_DETERMINISTIC,
    .absorbs = TN_ROW_ABSORBS,
    TN_COMBINATIONS(tn_combine_bytes_combinations),
    .accepts = tn_combine_bytes_accepts,
    .prepare = combine_prepare,
    .release = tn_kernel_state_destroy,
    .run = tn_combine_bytes_run};

void tn_combine_kernels_make(const tn_combine_kernel_row *row,
                             tn_combine_kernel_user users[TN_COMBINE_KERNEL_LEVELS],
                             tn_kernel kernels[TN_COMBINE_KERNEL_COUNT]) {
    for (int i = 0; i < TN_COMBINE_KERNEL_LEVELS; i++) {
        tn_kernel *rows = kernels + i, *bytes = rows + TN_COMBINE_KERNEL_LEVELS;
        users[i] = (tn_combine_kernel_user){levels[i].rows, row->combine};
        *rows = tn_kernel_like(&rows_kernel, row->op, levels[i].rows_name, levels[i].features,
                               &users[i]);
        *bytes = tn_kernel_like(&bytes_kernel, row->op, levels[i].bytes_name, levels[i].features,
                                &users[i]);
        rows->minimum_version = bytes->minimum_version = row->minimum_version;
    }
}
