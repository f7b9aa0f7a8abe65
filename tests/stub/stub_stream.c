/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stub's streams: what is enqueued, and doing it once the host waits. Events are work like any
 * other; captures are stub_graph.c's.
 */
#include "stub_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORK_LIMIT = 4096 };

typedef struct stub_event {
    struct timespec at;
    stub_stream *stream; /* where it was recorded */
    uint32_t queries;
    bool is_done;
} stub_event;

stub_work *stub_add_work(stub_stream *stream, uint32_t kind) {
    if (!stream || stream->count == WORK_LIMIT) return NULL;
    stub_work *work = &stream->work[stream->count++];
    *work = (stub_work){.kind = kind};
    return work;
}

tn_status stub_copy(const tn_device *device, void *to, const void *from, uint64_t bytes,
                    uint32_t direction, void *stream) {
    tn_stub_state *state = stub_state(device);
    if (state->is_lost) return stub_fail_lost(state);
    const void *host = direction == TN_COPY_TO_DEVICE ? from : to;
    const bool is_read_later = direction == TN_COPY_ON_DEVICE || stub_is_pinned(host, bytes);
    stub_work *work = stub_add_work(stream, STUB_COPY);
    if (!work) return stub_fail(TN_ERROR_DEVICE, "the stub has no such stream, or it is full");
    work->to = to;
    work->from = from;
    work->bytes = bytes;
    state->copies++;
    if (!is_read_later && ((stub_stream *)stream)->is_capturing)
        return stub_fail(TN_ERROR_DEVICE, "a copy from or to pageable memory is captured");
    if (direction == TN_COPY_TO_DEVICE && !is_read_later) {
        work->from = work->staged = malloc(bytes ? (size_t)bytes : 1);
        if (!work->staged) abort();
        memcpy(work->staged, from, (size_t)bytes);
    }
    return TN_OK;
}

tn_status stub_fill(const tn_device *device, void *to, uint32_t byte, uint64_t bytes,
                    void *stream) {
    if (stub_state(device)->is_lost) return stub_fail_lost(stub_state(device));
    stub_work *work = stub_add_work(stream, STUB_FILL);
    if (!work) return stub_fail(TN_ERROR_DEVICE, "the stub has no such stream, or it is full");
    work->to = to;
    work->byte = byte;
    work->bytes = bytes;
    return TN_OK;
}

static bool can_convert(const tn_tensor *tensor) {
    return tensor->type == TN_F32 && (tensor->format == TN_LINEAR || tensor->format == TN_NHWC);
}

tn_status stub_convert(const tn_device *device, const tn_tensor *from, const tn_tensor *to,
                       void *stream) {
    if (stub_state(device)->is_lost) return stub_fail_lost(stub_state(device));
    if (!can_convert(from) || !can_convert(to) || (from->format != to->format && from->rank != 4))
        return TN_ERROR_UNSUPPORTED;
    stub_work *work = stub_add_work(stream, STUB_CONVERT);
    if (!work) return stub_fail(TN_ERROR_DEVICE, "the stub has no such stream, or it is full");
    work->from_tensor = *from;
    work->to_tensor = *to;
    return TN_OK;
}

/* What a callback is lent ends with it. */
static void note_tensors(stub_tensor *kept, const tn_tensor *const *tensors, uint32_t count) {
    for (uint32_t i = 0; i < count && i < STUB_PORTS; i++) {
        const tn_tensor *tensor = tensors[i];
        kept[i].is_there = tensor != NULL;
        if (!tensor) continue;
        kept[i].tensor = *tensor;
        if (tensor->rank > 0) {
            memcpy(kept[i].shape, tensor->shape, tensor->rank * sizeof(int64_t));
            memcpy(kept[i].strides, tensor->strides, tensor->rank * sizeof(int64_t));
        }
    }
}

tn_status stub_enqueue(tn_call *call, tn_callback body) {
    tn_stub_state *state = stub_state(call->device);
    if (state->is_lost) return call->host->fail(call, TN_ERROR_DEVICE, "%s", state->lost);
    if (stub_is_to_fail(&state->launches, state->fail_launch)) {
        const tn_status status =
            stub_fail_as_asked(state, TN_ERROR_DEVICE, "the stub is asked to refuse the launch");
        return call->host->fail(call, status, "a launch: %s", stub_last_error(call->device));
    }
    stub_work *work = stub_add_work(call->stream, STUB_CALL);
    if (!work) return call->host->fail(call, TN_ERROR_DEVICE, "there is no stream, or it is full");
    work->call = *call;
    work->call.flags |= TN_CALL_REFERENCE;
    if (!body) work->call.user = call->op->user;
    work->body = body;
    note_tensors(work->inputs, call->inputs, call->input_count);
    note_tensors(work->outputs, (const tn_tensor *const *)call->outputs, call->output_count);
    return TN_OK;
}

tn_status tn_stub_enqueue(tn_call *call) {
    return stub_enqueue(call, NULL);
}

/* Four axes: the strides say where each element lies. */
static void convert_now(const tn_tensor *from, const tn_tensor *to) {
    const float *source = from->data;
    float *target = to->data;
    if (from->format == to->format) {
        memcpy(target, source, (size_t)from->bytes);
        return;
    }
    const int64_t *s = from->shape;
    const int64_t pixels = s[2] * s[3];
    for (int64_t n = 0; n < s[0]; n++)
        for (int64_t c = 0; c < s[1]; c++)
            for (int64_t p = 0; p < pixels; p++) {
                const int64_t linear = (n * s[1] + c) * pixels + p,
                              last = (n * pixels + p) * s[1] + c;
                target[to->format == TN_LINEAR ? linear : last] =
                    source[from->format == TN_LINEAR ? linear : last];
            }
}

static void set_tensors(stub_tensor *kept, uint32_t count, tn_tensor **out_tensors) {
    for (uint32_t i = 0; i < count; i++) {
        kept[i].tensor.shape = kept[i].shape;
        kept[i].tensor.strides = kept[i].strides;
        out_tensors[i] = kept[i].is_there ? &kept[i].tensor : NULL;
    }
}

/* Its tensors are what they were, as a launched kernel's are. */
static tn_status run_call(stub_work *work) {
    tn_call call = work->call;
    tn_tensor *inputs[STUB_PORTS], *outputs[STUB_PORTS];
    if (call.input_count <= STUB_PORTS && call.output_count <= STUB_PORTS) {
        set_tensors(work->inputs, call.input_count, inputs);
        set_tensors(work->outputs, call.output_count, outputs);
        call.inputs = (const tn_tensor *const *)inputs;
        call.outputs = outputs;
    }
    return work->body ? work->body(&call) : call.op->reference(&call);
}

static tn_status run_one(stub_work *work) {
    switch (work->kind) {
    case STUB_COPY:
        memcpy(work->to, work->from, (size_t)work->bytes);
        return TN_OK;
    case STUB_FILL:
        memset(work->to, (int)work->byte, (size_t)work->bytes);
        return TN_OK;
    case STUB_CONVERT:
        convert_now(&work->from_tensor, &work->to_tensor);
        return TN_OK;
    case STUB_EVENT:
        ((stub_event *)work->to)->is_done = true;
        return clock_gettime(CLOCK_MONOTONIC, &((stub_event *)work->to)->at) == 0 ? TN_OK
                                                                                  : TN_ERROR_DEVICE;
    case STUB_HOST:
        work->function(work->to);
        return TN_OK;
    default:
        return run_call(work);
    }
}

tn_status stub_run_all(const tn_device *device, stub_stream *stream) {
    tn_stub_state *state = stub_state(device);
    tn_status status = state->is_lost ? TN_ERROR_DEVICE : TN_OK; /* then nothing is done */
    if (stream->is_capturing) {
        stream->is_broken = true;
        return stub_fail(TN_ERROR_DEVICE, "a stream is waited for in a capture");
    }
    if (stream->count == 0) return TN_OK;
    stub_memory_open();
    for (size_t i = 0; i < stream->count; i++) {
        state->done++;
        if (status == TN_OK) status = run_one(&stream->work[i]);
        free(stream->work[i].staged);
    }
    stub_memory_close();
    stream->count = 0;
    if (state->is_lost) return stub_fail_lost(state);
    return status == TN_OK ? TN_OK : stub_fail(status, "a kernel of the stub failed");
}

/* In the order of the stream: whatever was enqueued before still uses it. */
void stub_deallocate(const tn_device *device, void *memory, void *stream) {
    if (stream) (void)stub_run_all(device, stream);
    stub_memory_free(device, memory);
}

tn_status stub_stream_create(const tn_device *device, void **out_stream) {
    if (stub_state(device)->is_lost) return stub_fail_lost(stub_state(device));
    stub_stream *stream = calloc(1, sizeof(*stream));
    /* Not cleared, which takes longer than most tests: stub_add_work clears what it hands out. */
    if (stream) stream->work = malloc(WORK_LIMIT * sizeof(*stream->work));
    if (!stream || !stream->work) {
        free(stream);
        return stub_fail(TN_ERROR_MEMORY, "no memory for a stream");
    }
    *out_stream = stream;
    return TN_OK;
}
void stub_stream_destroy(const tn_device *device, void *handle) {
    stub_stream *stream = handle;
    if (stream->count > 0 && !stub_state(device)->is_lost) abort(); /* nobody waited for it */
    free(stream->work);
    free(stream);
}
tn_status stub_stream_wait(const tn_device *device, void *stream) {
    tn_stub_state *state = stub_state(device);
    if (state->is_lost) {
        (void)stub_run_all(device, stream);
        return stub_fail_lost(state);
    }
    const bool is_failing = stub_is_to_fail(&state->waits, state->fail_wait);
    const tn_status status = stub_run_all(device, stream);
    if (status != TN_OK || !is_failing) return status;
    return stub_fail_as_asked(state, TN_ERROR_DEVICE, "the stub is asked to fail in a kernel");
}

tn_status stub_event_create(const tn_device *device, void **out_event) {
    (void)device;
    *out_event = calloc(1, sizeof(stub_event));
    return *out_event ? TN_OK : stub_fail(TN_ERROR_MEMORY, "no memory for an event");
}
void stub_event_destroy(const tn_device *device, void *event) {
    (void)device;
    free(event);
}
tn_status stub_event_record(const tn_device *device, void *event, void *stream) {
    stub_work *work = stub_add_work(stream, STUB_EVENT);
    (void)device;
    if (!work) return stub_fail(TN_ERROR_DEVICE, "the stub has no such stream, or it is full");
    work->to = event;
    *(stub_event *)event = (stub_event){.stream = stream};
    return TN_OK;
}
tn_status stub_event_wait(const tn_device *device, void *event, void *stream) {
    (void)device;
    (void)event;
    (void)stream;
    return TN_OK;
}
tn_status stub_event_elapsed(const tn_device *device, void *from, void *to, double *out_ns) {
    const struct timespec *a = &((stub_event *)from)->at, *b = &((stub_event *)to)->at;
    (void)device;
    *out_ns = (double)(b->tv_sec - a->tv_sec) * 1e9 + (double)(b->tv_nsec - a->tv_nsec);
    return TN_OK;
}

/* Nobody may ever wait for the stream: who asks often enough finds that it is done. */
tn_status stub_event_query(const tn_device *device, void *handle, uint32_t *out_is_done) {
    stub_event *event = handle;
    tn_status status = TN_OK;
    if (stub_state(device)->is_lost) return stub_fail_lost(stub_state(device));
    if (!event->is_done && event->stream && ++event->queries >= STUB_QUERIES)
        status = stub_stream_wait(device, event->stream);
    *out_is_done = event->is_done;
    return status;
}

tn_status stub_call_host(const tn_device *device, void *stream, void (*function)(void *user),
                         void *user) {
    if (stub_state(device)->is_lost) return stub_fail_lost(stub_state(device));
    stub_work *work = stub_add_work(stream, STUB_HOST);
    if (!work) return stub_fail(TN_ERROR_DEVICE, "the stub has no such stream, or it is full");
    work->function = function;
    work->to = user;
    return TN_OK;
}
