/* SPDX-License-Identifier: Apache-2.0 */
/* The stub's graphs: what a stream was given during a capture, to be given to one again. */
#include "stub_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct stub_graph {
    size_t count;
    stub_work work[];
} stub_graph;

uint32_t stub_is_capturing(const tn_device *device, void *handle) {
    const stub_stream *stream = handle;
    (void)device;
    return stream && stream->is_capturing;
}

tn_status stub_capture_begin(const tn_device *device, void *handle) {
    stub_stream *stream = handle;
    if (stub_state(device)->is_lost) return stub_fail_lost(stub_state(device));
    if (stream->is_capturing) return stub_fail(TN_ERROR_DEVICE, "a capture in a capture");
    stream->is_capturing = true;
    stream->is_broken = false;
    stream->captured_from = stream->count;
    return TN_OK;
}

tn_status stub_capture_end(const tn_device *device, void *handle, void **out_graph) {
    stub_stream *stream = handle;
    (void)device;
    if (stream->is_broken) {
        stream->is_capturing = stream->is_broken = false;
        stream->count = stream->captured_from;
        return stub_fail(TN_ERROR_DEVICE, "the stream was waited for while it was captured");
    }
    const size_t count = stream->count - stream->captured_from;
    stub_graph *graph = malloc(sizeof(*graph) + count * sizeof(*graph->work));
    if (!graph) abort();
    graph->count = count;
    memcpy(graph->work, stream->work + stream->captured_from, count * sizeof(*graph->work));
    stream->count = stream->captured_from;
    stream->is_capturing = false;
    *out_graph = graph;
    return TN_OK;
}

/* What is beside each other has no order: here the second one comes first. */
void *stub_branches_last(const tn_device *device, void *handle) {
    stub_stream *stream = handle;
    (void)device;
    return stream->count > stream->captured_from ? &stream->work[stream->count - 1] : NULL;
}
tn_status stub_branches_put_beside(const tn_device *device, void *handle, void *first,
                                   void *second) {
    stub_work *const before = first, *const behind = second, moved = *behind;
    const stub_stream *stream = handle;
    if (before + 1 != behind || behind == &stream->work[stream->count - 1]) return TN_OK;
    *behind = *before;
    *before = moved;
    stub_state(device)->pairs++;
    return TN_OK;
}

tn_status stub_graph_launch(const tn_device *device, void *handle, void *stream) {
    const stub_graph *graph = handle;
    if (stub_state(device)->is_lost) return stub_fail_lost(stub_state(device));
    stub_state(device)->graphs++;
    for (size_t i = 0; i < graph->count; i++) {
        stub_work *work = stub_add_work(stream, 0);
        if (!work) return stub_fail(TN_ERROR_DEVICE, "the stream is full");
        *work = graph->work[i];
    }
    return TN_OK;
}
void stub_graph_destroy(const tn_device *device, void *graph) {
    (void)device;
    free(graph);
}
