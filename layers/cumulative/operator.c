/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CumSum and CumProd: sums and products of all elements up to one's own along an axis, with it or
 * without, from either end.
 */
#include <tenon/kit/lanes.h>
#include <tenon/kit/parallel.h>
#include "cumulative/fields.h"
#include "cumulative/row.h"
#include "kit/elementwise/cells.h"
#include "kit/operator/layer.h"

enum { X = 0, AXIS = 1 };

static tn_status read_lanes(tn_call *call, tn_lanes *out_lanes) {
    int64_t values[1] = {0};
    uint32_t count = 0, axis = 0;
    TN_TRY(tn_infer_require_rank(call, X, 1, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[X];
    TN_TRY(tn_infer_integers(call, AXIS, 1, values, &count));
    if (count != 1) return call->host->fail(call, TN_ERROR_SHAPE, "input 'axis' is empty");
    TN_TRY(tn_infer_axis(call, "input 'axis'", values[0], x->rank, &axis));
    *out_lanes = tn_lanes_along(x, axis, axis + 1);
    return TN_OK;
}

static tn_status cumulative_infer(tn_call *call) {
    tn_lanes lanes = {0};
    TN_TRY(read_lanes(call, &lanes));
    return tn_infer_copy_shape(call, 0, X);
}

typedef struct lanes_job {
    const tn_tensor *x, *y;
    tn_lanes lanes;
    bool is_product, exclusive, reverse;
} lanes_job;

/* Element `k` in the order in which lanes are added up. */
static int64_t element_of(const lanes_job *job, int64_t first, int64_t k) {
    return first + (job->reverse ? job->lanes.count - 1 - k : k) * job->lanes.inner;
}

static void real_lane(const lanes_job *job, int64_t first) {
    double result = job->is_product;
    for (int64_t k = 0; k < job->lanes.count; k++) {
        const int64_t at = element_of(job, first, k);
        const double value = tn_element_f64(job->x, at), before = result;
        result = job->is_product ? result * value : result + value;
        tn_element_set_f64(job->y, at, job->exclusive ? before : result);
    }
}

static void integer_lane(const lanes_job *job, int64_t first) {
    uint64_t result = job->is_product;
    for (int64_t k = 0; k < job->lanes.count; k++) {
        const int64_t at = element_of(job, first, k);
        const uint64_t value = (uint64_t)tn_element_i64(job->x, at), before = result;
        result = job->is_product ? result * value : result + value;
        tn_element_set_i64(job->y, at, (int64_t)(job->exclusive ? before : result));
    }
}

/* An item is a lane. */
static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    (void)thread;
    for (int64_t lane = begin; lane < end; lane++)
        if (tn_element_is_real(job->x->type))
            real_lane(job, tn_lanes_first(&job->lanes, lane));
        else
            integer_lane(job, tn_lanes_first(&job->lanes, lane));
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the same by types: lanes that lie beside each other, a row of them at a time */

enum { COLUMNS = 512, ROWS = 4 }; /* lanes that are done together: beside each other, or as rows */

/* The results before the first element, of lanes from element `at` of y on. */
static void fill_first(const lanes_job *job, int64_t at, int64_t width) {
    for (int64_t c = at; c < at + width; c++)
        if (tn_element_is_real(job->y->type))
            tn_element_set_f64(job->y, c, job->is_product);
        else
            tn_element_set_i64(job->y, c, job->is_product);
}

/* Floats of 32 and 16 bits, in double precision: those of 16 a row at a time. */
static void float_columns(const lanes_job *job, int64_t first, int64_t width) {
    const tn_cells_level *cells = TN_KIT_BEST(tn_cells);
    const tn_type type = job->x->type;
    const int64_t bytes = (int64_t)tn_element_bytes(type), start = element_of(job, first, 0);
    char *from = (char *)job->x->data + start * bytes, *to = (char *)job->y->data + start * bytes;
    double results[COLUMNS];
    float x[COLUMNS], y[COLUMNS];
    tn_cumulative_rows rows = {.count = width,
                               .steps = job->lanes.count,
                               .stride = job->reverse ? -job->lanes.inner : job->lanes.inner,
                               .is_product = job->is_product,
                               .is_exclusive = job->exclusive,
                               .x = (const float *)(void *)from,
                               .results = results,
                               .y = (float *)(void *)to};
    for (int64_t c = 0; c < COLUMNS; c++)
        results[c] = job->is_product;
    if (type == TN_F32) {
        TN_KIT_BEST(tn_cumulative_rows)(&rows);
        return;
    }
    const int64_t step = rows.stride * bytes;
    rows.steps = 1;
    rows.x = x;
    rows.y = y;
    for (int64_t k = 0; k < job->lanes.count; k++, from += step, to += step) {
        cells->load(TN_CELL_F32, type, width, from, x);
        TN_KIT_BEST(tn_cumulative_rows)(&rows);
        cells->store(TN_CELL_F32, type, width, y, to);
    }
}

/* Elements that are cells as they are: a row of results from the one before. */
static void cell_columns(const lanes_job *job, tn_cell cell, int64_t first, int64_t width) {
    const tn_cell_functions *functions = &TN_KIT_BEST(tn_cells)->wide[cell];
    const tn_cell_combine combine =
        functions->combines[job->is_product ? TN_COMBINE_MUL : TN_COMBINE_ADD];
    const int64_t bytes = (int64_t)tn_element_bytes(job->x->type);
    const char *x = job->x->data;
    char *y = job->y->data;
    for (int64_t k = 0; k < job->lanes.count; k++) {
        const int64_t at = element_of(job, first, k), last = element_of(job, first, k - 1);
        const char *from = x + (job->exclusive ? last : at) * bytes;
        if (k > 0)
            combine(width, y + last * bytes, 1, from, 1, y + at * bytes);
        else if (job->exclusive)
            fill_first(job, at, width);
        else
            memcpy(y + at * bytes, from, (size_t)(width * bytes));
    }
}

/* TN_CELL_COUNT: none; TN_CELL_F32: floats, in double precision. */
static tn_cell cell_of(tn_type type) {
    if (type == TN_F32 || type == TN_F16 || type == TN_BF16) return TN_CELL_F32;
    for (tn_cell cell = TN_CELL_F64; cell <= TN_CELL_U32; cell++)
        if (tn_cell_is_own(cell, type)) return cell;
    return TN_CELL_COUNT;
}

/* An item is a block of COLUMNS lanes of an outer index. */
static tn_status do_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    const int64_t inner = job->lanes.inner, blocks = (inner + COLUMNS - 1) / COLUMNS;
    const tn_cell cell = cell_of(job->x->type);
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t at = item % blocks * COLUMNS;
        const int64_t first = item / blocks * job->lanes.count * inner + at;
        const int64_t width = inner - at < COLUMNS ? inner - at : COLUMNS;
        if (cell == TN_CELL_F32)
            float_columns(job, first, width);
        else
            cell_columns(job, cell, first, width);
    }
    return TN_OK;
}

/* Lanes that are rows, several at once: their sums do not wait for each other. An item is a group
 * of ROWS of them; `is_usual`: sums, each element in its own. */
#define ROW_GROUP(name, element, number)                                                           \
    static inline __attribute__((always_inline)) void name##_group(                                \
        const lanes_job *job, const bool is_usual, const int64_t width, int64_t first) {           \
        const int64_t count = job->lanes.count, step = job->reverse ? -1 : 1;                      \
        const int64_t start = first * count + (job->reverse ? count - 1 : 0);                      \
        const element *x = (const element *)job->x->data + start;                                  \
        element *y = (element *)job->y->data + start;                                              \
        const bool is_product = !is_usual && job->is_product;                                      \
        const bool is_exclusive = !is_usual && job->exclusive;                                     \
        number results[ROWS];                                                                      \
        for (int64_t c = 0; c < width; c++)                                                        \
            results[c] = is_product;                                                               \
        for (int64_t k = 0; k < count; k++, x += step, y += step) {                                \
            for (int64_t c = 0; c < width; c++) {                                                  \
                const number before = results[c], value = (number)x[c * count];                    \
                results[c] = is_product ? before * value : before + value;                         \
                y[c * count] = (element)(is_exclusive ? before : results[c]);                      \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static tn_status name(void *user, int64_t begin, int64_t end, uint32_t thread) {               \
        const lanes_job *job = user;                                                               \
        (void)thread;                                                                              \
        for (int64_t first = begin * ROWS; first < end * ROWS; first += ROWS) {                    \
            const int64_t left = job->lanes.outer - first;                                         \
            if (left >= ROWS && !job->is_product && !job->exclusive)                               \
                name##_group(job, true, ROWS, first);                                              \
            else                                                                                   \
                name##_group(job, false, left < ROWS ? left : ROWS, first);                        \
        }                                                                                          \
        return TN_OK;                                                                              \
    }
ROW_GROUP(rows_of_f32, float, double)
ROW_GROUP(rows_of_f64, double, double)
ROW_GROUP(rows_of_i64, uint64_t, uint64_t)
ROW_GROUP(rows_of_i32, uint32_t, uint32_t)

static tn_status run_typed(tn_call *call, lanes_job *job, int64_t grain) {
    const tn_lanes *lanes = &job->lanes;
    const tn_type type = job->x->type;
    const tn_body rows = type == TN_F32                     ? rows_of_f32
                         : type == TN_F64                   ? rows_of_f64
                         : type == TN_I64 || type == TN_U64 ? rows_of_i64
                         : type == TN_I32 || type == TN_U32 ? rows_of_i32
                                                            : NULL;
    if (lanes->inner > 1 && cell_of(type) != TN_CELL_COUNT)
        return call->host->parallel_for(call,
                                        lanes->outer * ((lanes->inner + COLUMNS - 1) / COLUMNS),
                                        grain / COLUMNS + 1, do_columns, job);
    if (lanes->inner == 1 && rows)
        return call->host->parallel_for(call, (lanes->outer + ROWS - 1) / ROWS, grain, rows, job);
    return call->host->parallel_for(call, lanes->outer * lanes->inner, grain, do_lanes, job);
}

static tn_status compute(tn_call *call, bool is_product, bool is_parallel) {
    enum { GRAIN = 4096 };
    const tn_cumulative_params *params = call->params;
    lanes_job job = {.x = call->inputs[X],
                     .y = call->outputs[0],
                     .is_product = is_product,
                     .exclusive = params->exclusive,
                     .reverse = params->reverse};
    TN_TRY(read_lanes(call, &job.lanes));
    const int64_t count = job.lanes.outer * job.lanes.inner;
    if (tn_element_count(job.y) == 0) return TN_OK;
    if (!is_parallel) return do_lanes(&job, 0, count, 0);
    return run_typed(call, &job, tn_parallel_grain(GRAIN, job.lanes.count));
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port sum_outputs[] = {TN_PORT("y", "T", 0, "the sums; integers wrap")};
static const tn_port product_outputs[] = {TN_PORT("y", "T", 0, "the products; integers wrap")};
static const char *const cases[] = {
    "| x=f32[5]{1,2,3,4,5} axis=i64[]{0}",
    "exclusive=1 | x=f32[2,3] axis=i32[]{1}",
    "reverse=1 | x=f64[2,3,4] axis=i64[1]{-2}",
    "exclusive=1 reverse=1 | x=i32[3,4] axis=i64[]{0}",
    "| x=u8[3]{200,100,7} axis=i64[]{0}",
    "| x=f32[0,3] axis=i64[]{1}",
    "| x=f16[2,7] axis=i64[]{-1}",
    "| x=bf16[3] axis=i64[]{0}",
    "| x=f32[7,300] axis=i64[]{1}",
    "reverse=1 | x=i64[5,3] axis=i64[]{1}",
    "| x=f64[3,5,70] axis=i64[]{1}",
    "reverse=1 | x=u64[2]{18446744073709551615,3} axis=i64[]{0}",
    "| x=f32[64,512] axis=i64[]{1}",
    "reverse=1 | x=f32[2,5,70] axis=i64[]{1}",
    "exclusive=1 | x=i64[2,5,66] axis=i64[]{1}",
    "exclusive=1 reverse=1 | x=f32[4,600] axis=i64[]{0}",
    "| x=bf16[2,5,19] axis=i64[]{1}",
    "exclusive=1 | x=f16[3,33] axis=i64[]{0}",
    "reverse=1 | x=u32[6,17] axis=i64[]{0}",
    "exclusive=1 | x=f64[6,17] axis=i64[]{0}",
    "| x=i8[6,17] axis=i64[]{0}",
};

#define CUMULATIVE(prefix, of_name, version, of_product, words, output_table)                      \
    static const tn_port prefix##_inputs[] = {                                                     \
        TN_PORT("x", "T:number", 0, "any tensor"),                                                 \
        TN_PORT("axis", "i64|i32", TN_PORT_VALUE_NEEDED, "the axis; negative: from the end"),      \
    };                                                                                             \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        return compute(call, of_product, false);                                                   \
    }                                                                                              \
    static tn_status prefix##_run(tn_call *call) {                                                 \
        return compute(call, of_product, true);                                                    \
    }                                                                                              \
    static const tn_operator prefix = {TN_OPERATOR_BEGIN("", of_name, version, words),             \
                                       TN_FIELDS(tn_cumulative_params, cumulative_fields),         \
                                       TN_INPUTS(prefix##_inputs),                                 \
                                       TN_OUTPUTS(output_table),                                   \
                                       .infer = cumulative_infer,                                  \
                                       .reference = prefix##_reference,                            \
                                       TN_CASES(cases)};                                           \
    static const tn_kernel prefix##_lanes = {                                                      \
        TN_KERNEL_BEGIN("cpu", "", of_name, "lanes", 2,                                            \
                        "Lanes on all threads, in double precision."),                             \
        .traits = TN_KERNEL_DETERMINISTIC,                                                         \
        .run = prefix##_run,                                                                       \
    }
CUMULATIVE(cum_sum, "CumSum", 11, false, "Running sums along an axis.", sum_outputs);
CUMULATIVE(cum_prod, "CumProd", 26, true, "Running products along an axis.", product_outputs);

TN_LAYER(cumulative, TN_OPERATORS(&cum_sum, &cum_prod),
         TN_KERNELS(&cum_sum_lanes, &cum_prod_lanes));
