/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of map_kernel.h. */
#include "kit/elementwise/map_kernel.h"
#include "kit/math/byte_table.h"
#include "kit/operator/physical.h"
#include <tenon/kit/strided.h>

/* Inputs after the first are bounds and the like: for 8 bits and padded lanes, of known values.
 * The formats are all the same to a map, but for the lanes that must stay zero. */
static const char *const map_combinations[] = {
    "f32:strided, f32?... -> f32:strided", "f32:nhwc:strided, f32?... -> f32:nhwc:strided",
    "f32:c16:strided, f32?... -> f32:c16:strided", "f32:c8:strided, f32?... -> f32:c8:strided"};

/* Null where what it hangs on has no value yet. */
static tn_map_function map_of(tn_call *call, float *out_alpha, float *out_beta) {
    const tn_map_kernel_user *user = call->user;
    uint32_t map = user->map;
    *out_alpha = *out_beta = 0;
    if (user->read && !user->read(call, &map, out_alpha, out_beta)) return NULL;
    return user->level->maps[map];
}

/* Whether zero becomes zero, so that padded lanes stay what they must be. */
static bool keeps_zero(tn_call *call) {
    float alpha, beta, y = 0;
    const tn_map_function function = map_of(call, &alpha, &beta);
    if (!function) return false;
    function(alpha, beta, 1, &y, &y);
    return tn_row_epilogue_keeps_zero(call, y);
}

static tn_status map_accepts(tn_call *call) {
    if (!tn_row_epilogue_accepts(call)) return TN_ERROR_UNSUPPORTED;
    if (!tn_physical_is_padded(call->outputs[0])) return TN_OK;
    return keeps_zero(call) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

typedef struct map_job {
    const tn_row_program *epilogue;
    const tn_rows_level *level;
    tn_map_function function;
    float alpha, beta;
    const float *x;
    float *y;
    tn_strided x_rows, y_rows;
} map_job;

/* Contiguous elements. */
static void map_row(const map_job *job, int64_t count, const float *x, float *y) {
    const int64_t block = job->epilogue ? TN_ROW_PROGRAM_BLOCK : count;
    for (int64_t i = 0; i < count; i += block) {
        const int64_t some = count - i < block ? count - i : block;
        job->function(job->alpha, job->beta, some, x + i, y + i);
        if (job->epilogue) tn_row_epilogue_run(job->epilogue, job->level, some, y + i);
    }
}

/* An item is an element, counted through the rows. */
static tn_status map_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const map_job *job = user;
    (void)thread;
    for (int64_t count; begin < end; begin += count) {
        count = end - begin;
        const float *x = job->x + tn_strided_at(&job->x_rows, begin, &count);
        float *y = job->y + tn_strided_at(&job->y_rows, begin, &count);
        map_row(job, count, x, y);
    }
    return TN_OK;
}

static tn_status map_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const tn_map_kernel_user *user = call->user;
    map_job job = {.epilogue = call->state,
                   .level = user->level,
                   .x = call->inputs[0]->data,
                   .y = call->outputs[0]->data};
    tn_strided_init(&job.x_rows, call->inputs[0]);
    tn_strided_init(&job.y_rows, call->outputs[0]);
    if (job.y_rows.count == 0) return TN_OK;
    job.function = map_of(call, &job.alpha, &job.beta);
    if (!job.function)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the node's function is not known");
    return call->host->parallel_for(call, job.y_rows.count, GRAIN, map_elements, &job);
}

/* ----------------------------------------------------------------------------------------------
 * 8 bits */

const char *const tn_map_bytes_combinations[2] = {"qi8, *?... -> qi8",
                                                  "qi8:nhwc, *?... -> qi8:nhwc"};

tn_status tn_map_bytes_accepts(tn_call *call) {
    float alpha, beta;
    return map_of(call, &alpha, &beta) && tn_row_epilogue_accepts(call) &&
                   tn_byte_scale(call->inputs[0]) != 0 && tn_byte_scale(call->outputs[0]) != 0
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

tn_status tn_map_bytes_fill(tn_call *call, const tn_row_program *program, float *values) {
    const float to = tn_byte_scale(call->outputs[0]);
    float scratch[TN_ROW_PROGRAM_SCRATCH];
    const float *const tensors[] = {values};
    const int64_t strides[] = {1};
    TN_TRY(tn_kernel_state_create(call, sizeof(tn_byte_table)));
    tn_byte_table *table = call->state;
    if (program)
        tn_row_program_run(program, &tn_rows_baseline, 256, tensors, strides, scratch, values);
    for (int i = 0; i < 256; i++)
        table->values[i] = tn_byte_round(values[i], to);
    return TN_OK;
}

void tn_map_bytes_values(const tn_call *call, float *out_values) {
    const float from = tn_byte_scale(call->inputs[0]);
    for (int i = 0; i < 256; i++)
        out_values[i] = (float)(i - 128) * from;
}

tn_status tn_map_bytes_prepare(tn_call *call) {
    float alpha, beta, values[256];
    tn_row_program epilogue;
    if (call->step_count > 0)
        (void)tn_row_program_make(call, TN_ROW_START_VALUE, 0, &epilogue, NULL, 0);
    tn_map_bytes_values(call, values);
    map_of(call, &alpha, &beta)(alpha, beta, 256, values, values);
    return tn_map_bytes_fill(call, call->step_count > 0 ? &epilogue : NULL, values);
}

typedef void (*apply_function)(const tn_byte_table *table, int64_t count, const int8_t *from,
                               int8_t *to);
typedef struct bytes_job {
    apply_function apply;
    const tn_byte_table *table;
    const int8_t *x;
    int8_t *y;
} bytes_job;

static tn_status map_bytes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const bytes_job *job = user;
    (void)thread;
    job->apply(job->table, end - begin, job->x + begin, job->y + begin);
    return TN_OK;
}

static tn_status run_bytes(tn_call *call, apply_function apply) {
    enum { GRAIN = 16384 };
    bytes_job job = {apply, call->state, call->inputs[0]->data, call->outputs[0]->data};
    const int64_t count = (int64_t)call->outputs[0]->bytes;
    return count ? call->host->parallel_for(call, count, GRAIN, map_bytes, &job) : TN_OK;
}

tn_status tn_map_bytes_run(tn_call *call) {
    return run_bytes(call, tn_byte_table_apply);
}
tn_status tn_map_bytes_run_avx2(tn_call *call) {
    return run_bytes(call, tn_byte_table_apply_avx2);
}
tn_status tn_map_bytes_run_avx512(tn_call *call) {
    return run_bytes(call, tn_byte_table_apply_avx512);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const struct {
    const tn_rows_level *rows;
    const char *features, *rows_name, *table_name;
    tn_status (*run_table)(tn_call *call) TN_NOEXCEPT;
} levels[TN_MAP_KERNEL_LEVELS] = {
    {&tn_rows_avx512, TN_KIT_FEATURES_avx512, "rows_avx512", "int8_table_avx512",
     tn_map_bytes_run_avx512},
    {&tn_rows_avx2, TN_KIT_FEATURES_avx2, "rows_avx2", "int8_table_avx2", tn_map_bytes_run_avx2},
    {&tn_rows_baseline, TN_KIT_FEATURES_baseline, "rows_baseline", "int8_table", tn_map_bytes_run}};

static const tn_kernel rows_kernel = {
    TN_KERNEL_BEGIN("cpu", NULL, NULL, NULL, 1, "Rows of floats on all threads."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE | TN_KERNEL_ANY_SHAPE,
    .absorbs = TN_ROW_ABSORBS,
    TN_COMBINATIONS(map_combinations),
    .accepts = map_accepts,
    .prepare = tn_row_epilogue_prepare,
    .release = tn_kernel_state_destroy,
    .run = map_run};

static const tn_kernel table_kernel = {
    TN_KERNEL_BEGIN("cpu", NULL, NULL, NULL, 1, "8-bit elements looked up in a table."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    .absorbs = TN_ROW_ABSORBS,
    TN_COMBINATIONS(tn_map_bytes_combinations),
    .accepts = tn_map_bytes_accepts,
    .prepare = tn_map_bytes_prepare,
    .release = tn_kernel_state_destroy};

void tn_map_kernels_make(const tn_map_kernel_row *row,
                         tn_map_kernel_user users[TN_MAP_KERNEL_LEVELS],
                         tn_kernel kernels[TN_MAP_KERNEL_COUNT]) {
    for (int i = 0; i < TN_MAP_KERNEL_LEVELS; i++) {
        tn_kernel *rows = kernels + i, *table = rows + TN_MAP_KERNEL_LEVELS;
        users[i] = (tn_map_kernel_user){levels[i].rows, row->map, row->read};
        *rows = tn_kernel_like(&rows_kernel, row->op, levels[i].rows_name, levels[i].features,
                               &users[i]);
        /* The table is made by floats of the lowest level: it is the same at all. */
        *table = tn_kernel_like(&table_kernel, row->op, levels[i].table_name, levels[i].features,
                                &users[TN_MAP_KERNEL_LEVELS - 1]);
        rows->domain = table->domain = row->domain;
        table->run = levels[i].run_table;
    }
}
