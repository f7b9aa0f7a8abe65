/* SPDX-License-Identifier: Apache-2.0 */
/* The stub device: see stub.h. One thread at a time is inside it. */
#include "stub.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { BLOCK_LIMIT = 4096, WORK_LIMIT = 4096 };
enum { WORK_COPY = 1, WORK_FILL, WORK_CONVERT, WORK_CALL, WORK_EVENT };

typedef struct stub_block {
    char *memory;
    size_t bytes;
} stub_block;

typedef struct stub_work {
    uint32_t kind;
    void *to;
    const void *from;
    void *staged; /* what the host may change again */
    uint64_t bytes;
    uint32_t byte;
    tn_tensor from_tensor, to_tensor;
    tn_call call;
    tn_callback body; /* null: the operator's reference */
} stub_work;

typedef struct stub_stream {
    stub_work *work;
    size_t count;
    bool is_capturing;
    size_t captured_from; /* what is enqueued from there on belongs to the graph */
} stub_stream;

typedef struct stub_graph {
    size_t count;
    stub_work work[];
} stub_graph;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the blocks, and what is in them */
static stub_block blocks[BLOCK_LIMIT], pinned[BLOCK_LIMIT];
static size_t block_count, pinned_count;
static _Thread_local char last_error[256];
static _Thread_local bool has_refused_launch;

static tn_stub_state *state_of(const tn_device *device) {
    return device->user;
}

static tn_status fail(tn_status status, const char *why) {
    snprintf(last_error, sizeof(last_error), "%s", why);
    return status;
}

/* Whether what is counted here is to fail now. */
static bool is_to_fail(uint64_t *count, uint64_t at) {
    return ++*count == at;
}

/* The failure that a test asked for. */
static tn_status fail_as_asked(tn_stub_state *state, tn_status status, const char *why) {
    if (state->is_lasting) {
        snprintf(state->lost, sizeof(state->lost), "%s; the device is lost to this process", why);
        state->is_lost = true;
    }
    return fail(status, state->is_lasting ? state->lost : why);
}

static tn_status fail_lost(const tn_stub_state *state) {
    return fail(TN_ERROR_DEVICE, state->lost);
}

static void protect_all(int how) {
    for (size_t i = 0; i < block_count; i++)
        if (mprotect(blocks[i].memory, blocks[i].bytes, how) != 0) abort();
}

static const char *fingerprint(const tn_device *device) {
    tn_stub_state *state = state_of(device);
    snprintf(state->fingerprint, sizeof(state->fingerprint), "stub; driver %s", state->version);
    return state->fingerprint;
}
static const char *libraries(const tn_device *device) {
    return state_of(device)->libraries;
}
static const char *error_text(const tn_device *device) {
    (void)device;
    return last_error;
}

static tn_status allocate(const tn_device *device, uint64_t bytes, void *stream,
                          void **out_memory) {
    tn_stub_state *state = state_of(device);
    const size_t rounded = ((size_t)bytes + 4095) & ~(size_t)4095;
    (void)stream;
    if (state->is_lost) return fail_lost(state);
    if (is_to_fail(&state->allocations, state->fail_allocation))
        return fail_as_asked(state, TN_ERROR_MEMORY, "the stub is asked to have no memory");
    pthread_mutex_lock(&lock);
    void *memory = MAP_FAILED;
    if (block_count < BLOCK_LIMIT && bytes <= (uint64_t)1 << 32 &&
        (!state->most_bytes || bytes <= state->most_bytes))
        memory =
            mmap(NULL, rounded ? rounded : 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        blocks[block_count++] = (stub_block){memory, rounded ? rounded : 4096};
    pthread_mutex_unlock(&lock);
    if (memory == MAP_FAILED) {
        snprintf(last_error, sizeof(last_error), "%llu bytes: the stub has no more memory",
                 (unsigned long long)bytes);
        return TN_ERROR_MEMORY;
    }
    *out_memory = memory;
    return TN_OK;
}

/* In the order of the stream: whatever was enqueued before still uses it. */
static tn_status run_all(const tn_device *device, stub_stream *stream);
static void deallocate(const tn_device *device, void *memory, void *stream) {
    bool is_found = false;
    if (stream) (void)run_all(device, stream);
    pthread_mutex_lock(&lock);
    if (memory) state_of(device)->deallocations++;
    for (size_t i = 0; i < block_count && !is_found; i++) {
        if (blocks[i].memory != memory) continue;
        munmap(memory, blocks[i].bytes);
        blocks[i] = blocks[--block_count];
        is_found = true;
    }
    pthread_mutex_unlock(&lock);
    if (memory && !is_found) abort(); /* freed twice, or never allocated */
}

/* The host's memory that the device reads when it comes to it. */
static tn_status host_allocate(const tn_device *device, uint64_t bytes, void **out_memory) {
    const size_t rounded = ((size_t)bytes + 4095) & ~(size_t)4095;
    (void)device;
    pthread_mutex_lock(&lock);
    void *memory = pinned_count < BLOCK_LIMIT ? aligned_alloc(4096, rounded) : NULL;
    if (memory) pinned[pinned_count++] = (stub_block){memory, rounded};
    pthread_mutex_unlock(&lock);
    if (!memory) return fail(TN_ERROR_MEMORY, "the stub has no more pinned memory");
    *out_memory = memory;
    return TN_OK;
}

static void host_deallocate(const tn_device *device, void *memory) {
    (void)device;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < pinned_count; i++) {
        if (pinned[i].memory != memory) continue;
        pinned[i] = pinned[--pinned_count];
        free(memory);
        memory = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (memory) abort(); /* freed twice, or never allocated */
}

static bool is_pinned(const void *memory, uint64_t bytes) {
    bool is_found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < pinned_count && !is_found; i++)
        is_found = (const char *)memory >= pinned[i].memory &&
                   (const char *)memory + bytes <= pinned[i].memory + pinned[i].bytes;
    pthread_mutex_unlock(&lock);
    return is_found;
}

static stub_work *add_work(stub_stream *stream, uint32_t kind) {
    if (!stream || stream->count == WORK_LIMIT) return NULL;
    stub_work *work = &stream->work[stream->count++];
    *work = (stub_work){.kind = kind};
    return work;
}

static tn_status copy(const tn_device *device, void *to, const void *from, uint64_t bytes,
                      uint32_t direction, void *stream) {
    tn_stub_state *state = state_of(device);
    if (state->is_lost) return fail_lost(state);
    const void *host = direction == TN_COPY_TO_DEVICE ? from : to;
    const bool is_read_later = direction == TN_COPY_ON_DEVICE || is_pinned(host, bytes);
    stub_work *work = add_work(stream, WORK_COPY);
    if (!work) return fail(TN_ERROR_DEVICE, "the stub has no such stream, or it is full");
    work->to = to;
    work->from = from;
    work->bytes = bytes;
    state->copies++;
    if (!is_read_later && ((stub_stream *)stream)->is_capturing)
        return fail(TN_ERROR_DEVICE, "a copy from or to pageable memory is captured");
    if (direction == TN_COPY_TO_DEVICE && !is_read_later) {
        work->from = work->staged = malloc(bytes ? (size_t)bytes : 1);
        if (!work->staged) abort();
        memcpy(work->staged, from, (size_t)bytes);
    }
    return TN_OK;
}

static tn_status fill(const tn_device *device, void *to, uint32_t byte, uint64_t bytes,
                      void *stream) {
    if (state_of(device)->is_lost) return fail_lost(state_of(device));
    stub_work *work = add_work(stream, WORK_FILL);
    if (!work) return fail(TN_ERROR_DEVICE, "the stub has no such stream, or it is full");
    work->to = to;
    work->byte = byte;
    work->bytes = bytes;
    return TN_OK;
}

static bool can_convert(const tn_tensor *tensor) {
    return tensor->type == TN_F32 && (tensor->format == TN_LINEAR || tensor->format == TN_NHWC);
}

static tn_status convert(const tn_device *device, const tn_tensor *from, const tn_tensor *to,
                         void *stream) {
    if (state_of(device)->is_lost) return fail_lost(state_of(device));
    if (!can_convert(from) || !can_convert(to) || (from->format != to->format && from->rank != 4))
        return TN_ERROR_UNSUPPORTED;
    stub_work *work = add_work(stream, WORK_CONVERT);
    if (!work) return fail(TN_ERROR_DEVICE, "the stub has no such stream, or it is full");
    work->from_tensor = *from;
    work->to_tensor = *to;
    return TN_OK;
}

static tn_status enqueue(tn_call *call, tn_callback body) {
    tn_stub_state *state = state_of(call->device);
    if (state->is_lost) return call->host->fail(call, TN_ERROR_DEVICE, "%s", state->lost);
    if (is_to_fail(&state->launches, state->fail_launch)) {
        const tn_status status =
            fail_as_asked(state, TN_ERROR_DEVICE, "the stub is asked to refuse the launch");
        return call->host->fail(call, status, "a launch: %s", last_error);
    }
    stub_work *work = add_work(call->stream, WORK_CALL);
    if (!work) return call->host->fail(call, TN_ERROR_DEVICE, "there is no stream, or it is full");
    work->call = *call;
    work->call.flags |= TN_CALL_REFERENCE;
    if (!body) work->call.user = call->op->user;
    work->body = body;
    return TN_OK;
}

tn_status tn_stub_enqueue(tn_call *call) {
    return enqueue(call, NULL);
}

static void refuse_launch(void) {
    has_refused_launch = true;
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
    const int64_t places = s[2] * s[3];
    for (int64_t n = 0; n < s[0]; n++)
        for (int64_t c = 0; c < s[1]; c++)
            for (int64_t p = 0; p < places; p++) {
                const int64_t linear = (n * s[1] + c) * places + p,
                              last = (n * places + p) * s[1] + c;
                target[to->format == TN_LINEAR ? linear : last] =
                    source[from->format == TN_LINEAR ? linear : last];
            }
}

static tn_status run_one(stub_work *work) {
    switch (work->kind) {
    case WORK_COPY:
        memcpy(work->to, work->from, (size_t)work->bytes);
        return TN_OK;
    case WORK_FILL:
        memset(work->to, (int)work->byte, (size_t)work->bytes);
        return TN_OK;
    case WORK_CONVERT:
        convert_now(&work->from_tensor, &work->to_tensor);
        return TN_OK;
    case WORK_EVENT:
        return clock_gettime(CLOCK_MONOTONIC, work->to) == 0 ? TN_OK : TN_ERROR_DEVICE;
    default:
        return work->body ? work->body(&work->call) : work->call.op->reference(&work->call);
    }
}

static tn_status run_all(const tn_device *device, stub_stream *stream) {
    tn_stub_state *state = state_of(device);
    tn_status status = state->is_lost ? TN_ERROR_DEVICE : TN_OK; /* then nothing is done */
    if (stream->is_capturing) return fail(TN_ERROR_DEVICE, "a stream is waited for in a capture");
    if (stream->count == 0) return TN_OK;
    pthread_mutex_lock(&lock);
    protect_all(PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < stream->count; i++) {
        if (status == TN_OK) status = run_one(&stream->work[i]);
        free(stream->work[i].staged);
    }
    protect_all(PROT_NONE);
    pthread_mutex_unlock(&lock);
    stream->count = 0;
    if (state->is_lost) return fail_lost(state);
    return status == TN_OK ? TN_OK : fail(status, "a kernel of the stub failed");
}

static tn_status stream_create(const tn_device *device, void **out_stream) {
    if (state_of(device)->is_lost) return fail_lost(state_of(device));
    stub_stream *stream = calloc(1, sizeof(*stream));
    if (stream) stream->work = calloc(WORK_LIMIT, sizeof(*stream->work));
    if (!stream || !stream->work) {
        free(stream);
        return fail(TN_ERROR_MEMORY, "no memory for a stream");
    }
    *out_stream = stream;
    return TN_OK;
}
static void stream_destroy(const tn_device *device, void *handle) {
    stub_stream *stream = handle;
    if (stream->count > 0 && !state_of(device)->is_lost) abort(); /* nobody waited for it */
    free(stream->work);
    free(stream);
}
static tn_status stream_wait(const tn_device *device, void *stream) {
    tn_stub_state *state = state_of(device);
    if (state->is_lost) {
        (void)run_all(device, stream);
        return fail_lost(state);
    }
    const bool is_failing = is_to_fail(&state->waits, state->fail_wait);
    const tn_status status = run_all(device, stream);
    if (status != TN_OK || !is_failing) return status;
    return fail_as_asked(state, TN_ERROR_DEVICE, "the stub is asked to fail in a kernel");
}

static tn_status event_create(const tn_device *device, void **out_event) {
    (void)device;
    *out_event = calloc(1, sizeof(struct timespec));
    return *out_event ? TN_OK : fail(TN_ERROR_MEMORY, "no memory for an event");
}
static void event_destroy(const tn_device *device, void *event) {
    (void)device;
    free(event);
}
static tn_status event_record(const tn_device *device, void *event, void *stream) {
    stub_work *work = add_work(stream, WORK_EVENT);
    (void)device;
    if (!work) return fail(TN_ERROR_DEVICE, "the stub has no such stream, or it is full");
    work->to = event;
    return TN_OK;
}
static tn_status event_wait(const tn_device *device, void *event, void *stream) {
    (void)device;
    (void)event;
    (void)stream;
    return TN_OK;
}
static tn_status event_elapsed(const tn_device *device, void *from, void *to, double *out_ns) {
    const struct timespec *a = from, *b = to;
    (void)device;
    *out_ns = (double)(b->tv_sec - a->tv_sec) * 1e9 + (double)(b->tv_nsec - a->tv_nsec);
    return TN_OK;
}

static tn_status capture_begin(const tn_device *device, void *handle) {
    stub_stream *stream = handle;
    if (state_of(device)->is_lost) return fail_lost(state_of(device));
    if (stream->is_capturing) return fail(TN_ERROR_DEVICE, "a capture in a capture");
    stream->is_capturing = true;
    stream->captured_from = stream->count;
    return TN_OK;
}

static tn_status capture_end(const tn_device *device, void *handle, void **out_graph) {
    stub_stream *stream = handle;
    (void)device;
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

static tn_status graph_launch(const tn_device *device, void *handle, void *stream) {
    const stub_graph *graph = handle;
    if (state_of(device)->is_lost) return fail_lost(state_of(device));
    state_of(device)->graphs++;
    for (size_t i = 0; i < graph->count; i++) {
        stub_work *work = add_work(stream, 0);
        if (!work) return fail(TN_ERROR_DEVICE, "the stream is full");
        *work = graph->work[i];
    }
    return TN_OK;
}
static void graph_destroy(const tn_device *device, void *graph) {
    (void)device;
    free(graph);
}

/* The thread's current one, from 1; 0: none. Kernels are run where theirs is. */
static _Thread_local uint32_t current;

static uint32_t enter(const tn_device *device) {
    const uint32_t before = current;
    current = device->index + 1;
    __atomic_add_fetch(&state_of(device)->entered, 1, __ATOMIC_RELAXED);
    return before;
}

static void leave(const tn_device *device, uint32_t before) {
    current = before;
    __atomic_sub_fetch(&state_of(device)->entered, 1, __ATOMIC_RELAXED);
}

static tn_status check(const tn_device *device) {
    const tn_stub_state *state = state_of(device);
    return state->is_lost ? fail_lost(state) : TN_OK;
}

static tn_status check_launch(const tn_device *device) {
    (void)device;
    if (!has_refused_launch) return TN_OK;
    has_refused_launch = false;
    return fail(TN_ERROR_DEVICE, "a kernel's launch was refused");
}

#define STUB_STATE                                                                                 \
    { .version = "1", .libraries = "1", .enqueue = enqueue, .refuse_launch = refuse_launch }
static tn_stub_state states[] = {STUB_STATE, STUB_STATE};

#define STUB_DEVICE(number)                                                                        \
    {                                                                                              \
        .size = sizeof(tn_device), .index = number, .kind = "stub",                                \
        .name = "a device without hardware", .alignment = 256, .user = &states[number],            \
        .fingerprint = fingerprint, .allocate = allocate, .deallocate = deallocate, .copy = copy,  \
        .fill = fill, .stream_create = stream_create, .stream_destroy = stream_destroy,            \
        .stream_wait = stream_wait, .event_create = event_create, .event_destroy = event_destroy,  \
        .event_record = event_record, .event_wait = event_wait, .event_elapsed = event_elapsed,    \
        .capture_begin = capture_begin, .capture_end = capture_end, .graph_launch = graph_launch,  \
        .graph_destroy = graph_destroy, .last_error = error_text, .convert = convert,              \
        .host_allocate = host_allocate, .host_deallocate = host_deallocate, .check = check,        \
        .check_launch = check_launch, .libraries = libraries, .enter = enter, .leave = leave       \
    }
const tn_device tn_stub_device = STUB_DEVICE(0), tn_stub_second_device = STUB_DEVICE(1);

static void read_wish(tn_stub_state *state, const char *wish) {
    unsigned long long at = 0;
    if (sscanf(wish, "allocate:%llu", &at) == 1) state->fail_allocation = at;
    if (sscanf(wish, "launch:%llu", &at) == 1) state->fail_launch = at;
    if (sscanf(wish, "wait:%llu", &at) == 1) state->fail_wait = at;
    state->is_lasting = strstr(wish, ",lasting") != NULL;
}

TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {
    static const tn_device *const devices[] = {&tn_stub_device, &tn_stub_second_device};
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "tenon_stub",
                               .version = "1",
                               .kernels = tn_stub_kernels,
                               .device_count = 2,
                               .devices = devices};
    const char *wish = getenv("TENON_STUB_FAIL");
    (void)host;
    if (wish) read_wish(&states[0], wish);
    table.kernel_count = tn_stub_kernel_count;
    return &table;
}
