/* SPDX-License-Identifier: Apache-2.0 */
/* What the two fuzz targets of the Caffe reader share: a runtime with the memory of a small
 * machine, and one parse. */
#ifndef TN_TESTS_CAFFE_FUZZ_H
#define TN_TESTS_CAFFE_FUZZ_H

#include <stdint.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "tiny_layers.h"

#include "caffe_test.h"

#define LARGEST_BYTES ((uint64_t)256 << 20) /* of one allocation */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void *caffe_fuzz_allocate(void *user, uint64_t bytes, uint64_t alignment) {
    (void)user;
    if (bytes > LARGEST_BYTES) return NULL;
    uint64_t room = (bytes + alignment - 1) / alignment * alignment;
    return aligned_alloc((size_t)alignment, (size_t)(room ? room : alignment));
}

static void caffe_fuzz_deallocate(void *user, void *memory) {
    (void)user;
    free(memory);
}

static tn_runtime *caffe_fuzz_runtime(void) {
    static tn_runtime *runtime; /* made once, for the life of the process */
    static const tn_allocator allocator = {.size = sizeof(allocator),
                                           .allocate = caffe_fuzz_allocate,
                                           .deallocate = caffe_fuzz_deallocate};
    if (runtime) return runtime;
    tn_runtime_options options = {
        .size = sizeof(options), .allocator = &allocator, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    if (tn_runtime_create(&options, &runtime) != TN_OK ||
        tn_runtime_register_library(runtime, tiny_entry) != TN_OK)
        exit(99);
    return runtime;
}

/* Every error says something; every graph has an output that it computes. */
static void caffe_fuzz_parse(const void *text, size_t text_bytes, const void *model,
                             size_t model_bytes) {
    tn_graph *graph = NULL;
    tn_status status = tn_graph_parse_caffe(caffe_fuzz_runtime(), text, text_bytes, model,
                                            model_bytes, NULL, &graph);
    if (status != TN_OK && (graph || !tn_last_error()->message[0])) abort();
    if (status == TN_OK && graph->output_count == 0) abort();
    tn_graph_destroy(graph);
}

#endif
