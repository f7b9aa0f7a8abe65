/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine on a device: the stream on which its kernels are prepared, and one block of the
 * device's memory with the small constants that they read; large ones are shared with the runtime's
 * other engines. What runs there is the contexts' matter.
 */
#include "base/hash.h"
#include "base/status.h"
#include "engine/engine_private.h"

tn_status tn_engine_open_device(tn_engine *engine) {
    const tn_device *device = engine->device;
    if (!tn_device_is_remote(device)) return TN_OK;
    const tn_status status = device->stream_create(device, &engine->stream);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "a stream");
}

void tn_engine_give_constants(const tn_engine *engine, tn_shared_weight *const *constants) {
    tn_weight_store *weights = tn_runtime_weights(engine->runtime);
    for (uint32_t v = 0; constants && v < engine->program->value_count; v++) {
        if (!constants[v]) continue;
        void *memory = tn_weight_store_release(weights, constants[v]);
        if (memory)
            tn_device_give_memory(engine->device, &engine->device_allocator, memory,
                                  engine->stream);
    }
}

void tn_engine_close_device(tn_engine *engine) {
    const tn_device *device = engine->device;
    if (!engine->stream) return;
    tn_engine_give_constants(engine, engine->shared_constants);
    if (engine->constants_memory)
        tn_device_give_memory(device, &engine->device_allocator, engine->constants_memory,
                              engine->stream);
    (void)device->stream_wait(device, engine->stream);
    device->stream_destroy(device, engine->stream);
}

static bool is_device_constant(const tn_engine *engine, uint32_t value) {
    const tn_program_value *item = &engine->program->values[value];
    return item->space == TN_SPACE_DEVICE && engine->graph->tensors[item->tensor].is_constant &&
           tn_engine_has_own(engine, item->tensor);
}

static void note_constants(const tn_engine *engine, const tn_engine *from, void **lent) {
    for (uint32_t v = 0; from->device_constants && v < from->program->value_count; v++)
        if (from != engine && from->device_constants[v])
            lent[from->program->values[v].tensor] = from->device_constants[v];
}

/* Constants that an engine which outlives this one has there already: they lie there in the
 * graph's own type, whatever the program. */
static tn_status borrow_constants(tn_engine_loading *loading) {
    tn_engine *engine = loading->engine;
    if (!engine->lender) return TN_OK;
    void **lent = tn_arena_allocate(loading->arena, engine->graph->tensor_count + 1, sizeof(*lent));
    if (!lent) return tn_fail_memory("an engine");
    for (const tn_engine *from = engine->lender; from; from = from->lender) {
        note_constants(engine, from, lent);
        for (uint32_t p = 1; from->profile_engines && p < engine->profile; p++)
            note_constants(engine, from->profile_engines[p], lent);
    }
    for (uint32_t v = 0; v < engine->program->value_count; v++)
        if (is_device_constant(engine, v))
            engine->device_constants[v] = lent[engine->program->values[v].tensor];
    return TN_OK;
}

/* A constant in the device's memory. */
typedef struct device_constant {
    const tn_graph_tensor *tensor;
    tn_weight_key key; /* of one that is shared */
    size_t bytes;
    size_t offset; /* in the engine's own block, of one that is not */
    bool is_shared;
} device_constant;

/* From this size on, memory of its own costs little beside it. */
#define SHARED_BYTES 4096u

/* Who frees an item gives it to the allocator that it came from. */
static uint64_t allocator_hash(const tn_device_allocator *own) {
    if (!own->allocate) return 0;
    const uint64_t parts[] = {(uint64_t)(uintptr_t)own->user, (uint64_t)(uintptr_t)own->allocate,
                              (uint64_t)(uintptr_t)own->deallocate};
    return tn_hash(parts, sizeof(parts));
}

static tn_status describe_constant(const tn_engine *engine, uint32_t value,
                                   device_constant *out_constant) {
    const tn_graph_tensor *tensor = &engine->graph->tensors[engine->program->values[value].tensor];
    tn_tensor_storage storage;
    TN_TRY(tn_tensor_init(&storage, tensor->type, TN_LINEAR, &tensor->shape));
    *out_constant = (device_constant){.tensor = tensor, .bytes = (size_t)storage.tensor.bytes};
    out_constant->is_shared = out_constant->bytes >= SHARED_BYTES;
    if (!out_constant->is_shared) return TN_OK;
    const uint64_t checksum =
        tensor->note ? tensor->note->checksum : tn_hash(tensor->data, out_constant->bytes);
    out_constant->key = (tn_weight_key){.content = tn_constant_content(&storage.tensor, checksum),
                                        .bytes = out_constant->bytes,
                                        .packer = allocator_hash(&engine->device_allocator),
                                        .library = "device",
                                        .owner = engine->device};
    return TN_OK;
}

/* Of this engine's own: not lent. */
static bool is_own_constant(const tn_engine *engine, uint32_t value) {
    return is_device_constant(engine, value) &&
           !(engine->lender && engine->device_constants[value]);
}

/* What each of them is; where the small ones will lie, and the bytes of all of those. */
static tn_status place_constants(const tn_engine *engine, device_constant *constants,
                                 size_t *out_bytes) {
    const size_t alignment = (size_t)engine->device->alignment;
    size_t total = 0;
    for (uint32_t v = 0; v < engine->program->value_count; v++) {
        if (!is_own_constant(engine, v)) continue;
        TN_TRY(describe_constant(engine, v, &constants[v]));
        if (constants[v].is_shared) continue;
        constants[v].offset = total;
        if (!tn_add_size(total, constants[v].bytes, &total) ||
            !tn_add_size(total, alignment, &total))
            return tn_fail_memory("an engine's constants");
        total -= total % alignment;
    }
    *out_bytes = total;
    return TN_OK;
}

static tn_status allocate_constants(const tn_engine *engine, size_t bytes, void **out_memory) {
    return tn_device_take_memory(engine->device, &engine->device_allocator, bytes, engine->stream,
                                 "memory for constants", out_memory);
}

static tn_status copy_constant(const tn_engine *engine, const device_constant *constant, void *to) {
    const tn_device *device = engine->device;
    const tn_status status = device->copy(device, to, constant->tensor->data, constant->bytes,
                                          TN_COPY_TO_DEVICE, engine->stream);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "copying constants");
}

static tn_status wait_for_copies(const tn_engine *engine) {
    const tn_status status = engine->device->stream_wait(engine->device, engine->stream);
    return status == TN_OK ? TN_OK : tn_device_failed(engine->device, status, "preparing kernels");
}

/* Another engine's, or one of its own, which others find when it is there. */
static tn_status share_constant(tn_engine *engine, const device_constant *constant,
                                uint32_t value) {
    tn_weight_store *weights = tn_runtime_weights(engine->runtime);
    tn_shared_weight **item = &engine->shared_constants[value];
    void *memory = NULL;
    *item = tn_weight_store_find(weights, &constant->key);
    if (*item) return TN_OK;
    TN_TRY(allocate_constants(engine, constant->bytes, &memory));
    tn_status status = copy_constant(engine, constant, memory);
    if (status == TN_OK) status = wait_for_copies(engine);
    if (status == TN_OK) status = tn_weight_store_add(weights, &constant->key, memory, item);
    if (status != TN_OK || tn_shared_weight_data(*item) != memory)
        tn_device_give_memory(engine->device, &engine->device_allocator, memory, engine->stream);
    return status;
}

static tn_status copy_constants(tn_engine *engine, const device_constant *constants) {
    for (uint32_t v = 0; v < engine->program->value_count; v++) {
        if (!is_own_constant(engine, v)) continue;
        if (constants[v].is_shared) {
            TN_TRY(share_constant(engine, &constants[v], v));
            engine->device_constants[v] = tn_shared_weight_data(engine->shared_constants[v]);
            continue;
        }
        engine->device_constants[v] = (char *)engine->constants_memory + constants[v].offset;
        if (constants[v].bytes > 0)
            TN_TRY(copy_constant(engine, &constants[v], engine->device_constants[v]));
    }
    return TN_OK;
}

tn_status tn_engine_upload_constants(tn_engine_loading *loading) {
    tn_engine *engine = loading->engine;
    const size_t count = engine->program->value_count + 1u;
    size_t bytes = 0;
    if (!engine->stream) return TN_OK;
    if (!engine->device_constants)
        engine->device_constants =
            tn_arena_allocate(engine->arena, count, sizeof(*engine->device_constants));
    engine->shared_constants =
        tn_arena_allocate(engine->arena, count, sizeof(*engine->shared_constants));
    device_constant *constants = tn_arena_allocate(loading->arena, count, sizeof(*constants));
    if (!engine->device_constants || !engine->shared_constants || !constants)
        return tn_fail_memory("an engine");
    TN_TRY(borrow_constants(loading));
    TN_TRY(place_constants(engine, constants, &bytes));
    if (bytes > 0) TN_TRY(allocate_constants(engine, bytes, &engine->constants_memory));
    TN_TRY(copy_constants(engine, constants));
    return wait_for_copies(engine);
}
