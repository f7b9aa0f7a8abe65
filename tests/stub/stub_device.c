/* SPDX-License-Identifier: Apache-2.0 */
/* The stub device: see stub.h. One thread at a time is inside it. */
#include "stub_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local bool has_refused_launch;

static const char *fingerprint(const tn_device *device) {
    tn_stub_state *state = stub_state(device);
    snprintf(state->fingerprint, sizeof(state->fingerprint), "stub; driver %s", state->version);
    return state->fingerprint;
}
static const char *libraries(const tn_device *device) {
    return stub_state(device)->libraries;
}

static void refuse_launch(void) {
    has_refused_launch = true;
}

/* The thread's current one, from 1; 0: none. Kernels are run where theirs is. */
static _Thread_local uint32_t current;

uint32_t stub_current(void) {
    return current;
}

static uint32_t enter(const tn_device *device) {
    const uint32_t before = current;
    current = device->index + 1;
    __atomic_add_fetch(&stub_state(device)->entered, 1, __ATOMIC_RELAXED);
    return before;
}

static void leave(const tn_device *device, uint32_t before) {
    current = before;
    __atomic_sub_fetch(&stub_state(device)->entered, 1, __ATOMIC_RELAXED);
}

static tn_status check(const tn_device *device) {
    const tn_stub_state *state = stub_state(device);
    return state->is_lost ? stub_fail_lost(state) : TN_OK;
}

static tn_status check_launch(const tn_device *device) {
    (void)device;
    if (!has_refused_launch) return TN_OK;
    has_refused_launch = false;
    return stub_fail(TN_ERROR_DEVICE, "a kernel's launch was refused");
}

static tn_status stub_memory(const tn_device *device, uint64_t *out_free, uint64_t *out_total) {
    (void)device;
    *out_free = UINT64_C(3) << 30;
    *out_total = UINT64_C(4) << 30;
    return TN_OK;
}

/* Another name, where other libraries' kernels are to be asked. */
#ifndef STUB_KIND
#define STUB_KIND "stub"
#endif

static const void *extension(const tn_device *device, const char *name) {
    static const tn_device_completion completion = {
        .size = sizeof(completion), .event_query = stub_event_query, .call_host = stub_call_host};
    static const tn_device_branches branches = {.size = sizeof(branches),
                                                .last = stub_branches_last,
                                                .put_beside = stub_branches_put_beside};
    (void)device;
    if (strcmp(name, TN_DEVICE_BRANCHES) == 0) return &branches;
    return strcmp(name, TN_DEVICE_COMPLETION) == 0 ? &completion : NULL;
}

#define STUB_STATE                                                                                 \
    { .version = "1", .libraries = "1", .enqueue = stub_enqueue, .refuse_launch = refuse_launch }
static tn_stub_state states[] = {STUB_STATE, STUB_STATE};

#define STUB_DEVICE(number)                                                                        \
    {                                                                                              \
        .size = sizeof(tn_device), .index = number, .kind = STUB_KIND,                             \
        .name = "a device without hardware", .alignment = 256, .user = &states[number],            \
        .capabilities = number == 0 ? TN_DEVICE_REACHES_HOST : 0, .fingerprint = fingerprint,      \
        .allocate = stub_allocate, .deallocate = stub_deallocate, .copy = stub_copy,               \
        .fill = stub_fill, .stream_create = stub_stream_create,                                    \
        .stream_destroy = stub_stream_destroy, .stream_wait = stub_stream_wait,                    \
        .event_create = stub_event_create, .event_destroy = stub_event_destroy,                    \
        .event_record = stub_event_record, .event_wait = stub_event_wait,                          \
        .event_elapsed = stub_event_elapsed, .capture_begin = stub_capture_begin,                  \
        .capture_end = stub_capture_end, .graph_launch = stub_graph_launch,                        \
        .graph_destroy = stub_graph_destroy, .last_error = stub_last_error,                        \
        .convert = stub_convert, .host_allocate = stub_host_allocate,                              \
        .host_deallocate = stub_host_deallocate, .check = check, .check_launch = check_launch,     \
        .libraries = libraries, .enter = enter, .leave = leave, .is_capturing = stub_is_capturing, \
        .memory = stub_memory, .extension = extension                                              \
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
