/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of quantized.h: rows of rows.h, and tables of kit/math/byte_table.h, on all threads.
 */
#include "kit/int8/look_up_step.h"
#include "kit/math/byte_table.h"
#include "kit/operator/physical.h"
#include "quantized/quantized.h"
#include <tenon/kit/broadcast.h>

enum { GRAIN = 16384 };

typedef struct levels {
    const tn_quantized_level *rows;
    void (*look_up)(const tn_byte_table *table, int64_t count, const int8_t *from, int8_t *to);
} levels;
static const levels level_baseline = {&tn_quantized_baseline, tn_byte_table_apply},
                    level_avx2 = {&tn_quantized_avx2, tn_byte_table_apply_avx2},
                    level_avx512 = {&tn_quantized_avx512, tn_byte_table_apply_avx512};

/* ----------------------------------------------------------------------------------------------
 * QLinearAdd, QLinearMul, and a table behind them */

typedef struct pair_job {
    const levels *level;
    tn_quantized_pair pair;
    tn_quantized_row row;
    tn_byte_table table;
    bool has_table;                /* that is no bounds of `pair` */
    const tn_broadcast_rows *rows; /* at the first row */
    const uint8_t *a, *b;
    uint8_t *y;
} pair_job;

/* Other formats than linear have the axes of the output all. */
static tn_status pair_accepts(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    if (!tn_look_up_fits(call, tn_infer_input(call, TN_PAIR_Y_ZERO))) return TN_ERROR_UNSUPPORTED;
    if (y->format == TN_LINEAR) return TN_OK;
    return call->inputs[TN_PAIR_A]->rank == y->rank && call->inputs[TN_PAIR_B]->rank == y->rank
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

static void add_input(tn_broadcast_rows *rows, const tn_tensor *y, const tn_tensor *input) {
    tn_physical physical;
    if (y->format == TN_LINEAR) {
        tn_broadcast_add(rows, input->rank, input->shape);
        return;
    }
    tn_physical_init(&physical, y->format, input->rank, input->shape);
    tn_broadcast_add(rows, physical.rank, physical.shape);
}

static void pair_row(const void *user, const tn_broadcast_rows *rows, int64_t first,
                     int64_t count) {
    const pair_job *job = user;
    const int64_t a_step = rows->stride[0], b_step = rows->stride[1];
    uint8_t *y = job->y + rows->output_offset + first;
    job->row(&job->pair, count, job->a + rows->offset[0] + first * a_step, a_step,
             job->b + rows->offset[1] + first * b_step, b_step, y);
    if (job->has_table) job->level->look_up(&job->table, count, (const int8_t *)y, (int8_t *)y);
}

static tn_status pair_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const pair_job *job = user;
    (void)thread;
    tn_broadcast_elements(job->rows, begin, end, pair_row, job);
    return TN_OK;
}

static void read_table(const tn_call *call, pair_job *job) {
    const uint8_t *table = tn_look_up_table(call);
    const uint8_t flip = job->pair.y_flip;
    int32_t low, high;
    if (!table) return;
    job->has_table = !tn_look_up_bounds(table, flip != 0, &low, &high);
    if (job->has_table) {
        tn_byte_table_read(&job->table, table);
        return;
    }
    job->pair.y_low = (uint8_t)(low + flip);
    job->pair.y_high = (uint8_t)(high + flip);
}

static tn_status pair_run(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    tn_broadcast_rows rows;
    tn_physical physical;
    const levels *level = call->user;
    pair_job job = {.level = level,
                    .row = tn_quantized_is_product(call) ? level->rows->multiply : level->rows->add,
                    .rows = &rows,
                    .a = call->inputs[TN_PAIR_A]->data,
                    .b = call->inputs[TN_PAIR_B]->data,
                    .y = y->data};
    tn_quantized_pair_read(call, &job.pair);
    read_table(call, &job);
    tn_physical_init(&physical, y->format, y->rank, y->shape);
    tn_broadcast_init(&rows, physical.rank, physical.shape);
    add_input(&rows, y, call->inputs[TN_PAIR_A]);
    add_input(&rows, y, call->inputs[TN_PAIR_B]);
    if (!tn_broadcast_begin(&rows)) return TN_OK;
    return call->host->parallel_for(call, tn_infer_product(physical.shape, 0, physical.rank), GRAIN,
                                    pair_elements, &job);
}

static const char *const pair_combinations[] = {
    "u8|i8, f32, *?, u8|i8, f32, *?, f32, *? -> u8|i8",
    "u8|i8:nhwc, f32, *?, u8|i8:nhwc, f32, *?, f32, *? -> u8|i8:nhwc"};
#define PAIR_KERNELS(prefix, operator_name)                                                        \
    TN_LEVEL_KERNELS_OF(                                                                           \
        static, prefix, TN_LEVELS(level), "com.microsoft", 2, operator_name, "rows",               \
        "Rows of 8-bit elements on all threads.", .absorbs = TN_FACET_LOOK_UP,                     \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                                   \
        TN_COMBINATIONS(pair_combinations), .accepts = pair_accepts, .run = pair_run)
PAIR_KERNELS(sum, "QLinearAdd");
PAIR_KERNELS(product, "QLinearMul");

/* ----------------------------------------------------------------------------------------------
 * LookUp */

typedef struct look_up_job {
    const levels *level;
    tn_byte_table table;
    const int8_t *from;
    int8_t *to;
} look_up_job;

static tn_status look_up_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const look_up_job *job = user;
    (void)thread;
    job->level->look_up(&job->table, end - begin, job->from + begin, job->to + begin);
    return TN_OK;
}

static tn_status look_up_run(tn_call *call) {
    look_up_job job = {
        .level = call->user, .from = call->inputs[0]->data, .to = call->outputs[0]->data};
    tn_byte_table_read(&job.table, call->inputs[1]->data);
    return call->host->parallel_for(call, (int64_t)call->outputs[0]->bytes, GRAIN, look_up_elements,
                                    &job);
}

static const char *const look_up_combinations[] = {"u8|i8, u8|i8 -> u8|i8",
                                                   "u8|i8:nhwc, u8|i8 -> u8|i8:nhwc"};
TN_LEVEL_KERNELS_IN("Tenon", look_up, level, "LookUp", "table", "Bytes looked up on all threads.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                    TN_COMBINATIONS(look_up_combinations), .run = look_up_run);

const tn_kernel *const tn_quantized_kernels[3] = {TN_LEVEL_LIST(sum), TN_LEVEL_LIST(product),
                                                  TN_LEVEL_LIST(look_up)};
