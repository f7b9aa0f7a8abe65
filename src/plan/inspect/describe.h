/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of plans and engines as structs (tn_plan_description): the part that both share.
 * Those of plans are filled by describe_plan.c, and the JSON of tn_plan_inspect is written from
 * them; those of engines by engine/engine_describe.c. Nothing that is described need be sound.
 */
#ifndef TN_PLAN_INSPECT_DESCRIBE_H
#define TN_PLAN_INSPECT_DESCRIBE_H

#include "base/memory.h"
#include "plugin/runtime.h"
#include <tenon/describe.h>

/* A description in the making, in an arena of its own. */
typedef struct tn_description {
    tn_plan_description view; /* first: what callers see */
    const tn_allocator *allocator;
    tn_runtime *runtime; /* counted */
    tn_arena *arena;
    tn_model_info model;
    void *owner; /* of the texts: given back by `release` */
    void (*release)(void *owner, const tn_allocator *allocator);
} tn_description;

/* An empty one. TN_ERROR_MEMORY. */
tn_status tn_description_create(tn_runtime *runtime, tn_description **out_description);
/* A list of `count` pointers to zeroed items of `bytes`, each with its size set. Null: no memory.
 */
void *tn_description_list(tn_description *description, size_t count, size_t bytes);
/* The text of a step's `combination`, once its lists and the program's values are there.
 * TN_ERROR_MEMORY. */
tn_status tn_description_combine(tn_description *description, const tn_described_program *program,
                                 tn_described_step *step);
/* The bytes of a program's arenas, from its values. */
void tn_description_sum_memory(tn_described_program *program);
/* Whether a program is for a device that is here; a device's library is not loaded to know more. */
int32_t tn_description_fit(tn_runtime *runtime, const char *device, const char *fingerprint,
                           uint32_t threads);

#endif
