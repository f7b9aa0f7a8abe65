/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/device.h: the table of a device, for libraries that provide one (tn_library.devices)
 * and for kernels that ask theirs (call->device) for memory, copies and events.
 *
 * What only the device sees of its data (an index outside its axis) a kernel's work writes to words
 * of the host's that the device reaches, which `open` allocates; it leaves out what it cannot do.
 * tn_kernel.verify reads them once the host has waited, clears them and says by host->fail what was
 * found: the run fails with its status, at this node. On a caller's stream that is before the next
 * run. [thread: node; called: after a run; may fail]
 */
#ifndef TENON_PLUGIN_DEVICE_H
#define TENON_PLUGIN_DEVICE_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_COPY_TO_DEVICE = 1, TN_COPY_TO_HOST = 2, TN_COPY_ON_DEVICE = 3 };

/* What a device can do, as bits: what a bit's absence means is what every device can. */
enum {
    /* Its kernels may write to memory that host_allocate gave, by the same address, though not as
     * fast as to its own. */
    TN_DEVICE_REACHES_HOST = 1u
};

/* A device, as the library that provides it describes it. Kernels see theirs in call->device.
 * Statuses other than 0 come with the reason in `last_error`. [thread: any, unless said] */
struct tn_device {
    uint32_t size;
    uint32_t index;   /* which one of its kind, from 0 */
    const char *kind; /* "cpu", "cuda" */
    const char *name;
    uint64_t alignment;    /* of memory, in bytes */
    uint64_t capabilities; /* TN_DEVICE_... */
    void *user;
    const char *(*fingerprint)(const tn_device *device)
        TN_NOEXCEPT; /* timings are valid for this and nothing else */
    tn_status (*allocate)(const tn_device *device, uint64_t bytes, void *stream,
                          void **out_memory) TN_NOEXCEPT;
    void (*deallocate)(const tn_device *device, void *memory, void *stream) TN_NOEXCEPT;
    /* Host memory that is read may be written again when this returns, unless host_allocate gave
     * it; host memory that is written is there when the stream was waited for. */
    tn_status (*copy)(const tn_device *device, void *to, const void *from, uint64_t bytes,
                      uint32_t direction, void *stream) TN_NOEXCEPT;
    tn_status (*fill)(const tn_device *device, void *to, uint32_t byte, uint64_t bytes,
                      void *stream) TN_NOEXCEPT;
    tn_status (*stream_create)(const tn_device *device, void **out_stream) TN_NOEXCEPT;
    void (*stream_destroy)(const tn_device *device, void *stream) TN_NOEXCEPT;
    tn_status (*stream_wait)(const tn_device *device,
                             void *stream) TN_NOEXCEPT; /* the host waits for all of it */
    tn_status (*event_create)(const tn_device *device, void **out_event) TN_NOEXCEPT;
    void (*event_destroy)(const tn_device *device, void *event) TN_NOEXCEPT;
    tn_status (*event_record)(const tn_device *device, void *event, void *stream) TN_NOEXCEPT;
    tn_status (*event_wait)(const tn_device *device, void *event,
                            void *stream) TN_NOEXCEPT; /* the stream waits */
    tn_status (*event_elapsed)(const tn_device *device, void *from, void *to,
                               double *out_ns) TN_NOEXCEPT;
    tn_status (*capture_begin)(const tn_device *device,
                               void *stream) TN_NOEXCEPT; /* null: cannot capture */
    tn_status (*capture_end)(const tn_device *device, void *stream, void **out_graph) TN_NOEXCEPT;
    tn_status (*graph_launch)(const tn_device *device, void *graph, void *stream) TN_NOEXCEPT;
    void (*graph_destroy)(const tn_device *device, void *graph) TN_NOEXCEPT;
    const char *(*last_error)(const tn_device *device)TN_NOEXCEPT; /* the calling thread's */
    /* Both tensors lie in the device's memory and have the same shape: types, formats and
     * quantisation may differ, as between any two storages of one tensor; padded lanes become zero.
     * TN_ERROR_UNSUPPORTED: not between these two. Null: between none. */
    tn_status (*convert)(const tn_device *device, const tn_tensor *from, const tn_tensor *to,
                         void *stream) TN_NOEXCEPT;
    /* Host memory that the device copies from and to fastest, while the host goes on (pinned),
     * aligned to 4096 bytes. Null: the host's own does as well. */
    tn_status (*host_allocate)(const tn_device *device, uint64_t bytes,
                               void **out_memory) TN_NOEXCEPT;
    void (*host_deallocate)(const tn_device *device, void *memory) TN_NOEXCEPT; /* null is fine */
    /* TN_OK, or that this process can use the device no more, after an error from which it does not
     * recover: everything else then fails too, with the same reason in last_error. Null: that does
     * not happen. */
    tn_status (*check)(const tn_device *device) TN_NOEXCEPT;
    /* The error of a launch of the calling thread that nobody has asked for yet, and forgets it:
     * what a kernel does not look at itself. Null: there is none. */
    tn_status (*check_launch)(const tn_device *device) TN_NOEXCEPT;
    /* Versions of the libraries that the device's kernels call, which may be loaded to find them:
     * timings are valid for these alone. Null: none. */
    const char *(*libraries)(const tn_device *device)TN_NOEXCEPT;
    /* Makes the device the calling thread's current one, where its own interface has such a thing,
     * and answers which one was, for leave. The engine does so around every callback of a kernel of
     * the device, those that ask (accepts, tactics, combination) among them. Null: there is no such
     * thing. */
    uint32_t (*enter)(const tn_device *device) TN_NOEXCEPT;
    void (*leave)(const tn_device *device, uint32_t before) TN_NOEXCEPT;
    /* 1: what is enqueued on the stream becomes part of a graph of whoever began a capture there.
     * Null: that cannot be known. */
    uint32_t (*is_capturing)(const tn_device *device, void *stream) TN_NOEXCEPT;
    /* How much of its memory is free, and how much there is, in bytes. Null: not known. */
    tn_status (*memory)(const tn_device *device, uint64_t *out_free,
                        uint64_t *out_total) TN_NOEXCEPT;
    /* A table of further services by name, constant for the life of the library; null: it has none
     * of that name. Null: it has none at all. */
    const void *(*extension)(const tn_device *device, const char *name)TN_NOEXCEPT;
};

/* device->extension(device, TN_DEVICE_COMPLETION): how the host learns that a stream has come so
 * far without waiting for it. */
#define TN_DEVICE_COMPLETION "tn.device.completion/1"
typedef struct tn_device_completion {
    uint32_t size;
    /* Whether all is done that was on the stream before the event was recorded there: 1 or 0. It
     * never waits. TN_ERROR_DEVICE: something of it failed. */
    tn_status (*event_query)(const tn_device *device, void *event,
                             uint32_t *out_is_done) TN_NOEXCEPT;
    /* Has function(user) called once, by a thread of the device's, when all is done that is on the
     * stream now; what is enqueued later waits for it. It calls nothing of the device. Where the
     * device is lost before, it may not be called. */
    tn_status (*call_host)(const tn_device *device, void *stream, void (*function)(void *user),
                           void *user) TN_NOEXCEPT;
} tn_device_completion;

/* device->extension(device, TN_DEVICE_BRANCHES): kernels that need nothing of each other run beside
 * each other in a captured graph, where those in a stream run one after the other. Both have to
 * have TN_KERNEL_CONCURRENT: of the device's memory such a kernel reads and writes what its call
 * has and its own state and context, and nothing that other nodes' kernels have, too. */
#define TN_DEVICE_BRANCHES "tn.device.branches/1"
typedef struct tn_device_branches {
    uint32_t size;
    /* What was enqueued last in the capture of the stream, as a handle that is valid until
     * capture_end; null: nothing, or more than one thing, or what has none. */
    void *(*last)(const tn_device *device, void *stream)TN_NOEXCEPT;
    /* Before capture_end, when all is enqueued: `second`, a kernel that was enqueued right behind
     * the kernel `first`, needs nothing of it. Both then wait for what `first` waited for, and what
     * is behind waits for both. What is no such pair, and a second that is the last of all, stays
     * as it is. A kernel is in one pair at most. */
    tn_status (*put_beside)(const tn_device *device, void *stream, void *first,
                            void *second) TN_NOEXCEPT;
} tn_device_branches;

#ifdef __cplusplus
}
#endif

TN_FROZEN(tn_device, user, 40);
TN_FROZEN(tn_device, last_error, 184);
TN_FROZEN(tn_device_completion, call_host, 16);
TN_FROZEN(tn_device_branches, put_beside, 16);

#endif
