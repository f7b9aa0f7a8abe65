/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorScatter: a cache of keys or values with some positions along an axis replaced, from an
 * index on that each sample of the batch has for itself. The cache may be updated where it is.
 */
#include "scatter/cache.h"
#include "kit/operator/layer.h"
#include <tenon/kit/parallel.h>
#include "scatter/update.h"

enum { CACHE = 0, UPDATE = 1, INDICES = 2 };
enum { LINEAR = 0, CIRCULAR = 1 };

typedef struct cache_params {
    uint64_t present;
    int64_t axis;
    uint32_t mode;
} cache_params;

static const tn_field tensor_scatter_fields[] = {
    TN_FIELD(cache_params, axis, TN_FIELD_I64, TN_OPTIONAL, "-2",
             "axis of the positions, not the first one; negative: from the end"),
    TN_FIELD_CHOICE(cache_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "linear", "linear|circular",
                    "circular: positions past the end go on at the beginning"),
};

/* prefixes x positions x inner elements. */
typedef struct cache_job {
    const tn_call *call;
    uint32_t axis;
    int64_t prefixes, a_sample; /* prefixes, and those of a sample of the batch */
    int64_t positions, updates; /* of the cache, and of the update */
    int64_t inner;
} cache_job;

static tn_status read_job(tn_call *call, cache_job *job) {
    const cache_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, CACHE, 2, TN_MAX_RANK));
    const tn_tensor *cache = call->inputs[CACHE], *indices = tn_infer_input(call, INDICES);
    TN_TRY(tn_infer_require_rank(call, UPDATE, cache->rank, cache->rank));
    const tn_tensor *update = call->inputs[UPDATE];
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, cache->rank, &job->axis));
    if (job->axis == 0)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' names the batch, axis 0");
    for (uint32_t i = 0; i < cache->rank; i++)
        if (i == job->axis ? update->shape[i] > cache->shape[i]
                           : update->shape[i] != cache->shape[i])
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "axis %u of input 'update' has %lld elements, that of "
                                    "'past_cache' %lld",
                                    i, (long long)update->shape[i], (long long)cache->shape[i]);
    if (indices) TN_TRY(tn_infer_require_rank(call, INDICES, 1, 1));
    if (indices && indices->shape[0] != cache->shape[0])
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'write_indices' has %lld elements for a batch of %lld",
                                (long long)indices->shape[0], (long long)cache->shape[0]);
    job->call = call;
    job->a_sample = tn_infer_product(cache->shape, 1, job->axis);
    job->prefixes = tn_infer_product(cache->shape, 0, job->axis);
    job->positions = cache->shape[job->axis];
    job->updates = update->shape[job->axis];
    job->inner = tn_infer_product(cache->shape, job->axis + 1, cache->rank);
    return TN_OK;
}

static tn_status tensor_scatter_infer(tn_call *call) {
    cache_job job;
    TN_TRY(read_job(call, &job));
    return tn_infer_copy_shape(call, 0, CACHE);
}

/* The first position that a sample's update goes to, where there are positions. */
static int64_t first_of(const cache_job *job, int64_t sample) {
    const cache_params *params = job->call->params;
    const tn_tensor *indices = tn_infer_input(job->call, INDICES);
    int64_t first = indices ? ((const int64_t *)indices->data)[sample] : 0;
    if (params->mode == CIRCULAR) {
        first %= job->positions;
        if (first < 0) first += job->positions;
    }
    return first;
}

/* Before anything is written: a cache whose update fails stays what it was. */
static tn_status check_indices(tn_call *call, const cache_job *job) {
    const cache_params *params = call->params;
    if (params->mode == CIRCULAR) return TN_OK;
    for (int64_t i = 0; i < call->inputs[CACHE]->shape[0]; i++) {
        const int64_t first = first_of(job, i);
        if (first < 0 || first > job->positions - job->updates)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "element %lld of input 'write_indices' is %lld: %lld positions "
                                    "from there on are not all within %lld",
                                    (long long)i, (long long)first, (long long)job->updates,
                                    (long long)job->positions);
    }
    return TN_OK;
}

/* An item is a prefix: an update goes to one range of positions, or around the end to two. */
static tn_status update_prefixes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const cache_job *job = user;
    const tn_tensor *update = job->call->inputs[UPDATE], *present = job->call->outputs[0];
    (void)thread;
    for (int64_t prefix = begin; prefix < end; prefix++) {
        const int64_t first = first_of(job, prefix / job->a_sample);
        const int64_t left = job->positions - first;
        const int64_t before = job->updates < left ? job->updates : left;
        const int64_t to = prefix * job->positions, from = prefix * job->updates;
        tn_scatter_update(present, (to + first) * job->inner, update, from * job->inner,
                          before * job->inner, TN_SCATTER_NONE);
        tn_scatter_update(present, to * job->inner, update, (from + before) * job->inner,
                          (job->updates - before) * job->inner, TN_SCATTER_NONE);
    }
    return TN_OK;
}

static tn_status tensor_scatter_reference(tn_call *call) {
    cache_job job;
    TN_TRY(read_job(call, &job));
    TN_TRY(check_indices(call, &job));
    TN_TRY(tn_scatter_copy(call));
    if (call->inputs[UPDATE]->bytes == 0) return TN_OK;
    return update_prefixes(&job, 0, job.prefixes, 0);
}

static tn_status tensor_scatter_run(tn_call *call) {
    enum { GRAIN = 65536 };
    cache_job job;
    TN_TRY(read_job(call, &job));
    TN_TRY(check_indices(call, &job));
    TN_TRY(tn_scatter_copy_parallel(call));
    if (call->inputs[UPDATE]->bytes == 0) return TN_OK;
    return call->host->parallel_for(call, job.prefixes,
                                    tn_parallel_grain(GRAIN, job.updates * job.inner),
                                    update_prefixes, &job);
}

static const tn_port tensor_scatter_inputs[] = {
    TN_PORT("past_cache", "T:any", 0, "batch, axes of which one is that of the positions"),
    TN_PORT("update", "T", 0, "as the cache, of at most as many positions"),
    TN_PORT("write_indices", "i64", TN_PORT_OPTIONAL,
            "the first position of each sample's update; not given: 0"),
};
static const tn_port tensor_scatter_outputs[] = {
    {"present_cache", "T", "the cache with its update", TN_PORT_ALIAS, 1 + CACHE, 0, 0},
};
static const char *const tensor_scatter_cases[] = {
    "| past_cache=f32[2,3,5,4] update=f32[2,3,2,4]",
    "| past_cache=f32[2,3,5,4] update=f32[2,3,2,4] write_indices=i64[2]{3,0}",
    "mode=circular | past_cache=f16[2,5,4] update=f16[2,3,4] write_indices=i64[2]{3,-1}",
    "mode=circular axis=1 | past_cache=u8[2,4,3,2] update=u8[2,4,3,2] write_indices=i64[2]{9,2}",
    "axis=-1 | past_cache=i64[1,2,7] update=i64[1,2,3] write_indices=i64[1]{4}",
    "| past_cache=bool[2,3,1] update=bool[2,0,1] write_indices=i64[2]{3,0}",
    ("axis=1 mode=circular | past_cache=f32[1,3,1]{1,2,3} update=f32[1,2,1]{7,8} "
     "write_indices=i64[1]{2} | present_cache=f32[1,3,1]{8,2,7}"),
};
const tn_operator tn_tensor_scatter_24 =
    TN_OPERATOR_TABLE(tensor_scatter, "", "TensorScatter", 24,
                      "Puts an update into a cache, from an index a sample on.",
                      TN_FIELDS(cache_params, tensor_scatter_fields));

static const char *const combinations[] = {"*, *, i64? -> *"};
const tn_kernel tn_tensor_scatter_updates = {
    TN_KERNEL_BEGIN(
        "cpu", "", "TensorScatter", "in_place_updates", 1,
        "Updates on the cache's own memory where nobody else reads it, else on a copy."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
    TN_COMBINATIONS(combinations),
    .run = tensor_scatter_run,
};
