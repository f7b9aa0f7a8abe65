/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device without memory: another has taken all of it. Loading or running then ends with an error
 * that says how much was wanted; when the memory is there again, everything goes on. Declared in
 * device_run.h.
 */
#include "device_run.h"

#include "engine/engine_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4096 };

typedef struct hoard {
    const tn_device *device;
    void *stream;
    void *blocks[BLOCKS];
    size_t count;
    uint64_t bytes;
} hoard;

/* All of it, in blocks of half the size whenever one is refused. */
static void take_all(hoard *h) {
    uint64_t size = UINT64_C(1) << 36;
    while (size >= 4096 && h->count < BLOCKS) {
        void *block = NULL;
        if (h->device->allocate(h->device, size, h->stream, &block) != TN_OK) {
            size /= 2;
            continue;
        }
        h->blocks[h->count++] = block;
        h->bytes += size;
    }
}

static void give_back(hoard *h) {
    while (h->count > 0)
        h->device->deallocate(h->device, h->blocks[--h->count], h->stream);
    if (h->device->stream_wait(h->device, h->stream) != TN_OK) network_die("a wait");
}

/* An engine, a context and a run of a plan that is there. */
static tn_status try(const network *n, const char *device) {
    const tn_engine_options options = {.size = sizeof(options), .device = device};
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(n->plan, &bytes);
    network other = *n;
    other.engine = NULL;
    other.context = NULL;
    tn_status status = tn_engine_load_bytes(n->runtime, data, bytes, &options, &other.engine);
    if (status == TN_OK) status = tn_context_create(other.engine, &other.context);
    for (uint32_t i = 0; i < n->input_count && status == TN_OK; i++) {
        status = tn_context_set_shape(other.context, i, n->ranks[i], n->extents[i]);
        if (status == TN_OK)
            status = tn_context_bind_input(other.context, i, n->inputs[i],
                                           n->input_counts[i] * sizeof(float));
    }
    for (int i = 0; i < 3 && status == TN_OK; i++)
        status = tn_context_run(other.context);
    tn_context_destroy(other.context);
    tn_engine_release(other.engine);
    return status;
}

int device_run_memory(network_options *options, const char *device, int argc, char **argv) {
    static hoard h;
    network n;
    char error[1000];
    (void)argc, (void)argv;
    network_load(&n, options, device, NULL);
    h.device = n.engine->device;
    if (h.device->stream_create(h.device, &h.stream) != TN_OK) network_die("a stream");
    take_all(&h);
    const tn_status status = try(&n, device);
    snprintf(error, sizeof(error), "%.300s: %.600s", tn_last_error()->where,
             tn_last_error()->message);
    const double gigabytes = (double)h.bytes / 1e9;
    give_back(&h);
    if (status != TN_ERROR_MEMORY) network_die("without memory: status %d: %s", status, error);
    network_must(try(&n, device), "with memory again");
    h.device->stream_destroy(h.device, h.stream);
    network_close(&n);
    printf("ok %.1f GB taken: %s\n", gigabytes, error);
    return 0;
}
