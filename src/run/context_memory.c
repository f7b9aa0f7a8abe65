/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena of a context: its own, or memory that the caller has lent; how much it needs. Public
 * side: tenon/context_memory.h.
 */
#include "base/status.h"
#include "plugin/devices.h"
#include "run/context_private.h"

#include <tenon/context_memory.h>
#include <tenon/profiles.h>

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * the arena of a run */

static tn_status fail_lent(const tn_context *context, const tn_lent_memory *lent, size_t bytes,
                           const char *whose) {
    if (!lent->memory)
        return tn_fail(TN_ERROR_STATE,
                       "the context has no memory of its own, and none of the %s was lent: %zu "
                       "bytes are needed",
                       whose, bytes);
    (void)context;
    return tn_fail(TN_ERROR_MEMORY,
                   "the memory of the %s that was lent to the context has %zu bytes; these shapes "
                   "need %zu",
                   whose, lent->bytes, bytes);
}

/* How much more an arena that grows takes than it needs now, at most. */
#define MOST_SPARE_BYTES ((size_t)64 << 20)

/* An arena that grows again and again has new memory each time, all of whose pages are then met for
 * the first time, a microsecond each. What is spared costs no memory until a run needs it. */
static tn_status take_growing(tn_context *context, size_t bytes, size_t before) {
    const size_t spare = before < MOST_SPARE_BYTES ? before : MOST_SPARE_BYTES;
    tn_error_copy error;
    size_t wanted;
    tn_error_save(&error);
    if (context->isolation || !tn_add_size(bytes, spare, &wanted)) wanted = bytes;
    if (wanted > bytes &&
        tn_context_take_data(context, wanted, "the arena", &context->arena.memory) == TN_OK) {
        context->arena.memory_bytes = wanted;
        return TN_OK;
    }
    if (wanted > bytes) tn_error_restore(&error);
    TN_TRY(tn_context_take_data(context, bytes, "the arena", &context->arena.memory));
    context->arena.memory_bytes = bytes;
    return TN_OK;
}

tn_status tn_context_reserve_arena(tn_context *context, size_t bytes) {
    const tn_lent_memory *lent = &context->arena.lent;
    const size_t before = context->arena.memory_bytes;
    if (bytes <= before) return TN_OK;
    if (lent->memory || context->arena.is_without_memory)
        return fail_lent(context, lent, bytes, "host");
    tn_context_give_data(context, context->arena.memory);
    context->arena.memory = NULL;
    context->arena.memory_bytes = 0;
    return take_growing(context, bytes, before);
}

static void give_device_memory(tn_context *context) {
    if (context->arena.device_memory && !context->arena.lent_device.memory)
        tn_device_give_memory(context->engine->device, &context->device_allocator,
                              context->arena.device_memory, context->device.stream);
    context->arena.device_memory = NULL;
    context->arena.device_bytes = 0;
}

/* What is enqueued still uses the old arena, which the stream gives back after it. */
tn_status tn_context_reserve_device_arena(tn_context *context, size_t bytes) {
    const tn_lent_memory *lent = &context->arena.lent_device;
    if (bytes <= context->arena.device_bytes) return TN_OK;
    if (lent->memory || context->arena.is_without_memory)
        return fail_lent(context, lent, bytes, "device");
    const tn_device *device = context->engine->device;
    TN_TRY(tn_context_wait_all(context));
    give_device_memory(context);
    TN_TRY(tn_device_take_memory(device, &context->device_allocator, bytes, context->device.stream,
                                 "memory for the arena", &context->arena.device_memory));
    context->arena.device_bytes = bytes;
    if (!context->profiles.contexts) return TN_OK;
    const tn_status status =
        device->stream_wait(device, context->device.stream); /* others use it on
                                                          streams of theirs */
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "memory for the arena");
}

void tn_context_free_arena(tn_context *context) {
    if (!context->arena.lent.memory) tn_context_give_data(context, context->arena.memory);
    context->arena.memory = NULL;
}

/* ----------------------------------------------------------------------------------------------
 * lending */

static tn_status check_lent(tn_context *context, const void *memory, uint64_t bytes,
                            uint64_t alignment) {
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_lost(context));
    TN_TRY(tn_context_check_lending(context));
    if (!memory && bytes > 0)
        return tn_fail(TN_ERROR_ARGUMENT, "%" PRIu64 " bytes are lent, but the memory is null",
                       bytes);
    if ((uintptr_t)memory % alignment != 0)
        return tn_fail(TN_ERROR_ARGUMENT, "the memory must be aligned to %" PRIu64 " bytes",
                       alignment);
    if (bytes > SIZE_MAX) return tn_fail(TN_ERROR_ARGUMENT, "the memory is too large");
    return TN_OK;
}

tn_status tn_context_check_lending(const tn_context *context) {
    if (context->dynamic)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the data of the network sizes an output: it takes its memory step by step");
    if (context->isolation)
        return tn_fail(TN_ERROR_UNSUPPORTED, "kernels run in a helper process, which shares memory "
                                             "that is the context's own");
    return TN_OK;
}

tn_status tn_context_set_memory(tn_context *context, void *memory, uint64_t bytes) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(check_lent(context, memory, bytes, 64));
    if (memory == context->arena.lent.memory && bytes == context->arena.lent.bytes) return TN_OK;
    TN_TRY(tn_context_wait_all(context));
    context->arena.moves++;
    tn_context_free_arena(context);
    context->arena.lent = (tn_lent_memory){memory, memory ? (size_t)bytes : 0};
    context->arena.memory = memory;
    context->arena.memory_bytes = context->arena.lent.bytes;
    tn_context_forget_pointers(context);
    return TN_OK;
}

tn_status tn_context_set_device_memory(tn_context *context, void *device_memory, uint64_t bytes) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    if (!context->device.own_stream)
        return tn_fail(TN_ERROR_STATE, "the engine runs on the processor: tn_context_set_memory");
    TN_TRY(check_lent(context, device_memory, bytes, context->engine->device->alignment));
    if (device_memory == context->arena.lent_device.memory &&
        bytes == context->arena.lent_device.bytes)
        return TN_OK;
    TN_TRY(tn_context_wait_all(context));
    context->arena.moves++;
    give_device_memory(context);
    context->arena.lent_device = (tn_lent_memory){device_memory, device_memory ? (size_t)bytes : 0};
    context->arena.device_memory = device_memory;
    context->arena.device_bytes = context->arena.lent_device.bytes;
    tn_context_forget_pointers(context);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * how much */

tn_status tn_context_memory_bytes(const tn_context *context, uint64_t *out_host_bytes,
                                  uint64_t *out_device_bytes) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_lending(context));
    const tn_context *other = tn_context_stand_in(context);
    if (other) return tn_context_memory_bytes(other, out_host_bytes, out_device_bytes);
    if (!context->shapes.current || !context->shapes.are_set)
        return tn_fail(TN_ERROR_STATE, "the memory is not known before tn_context_reshape");
    if (out_host_bytes) *out_host_bytes = context->shapes.current->memory_bytes;
    if (out_device_bytes) *out_device_bytes = context->shapes.current->device_bytes;
    return TN_OK;
}

/* A point of a profile: 0, 1, 2 for its minimum, optimum and maximum. */
static tn_status set_point(tn_context *context, uint32_t profile, int point) {
    const tn_engine *engine = context->engine;
    TN_TRY(tn_context_set_profile(context, profile));
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++) {
        const tn_profile_input *range = tn_engine_profile_of(engine, profile, i);
        if (!range) continue;
        const int64_t *const extents[] = {range->minimum, range->optimum, range->maximum};
        const void *const values[] = {range->minimum_value, range->optimum_value,
                                      range->maximum_value};
        TN_TRY(tn_context_set_shape(context, i, range->rank, extents[point]));
        if (values[point]) TN_TRY(tn_context_bind_input(context, i, values[point], UINT64_MAX));
    }
    return tn_context_reshape(context);
}

static tn_status find_bytes(tn_context *context, uint64_t *host_bytes, uint64_t *device_bytes) {
    TN_TRY(tn_context_check_lending(context));
    for (uint32_t i = 0; i < 3 * context->engine->profile_count; i++) {
        uint64_t host = 0, device = 0;
        TN_TRY(set_point(context, i / 3, (int)(i % 3)));
        TN_TRY(tn_context_memory_bytes(context, &host, &device));
        if (host > *host_bytes) *host_bytes = host;
        if (device > *device_bytes) *device_bytes = device;
    }
    return TN_OK;
}

tn_status tn_engine_context_bytes(tn_engine *engine, uint64_t *out_host_bytes,
                                  uint64_t *out_device_bytes) {
    tn_context *context = NULL;
    tn_error_copy error;
    uint64_t host_bytes = 0, device_bytes = 0;
    if (!engine) return tn_fail(TN_ERROR_ARGUMENT, "the engine is null");
    TN_TRY(tn_context_create(engine, &context));
    const tn_status status = find_bytes(context, &host_bytes, &device_bytes);
    tn_error_save(&error);
    tn_context_destroy(context);
    tn_error_restore(&error);
    if (status != TN_OK) return status;
    if (out_host_bytes) *out_host_bytes = host_bytes;
    if (out_device_bytes) *out_device_bytes = device_bytes;
    return TN_OK;
}
