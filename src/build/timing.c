/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing: see timing.h. A candidate is prepared, opened and run as the engine would, on memory of
 * its own, filled with small numbers (zeros where integers are read: they may be indices).
 */
#include "build/timing.h"
#include "base/status.h"
#include "build/candidate_call.h"
#include "build/timing_cache.h"
#include "plugin/checked_call.h"
#include "build/timing_private.h"
#include "plugin/devices.h"
#include "plugin/kernel_instance.h"

#include <string.h>

tn_status tn_timing_begin(tn_lowering *lowering) {
    if (lowering->options->no_timing || lowering->options->reference_only) return TN_OK;
    lowering->timing = tn_arena_allocate(lowering->arena, 1, sizeof *lowering->timing);
    return lowering->timing ? TN_OK : tn_fail_memory("timing");
}

void tn_timing_start_clock(tn_lowering *lowering) {
    double seconds = lowering->options->timing_seconds;
    struct tn_timing_scratch *timing = lowering->timing;
    if (!timing || timing->end_ns != 0) return;
    timing->begin_ns = tn_timing_now_ns(lowering);
    const double usual =
        tn_lower_has_device(lowering) ? 90 : 20; /* its libraries compile kernels */
    timing->end_ns = timing->begin_ns + (seconds > 0 ? seconds : usual) * 1e9;
    timing->nodes_end_ns = timing->end_ns;
    if (tn_lower_has_device(lowering))
        timing->nodes_end_ns -= TN_TIMING_CONVERSION_SHARE * (timing->end_ns - timing->begin_ns);
}

void tn_timing_limit(tn_lowering *lowering) {
    struct tn_timing_scratch *timing = lowering->timing;
    timing->again_end_ns = 2 * tn_timing_now_ns(lowering) - timing->begin_ns;
}

void tn_timing_end(tn_lowering *lowering) {
    const tn_allocator *allocator = lowering->graph->allocator;
    struct tn_timing_scratch *timing = lowering->timing;
    if (!timing) return;
    tn_timing_shares_log(lowering);
    for (size_t i = 0; i < timing->block_count; i++)
        tn_deallocate(allocator, timing->blocks[i]);
    tn_deallocate(allocator, (void *)timing->blocks);
    tn_deallocate(allocator, timing->block_bytes);
    tn_timing_end_device(lowering);
    lowering->timing = NULL;
}

bool tn_timing_is_over(const tn_lowering *lowering) {
    return tn_timing_now_ns(lowering) >= lowering->timing->end_ns;
}

bool tn_timing_is_over_for_nodes(const tn_lowering *lowering) {
    return tn_timing_now_ns(lowering) >= lowering->timing->nodes_end_ns;
}

/* The next block of scratch, at least so large. */
static tn_status take_block(tn_lowering *lowering, size_t bytes, void **out_block) {
    struct tn_timing_scratch *timing = lowering->timing;
    const tn_allocator *allocator = lowering->graph->allocator;
    size_t index = timing->used;
    if (index == timing->block_count) {
        TN_TRY(tn_grow(allocator, (void **)&timing->blocks, &timing->block_capacity, index + 1,
                       sizeof *timing->blocks));
        TN_TRY(tn_grow(allocator, (void **)&timing->block_bytes, &timing->bytes_capacity, index + 1,
                       sizeof *timing->block_bytes));
        timing->blocks[index] = NULL;
        timing->block_bytes[index] = 0;
        timing->block_count++;
    }
    if (timing->block_bytes[index] < bytes || !timing->blocks[index]) {
        tn_deallocate(allocator, timing->blocks[index]);
        timing->block_bytes[index] = 0;
        timing->blocks[index] = tn_allocate_aligned(allocator, bytes > 64 ? bytes : 64, 64);
        if (!timing->blocks[index]) return tn_fail_memory("the tensors of a kernel to be timed");
        timing->block_bytes[index] = bytes > 64 ? bytes : 64;
    }
    timing->used++;
    *out_block = timing->blocks[index];
    return TN_OK;
}

/* The first bytes again and again, up to the end. */
static void repeat(void *data, size_t first, size_t bytes) {
    for (size_t done = first; done < bytes;) {
        const size_t next = done < bytes - done ? done : bytes - done;
        memcpy((char *)data + done, data, next);
        done += next;
    }
}

/* Numbers in -0.5 .. 0.5, or all that 8 bits can stand for, without a pattern that a cache or a
 * predictor would like: they repeat after a prime number of them. Lanes of padding get them too:
 * they are read or not, in the same time. */
void tn_timing_fill(const tn_tensor *tensor) {
    size_t bytes = (size_t)tensor->bytes;
    uint32_t state = 12345;
    if (tensor->quantization) {
        const size_t first = bytes < TN_TIMING_PERIOD ? bytes : TN_TIMING_PERIOD;
        for (size_t i = 0; i < first; i++) {
            state = state * 1664525u + 1013904223u;
            ((uint8_t *)tensor->data)[i] = (uint8_t)(state >> 24);
        }
        repeat(tensor->data, first, bytes);
        return;
    }
    if (tensor->type != TN_F32 && tensor->type != TN_F16 && tensor->type != TN_BF16 &&
        tensor->type != TN_F64) {
        memset(tensor->data, 0, bytes);
        return;
    }
    const size_t each = tn_type_bytes(tensor->type), count = bytes / each;
    const size_t first = count < TN_TIMING_PERIOD ? count : TN_TIMING_PERIOD;
    for (size_t i = 0; i < first; i++) {
        state = state * 1664525u + 1013904223u;
        float value = (float)(int32_t)(state >> 16 & 1023) / 1024.0f - 0.5f;
        if (tensor->type == TN_F32)
            ((float *)tensor->data)[i] = value;
        else
            tn_element_set_f64(tensor->data, tensor->type, i, (double)value);
    }
    repeat(tensor->data, first * each, count * each);
}

/* Constants may lie anywhere in a model's file; kernels may rely on 64 bytes. */
static tn_status align_constant(tn_lowering *lowering, tn_tensor_id id, tn_tensor *tensor) {
    if (((uintptr_t)tensor->data & 63) == 0) return TN_OK;
    if (!lowering->aligned[id]) {
        char *copy = tn_arena_allocate(lowering->arena, (size_t)tensor->bytes + 64, 1);
        if (!copy) return tn_fail_memory("the tensors of a kernel to be timed");
        copy += 64 - ((uintptr_t)copy & 63);
        memcpy(copy, tensor->data, (size_t)tensor->bytes);
        lowering->aligned[id] = copy;
    }
    tensor->data = (void *)(uintptr_t)lowering->aligned[id];
    return TN_OK;
}

tn_status tn_timing_give_data(tn_lowering *lowering, tn_tensor *tensor) {
    TN_TRY(take_block(lowering, (size_t)tensor->bytes, &tensor->data));
    tn_timing_fill(tensor);
    return TN_OK;
}

/* Before prepare: constants in place. */
static tn_status align_constants(tn_lowering *lowering, uint32_t index,
                                 tn_candidate_call *candidate_call) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && candidate_call->inputs[i].tensor.data)
            TN_TRY(align_constant(lowering, node->inputs[i], &candidate_call->inputs[i].tensor));
    for (uint32_t i = 0; i < candidate_call->call.operand_count; i++) {
        tn_tensor *operand = &candidate_call->operands[i].tensor;
        if (operand->data && operand->format != TN_LINEAR) /* a run brings it in that format */
            operand->data = NULL;
        else if (operand->data)
            TN_TRY(align_constant(lowering, lowering->nodes[index].operands[i], operand));
    }
    return TN_OK;
}

/* Before run: memory for all the rest. */
static tn_status give_tensors(tn_lowering *lowering, uint32_t index,
                              tn_candidate_call *candidate_call) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    lowering->timing->used = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        tn_tensor *input = &candidate_call->inputs[i].tensor;
        if (node->inputs[i] == TN_NO_TENSOR || input->data ||
            (tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_SHAPE_ONLY))
            continue;
        TN_TRY(tn_timing_give_data(lowering, input));
    }
    for (uint32_t i = 0; i < candidate_call->call.operand_count; i++)
        if (!candidate_call->operands[i].tensor.data)
            TN_TRY(tn_timing_give_data(lowering, &candidate_call->operands[i].tensor));
    for (uint32_t i = 0; i < node->output_count; i++)
        if (candidate_call->call.outputs[i])
            TN_TRY(tn_timing_give_data(lowering, candidate_call->call.outputs[i]));
    return TN_OK;
}

/* Once in guarded memory; the numbers are made up, so that what is not finite says nothing. */
static tn_status run_checked(const tn_lowering *lowering, tn_open_kernel *opened) {
    const tn_thread_pool *pool = opened->scope.pool;
    const tn_call *call = &opened->call;
    const tn_checked_options options = {.allocator = lowering->graph->allocator,
                                        .pool = pool,
                                        .most_tensors = (size_t)call->input_count +
                                                        call->output_count + call->operand_count,
                                        .allows_not_finite = true};
    tn_checked *checked = NULL;
    TN_TRY(tn_checked_create(&options, &checked));
    if (pool) opened->scope.pool = &checked->pool;
    opened->call.host_private = &opened->scope;
    tn_checked_enter(checked);
    const tn_status status =
        tn_checked_call(checked, &opened->call, opened->prepared->kernel->run, NULL, NULL);
    tn_checked_leave(checked);
    opened->scope.pool = pool;
    tn_checked_destroy(checked);
    return status;
}

static tn_status run_often(tn_lowering *lowering, tn_open_kernel *opened, double *out_ns) {
    double best = 0, total = 0;
    tn_timing_watch watch;
    tn_timing_watch_start(lowering, &watch);
    TN_TRY(tn_open_kernel_run(opened)); /* to warm up */
    best = tn_timing_watch_stop(lowering, &watch);
    int at_least = best > TN_TIMING_LONG_RUN_NS ? 1 : TN_TIMING_RUNS_AT_LEAST;
    for (int runs = 0; runs < TN_TIMING_RUNS_AT_MOST; runs++) {
        if (runs >= at_least && (total >= TN_TIMING_RUN_NS || tn_timing_is_over(lowering))) break;
        tn_timing_watch_start(lowering, &watch);
        TN_TRY(tn_open_kernel_run(opened));
        const double ns = tn_timing_watch_stop(lowering, &watch);
        total += ns;
        if (ns < best) best = ns;
    }
    *out_ns = best;
    return TN_OK;
}

static tn_status open_and_run(tn_lowering *lowering, uint32_t index,
                              tn_candidate_call *candidate_call, tn_prepared_kernel *prepared,
                              double *out_ns) {
    tn_open_kernel opened = {0};
    if (tn_device_is_remote(prepared->call.device))
        return tn_timing_on_device(lowering, index, candidate_call, prepared, out_ns);
    void *workspace = NULL;
    TN_TRY(tn_open_kernel_init(&opened, prepared));
    tn_status status = TN_OK;
    TN_GO(tn_open_kernel_reshape(&opened));
    TN_GO(give_tensors(lowering, index, candidate_call));
    TN_GO(take_block(lowering, (size_t)opened.call.workspace_bytes, &workspace));
    opened.call.workspace = workspace;
    if (lowering->options->is_checked) TN_GO(run_checked(lowering, &opened));
    TN_GO(run_often(lowering, &opened, out_ns));
done:
    tn_open_kernel_deinit(&opened);
    return status;
}

static tn_status measure(tn_lowering *lowering, uint32_t index, const tn_candidate *candidate,
                         double *out_ns) {
    tn_candidate_call candidate_call;
    tn_prepared_kernel prepared = {.kernel = candidate->entry->kernel};
    tn_packed_store *packed = NULL;
    tn_arena *arena = NULL;
    TN_TRY(tn_arena_create(lowering->graph->allocator, &arena));
    tn_status status = TN_OK;
    TN_GO(tn_packed_store_create(lowering->graph->allocator, &packed));
    TN_GO(tn_candidate_call_init(&candidate_call, lowering, index, candidate, 1, arena));
    TN_GO(align_constants(lowering, index, &candidate_call));
    prepared.call = candidate_call.call;
    prepared.scope = candidate_call.scope;
    prepared.scope.packed = packed;
    prepared.call.host_private = &prepared.scope;
    if (tn_lower_is_on_device(candidate)) TN_GO(tn_timing_stream(lowering, &prepared.call.stream));
    const double begin = tn_timing_now_ns(lowering);
    TN_GO(tn_prepared_kernel_init(&prepared));
    const double middle = tn_timing_now_ns(lowering);
    status = open_and_run(lowering, index, &candidate_call, &prepared, out_ns);
    tn_timing_shares_add(lowering->timing, prepared.kernel, middle - begin,
                         tn_timing_now_ns(lowering) - middle);
    tn_prepared_kernel_deinit(&prepared);
done:
    tn_packed_store_destroy(packed);
    tn_arena_destroy(arena);
    return status;
}

/* Only real kernels on known shapes; an output sized by a run has a shape that the run writes. */
static bool can_time(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    if (!candidate->entry || candidate->kind != TN_STEP_KERNEL || candidate->is_host ||
        !lowering->nodes[index].is_shaped || !lowering->timing)
        return false;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (tn_graph_output_port(node->entry->op, i)->flags & TN_PORT_SIZED_BY_RUN) return false;
    return true;
}

/* The shortest time of a candidate that does at least as much; 0: none was measured. */
static double best_rival(const tn_lowering *lowering, uint32_t index,
                         const tn_candidate *candidate) {
    const tn_lower_node *node = &lowering->nodes[index];
    double best = 0;
    for (size_t i = 0; i < node->candidate_count; i++) {
        const tn_candidate *other = &node->candidates[i];
        if (other->is_measured && other->chain_count >= candidate->chain_count &&
            (best == 0 || other->cost < best))
            best = other->cost;
    }
    return best;
}

/* With `is_known_only` from the cache alone. */
static tn_status time_candidate(tn_lowering *lowering, uint32_t index, tn_candidate *candidate,
                                bool is_known_only) {
    uint64_t key = 0;
    double ns = 0;
    candidate->is_measured = candidate->is_fresh = false;
    if (!can_time(lowering, index, candidate)) return TN_OK;
    TN_TRY(tn_timing_key(lowering, index, candidate, &key));
    if (!tn_timing_cache_get(lowering->cache, key, &ns)) {
        if (is_known_only) return TN_OK;
        if (tn_timing_is_over_for_nodes(lowering)) return TN_OK;
        lowering->timing->best_ns = best_rival(lowering, index, candidate);
        TN_TRY(measure(lowering, index, candidate, &ns));
        TN_TRY(tn_timing_cache_set(lowering->cache, key, ns));
        candidate->is_fresh = true;
    }
    candidate->cost = ns;
    candidate->is_measured = true;
    return TN_OK;
}

tn_status tn_timing_candidate(tn_lowering *lowering, uint32_t index, tn_candidate *candidate) {
    return time_candidate(lowering, index, candidate, false);
}

tn_status tn_timing_recall(tn_lowering *lowering, uint32_t index, tn_candidate *candidate) {
    return time_candidate(lowering, index, candidate, true);
}

tn_status tn_timing_again(tn_lowering *lowering, uint32_t index, tn_candidate *candidate) {
    uint64_t key = 0;
    double ns = 0;
    if (!candidate->is_fresh || tn_timing_is_over_for_nodes(lowering) ||
        tn_timing_now_ns(lowering) >= lowering->timing->again_end_ns)
        return TN_OK;
    lowering->timing->best_ns = 0;
    TN_TRY(measure(lowering, index, candidate, &ns));
    if (ns >= candidate->cost) return TN_OK;
    candidate->cost = ns;
    TN_TRY(tn_timing_key(lowering, index, candidate, &key));
    return tn_timing_cache_set(lowering->cache, key, ns);
}
