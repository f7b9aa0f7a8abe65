/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a tn_device: host memory, and a stream on which everything is done at once. Declared
 * in cpu.h. */
#include "device/cpu/cpu.h"
#include "base/status.h"

#include <tenon/plugin/device.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *cpu_fingerprint(const tn_device *device) {
    return device->user;
}

static tn_status cpu_allocate(const tn_device *device, uint64_t bytes, void *stream,
                              void **out_memory) {
    void *memory = NULL;
    (void)stream;
    if (posix_memalign(&memory, (size_t)device->alignment, bytes ? (size_t)bytes : 1) != 0)
        return TN_ERROR_MEMORY;
    *out_memory = memory;
    return TN_OK;
}

static void cpu_deallocate(const tn_device *device, void *memory, void *stream) {
    (void)device;
    (void)stream;
    free(memory);
}

static tn_status cpu_copy(const tn_device *device, void *to, const void *from, uint64_t bytes,
                          uint32_t direction, void *stream) {
    (void)device;
    (void)direction;
    (void)stream;
    if (bytes) memcpy(to, from, (size_t)bytes);
    return TN_OK;
}

static tn_status cpu_fill(const tn_device *device, void *to, uint32_t byte, uint64_t bytes,
                          void *stream) {
    (void)device;
    (void)stream;
    if (bytes) memset(to, (int)byte, (size_t)bytes);
    return TN_OK;
}

static tn_status cpu_stream_create(const tn_device *device, void **out_stream) {
    (void)device;
    *out_stream = NULL;
    return TN_OK;
}
static void cpu_stream_destroy(const tn_device *device, void *stream) {
    (void)device;
    (void)stream;
}
static tn_status cpu_stream_wait(const tn_device *device, void *stream) {
    (void)device;
    (void)stream;
    return TN_OK;
}

/* An event is the time at which it was recorded. */
static tn_status cpu_event_create(const tn_device *device, void **out_event) {
    (void)device;
    struct timespec *event = calloc(1, sizeof(*event));
    if (!event) return TN_ERROR_MEMORY;
    *out_event = event;
    return TN_OK;
}
static void cpu_event_destroy(const tn_device *device, void *event) {
    (void)device;
    free(event);
}
static tn_status cpu_event_record(const tn_device *device, void *event, void *stream) {
    (void)device;
    (void)stream;
    return clock_gettime(CLOCK_MONOTONIC, event) == 0 ? TN_OK : TN_ERROR_DEVICE;
}
static tn_status cpu_event_wait(const tn_device *device, void *event, void *stream) {
    (void)device;
    (void)event;
    (void)stream;
    return TN_OK;
}
static tn_status cpu_event_elapsed(const tn_device *device, void *from, void *to, double *out_ns) {
    const struct timespec *a = from, *b = to;
    (void)device;
    *out_ns = (double)(b->tv_sec - a->tv_sec) * 1e9 + (double)(b->tv_nsec - a->tv_nsec);
    return TN_OK;
}

static tn_status cpu_event_query(const tn_device *device, void *event, uint32_t *out_is_done) {
    (void)device;
    (void)event;
    *out_is_done = 1;
    return TN_OK;
}
static tn_status cpu_call_host(const tn_device *device, void *stream, void (*function)(void *user),
                               void *user) {
    (void)device;
    (void)stream;
    function(user);
    return TN_OK;
}

static const void *cpu_extension(const tn_device *device, const char *name) {
    static const tn_device_completion completion = {
        .size = sizeof(completion), .event_query = cpu_event_query, .call_host = cpu_call_host};
    (void)device;
    return strcmp(name, TN_DEVICE_COMPLETION) == 0 ? &completion : NULL;
}

static const char *cpu_last_error(const tn_device *device) {
    (void)device;
    return "out of memory";
}

void tn_cpu_device_init(tn_device *out_device, const char *fingerprint) {
    *out_device = (tn_device){.size = sizeof(tn_device),
                              .kind = "cpu",
                              .name = "cpu",
                              .alignment = 64,
                              .user = (void *)(uintptr_t)fingerprint,
                              .fingerprint = cpu_fingerprint,
                              .allocate = cpu_allocate,
                              .deallocate = cpu_deallocate,
                              .copy = cpu_copy,
                              .fill = cpu_fill,
                              .stream_create = cpu_stream_create,
                              .stream_destroy = cpu_stream_destroy,
                              .stream_wait = cpu_stream_wait,
                              .event_create = cpu_event_create,
                              .event_destroy = cpu_event_destroy,
                              .event_record = cpu_event_record,
                              .event_wait = cpu_event_wait,
                              .event_elapsed = cpu_event_elapsed,
                              .last_error = cpu_last_error,
                              .extension = cpu_extension};
}

/* The brand string, from the extended leaves of CPUID; "cpu" where there is none. */
static void read_model(char *model, size_t bytes) {
    uint32_t words[13] = {0};
#if defined(__x86_64__)
    for (uint32_t i = 0; i < 3; i++)
        __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                    &words[4 * i + 3]);
#endif
    snprintf(model, bytes, "%s", words[0] ? (const char *)words : "cpu");
}

void tn_cpu_fingerprint(const char *features, char *buffer, size_t bytes) {
    char model[64];
    read_model(model, sizeof(model));
    size_t length = strlen(model);
    while (length && model[length - 1] == ' ')
        model[--length] = 0;
#if !defined(TN_NO_OPENMP)
    const char *threads = "openmp";
#else
    const char *threads = "own";
#endif
    snprintf(buffer, bytes, "cpu; %s; %s; %s threads", model, features, threads);
}

uint32_t tn_cpu_core_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    if (count > TN_THREAD_LIMIT) return TN_THREAD_LIMIT;
    return count > 0 ? (uint32_t)count : 1;
}
