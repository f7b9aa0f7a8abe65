/* SPDX-License-Identifier: Apache-2.0 */
/* Timing of conversions between storages, on the processor and where a device is concerned; see
 * timing.h. That of candidates is timing.c. */
#include "base/hash.h"
#include "base/status.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"
#include "builder/timing/timing_cache.h"
#include "builder/timing/timing_policy.h"
#include "builder/timing/timing_private.h"
#include "tensor/convert.h"

static tn_status convert_items(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_timing_work *work = user;
    (void)thread;
    return tn_convert(work->from, work->to, begin, end);
}

static tn_status convert_once(const tn_lowering *lowering, const tn_timing_work *work) {
    const tn_thread_pool *pool = lowering->options->pool;
    int64_t items = tn_convert_items(work->from, work->to);
    if (!pool || pool->threads <= 1) return tn_convert(work->from, work->to, 0, items);
    return pool->parallel_for(pool, items, 1, convert_items, (void *)(uintptr_t)work);
}

static tn_status measure_reformat(tn_lowering *lowering, tn_tensor_storage *from,
                                  tn_tensor_storage *to, tn_timing_samples *out_samples) {
    const tn_timing_bounds bounds = tn_timing_bounds_of_conversions(lowering, false);
    tn_timing_work work = {.once = convert_once, .from = &from->tensor, .to = &to->tensor},
                   *const works[] = {&work};
    tn_timing_blocks *blocks = &lowering->timing->blocks[0];
    uint32_t failed = 0;
    blocks->used = 0;
    TN_TRY(tn_timing_give_data(lowering, blocks, &from->tensor));
    TN_TRY(tn_timing_give_data(lowering, blocks, &to->tensor));
    TN_TRY(tn_timing_warm_up(lowering, &work, &bounds));
    TN_TRY(tn_timing_rounds(lowering, works, 1, &bounds, &failed));
    *out_samples = work.samples;
    return TN_OK;
}

static tn_status describe_tensor(const tn_lowering *lowering, tn_tensor_id tensor,
                                 tn_storage storage, tn_tensor_storage *out_tensor) {
    TN_TRY(tn_tensor_init(out_tensor, tn_lower_type(lowering, tensor, storage), storage.format,
                          &lowering->points[1]->tensors[tensor].storage.shape));
    out_tensor->tensor.quantization = tn_lower_quantization(lowering, tensor, storage);
    return TN_OK;
}

tn_status tn_timing_conversion(tn_lowering *lowering, uint64_t key, tn_tensor_storage *from,
                               uint32_t from_space, tn_tensor_storage *to, uint32_t to_space,
                               double *out_ns, bool *out_is_known) {
    tn_timing_cache *cache = lowering->timing->cache;
    tn_timing_samples samples = {0};
    tn_timing_result result;
    *out_is_known = false;
    if (!tn_timing_cache_get(cache, key, &result)) {
        if (tn_timing_is_over(lowering)) return TN_OK;
        if (from_space == TN_SPACE_HOST && to_space == TN_SPACE_HOST)
            TN_TRY(measure_reformat(lowering, from, to, &samples));
        else
            TN_TRY(tn_timing_transfer(lowering, &from->tensor, from_space, &to->tensor, to_space,
                                      &samples));
        result = (tn_timing_result){samples.least, tn_timing_samples_noise(&samples),
                                    tn_timing_samples_floor(&samples), 0};
        TN_TRY(tn_timing_cache_set(cache, key, result));
    }
    *out_ns = result.ns;
    *out_is_known = true;
    return TN_OK;
}

static tn_status time_reformat(tn_lowering *lowering, tn_tensor_id tensor, tn_storage from,
                               tn_storage to, double *out_ns, bool *out_is_known) {
    const tn_tensor_storage *known = &lowering->points[1]->tensors[tensor].storage;
    const bool is_remote = from.space != TN_SPACE_HOST || to.space != TN_SPACE_HOST;
    tn_tensor_storage source, target;
    *out_is_known = false;
    if (!lowering->timing || !lowering->facts->tensors[tensor]) return TN_OK;
    /* The number is raised when conversions become faster, as kernels' revisions are. */
    uint64_t key = tn_timing_key_device(lowering, tn_hash_add_text(0, "reformat 2"), is_remote);
    key = tn_timing_key_storage(lowering, key, tensor, from);
    key = tn_timing_key_storage(lowering, key, tensor, to);
    key = tn_hash_add_u64(key, known->shape.rank);
    key = tn_hash_add(key, known->shape.extents, known->shape.rank * sizeof(int64_t));
    TN_TRY(describe_tensor(lowering, tensor, from, &source));
    TN_TRY(describe_tensor(lowering, tensor, to, &target));
    if (source.tensor.bytes + target.tensor.bytes > tn_timing_policy.most_bytes) return TN_OK;
    return tn_timing_conversion(lowering, key, &source, from.space, &target, to.space, out_ns,
                                out_is_known);
}

/* A transfer that converts is a copy as the host has the tensor, the same for every storage on the
 * device, and a conversion there: timed as one, the copy's noise would hide what tells storages
 * apart. */
tn_status tn_timing_reformat(tn_lowering *lowering, tn_tensor_id tensor, tn_storage from,
                             tn_storage to, double *out_ns, bool *out_is_known) {
    const bool is_copy = from.type == to.type && from.format == to.format;
    if (from.space == to.space || is_copy)
        return time_reformat(lowering, tensor, from, to, out_ns, out_is_known);
    tn_storage between = from.space == TN_SPACE_HOST ? from : to;
    double copy_ns = 0, convert_ns = 0;
    bool is_copy_known = false;
    between.space = TN_SPACE_DEVICE;
    TN_TRY(time_reformat(lowering, tensor, from, between, &copy_ns, &is_copy_known));
    TN_TRY(time_reformat(lowering, tensor, between, to, &convert_ns, out_is_known));
    *out_is_known = *out_is_known && is_copy_known;
    if (*out_is_known) *out_ns = copy_ns + convert_ns;
    return TN_OK;
}
