/* SPDX-License-Identifier: Apache-2.0 */
/* CumSum: sums of all elements up to one's own along an axis, with it or without, from either end.
 */
#include <tenon/kit/lanes.h>
#include <tenon/kit/parallel.h>
#include "kit/operator/layer.h"

typedef struct cum_sum_params {
    uint64_t present;
    bool exclusive, reverse;
} cum_sum_params;

enum { CUM_SUM_X = 0, CUM_SUM_AXIS = 1 };

static const tn_field cum_sum_fields[] = {
    TN_FIELD(cum_sum_params, exclusive, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether an element is not in its own sum"),
    TN_FIELD(cum_sum_params, reverse, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether sums begin at the end"),
};

static tn_status read_lanes(tn_call *call, tn_lanes *out_lanes) {
    int64_t values[1] = {0};
    uint32_t count = 0, axis = 0;
    TN_TRY(tn_infer_require_rank(call, CUM_SUM_X, 1, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[CUM_SUM_X];
    TN_TRY(tn_infer_integers(call, CUM_SUM_AXIS, 1, values, &count));
    if (count != 1) return call->host->fail(call, TN_ERROR_SHAPE, "input 'axis' is empty");
    TN_TRY(tn_infer_axis(call, "input 'axis'", values[0], x->rank, &axis));
    *out_lanes = tn_lanes_along(x, axis, axis + 1);
    return TN_OK;
}

static tn_status cum_sum_infer(tn_call *call) {
    tn_lanes lanes = {0};
    TN_TRY(read_lanes(call, &lanes));
    return tn_infer_copy_shape(call, 0, CUM_SUM_X);
}

static void sum_lane(const tn_call *call, const tn_lanes *lanes, int64_t first) {
    const cum_sum_params *params = call->params;
    const tn_tensor *x = call->inputs[CUM_SUM_X], *y = call->outputs[0];
    const bool is_real = tn_element_is_real(x->type);
    double sum = 0;
    uint64_t whole = 0;
    for (int64_t k = 0; k < lanes->count; k++) {
        const int64_t at = first + (params->reverse ? lanes->count - 1 - k : k) * lanes->inner;
        const double before = sum;
        const uint64_t whole_before = whole;
        if (is_real)
            sum += tn_element_f64(x, at);
        else
            whole += (uint64_t)tn_element_i64(x, at);
        if (is_real)
            tn_element_set_f64(y, at, params->exclusive ? before : sum);
        else
            tn_element_set_i64(y, at, (int64_t)(params->exclusive ? whole_before : whole));
    }
}

static tn_status cum_sum_reference(tn_call *call) {
    tn_lanes lanes = {0};
    TN_TRY(read_lanes(call, &lanes));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    for (int64_t lane = 0; lane < lanes.outer * lanes.inner; lane++)
        sum_lane(call, &lanes, tn_lanes_first(&lanes, lane));
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * kernel: columns side by side; along the last axis a column is a lane */

enum { COLUMNS = 256 };

typedef struct cum_sum_job {
    const tn_tensor *x, *y;
    tn_lanes lanes;
    int64_t pieces; /* of the columns of an outer index */
    bool exclusive, reverse;
} cum_sum_job;

/* The columns of elements first, first + 1, .. below `count`; sums are of a wider type. */
#define SUM(name, type, sum_type)                                                                  \
    static void sum_##name(const cum_sum_job *job, int64_t first, int64_t count) {                 \
        sum_type sums[COLUMNS] = {0};                                                              \
        const int64_t inner = job->lanes.inner, last = job->lanes.count - 1;                       \
        for (int64_t k = 0; k <= last; k++) {                                                      \
            const int64_t at = first + (job->reverse ? last - k : k) * inner;                      \
            const type *x = (const type *)job->x->data + at;                                       \
            type *y = (type *)job->y->data + at;                                                   \
            for (int64_t i = 0; i < count; i++) {                                                  \
                const sum_type before = sums[i];                                                   \
                sums[i] = (sum_type)(before + (sum_type)x[i]);                                     \
                y[i] = (type)(job->exclusive ? before : sums[i]);                                  \
            }                                                                                      \
        }                                                                                          \
    }
SUM(f32, float, double)
SUM(f64, double, double)
SUM(byte, uint8_t, uint8_t)
SUM(short, uint16_t, uint16_t)
SUM(word, uint32_t, uint32_t)
SUM(long, uint64_t, uint64_t)

static void sum_halves(const cum_sum_job *job, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int64_t k = 0; k < job->lanes.count; k++) {
            const int64_t row = job->reverse ? job->lanes.count - 1 - k : k;
            const int64_t at = first + i + row * job->lanes.inner;
            const double before = sum;
            sum += tn_element_f64(job->x, at);
            tn_element_set_f64(job->y, at, job->exclusive ? before : sum);
        }
    }
}

static void sum_columns(const cum_sum_job *job, int64_t first, int64_t count) {
    const tn_type type = job->x->type;
    if (type == TN_F32)
        sum_f32(job, first, count);
    else if (type == TN_F64)
        sum_f64(job, first, count);
    else if (tn_element_is_real(type))
        sum_halves(job, first, count);
    else if (tn_element_bytes(type) == 1)
        sum_byte(job, first, count);
    else if (tn_element_bytes(type) == 2)
        sum_short(job, first, count);
    else if (tn_element_bytes(type) == 4)
        sum_word(job, first, count);
    else
        sum_long(job, first, count);
}

/* An item is a piece of the columns of an outer index. */
static tn_status sum_pieces(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const cum_sum_job *job = user;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t column = item % job->pieces * COLUMNS, left = job->lanes.inner - column;
        sum_columns(job, item / job->pieces * job->lanes.count * job->lanes.inner + column,
                    left < COLUMNS ? left : COLUMNS);
    }
    return TN_OK;
}

static tn_status cum_sum_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const cum_sum_params *params = call->params;
    cum_sum_job job = {.x = call->inputs[CUM_SUM_X],
                       .y = call->outputs[0],
                       .exclusive = params->exclusive,
                       .reverse = params->reverse};
    TN_TRY(read_lanes(call, &job.lanes));
    if (tn_element_count(job.y) == 0) return TN_OK;
    job.pieces = (job.lanes.inner + COLUMNS - 1) / COLUMNS;
    const int64_t columns = job.lanes.inner < COLUMNS ? job.lanes.inner : COLUMNS;
    return call->host->parallel_for(call, job.lanes.outer * job.pieces,
                                    tn_parallel_grain(GRAIN, columns * job.lanes.count), sum_pieces,
                                    &job);
}

static const tn_port cum_sum_inputs[] = {
    TN_PORT("x", "T:number", 0, "any tensor"),
    TN_PORT("axis", "i64|i32", TN_PORT_VALUE_NEEDED, "the axis; negative: from the end"),
};
static const tn_port cum_sum_outputs[] = {
    TN_PORT("y", "T", 0, "the sums; integers wrap"),
};
static const char *const cum_sum_cases[] = {
    "| x=f32[5]{1,2,3,4,5} axis=i64[]{0}",
    "exclusive=1 | x=f32[2,3] axis=i32[]{1}",
    "reverse=1 | x=f64[2,3,4] axis=i64[1]{-2}",
    "exclusive=1 reverse=1 | x=i32[3,4] axis=i64[]{0}",
    "| x=u8[3]{200,100,7} axis=i64[]{0}",
    "| x=f32[0,3] axis=i64[]{1}",
    "| x=f16[3,9] axis=i64[]{1}",
    "reverse=1 | x=i8[2,5,300] axis=i64[]{1}",
    "exclusive=1 | x=u64[4]{18446744073709551615,2,3,4} axis=i64[]{0}",
    "| x=i16[2,9] axis=i64[]{1}",
    "| x=f32[40,1000] axis=i64[]{0}",
};

TN_OPERATOR(cum_sum, "", "CumSum", 11, "Running sums along an axis.",
            TN_FIELDS(cum_sum_params, cum_sum_fields));

static const tn_kernel cum_sum_columns = {
    TN_KERNEL_BEGIN("cpu", "", "CumSum", "columns", 1, "Columns side by side, on all threads."),
    .traits = TN_KERNEL_DETERMINISTIC,
    .run = cum_sum_run,
};

TN_LAYER(cum_sum, TN_OPERATORS(&cum_sum_11), TN_KERNELS(&cum_sum_columns));
