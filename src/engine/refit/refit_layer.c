/* SPDX-License-Identifier: Apache-2.0 */
/* The life of what a refit made: see refit_layer.h. */
#include "engine/refit/refit_layer.h"
#include "base/status.h"

#include <string.h>

tn_status tn_refit_layer_create(const tn_engine *loaded, tn_refit_layer **out_layer) {
    tn_refit_layer *layer = tn_allocate_zero(loaded->allocator, 1, sizeof(*layer));
    tn_status status = TN_OK;
    if (!layer) return tn_fail_memory("a refit");
    atomic_init(&layer->references, 1);
    layer->allocator = loaded->allocator;
    layer->loaded = loaded;
    layer->step_count = loaded->program->step_count;
    TN_GO(tn_arena_create(layer->allocator, &layer->arena));
    TN_GO(tn_packed_store_create(layer->allocator, &layer->packed));
    tn_packed_store_share(layer->packed, tn_runtime_weights(loaded->runtime));
    layer->steps = tn_arena_allocate(layer->arena, layer->step_count + 1u, sizeof(*layer->steps));
    layer->is_own = tn_arena_allocate(layer->arena, layer->step_count + 1u, sizeof(bool));
    if (!layer->steps || !layer->is_own) TN_GO(tn_fail_memory("a refit"));
    *out_layer = layer;
    return TN_OK;
done:
    tn_refit_layer_release(layer);
    return status;
}

tn_refit_layer *tn_refit_layer_retain(tn_refit_layer *layer) {
    atomic_fetch_add(&layer->references, 1);
    return layer;
}

static void give_device(tn_refit_layer *layer) {
    const tn_engine *loaded = layer->loaded;
    if (!layer->shared_constants) return;
    tn_engine_give_constants(loaded, layer->shared_constants);
    if (layer->device_memory)
        tn_device_give_memory(loaded->device, &loaded->device_allocator, layer->device_memory,
                              loaded->stream);
    (void)loaded->device->stream_wait(loaded->device, loaded->stream);
}

void tn_refit_layer_release(tn_refit_layer *layer) {
    if (!layer || atomic_fetch_sub(&layer->references, 1) != 1) return;
    for (uint32_t i = layer->is_own ? layer->step_count : 0; i-- > 0;)
        if (layer->is_own[i]) tn_prepared_kernel_deinit(&layer->steps[i].prepared);
    tn_packed_store_destroy(layer->packed);
    give_device(layer);
    for (size_t i = 0; i < layer->data_count; i++)
        tn_deallocate(layer->allocator, layer->data[i]);
    tn_deallocate(layer->allocator, layer->data);
    tn_arena_destroy(layer->arena);
    tn_deallocate(layer->allocator, layer);
}

tn_status tn_refit_layer_keep(tn_refit_layer *layer, const void *data, size_t bytes,
                              const void **out_copy) {
    TN_TRY(tn_grow(layer->allocator, (void **)&layer->data, &layer->data_capacity,
                   layer->data_count + 1, sizeof(*layer->data)));
    void *copy = tn_allocate_aligned(layer->allocator, bytes, 64);
    if (!copy) return tn_fail_memory("the data of a constant");
    memcpy(copy, data, bytes);
    layer->data[layer->data_count++] = copy;
    *out_copy = copy;
    return TN_OK;
}
