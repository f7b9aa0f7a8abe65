/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions along axes; see reduce.h. */
#include "kit/reduce/reduce.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/parallel.h>

#include <math.h>

const tn_field tn_reduce_fields_axes[2] = {
    TN_FIELD(tn_reduce_params, axes, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "axes to reduce; absent: all"),
    TN_FIELD(tn_reduce_params, keepdims, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether reduced axes stay, with extent 1"),
};
const tn_field tn_reduce_fields_input[2] = {
    TN_FIELD(tn_reduce_params, keepdims, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether reduced axes stay, with extent 1"),
    TN_FIELD(tn_reduce_params, noop_with_empty_axes, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether no axes mean none instead of all"),
};

tn_status tn_reduce_axes(tn_call *call, uint32_t *out_mask) {
    const tn_reduce_params *params = call->params;
    bool is_later_kind = call->op->input_count > 1;
    int64_t values[TN_MAX_RANK];
    tn_i64s axes = params->axes;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    uint32_t rank = call->inputs[0]->rank;
    if (is_later_kind) {
        uint32_t count = 0;
        if (tn_infer_input(call, 1))
            TN_TRY(tn_infer_integers(call, 1, TN_MAX_RANK, values, &count));
        axes = (tn_i64s){count, values};
    }
    if (axes.count == 0) {
        bool is_noop = is_later_kind && params->noop_with_empty_axes;
        *out_mask = is_noop ? 0 : (1u << rank) - 1;
        return TN_OK;
    }
    return tn_infer_axes(call, "axes", axes.count, axes.items, rank, out_mask);
}

tn_status tn_reduce_infer(tn_call *call) {
    const tn_reduce_params *params = call->params;
    int64_t shape[TN_MAX_RANK];
    uint32_t mask = 0, rank = 0;
    TN_TRY(tn_reduce_axes(call, &mask));
    const tn_tensor *x = call->inputs[0];
    for (uint32_t i = 0; i < x->rank; i++) {
        bool is_reduced = mask >> i & 1;
        if (!is_reduced || params->keepdims) shape[rank++] = is_reduced ? 1 : x->shape[i];
    }
    return tn_infer_set_shape(call, 0, rank, shape);
}

bool tn_reduce_first(tn_reduce_lane *lane) {
    lane->at = lane->begin;
    for (uint32_t i = 0; i < lane->rank; i++)
        lane->index[i] = 0;
    return lane->count != 0;
}

bool tn_reduce_next(tn_reduce_lane *lane) {
    for (uint32_t i = lane->rank; i-- > 0;) {
        lane->at += lane->strides[i];
        if (++lane->index[i] < lane->extents[i]) return true;
        lane->at -= lane->strides[i] * lane->extents[i];
        lane->index[i] = 0;
    }
    return false;
}

/* Products may only fail to fit where a factor is zero: hence the unsigned numbers. */
void tn_reduce_lane_init(const tn_tensor *x, uint32_t mask, tn_reduce_lane *lane) {
    uint64_t stride = 1, count = 1;
    uint32_t at = x->rank;
    *lane = (tn_reduce_lane){.x = x};
    for (uint32_t i = x->rank; i-- > 0; stride *= (uint64_t)x->shape[i]) {
        if (!(mask >> i & 1)) continue;
        at--; /* from the end, moved to the front below */
        lane->extents[at] = x->shape[i];
        lane->strides[at] = (int64_t)stride;
        count *= (uint64_t)x->shape[i];
    }
    lane->rank = x->rank - at;
    lane->count = (int64_t)count;
    memmove(lane->extents, lane->extents + at, lane->rank * sizeof(*lane->extents));
    memmove(lane->strides, lane->strides + at, lane->rank * sizeof(*lane->strides));
}

double tn_reduce_product(tn_type type, const void *data, int64_t first, int64_t count,
                         int64_t stride) {
    enum { MOST = 1 << 14 /* beyond all exponents */ };
    double product = 1;
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        int exponent = 0;
        product = frexp(product * tn_element_load_f64(data, type, first + i * stride), &exponent);
        sum += exponent;
    }
    return ldexp(product, sum < -MOST ? -MOST : sum > MOST ? MOST : (int)sum);
}

/* ----------------------------------------------------------------------------------------------
 * all lanes */

typedef struct lanes_job {
    const tn_call *call;
    tn_reduce_lane kept, lane;
    tn_reduce_work work;
    const void *user;
} lanes_job;

/* Lane number `number` of those that the axes which are kept make. */
static void seek(tn_reduce_lane *kept, int64_t number) {
    kept->at = kept->begin;
    for (uint32_t i = kept->rank; i-- > 0; number /= kept->extents[i]) {
        kept->index[i] = number % kept->extents[i];
        kept->at += kept->index[i] * kept->strides[i];
    }
}

static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    tn_reduce_lane kept = job->kept, lane = job->lane;
    (void)thread;
    seek(&kept, begin);
    for (int64_t number = begin; number < end; number++) {
        lane.begin = kept.at;
        job->work(job->call, &lane, number, job->user);
        (void)tn_reduce_next(&kept);
    }
    return TN_OK;
}

tn_status tn_reduce_do(tn_call *call, uint32_t mask, bool is_parallel, tn_reduce_work work,
                       const void *user) {
    enum { GRAIN = 4096 };
    lanes_job job = {.call = call, .work = work, .user = user};
    tn_reduce_lane_init(call->inputs[0], mask, &job.lane);
    tn_reduce_lane_init(call->inputs[0], ~mask, &job.kept);
    if (job.kept.count == 0) return TN_OK;
    if (!is_parallel) return do_lanes(&job, 0, job.kept.count, 0);
    return call->host->parallel_for(call, job.kept.count,
                                    tn_parallel_grain(GRAIN, job.lane.count + 1), do_lanes, &job);
}

/* ----------------------------------------------------------------------------------------------
 * reductions */

static void reduce_lane(const tn_call *call, tn_reduce_lane *lane, int64_t number,
                        const void *user) {
    const tn_reduce_function *function = user;
    if (function->whole && !tn_element_is_real(lane->x->type))
        tn_element_set_i64(call->outputs[0], number, function->whole(lane));
    else
        tn_element_set_f64(call->outputs[0], number, function->real(lane));
}

static tn_status compute(tn_call *call, const tn_reduce_function *function, bool is_parallel) {
    uint32_t mask = 0;
    TN_TRY(tn_reduce_axes(call, &mask));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    return tn_reduce_do(call, mask, is_parallel, reduce_lane, function);
}

tn_status tn_reduce_compute(tn_call *call, const tn_reduce_function *function) {
    return compute(call, function, false);
}

tn_status tn_reduce_compute_parallel(tn_call *call, const tn_reduce_function *function) {
    return compute(call, function, true);
}
