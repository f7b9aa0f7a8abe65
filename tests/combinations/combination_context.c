/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of a combination: memory, binding in turns, and runs. */
#include "combination_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ELEMENTS = 8 * 8 * 8 * 8, STEP = 2, BUFFER_BYTES = ELEMENTS * 8 * STEP };

/* How the ports are bound; each round takes the next that is chosen. */
enum { BIND_PLAIN, BIND_STRIDED, BIND_ALLOCATOR, BIND_DEVICE };

typedef struct port {
    _Alignas(64) char memory[BUFFER_BYTES + 64]; /* of the host */
    void *device;                                /* BUFFER_BYTES bytes of the device */
    uint64_t asked;                              /* bytes */
} port;

typedef struct runner {
    const combination *own;
    loaded *made;
    tn_engine *engine;
    tn_context *context;
    failing_allocator allocator;
    tn_device_allocator device_allocator;
    int device_blocks;        /* of the context's own allocator */
    uint64_t taken_before[2]; /* of the runtime's allocator, and of the engine's for the device */
    void *host_block, *device_block;
    tn_stream *stream;
    port in, out[OUTPUTS];
    uint32_t binding;
    bool go;
} runner;

static float number(uint32_t round, size_t i) {
    uint32_t hash = (round * 7919u + (uint32_t)i) * 2654435761u;
    hash ^= hash >> 15;
    return (float)(hash % 2001) / 1000.0f - 1.0f;
}

/* --- ports --- */

static size_t element_bytes(const runner *own) {
    return has(own->own, BORDER) ? 8 : 4;
}

static void put(char *to, size_t bytes, float value) {
    const double wide = (double)value;
    memcpy(to, bytes == 8 ? (const void *)&wide : (const void *)&value, bytes);
}

static float get(const char *from, size_t bytes) {
    float value;
    double wide;
    memcpy(bytes == 8 ? (void *)&wide : (void *)&value, from, bytes);
    return bytes == 8 ? (float)wide : value;
}

/* The index in the order of the border of element i of N, C, H, W. */
static size_t element_offset(bool is_last, const int64_t *shape, size_t i) {
    if (!is_last) return i;
    const size_t channels = (size_t)shape[3], area = (size_t)(shape[1] * shape[2]);
    const size_t n = i / (channels * area), c = i / area % channels, at = i % area;
    return (n * area + at) * channels + c;
}

static bool is_last(const runner *own, uint32_t rank) {
    return has(own->own, BORDER) && rank == 4;
}

static void packed_strides(uint32_t rank, const int64_t *shape, int64_t step, int64_t *strides) {
    for (uint32_t i = rank; i-- > 0; step *= shape[i])
        strides[i] = step;
}

static tn_status bind_input(runner *own, uint32_t round, int64_t rows) {
    const tn_port_info *info = tn_engine_input(own->engine, 0);
    const size_t bytes = element_bytes(own);
    int64_t shape[TN_MAX_RANK], strides[TN_MAX_RANK];
    size_t count = 1;
    memcpy(shape, info->extents, info->rank * sizeof(int64_t));
    shape[0] = rows;
    for (uint32_t i = 0; i < info->rank; i++)
        count *= (size_t)shape[i];
    const size_t step = own->binding == BIND_STRIDED ? STEP : 1;
    memset(own->in.memory, 0x55, BUFFER_BYTES);
    for (size_t i = 0; i < count; i++)
        put(own->in.memory + element_offset(is_last(own, info->rank), shape, i) * step * bytes,
            bytes, number(round, i));
    TN_TRY(tn_context_set_shape(own->context, 0, info->rank, shape));
    if (own->binding == BIND_STRIDED) {
        packed_strides(info->rank, shape, STEP, strides);
        return tn_context_bind_input_strided(own->context, 0, own->in.memory, BUFFER_BYTES,
                                             info->rank, strides);
    }
    if (own->binding != BIND_DEVICE)
        return tn_context_bind_input(own->context, 0, own->in.memory, count * bytes);
    TN_TRY(tn_device_copy_to_device(own->made->device, own->in.device, own->in.memory,
                                    count * bytes, NULL));
    return tn_context_bind_device_input(own->context, 0, own->in.device, count * bytes);
}

static void *answer(void *user, uint32_t output, uint64_t bytes, uint64_t alignment) {
    runner *own = user;
    (void)alignment;
    own->out[output].asked = bytes;
    return own->out[output].memory;
}

static tn_status bind_output(runner *own, uint32_t output, int64_t rows) {
    port *out = &own->out[output];
    uint32_t rank = 0;
    int64_t shape[TN_MAX_RANK], strides[TN_MAX_RANK];
    memset(out->memory, 0x77, BUFFER_BYTES);
    switch (own->binding) {
    case BIND_STRIDED:
        network_output(own->own->net, output, rows, &rank, shape);
        packed_strides(rank, shape, STEP, strides);
        return tn_context_bind_output_strided(own->context, output, out->memory, BUFFER_BYTES, rank,
                                              strides);
    case BIND_ALLOCATOR:
        return tn_context_set_output_allocator(own->context, output, answer, own);
    case BIND_DEVICE:
        return tn_context_bind_device_output(own->context, output, out->device, BUFFER_BYTES);
    default: /* memory of its own, and the caller's */
        return tn_context_bind_output(own->context, output, output ? NULL : out->memory,
                                      output ? 0 : BUFFER_BYTES);
    }
}

/* --- results --- */

static tn_status append(runner *own, uint32_t output, float *out, uint32_t *inout_count) {
    const tn_tensor *made = NULL;
    port *bound = &own->out[output];
    size_t count = 1;
    TN_TRY(tn_context_output(own->context, output, &made));
    for (uint32_t i = 0; i < made->rank; i++)
        count *= (size_t)made->shape[i];
    const size_t bytes = element_bytes(own), step = own->binding == BIND_STRIDED ? STEP : 1;
    const char *from = own->binding == BIND_PLAIN && output ? made->data : bound->memory;
    if (own->binding == BIND_DEVICE)
        TN_TRY(tn_device_copy_to_host(own->made->device, bound->memory, bound->device,
                                      count * bytes, NULL));
    if (count > 0 && made->bytes != count * bytes)
        return tn_fail(TN_ERROR_INTERNAL, "output %u has %llu bytes", output,
                       (unsigned long long)made->bytes);
    if (*inout_count + count + 2 > RESULT_BYTES)
        return tn_fail(TN_ERROR_INTERNAL, "too many results");
    out[(*inout_count)++] = (float)count;
    for (size_t i = 0; i < count; i++)
        out[(*inout_count)++] = get(from + i * step * bytes, bytes);
    for (size_t i = 0; step > 1 && i < count; i++) /* what lies between is left alone */
        for (size_t b = 0; b < bytes; b++)
            if (bound->memory[(i * step + 1) * bytes + b] != 0x77)
                return tn_fail(TN_ERROR_INTERNAL, "what lies between elements is written");
    return TN_OK;
}

/* --- runs --- */

static void note(void *user, tn_status status) {
    *(tn_status *)user = status;
}

static tn_status run_once(runner *own, uint32_t round, bool is_cancelled) {
    const struct timespec pause = {.tv_nsec = round % 4 * 30000};
    tn_status noted = TN_ERROR_INTERNAL;
    if (!has(own->own, ASYNC) && !is_cancelled) return tn_context_run(own->context);
    TN_TRY(tn_context_run_async(own->context, note, &noted));
    if (is_cancelled) nanosleep(&pause, NULL);
    const bool was_running = is_cancelled && tn_context_cancel(own->context);
    const tn_status status = tn_context_wait(own->context, TN_WAIT_FOREVER, NULL);
    if (noted != status) return tn_fail(TN_ERROR_INTERNAL, "`done` got another status");
    if (was_running && status == TN_OK) return tn_fail(TN_ERROR_INTERNAL, "not cancelled");
    return was_running && status == TN_ERROR_CANCELLED ? TN_OK : status; /* it had failed before */
}

static tn_status describe(const runner *own) {
    const tn_plan_description *description = NULL;
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    tn_storage_info storage = {.size = sizeof(storage)};
    char *report = NULL;
    TN_TRY(tn_engine_describe(own->engine, &description));
    const bool is_whole = description->program_count == tn_engine_profile_count(own->engine);
    tn_plan_description_destroy(description);
    if (!is_whole) return tn_fail(TN_ERROR_INTERNAL, "a program is missing");
    TN_TRY(tn_engine_input_storage(own->engine, 0, &storage));
    TN_TRY(tn_engine_output_storage(own->engine, 0, &storage));
    TN_TRY(tn_context_report(own->context, &report));
    tn_text_free(own->own->runtime, report);
    tn_context_get_statistics(own->context, &statistics);
    return TN_OK;
}

static tn_status run_round(runner *own, uint32_t round, float *out, uint32_t *inout_count) {
    static const uint32_t with[] = {STRIDED, OUTPUT_ALLOCATOR, DEVICE_BINDING};
    uint32_t bindings[4] = {BIND_PLAIN}, count = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (has(own->own, (int)with[i])) bindings[count++] = BIND_STRIDED + i;
    if (count == 0) count = 1;
    own->binding = bindings[round / 2 % count];
    if (count == 1 && round >= 6) own->binding = BIND_PLAIN; /* and back */
    const int64_t rows = round % 2 ? 5 : 2;
    TN_TRY(bind_input(own, round, rows));
    own->go = round / 2 % 2 == 0;
    if (tn_engine_input_count(own->engine) > 1)
        TN_TRY(tn_context_bind_input(own->context, 1, &own->go, 1));
    const uint32_t outputs = tn_engine_output_count(own->engine);
    for (uint32_t i = 0; i < outputs; i++)
        TN_TRY(bind_output(own, i, rows));
    if (has(own->own, CANCEL)) TN_TRY(run_once(own, round, true));
    if (own->stream) TN_TRY(tn_stream_wait(own->stream));
    for (uint32_t i = 0; i < outputs; i++)
        memset(own->out[i].memory, 0x77, BUFFER_BYTES);
    TN_TRY(run_once(own, round, false));
    if (own->stream) TN_TRY(tn_stream_wait(own->stream));
    if (has(own->own, PROFILES) && tn_context_get_profile(own->context) != round % 2)
        return tn_fail(TN_ERROR_INTERNAL, "another profile was taken");
    for (uint32_t i = 0; i < outputs; i++)
        TN_TRY(append(own, i, out, inout_count));
    return has(own->own, DESCRIBED) ? describe(own) : TN_OK;
}

/* --- contexts --- */

static tn_status lend(runner *own) {
    uint64_t host = 0, device = 0;
    TN_TRY(tn_engine_context_bytes(own->engine, &host, &device));
    own->host_block = aligned_alloc(64, (size_t)(host + 64) / 64 * 64);
    if (!own->host_block) abort();
    TN_TRY(tn_context_set_memory(own->context, own->host_block, host + 64));
    if (device == 0) return TN_OK;
    TN_TRY(tn_device_allocate(own->made->device, device, NULL, &own->device_block));
    return tn_context_set_device_memory(own->context, own->device_block, device);
}

static void *take_block(void *user, uint64_t bytes, uint64_t alignment, void *stream) {
    runner *own = user;
    const tn_device *device = own->made->used.device;
    void *memory = NULL;
    (void)alignment;
    if (device->allocate(device, bytes, stream, &memory) != TN_OK) return NULL;
    own->device_blocks++;
    return memory;
}

static void give_block(void *user, void *memory, void *stream) {
    runner *own = user;
    own->device_blocks--;
    own->made->used.device->deallocate(own->made->used.device, memory, stream);
}

static tn_status open_context(runner *own, const char **out_stage) {
    const combination *with = own->own;
    const tn_context_options options = {
        .size = sizeof(options),
        .flags = has(with, LENT_MEMORY) ? TN_CONTEXT_CALLERS_MEMORY : 0,
        .allocator = has(with, ALLOCATOR) ? &own->allocator.functions : NULL,
        .device_allocator = has(with, ALLOCATOR) ? &own->device_allocator : NULL};
    failing_allocator_init(&own->allocator);
    own->device_allocator = (tn_device_allocator){.size = sizeof(tn_device_allocator),
                                                  .user = own,
                                                  .allocate = take_block,
                                                  .deallocate = give_block};
    own->taken_before[0] = with->allocator.allocations;
    own->taken_before[1] = own->made->blocks_taken;
    *out_stage = "create";
    TN_TRY(tn_context_create_with(own->engine, &options, &own->context));
    *out_stage = "lend";
    if (has(with, LENT_MEMORY)) TN_TRY(lend(own));
    if (has(with, STREAM)) {
        *out_stage = "stream";
        TN_TRY(tn_stream_create(own->made->device, &own->stream));
        TN_TRY(tn_context_set_stream(own->context, tn_stream_native(own->stream)));
    }
    *out_stage = "profiling";
    if (has(with, PROFILING)) TN_TRY(tn_context_set_profiling(own->context, true));
    *out_stage = "device memory";
    if (!has(with, DEVICE_BINDING)) return TN_OK;
    TN_TRY(tn_device_allocate(own->made->device, BUFFER_BYTES, NULL, &own->in.device));
    for (uint32_t i = 0; i < OUTPUTS; i++)
        TN_TRY(tn_device_allocate(own->made->device, BUFFER_BYTES, NULL, &own->out[i].device));
    return TN_OK;
}

static tn_status close_context(runner *own) {
    tn_context_destroy(own->context);
    if (own->stream) tn_stream_destroy(own->stream);
    free(own->host_block);
    (void)tn_device_free(own->made->device, own->device_block, NULL);
    (void)tn_device_free(own->made->device, own->in.device, NULL);
    for (uint32_t i = 0; i < OUTPUTS; i++)
        (void)tn_device_free(own->made->device, own->out[i].device, NULL);
    if (own->allocator.live != 0)
        return tn_fail(TN_ERROR_INTERNAL, "the context left blocks of its allocator");
    if (own->device_blocks != 0)
        return tn_fail(TN_ERROR_INTERNAL, "the context left blocks of its device allocator");
    return TN_OK;
}

/* A context with an allocator takes nothing from anywhere else, its parts for other profiles
 * neither; a few blocks are kernels' own, and some are of the stub device and of shape rules with
 * bodies. What is made for the caller, of the runtime's threads,
 * for the helper process or for the guard is no memory of the context's. */
enum { KERNELS_BLOCKS = 12 };

static tn_status check_allocators(const runner *own) {
    const uint32_t others = WITH(DEVICE_BINDING) | WITH(STREAM) | WITH(LENT_MEMORY) | WITH(ASYNC) |
                            WITH(CANCEL) | WITH(DESCRIBED) | WITH(ISOLATED) | WITH(CHECKED);
    if (!has(own->own, ALLOCATOR)) return TN_OK;
    if (own->made->blocks_taken != own->taken_before[1])
        return tn_fail(TN_ERROR_INTERNAL, "the engine's device allocator served the context");
    if (own->own->net == NET_BODIES || own->made->used.library) return TN_OK;
    if (!(own->own->abilities & others) &&
        own->own->allocator.allocations > own->taken_before[0] + KERNELS_BLOCKS)
        return tn_fail(TN_ERROR_INTERNAL, "the runtime's allocator served the context");
    return TN_OK;
}

static tn_status run_engine(runner *own, float *out, uint32_t *out_count, const char **out_stage) {
    TN_TRY(open_context(own, out_stage));
    *out_stage = "run";
    TN_TRY(check_allocators(own));
    for (uint32_t round = 0; round < ROUNDS; round++)
        TN_TRY(run_round(own, round, out, out_count));
    if (has(own->own, PROFILING) && tn_context_profile_count(own->context) == 0)
        return tn_fail(TN_ERROR_INTERNAL, "nothing was measured");
    return check_allocators(own);
}

tn_status run_engines(combination *own, loaded *made, float *out, uint32_t *out_count,
                      const char **out_stage) {
    tn_status status = TN_OK;
    float *again = malloc(RESULT_BYTES * sizeof(float));
    runner *now = NULL;
    if (!again) abort();
    while (made->count > 0 && status == TN_OK) { /* the others run on when one is gone */
        uint32_t count = 0;
        now = aligned_alloc(64, (sizeof(*now) + 63) / 64 * 64);
        if (!now) abort();
        memset(now, 0, sizeof(*now));
        now->own = own;
        now->made = made;
        now->engine = made->engines[0];
        status = run_engine(now, again, &count, out_stage);
        tn_error_copy failure;
        tn_error_save(&failure);
        const tn_status closed = close_context(now);
        if (status != TN_OK)
            tn_error_restore(&failure);
        else
            status = closed;
        free(now);
        if (status != TN_OK) break;
        if (*out_count == 0) {
            memcpy(out, again, count * sizeof(float));
            *out_count = count;
        } else if (count != *out_count || memcmp(out, again, count * sizeof(float)) != 0) {
            status = tn_fail(TN_ERROR_INTERNAL, "two engines of one plan disagree");
        }
        made->count--;
        tn_engine_release(made->engines[0]);
        memmove(made->engines, made->engines + 1, made->count * sizeof(made->engines[0]));
        made->engines[made->count] = NULL;
    }
    free(again);
    return status;
}
