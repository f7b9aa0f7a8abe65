/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one refit made: data of constants, kernels that were prepared on it, packed weights. Engines
 * count the layers that they have something of, so that one which nobody uses any more goes,
 * however many refits follow.
 */
#ifndef TN_ENGINE_REFIT_REFIT_LAYER_H
#define TN_ENGINE_REFIT_REFIT_LAYER_H

#include "engine/engine_private.h"

typedef struct tn_refit_layer {
    atomic_uint references;
    const tn_allocator *allocator;
    const tn_engine *loaded; /* which outlives the layer; of its device: */
    void *device_memory;
    tn_shared_weight **shared_constants; /* by value; or null */
    tn_arena *arena;
    tn_packed_store *packed;
    tn_engine_step *steps; /* all of the program's; prepared here: */
    bool *is_own;
    uint32_t step_count;
    void **data; /* of constants; 64-byte aligned */
    size_t data_count, data_capacity;
} tn_refit_layer;

tn_status tn_refit_layer_create(const tn_engine *loaded, tn_refit_layer **out_layer);
tn_refit_layer *tn_refit_layer_retain(tn_refit_layer *layer);
void tn_refit_layer_release(tn_refit_layer *layer); /* null is fine */
/* A copy that has the lifetime of the layer. */
tn_status tn_refit_layer_keep(tn_refit_layer *layer, const void *data, size_t bytes,
                              const void **out_copy);

/* What a refitted engine has beside the loaded one; in the arena of its own layer. */
typedef struct tn_engine_refits {
    tn_refit_layer *own;
    tn_refit_layer **of_steps;     /* by step: who prepared it; null: the loaded engine */
    tn_refit_layer **of_tensors;   /* by tensor: who has its data */
    tn_refit_layer **of_constants; /* by constant of the index, of the whole network: the same */
    const void **values;           /* by constant of the index: its data; null: the plan's */
    tn_refit_layer **held;         /* counted, each once, `own` last */
    uint32_t held_count;
} tn_engine_refits;

/* The engine with the values (by constant of the index; null: as it has it). *out_is_stuck: it
 * cannot be done so, but by loading the plan once more; then there is no engine. */
tn_status tn_engine_refit(tn_engine *engine, const void *const *values, tn_engine **out_engine,
                          bool *out_is_stuck);

#endif
