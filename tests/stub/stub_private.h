/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the stub device (stub.h), each part standing on those above it:
 *
 *   stub_failure.c   what fails, and what is said of it
 *   stub_memory.c    memory
 *   stub_stream.c    streams, events, and doing what was enqueued
 *   stub_graph.c     captured graphs
 *   stub_device.c    the devices' tables
 */
#ifndef TN_TESTS_STUB_PRIVATE_H
#define TN_TESTS_STUB_PRIVATE_H

#include "stub.h"

#include <stddef.h>

/* --- stub_failure.c --- */
tn_stub_state *stub_state(const tn_device *device);
/* `status`, with a reason for the thread's last error. */
tn_status stub_fail(tn_status status, const char *why);
tn_status stub_fail_lost(const tn_stub_state *state);
/* The failure that a test asked for. */
tn_status stub_fail_as_asked(tn_stub_state *state, tn_status status, const char *why);
/* Whether what is counted here is to fail now. */
bool stub_is_to_fail(uint64_t *count, uint64_t at);
const char *stub_last_error(const tn_device *device);

/* --- stub_memory.c --- */
tn_status stub_allocate(const tn_device *device, uint64_t bytes, void *stream, void **out_memory);
/* Null is fine; what was never allocated, or is freed twice, aborts. */
void stub_memory_free(const tn_device *device, void *memory);
tn_status stub_host_allocate(const tn_device *device, uint64_t bytes, void **out_memory);
void stub_host_deallocate(const tn_device *device, void *memory);
bool stub_is_pinned(const void *memory, uint64_t bytes);
/* Between the two the device's memory can be touched, by this thread alone. */
void stub_memory_open(void);
void stub_memory_close(void);

/* --- stub_device.c --- */
/* The thread's current device, from 1; 0: none. */
uint32_t stub_current(void);

/* --- stub_stream.c --- */
enum { STUB_COPY = 1, STUB_FILL, STUB_CONVERT, STUB_CALL, STUB_EVENT, STUB_HOST };

enum { STUB_PORTS = 16 };

typedef struct stub_tensor {
    bool is_there;
    tn_tensor tensor;
    int64_t shape[TN_MAX_RANK], strides[TN_MAX_RANK];
} stub_tensor;

typedef struct stub_work {
    uint32_t kind;
    void *to;
    const void *from;
    void *staged; /* what the host may change again */
    uint64_t bytes;
    uint32_t byte;
    tn_tensor from_tensor, to_tensor;
    tn_call call;
    tn_callback body;             /* null: the operator's reference */
    void (*function)(void *user); /* of the host's, with `to` */
    /* The call's tensors as they were when it was enqueued. */
    stub_tensor inputs[STUB_PORTS], outputs[STUB_PORTS];
} stub_work;

typedef struct stub_stream {
    stub_work *work;
    size_t count;
    bool is_capturing, is_broken; /* broken: waited for while it was captured */
    size_t captured_from;         /* what is enqueued from there on belongs to the graph */
} stub_stream;

/* A slot for work at a stream's end; null: no stream, or it is full. */
stub_work *stub_add_work(stub_stream *stream, uint32_t kind);
/* Does all that is enqueued. */
tn_status stub_run_all(const tn_device *device, stub_stream *stream);
tn_status stub_enqueue(tn_call *call, tn_callback body);
tn_status stub_copy(const tn_device *device, void *to, const void *from, uint64_t bytes,
                    uint32_t direction, void *stream);
tn_status stub_fill(const tn_device *device, void *to, uint32_t byte, uint64_t bytes, void *stream);
tn_status stub_convert(const tn_device *device, const tn_tensor *from, const tn_tensor *to,
                       void *stream);
void stub_deallocate(const tn_device *device, void *memory, void *stream);
tn_status stub_stream_create(const tn_device *device, void **out_stream);
void stub_stream_destroy(const tn_device *device, void *handle);
tn_status stub_stream_wait(const tn_device *device, void *stream);
tn_status stub_event_create(const tn_device *device, void **out_event);
void stub_event_destroy(const tn_device *device, void *event);
tn_status stub_event_record(const tn_device *device, void *event, void *stream);
tn_status stub_event_wait(const tn_device *device, void *event, void *stream);
tn_status stub_event_elapsed(const tn_device *device, void *from, void *to, double *out_ns);

/* An event that was asked for so often has waited long enough: its stream is done. */
enum { STUB_QUERIES = 3 };
tn_status stub_event_query(const tn_device *device, void *event, uint32_t *out_is_done);
tn_status stub_call_host(const tn_device *device, void *stream, void (*function)(void *user),
                         void *user);

/* --- stub_graph.c --- */
uint32_t stub_is_capturing(const tn_device *device, void *handle);
tn_status stub_capture_begin(const tn_device *device, void *handle);
tn_status stub_capture_end(const tn_device *device, void *handle, void **out_graph);
void *stub_branches_last(const tn_device *device, void *handle);
tn_status stub_branches_put_beside(const tn_device *device, void *handle, void *first,
                                   void *second);
tn_status stub_graph_launch(const tn_device *device, void *handle, void *stream);
void stub_graph_destroy(const tn_device *device, void *graph);

#endif
