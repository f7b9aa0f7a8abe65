/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of tn_device_handle, tn_stream and tn_event. Public side: tenon/device_memory.h.
 *
 *   device_handle.c   opening, memory and what is known of it
 *   device_copy.c     copies
 *   stream.c          streams and events
 */
#ifndef TN_PLUGIN_DEVICE_MEMORY_H
#define TN_PLUGIN_DEVICE_MEMORY_H

#include "plugin/devices.h"

#include <pthread.h>
#include <stdatomic.h>
#include <tenon/device_memory.h>

typedef struct tn_device_block {
    char *memory;
    uint64_t bytes;
    bool is_host;
} tn_device_block;

struct tn_device_handle {
    atomic_uint references;
    tn_runtime *runtime;
    tn_used_device used;
    const tn_device *device; /* `used`'s */
    void *own_stream;        /* for work without a stream */
    pthread_mutex_t lock;    /* of the blocks */
    tn_device_block *blocks; /* by address */
    size_t block_count, block_capacity;
};

struct tn_stream {
    atomic_uint references; /* an event holds one of where it was recorded */
    tn_device_handle *handle;
    void *native;
};

struct tn_event {
    tn_device_handle *handle;
    void *native;
    tn_stream *recorded; /* where; null: nowhere */
};

static inline const tn_allocator *tn_device_handle_allocator(const tn_device_handle *handle) {
    return tn_runtime_allocator(handle->runtime);
}
/* The device's stream for a call. TN_ERROR_ARGUMENT: it is another device's. */
tn_status tn_device_handle_stream(const tn_device_handle *handle, const tn_stream *stream,
                                  void **out_native);
/* After work was enqueued: waits where the caller gave no stream. `status` is the work's. */
tn_status tn_device_handle_finish(const tn_device_handle *handle, const tn_stream *stream,
                                  tn_status status, const char *doing);
/* What is known of memory against what a call does with it. */
tn_status tn_device_handle_check(tn_device_handle *handle, const void *memory, uint64_t bytes,
                                 bool is_host, const char *role);
void tn_stream_release(tn_stream *stream); /* null is fine */

#endif
