/* SPDX-License-Identifier: Apache-2.0 */
/* The rates of devices; see timing_rates.h. */
#include "builder/timing/timing_rates.h"
#include "base/hash.h"
#include "base/status.h"
#include "builder/lower/lower_facts.h"
#include "builder/timing/lower_compare.h"
#include "builder/timing/timing_cache.h"
#include "builder/timing/timing_policy.h"
#include "builder/timing/timing_private.h"

#include <math.h>
#include <string.h>

#define SMALL_BYTES 64u
/* What one item of a parallel loop over constants reads: 64 KiB. */
enum { PART_WORDS = 8192 };

/* A copy of a tensor of so many bytes. */
static tn_status time_copy(tn_lowering *lowering, uint64_t bytes, uint32_t from, uint32_t to,
                           double *out_ns, bool *out_is_known) {
    const tn_shape shape = {.rank = 1, .extents = {(int64_t)(bytes / sizeof(float))}};
    tn_tensor_storage source, target;
    TN_TRY(tn_tensor_init(&source, TN_F32, TN_LINEAR, &shape));
    TN_TRY(tn_tensor_init(&target, TN_F32, TN_LINEAR, &shape));
    uint64_t key = tn_hash_add_text(0, "rate");
    key = tn_timing_key_device(lowering, key, from == TN_SPACE_DEVICE || to == TN_SPACE_DEVICE);
    key = tn_hash_add_u64(tn_hash_add_u64(tn_hash_add_u64(key, bytes), from), to);
    return tn_timing_conversion(lowering, key, &source, from, &target, to, out_ns, out_is_known);
}

/* Leaves the rate as it is where the time is over, or says nothing. */
static tn_status time_rate(tn_lowering *lowering, uint64_t large, uint32_t from, uint32_t to,
                           tn_timing_rate *rate) {
    double small_ns = 0, large_ns = 0;
    bool is_small_known = false, is_large_known = false;
    TN_TRY(time_copy(lowering, SMALL_BYTES, from, to, &small_ns, &is_small_known));
    TN_TRY(time_copy(lowering, large, from, to, &large_ns, &is_large_known));
    if (is_small_known && is_large_known && small_ns > 0 && large_ns > small_ns)
        *rate =
            (tn_timing_rate){small_ns, 2 * (double)(large - SMALL_BYTES) / (large_ns - small_ns)};
    return TN_OK;
}

/* A device that has no memory for it now may have enough for the network. */
static tn_status time_device_rate(tn_lowering *lowering, uint32_t from, uint32_t to,
                                  tn_timing_rate *rate) {
    const tn_status status = time_rate(lowering, tn_timing_policy.rate_bytes, from, to, rate);
    if (status != TN_ERROR_MEMORY && status != TN_ERROR_UNSUPPORTED) return status;
    tn_error_clear();
    return TN_OK;
}

static void log_rate(const tn_lowering *lowering, const char *what, const tn_timing_rate *rate) {
    tn_runtime_log(lowering->graph->runtime, TN_LOG_DEBUG,
                   "%s: %.0f ns a step, %.1f bytes a nanosecond", what, rate->step_ns,
                   rate->bytes_a_ns);
}

/* The next bytes of a constant, as a kernel reads its weights. */
static tn_status read_parts(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const size_t bytes = sizeof(uint64_t);
    const char *at = (const char *)user + (size_t)begin * PART_WORDS * bytes;
    uint64_t sum = 0, word;
    (void)thread;
    for (int64_t i = 0; i < (end - begin) * PART_WORDS; i++, at += bytes) {
        memcpy(&word, at, bytes); /* elements need not be aligned for words */
        sum += word;
    }
    volatile const uint64_t kept = sum; /* or they would not be read */
    (void)kept;
    return TN_OK;
}

/* Reads the constants once on the build's threads, one behind the other as a run does. */
static tn_status read_constants(const tn_lowering *lowering, uint64_t *out_bytes) {
    const tn_graph *graph = lowering->graph;
    const tn_thread_pool *pool = lowering->options->pool;
    uint64_t bytes = 0;
    for (size_t t = 0; t < graph->tensor_count && bytes < tn_timing_policy.most_weights_bytes;
         t++) {
        const tn_graph_tensor *tensor = &graph->tensors[t];
        const int64_t parts = (int64_t)(tensor->bytes / (PART_WORDS * sizeof(uint64_t)));
        if (!tensor->is_constant || tensor->note || parts == 0) continue;
        void *data = (void *)(uintptr_t)tensor->data;
        TN_TRY(pool ? pool->parallel_for(pool, parts, 1, read_parts, data)
                    : read_parts(data, 0, parts, 0));
        bytes += (uint64_t)parts * PART_WORDS * sizeof(uint64_t);
    }
    *out_bytes = bytes;
    return TN_OK;
}

/* The shortest of several passes; the first may read a file. 0: the time is over. */
static tn_status measure_weights(tn_lowering *lowering, double *out_ns_a_byte) {
    *out_ns_a_byte = 0;
    for (uint32_t pass = 0; pass < tn_timing_policy.weights_passes && !tn_timing_is_over(lowering);
         pass++) {
        const double before_ns = tn_timing_now_ns(lowering);
        uint64_t bytes = 0;
        TN_TRY(read_constants(lowering, &bytes));
        if (bytes == 0) return TN_OK;
        const double ns = (tn_timing_now_ns(lowering) - before_ns) / (double)bytes;
        if (pass == 0 || ns < *out_ns_a_byte) *out_ns_a_byte = ns;
    }
    return TN_OK;
}

/* A copy of some other tensor says less: a machine may have a cache of hundreds of megabytes, of
 * which a network that reads as much in each run keeps nothing. */
static tn_status time_weights(tn_lowering *lowering, tn_timing_rates *rates) {
    tn_timing_cache *cache = lowering->timing->cache;
    uint64_t key = tn_hash_add_text(tn_graph_constant_bytes(lowering->graph), "weights");
    tn_timing_result known;
    key = tn_timing_key_device(lowering, key, false);
    if (!tn_timing_cache_get(cache, key, &known)) {
        known = (tn_timing_result){0};
        TN_TRY(measure_weights(lowering, &known.ns));
        if (!(known.ns > 0)) return TN_OK;
        known.floor_ns = known.ns;
        TN_TRY(tn_timing_cache_set(cache, key, known));
    }
    rates->weights_bytes_a_ns = 1 / known.ns;
    tn_runtime_log(lowering->graph->runtime, TN_LOG_DEBUG, "weights: %.1f bytes a nanosecond",
                   rates->weights_bytes_a_ns);
    return TN_OK;
}

tn_status tn_timing_rates_find(tn_lowering *lowering) {
    tn_timing_rates *rates = tn_arena_allocate(lowering->arena, 1, sizeof *rates);
    if (!rates) return tn_fail_memory("lowering a graph");
    *rates = tn_timing_policy.rates;
    lowering->rates = rates;
    lowering->is_resident =
        tn_graph_constant_bytes(lowering->graph) <= tn_timing_policy.resident_bytes;
    if (!lowering->timing || lowering->options->now_ns) return TN_OK;
    if (!tn_lower_has_device(lowering))
        return lowering->is_resident ? TN_OK : time_weights(lowering, rates);
    TN_TRY(time_device_rate(lowering, TN_SPACE_DEVICE, TN_SPACE_DEVICE, &rates->device));
    TN_TRY(time_device_rate(lowering, TN_SPACE_HOST, TN_SPACE_DEVICE, &rates->transfer));
    log_rate(lowering, "the device", &rates->device);
    log_rate(lowering, "transfers", &rates->transfer);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * kernels: the geometric mean of measured over estimated times, of a kernel that writes a format */

typedef struct kernel_fit {
    uint64_t key;
    double sum; /* of logarithms */
    uint32_t count;
} kernel_fit;
/* Kernels and formats of one build that are told apart; further ones are not kept. */
enum { FIT_LIMIT = 256 };
/* What a cache has for a factor of one: it keeps times. */
#define FIT_UNIT_NS 1e6

/* 0: it has none. */
static uint64_t fit_key(const tn_lowering *lowering, uint32_t index,
                        const tn_candidate *candidate) {
    if (!candidate->entry || candidate->kind != TN_STEP_KERNEL || candidate->is_host) return 0;
    const tn_kernel_entry *entry = candidate->entry;
    const bool has_output = lowering->graph->nodes[index].output_count > 0;
    uint64_t key = tn_hash_add_text(0, "fit");
    key = tn_timing_key_device(lowering, key, tn_lower_is_on_device(candidate));
    key = tn_hash_add_text(key, entry->library ? entry->library->name : NULL);
    key = tn_hash_add_text(tn_hash_add_text(key, entry->kernel->domain), entry->kernel->op);
    key = tn_hash_add_text(key, entry->kernel->name);
    key = tn_hash_add_u64(key, entry->kernel->revision);
    return tn_hash_add_u64(key, has_output ? candidate->outputs[0].format : TN_LINEAR);
}

double tn_timing_fit_of(const tn_lowering *lowering, uint32_t index,
                        const tn_candidate *candidate) {
    tn_timing_result known;
    if (!lowering->timing || !lowering->options->no_timing || !lowering->options->cache) return 1;
    const uint64_t key = fit_key(lowering, index, candidate);
    if (key == 0 || !tn_timing_cache_get(lowering->options->cache, key, &known)) return 1;
    return fmin(fmax(known.ns / FIT_UNIT_NS, tn_timing_policy.least_fit),
                tn_timing_policy.most_fit);
}

static void add_fit(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate,
                    kernel_fit *fits, size_t *count) {
    const double estimate = tn_lower_estimate(lowering, index, candidate);
    const uint64_t key = fit_key(lowering, index, candidate);
    size_t i = 0;
    if (key == 0 || !(estimate > 0) || !(candidate->cost > 0)) return;
    while (i < *count && fits[i].key != key)
        i++;
    if (i == FIT_LIMIT) return;
    if (i == *count) fits[(*count)++] = (kernel_fit){.key = key};
    fits[i].sum += log(candidate->cost / estimate);
    fits[i].count++;
}

tn_status tn_timing_fit_keep(tn_lowering *lowering) {
    size_t count = 0;
    if (lowering->options->no_timing || !lowering->options->cache) return TN_OK;
    kernel_fit *fits = tn_arena_allocate(lowering->arena, FIT_LIMIT, sizeof *fits);
    if (!fits) return tn_fail_memory("the factors of estimates");
    for (uint32_t n = 0; n < lowering->graph->node_count; n++)
        for (size_t i = 0; i < lowering->nodes[n].candidate_count; i++)
            if (lowering->nodes[n].candidates[i].is_measured)
                add_fit(lowering, n, &lowering->nodes[n].candidates[i], fits, &count);
    for (size_t i = 0; i < count; i++) {
        const double ns = nearbyint(FIT_UNIT_NS * exp(fits[i].sum / fits[i].count));
        TN_TRY(tn_timing_cache_set(lowering->options->cache, fits[i].key,
                                   (tn_timing_result){.ns = ns, .floor_ns = ns}));
    }
    return TN_OK;
}
