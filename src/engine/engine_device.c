/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine on a device: the stream on which its kernels get ready, and one block of the device's
 * memory with the constants that they read. What runs there is the contexts' matter.
 */
#include "base/status.h"
#include "engine/engine_private.h"

tn_status tn_engine_open_device(tn_engine *engine) {
    const tn_device *device = engine->device;
    if (!tn_device_is_remote(device)) return TN_OK;
    const tn_status status = device->stream_create(device, &engine->stream);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "a stream");
}

void tn_engine_close_device(tn_engine *engine) {
    const tn_device *device = engine->device;
    if (!engine->stream) return;
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

static void note_constants(tn_engine *engine, const tn_engine *from, void **lent) {
    for (uint32_t v = 0; from->device_constants && v < from->program->value_count; v++)
        if (from != engine && from->device_constants[v])
            lent[from->program->values[v].tensor] = from->device_constants[v];
}

/* Constants that an engine which outlives this one has there already: they lie there in the
 * graph's own type, whatever the program. */
static tn_status borrow_constants(tn_engine_loading *loading) {
    tn_engine *engine = loading->engine;
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

/* Where each of the others will lie; the bytes of all. */
static tn_status place_constants(tn_engine_loading *loading, size_t *offsets, size_t *out_bytes) {
    const tn_engine *engine = loading->engine;
    const size_t alignment = (size_t)engine->device->alignment;
    size_t total = 0;
    for (uint32_t v = 0; v < engine->program->value_count; v++) {
        if (!is_device_constant(engine, v) || engine->device_constants[v]) continue;
        const tn_graph_tensor *tensor = &engine->graph->tensors[engine->program->values[v].tensor];
        size_t bytes = 0;
        TN_TRY(tn_format_bytes(TN_LINEAR, tensor->type, &tensor->shape, &bytes));
        offsets[v] = total;
        if (!tn_add_size(total, bytes, &total) || !tn_add_size(total, alignment, &total))
            return tn_fail_memory("an engine's constants");
        total -= total % alignment;
    }
    *out_bytes = total;
    return TN_OK;
}

static tn_status copy_constants(tn_engine *engine, const size_t *offsets) {
    const tn_device *device = engine->device;
    for (uint32_t v = 0; v < engine->program->value_count; v++) {
        if (!is_device_constant(engine, v) || engine->device_constants[v]) continue;
        const tn_graph_tensor *tensor = &engine->graph->tensors[engine->program->values[v].tensor];
        size_t bytes = 0;
        TN_TRY(tn_format_bytes(TN_LINEAR, tensor->type, &tensor->shape, &bytes));
        engine->device_constants[v] = (char *)engine->constants_memory + offsets[v];
        if (bytes == 0) continue;
        const tn_status status = device->copy(device, engine->device_constants[v], tensor->data,
                                              bytes, TN_COPY_TO_DEVICE, engine->stream);
        if (status != TN_OK) return tn_device_failed(device, status, "copying constants");
    }
    return TN_OK;
}

tn_status tn_engine_upload_constants(tn_engine_loading *loading) {
    tn_engine *engine = loading->engine;
    const tn_device *device = engine->device;
    const size_t count = engine->program->value_count + 1u;
    size_t bytes = 0;
    if (!engine->stream) return TN_OK;
    if (!engine->device_constants)
        engine->device_constants =
            tn_arena_allocate(engine->arena, count, sizeof(*engine->device_constants));
    size_t *offsets = tn_arena_allocate(loading->arena, count, sizeof(*offsets));
    if (!engine->device_constants || !offsets) return tn_fail_memory("an engine");
    TN_TRY(borrow_constants(loading));
    TN_TRY(place_constants(loading, offsets, &bytes));
    if (bytes > 0)
        TN_TRY(tn_device_take_memory(device, &engine->device_allocator, bytes, engine->stream,
                                     "memory for constants", &engine->constants_memory));
    TN_TRY(copy_constants(engine, offsets));
    const tn_status status = device->stream_wait(device, engine->stream);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "preparing kernels");
}
