/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CumSum and CumProd: sums and products of all elements up to one's own along an axis, with it or
 * without, from either end.
 */
#include <tenon/kit/lanes.h>
#include <tenon/kit/parallel.h>
#include "cumulative/fields.h"
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

/* The commonest types without a switch an element, several lanes together: the results are those
 * of do_lanes. An item is a group of lanes that lie beside each other, or of rows, whose sums do
 * not wait for each other. */
enum { COLUMNS = 64, ROWS = 4 };

static int64_t width_of(const lanes_job *job) {
    return job->lanes.inner == 1 ? ROWS : COLUMNS;
}

/* Groups of each outer index; of rows: of all of them. */
static int64_t groups_of(const lanes_job *job) {
    const int64_t lanes = job->lanes.inner == 1 ? job->lanes.outer : job->lanes.inner;
    return (lanes + width_of(job) - 1) / width_of(job);
}

/* A group of `width` lanes `apart` from each other, whose first element is `first`. */
#define TYPED_GROUP(name, element, number, is_product, is_exclusive)                               \
    static inline __attribute__((always_inline)) void name(                                        \
        const lanes_job *job, const int64_t width, const int64_t apart, int64_t first) {           \
        const int64_t inner = job->lanes.inner, count = job->lanes.count;                          \
        const int64_t step = job->reverse ? -inner : inner;                                        \
        const int64_t start = first + (job->reverse ? (count - 1) * inner : 0);                    \
        const element *x = (const element *)job->x->data + start;                                  \
        element *y = (element *)job->y->data + start;                                              \
        number results[COLUMNS];                                                                   \
        for (int64_t c = 0; c < width; c++)                                                        \
            results[c] = is_product;                                                               \
        for (int64_t k = 0; k < count; k++, x += step, y += step) {                                \
            for (int64_t c = 0; c < width; c++) {                                                  \
                const number before = results[c], value = (number)x[c * apart];                    \
                results[c] = is_product ? before * value : before + value;                         \
                y[c * apart] = (element)(is_exclusive ? before : results[c]);                      \
            }                                                                                      \
        }                                                                                          \
    }
#define TYPED_LANES(name, element, number)                                                         \
    TYPED_GROUP(name##_sum, element, number, 0, 0)                                                 \
    TYPED_GROUP(name##_any, element, number, job->is_product, job->exclusive)                      \
    static tn_status name(void *user, int64_t begin, int64_t end, uint32_t thread) {               \
        const lanes_job *job = user;                                                               \
        const int64_t inner = job->lanes.inner, count = job->lanes.count;                          \
        const int64_t groups = groups_of(job);                                                     \
        const bool is_sum = !job->is_product && !job->exclusive;                                   \
        (void)thread;                                                                              \
        for (int64_t item = begin; item < end; item++) {                                           \
            const int64_t at = item % groups * width_of(job);                                      \
            const int64_t left = (inner == 1 ? job->lanes.outer : inner) - at;                     \
            const int64_t width = left < width_of(job) ? left : width_of(job);                     \
            const int64_t first = inner == 1 ? at * count : item / groups * count * inner + at;    \
            const int64_t apart = inner == 1 ? count : 1;                                          \
            if (is_sum && inner == 1 && width == ROWS)                                             \
                name##_sum(job, ROWS, apart, first);                                               \
            else if (is_sum && width == COLUMNS)                                                   \
                name##_sum(job, COLUMNS, 1, first);                                                \
            else                                                                                   \
                name##_any(job, width, apart, first);                                              \
        }                                                                                          \
        return TN_OK;                                                                              \
    }
TYPED_LANES(lanes_of_f32, float, double)
TYPED_LANES(lanes_of_f64, double, double)
TYPED_LANES(lanes_of_i64, uint64_t, uint64_t)
TYPED_LANES(lanes_of_i32, uint32_t, uint32_t)

static tn_status run_typed(tn_call *call, lanes_job *job, int64_t grain) {
    const int64_t groups = groups_of(job) * (job->lanes.inner == 1 ? 1 : job->lanes.outer);
    const tn_type type = job->x->type;
    tn_body body = type == TN_F32                     ? lanes_of_f32
                   : type == TN_F64                   ? lanes_of_f64
                   : type == TN_I64 || type == TN_U64 ? lanes_of_i64
                   : type == TN_I32 || type == TN_U32 ? lanes_of_i32
                                                      : NULL;
    if (body) return call->host->parallel_for(call, groups, grain, body, job);
    return call->host->parallel_for(call, job->lanes.outer * job->lanes.inner, grain, do_lanes,
                                    job);
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
