/* SPDX-License-Identifier: Apache-2.0 */
/* From graph to engines; what contexts do is combination_context.c's. */
#include "combination_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ability_names[ABILITIES] = {
    [PROFILES] = "profiles",
    [REFIT] = "refit",
    [UNPACKED] = "unpacked",
    [CANCELLED_BUILD] = "cancelled-build",
    [BORDER] = "border",
    [FROM_FILE] = "from-file",
    [BORROWED] = "borrowed",
    [TWICE] = "twice",
    [ISOLATED] = "isolated",
    [CHECKED] = "checked",
    [VERIFIED] = "verified",
    [SHARED_THREADS] = "shared-threads",
    [DEVICE_ALLOCATOR] = "device-allocator",
    [ALLOCATOR] = "allocator",
    [LENT_MEMORY] = "lent-memory",
    [STRIDED] = "strided",
    [OUTPUT_ALLOCATOR] = "output-allocator",
    [DEVICE_BINDING] = "device-binding",
    [STREAM] = "stream",
    [ASYNC] = "async",
    [CANCEL] = "cancel",
    [PROFILING] = "profiling",
    [DESCRIBED] = "described",
};

bool has(const combination *own, int ability) {
    return own->abilities & WITH(ability);
}

/* --- building --- */

typedef struct build_end {
    int calls, end_at;
} build_end;

static bool ends(void *user, const char *stage, uint64_t done, uint64_t count) {
    build_end *own = user;
    (void)stage, (void)done, (void)count;
    return ++own->calls != own->end_at;
}

tn_status combination_build(const combination *own, uint32_t seed, tn_plan **out_plan) {
    const int64_t rows[3][3] = {{1, 2, 2}, {4, 5, 8}, {1, 2, 8}}; /* of two profiles, or of one */
    const bool is_wide = own->net == NET_CONV || own->net == NET_STUB || own->net == NET_MIXED;
    const uint32_t rank = is_wide ? 4 : 2;
    const bool is_last = has(own, BORDER) && is_wide;
    int64_t shapes[3][3][4];
    tn_profile_input inputs[3];
    const tn_profile_input *pointers[3];
    tn_profile profiles[2];
    const tn_profile *sets[2];
    for (int p = 0; p < 3; p++) {
        for (int s = 0; s < 3; s++) {
            const int64_t shape[4] = {rows[p][s], is_wide ? is_last ? 8 : 3 : 8, 8,
                                      is_last ? 3 : 8};
            memcpy(shapes[p][s], shape, sizeof(shape));
        }
        inputs[p] = (tn_profile_input){.size = sizeof(tn_profile_input),
                                       .rank = rank,
                                       .name = "x",
                                       .minimum = shapes[p][0],
                                       .optimum = shapes[p][1],
                                       .maximum = shapes[p][2]};
        pointers[p] = &inputs[p];
    }
    for (int p = 0; p < 2; p++) {
        profiles[p] = (tn_profile){sizeof(tn_profile), 1, &pointers[p]};
        sets[p] = &profiles[p];
    }
    const tn_border *border_pointers[3];
    tn_border borders[3] = {
        {.size = sizeof(tn_border), .type = TN_F64, .name = "x"},
        {.size = sizeof(tn_border), .type = TN_F64, .name = "y"},
        {.size = sizeof(tn_border), .type = TN_F64, .name = "z"},
    };
    for (int i = 0; i < 3; i++)
        border_pointers[i] = &borders[i];
    if (is_wide) borders[0].order = TN_BORDER_CHANNELS_LAST;
    tn_builder_options options = {.size = sizeof(options),
                                  .threads = 1,
                                  .device = network_device(own->net),
                                  .flags = TN_BUILD_NO_TIMING |
                                           (has(own, REFIT) ? TN_BUILD_REFIT : 0) |
                                           (has(own, UNPACKED) ? TN_BUILD_NO_PACKED_WEIGHTS : 0)};
    if (has(own, PROFILES)) {
        options.profiles = sets;
        options.profile_count = 2;
    } else {
        options.profile_inputs = &pointers[2];
        options.profile_input_count = 1;
    }
    build_end end = {0};
    tn_graph *graph = make_network(own->runtime, own->net, seed);
    if (has(own, BORDER)) {
        options.borders = border_pointers;
        options.border_count = tn_graph_output_tensor(graph, 1) == TN_NO_TENSOR ? 2 : 3;
    }
    if (has(own, CANCELLED_BUILD)) {
        options.progress = ends;
        options.progress_user = &end;
        for (end.end_at = 1; end.end_at < 40; end.end_at += 7) {
            tn_plan *none = NULL;
            end.calls = 0;
            const tn_status status = tn_build(graph, &options, &none);
            if (none) tn_plan_destroy(none);
            if (status == TN_OK) break;
            if (status == TN_ERROR_CANCELLED) continue;
            tn_graph_destroy(graph);
            return status;
        }
        end.end_at = 0;
    }
    const tn_status status = tn_build(graph, &options, out_plan);
    tn_graph_destroy(graph);
    return status;
}

/* --- loading --- */

static void give_back(void *user) {
    free(user);
}

void loaded_release(loaded *own) {
    for (uint32_t i = 0; i < own->count; i++)
        tn_engine_release(own->engines[i]);
    own->count = 0;
    free(own->borrowed);
    own->borrowed = NULL;
    tn_threads_release(own->threads);
    own->threads = NULL;
    tn_device_release(own->device);
    tn_device_give_back(&own->used);
    own->device = NULL;
}

static void *take_device_block(void *user, uint64_t bytes, uint64_t alignment, void *stream) {
    loaded *own = user;
    void *memory = NULL;
    (void)alignment;
    if (own->used.device->allocate(own->used.device, bytes, stream, &memory) != TN_OK) return NULL;
    own->device_blocks++;
    own->blocks_taken++;
    return memory;
}

static void give_device_block(void *user, void *memory, void *stream) {
    loaded *own = user;
    own->device_blocks--;
    own->used.device->deallocate(own->used.device, memory, stream);
}

static tn_status load_some(const combination *own, const void *data, uint64_t bytes,
                           const tn_plan *plan, const tn_engine_options *options, loaded *made) {
    tn_runtime *runtime = own->runtime;
    if (has(own, FROM_FILE)) {
        char path[512];
        snprintf(path, sizeof(path), "%s/combination.plan", own->folder);
        TN_TRY(tn_plan_save(plan, path));
        TN_TRY(tn_engine_load(runtime, path, options, &made->engines[made->count]));
        made->count++;
    }
    if (has(own, BORROWED)) {
        made->borrowed = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
        if (!made->borrowed) abort();
        memcpy(made->borrowed, data, (size_t)bytes);
        TN_TRY(tn_engine_load_borrowed(runtime, made->borrowed, bytes, options, give_back,
                                       made->borrowed, &made->engines[made->count]));
        made->borrowed = NULL; /* the engine's */
        made->count++;
    }
    if (made->count == 0 || has(own, TWICE)) {
        TN_TRY(tn_engine_load_bytes(runtime, data, bytes, options, &made->engines[made->count]));
        made->count++;
    }
    if (has(own, TWICE)) { /* of bytes that go away */
        void *other = malloc((size_t)bytes);
        if (!other) abort();
        memcpy(other, data, (size_t)bytes);
        const tn_status status =
            tn_engine_load_bytes(runtime, other, bytes, options, &made->engines[made->count]);
        free(other);
        TN_TRY(status);
        made->count++;
    }
    return TN_OK;
}

static tn_status load(const combination *own, const tn_plan *plan, loaded *made) {
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(plan, &bytes);
    const bool is_isolated = has(own, ISOLATED), is_checked = has(own, CHECKED);
    tn_device_allocator allocator = {.size = sizeof(allocator),
                                     .user = made,
                                     .allocate = take_device_block,
                                     .deallocate = give_device_block};
    tn_engine_options options = {.size = sizeof(options),
                                 .device = network_device(own->net),
                                 .flags = (is_isolated ? TN_ENGINE_ISOLATED : 0) |
                                          (is_checked ? TN_ENGINE_CHECKED : 0) |
                                          (has(own, VERIFIED) ? TN_ENGINE_VERIFY_ALL : 0)};
    TN_TRY(tn_device_open(own->runtime, network_device(own->net), &made->device));
    TN_TRY(tn_device_take(own->runtime, network_device(own->net), &made->used));
    if (has(own, SHARED_THREADS)) {
        TN_TRY(tn_threads_create(2, &made->threads));
        options.shared_threads = made->threads;
    }
    if (has(own, DEVICE_ALLOCATOR)) options.device_allocator = &allocator;
    return load_some(own, data, bytes, plan, &options, made);
}

/* Replaces each loaded engine by one of the other constants; the old one
 * goes first, so that what they share is held by the new one alone. */
static tn_status refit(const tn_graph *graph, loaded *made) {
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < made->count && status == TN_OK; i++) {
        tn_refit *refit = NULL;
        tn_engine *fitted = NULL;
        status = tn_refit_create(made->engines[i], &refit);
        if (status == TN_OK) status = tn_refit_set_all(refit, graph, NULL);
        if (status == TN_OK) status = tn_refit_apply(refit, &fitted);
        tn_refit_destroy(refit);
        if (status != TN_OK) break;
        tn_engine_release(made->engines[i]);
        made->engines[i] = fitted;
    }
    return status;
}

tn_status combination_run(combination *own, float *out, uint32_t *out_count,
                          const char **out_stage) {
    loaded made = {0};
    tn_plan *plan = NULL;
    *out_count = 0;
    *out_stage = "build";
    /* what is refitted is built with other numbers */
    tn_status status = combination_build(own, has(own, REFIT) ? SEED + 1 : SEED, &plan);
    tn_graph *graph = make_network(own->runtime, own->net, SEED);
    if (own->fail_at > 0) own->allocator.fail_at = own->allocator.allocations + own->fail_at;
    if (status == TN_OK) {
        *out_stage = "load";
        status = load(own, plan, &made);
    }
    tn_plan_destroy(plan);
    if (status == TN_OK && has(own, REFIT)) {
        *out_stage = "refit";
        status = refit(graph, &made);
    }
    if (status == TN_OK) status = run_engines(own, &made, out, out_count, out_stage);
    own->allocator.fail_at = 0;
    tn_graph_destroy(graph);
    loaded_release(&made);
    if (status == TN_OK && made.device_blocks != 0)
        return tn_fail(TN_ERROR_INTERNAL, "blocks of the caller's device allocator are left");
    return status;
}
