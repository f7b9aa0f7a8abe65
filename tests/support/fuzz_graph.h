/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets of the readers of networks share: a runtime with the memory of a small
 * machine, and inference over what was read, with small shapes for what it leaves open.
 */
#ifndef TN_TESTS_FUZZ_GRAPH_H
#define TN_TESTS_FUZZ_GRAPH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/infer.h"
#include "tiny_layers.h"

#define OPEN_EXTENT    3
#define LARGEST_BYTES  ((uint64_t)256 << 20) /* of one allocation */
#define INPUTS_AT_MOST 16
#define INPUT_BYTES    4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Memory as a small machine has it. */
static inline void *fuzz_allocate(void *user, uint64_t bytes, uint64_t alignment) {
    (void)user;
    if (bytes > LARGEST_BYTES) return NULL;
    uint64_t padded_bytes = (bytes + alignment - 1) / alignment * alignment;
    return aligned_alloc((size_t)alignment, (size_t)(padded_bytes ? padded_bytes : alignment));
}

static inline void fuzz_deallocate(void *user, void *memory) {
    (void)user;
    free(memory);
}

static inline tn_runtime *fuzz_runtime(void) {
    static tn_runtime *runtime; /* made once, for the life of the process */
    static const tn_allocator allocator = {
        .size = sizeof(allocator), .allocate = fuzz_allocate, .deallocate = fuzz_deallocate};
    if (runtime) return runtime;
    tn_runtime_options options = {
        .size = sizeof(options), .allocator = &allocator, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    if (tn_runtime_create(&options, &runtime) != TN_OK ||
        tn_runtime_register_library(runtime, tiny_entry) != TN_OK)
        exit(99);
    return runtime;
}

/* The declared shapes with their open extents filled in; false when they are not small. */
static inline bool fuzz_choose_shapes(const tn_graph *graph, tn_shape *shapes) {
    if (graph->input_count > INPUTS_AT_MOST) return false;
    for (size_t i = 0; i < graph->input_count; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        shapes[i] = tensor->shape;
        int64_t elements = 1;
        for (uint32_t axis = 0; axis < shapes[i].rank; axis++) {
            if (shapes[i].extents[axis] < 0) shapes[i].extents[axis] = OPEN_EXTENT;
            if (shapes[i].extents[axis] > INPUT_BYTES) return false;
            elements *= shapes[i].extents[axis];
            if (elements > INPUT_BYTES / 8) return false;
        }
    }
    return true;
}

static inline void fuzz_infer(const tn_graph *graph) {
    static const uint64_t value[INPUT_BYTES / 8] = {2, 3, 1, 1};
    const void *values[INPUTS_AT_MOST];
    tn_shape shapes[INPUTS_AT_MOST];
    tn_arena *arena;
    tn_inference_plan plan;
    tn_inference inference = {0};
    if (!fuzz_choose_shapes(graph, shapes)) return;
    for (size_t i = 0; i < INPUTS_AT_MOST; i++)
        values[i] = value;
    if (tn_arena_create(graph->allocator, &arena) != TN_OK) return;
    if (tn_inference_plan_create(graph, arena, &plan) == TN_OK &&
        tn_inference_init(&inference, graph, &plan) == TN_OK)
        (void)tn_inference_run(&inference, shapes, values);
    tn_inference_deinit(&inference);
    tn_arena_destroy(arena);
}

#endif
