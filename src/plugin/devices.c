/* SPDX-License-Identifier: Apache-2.0 */
/* Devices by name: see devices.h. */
#include "plugin/devices.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "plugin/library_private.h"

#include <tenon/runtime.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_BYTES_AT_LEAST (offsetof(tn_device, last_error) + sizeof(void *))

bool tn_device_is_remote(const tn_device *device) {
    return strcmp(device->kind, "cpu") != 0;
}

void tn_device_name(const tn_device *device, char name[TN_DEVICE_NAME_BYTES]) {
    snprintf(name, TN_DEVICE_NAME_BYTES, tn_device_is_remote(device) ? "%s:%" PRIu32 : "%s",
             device->kind, device->index);
}

tn_status tn_device_failed(const tn_device *device, tn_status status, const char *doing) {
    const char *reason = device->last_error(device);
    tn_fail(status, "%s: %s", doing, reason && reason[0] ? reason : "the device gives no reason");
    return device->index
               ? tn_error_at(status, "device '%s:%" PRIu32 "'", device->kind, device->index)
               : tn_error_at(status, "device '%s'", device->kind);
}

uint32_t tn_device_enter(const tn_device *device) {
    return TN_DEVICE_HAS(device, enter) && TN_DEVICE_HAS(device, leave) ? device->enter(device) : 0;
}

void tn_device_leave(const tn_device *device, uint32_t before) {
    if (TN_DEVICE_HAS(device, enter) && TN_DEVICE_HAS(device, leave)) device->leave(device, before);
}

tn_status tn_device_alive(const tn_device *device) {
    const tn_status status = TN_DEVICE_HAS(device, check) ? device->check(device) : TN_OK;
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "the device is lost");
}

tn_status tn_device_allocator_read(const tn_device_allocator *given, tn_device_allocator *out_own) {
    tn_device_allocator own = {0};
    if (given) {
        memcpy(&own, given, given->size < sizeof(own) ? given->size : sizeof(own));
        if (!own.allocate || !own.deallocate)
            return tn_fail(TN_ERROR_ARGUMENT, "an allocator of device memory needs `size`, "
                                              "`allocate` and `deallocate`");
    }
    *out_own = own;
    return TN_OK;
}

static tn_status take_from_caller(const tn_device *device, const tn_device_allocator *own,
                                  size_t bytes, void *stream, const char *what, void **out_memory) {
    void *memory = own->allocate(own->user, bytes, device->alignment, stream);
    if (!memory) return tn_fail(TN_ERROR_MEMORY, "%s: the caller's allocator has none", what);
    if ((uintptr_t)memory % device->alignment != 0) {
        own->deallocate(own->user, memory, stream);
        return tn_fail(TN_ERROR_ARGUMENT,
                       "%s: the caller's allocator does not align to %" PRIu64 " bytes", what,
                       device->alignment);
    }
    *out_memory = memory;
    return TN_OK;
}

tn_status tn_device_take_memory(const tn_device *device, const tn_device_allocator *own,
                                size_t bytes, void *stream, const char *what, void **out_memory) {
    tn_status status;
    if (own->allocate) {
        status = take_from_caller(device, own, bytes, stream, what, out_memory);
    } else {
        status = device->allocate(device, bytes, stream, out_memory);
        if (status != TN_OK) status = tn_device_failed(device, status, what);
    }
    return tn_error_at(status, "%zu bytes", bytes);
}

void tn_device_give_memory(const tn_device *device, const tn_device_allocator *own, void *memory,
                           void *stream) {
    if (own->allocate)
        own->deallocate(own->user, memory, stream);
    else
        device->deallocate(device, memory, stream);
}

bool tn_device_captures(const tn_device *device) {
    return device->capture_begin && device->capture_end && device->graph_launch &&
           device->graph_destroy;
}

tn_status tn_device_launched(const tn_device *device, const char *doing) {
    const tn_status status =
        TN_DEVICE_HAS(device, check_launch) ? device->check_launch(device) : TN_OK;
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, doing);
}

/* All that a device which is not the processor must provide. What came later may be missing. */
tn_status tn_device_check(const tn_device *device) {
    if (!device || device->size < DEVICE_BYTES_AT_LEAST || device->size > 65536)
        return tn_fail(TN_ERROR_PLUGIN, "a device's table is too short");
    if (!device->kind || !device->kind[0] || strchr(device->kind, ':') ||
        strcmp(device->kind, "cpu") == 0)
        return tn_fail(TN_ERROR_PLUGIN, "a device has no kind of its own");
    const uint64_t alignment = device->alignment;
    if (alignment < 64 || alignment > 65536 || (alignment & (alignment - 1)) != 0)
        return tn_fail(TN_ERROR_PLUGIN, "device '%s' aligns memory to %" PRIu64 " bytes",
                       device->kind, alignment);
    if (!device->fingerprint || !device->allocate || !device->deallocate || !device->copy ||
        !device->fill || !device->stream_create || !device->stream_destroy ||
        !device->stream_wait || !device->event_create || !device->event_destroy ||
        !device->event_record || !device->event_wait || !device->event_elapsed ||
        !device->last_error || !device->fingerprint(device) || !device->fingerprint(device)[0])
        return tn_fail(TN_ERROR_PLUGIN, "device '%s' lacks a function", device->kind);
    return TN_OK;
}

typedef struct device_name {
    char kind[32];
    uint32_t index;
} device_name;

static tn_status read_name(const char *text, device_name *out_name) {
    const size_t length = strcspn(text, ":");
    char *end = NULL;
    unsigned long index = 0;
    if (text[length] == ':') index = strtoul(text + length + 1, &end, 10);
    const bool has_digits = !end || (end != text + length + 1 && !*end && text[length + 1] != '-');
    /* The kind becomes a part of a file's name, and may come from an untrusted plan. */
    const bool is_plain =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == length;
    if (length == 0 || length >= sizeof(out_name->kind) || !is_plain || !has_digits || index > 1024)
        return tn_fail(TN_ERROR_ARGUMENT, "'%s' is no name of a device, like cpu, cuda or cuda:1",
                       text);
    memcpy(out_name->kind, text, length);
    out_name->kind[length] = 0;
    out_name->index = (uint32_t)index;
    return TN_OK;
}

static const tn_device *const *devices_of(const tn_loaded_library *library, uint64_t *out_count) {
    const tn_library *table = library->table;
    const bool has = table && table->size >= offsetof(tn_library, devices) + sizeof(void *);
    *out_count = has && table->devices ? table->device_count : 0;
    return has ? table->devices : NULL;
}

/* Among the loaded libraries; takes a count on the library. */
static bool find_loaded(tn_runtime *runtime, const device_name *name, tn_used_device *out_device) {
    bool is_found = false;
    tn_runtime_lock(runtime);
    for (size_t i = 0; i < tn_runtime_library_count(runtime) && !is_found; i++) {
        tn_loaded_library *library = tn_runtime_library(runtime, i);
        uint64_t count = 0;
        const tn_device *const *devices = devices_of(library, &count);
        for (uint64_t d = 0; d < count && !is_found; d++) {
            is_found = tn_device_check(devices[d]) == TN_OK &&
                       strcmp(devices[d]->kind, name->kind) == 0 &&
                       devices[d]->index == name->index;
            if (is_found) *out_device = (tn_used_device){devices[d], tn_library_retain(library)};
        }
    }
    tn_runtime_unlock(runtime);
    return is_found;
}

static void list_devices(tn_runtime *runtime, tn_text *text) {
    tn_text_add(text, "cpu");
    tn_runtime_lock(runtime);
    for (size_t i = 0; i < tn_runtime_library_count(runtime); i++) {
        uint64_t count = 0;
        const tn_device *const *devices = devices_of(tn_runtime_library(runtime, i), &count);
        for (uint64_t d = 0; d < count; d++)
            if (tn_device_check(devices[d]) == TN_OK)
                tn_text_add_format(text, ", %s:%" PRIu32, devices[d]->kind, devices[d]->index);
    }
    tn_runtime_unlock(runtime);
}

static tn_status fail_missing(tn_runtime *runtime, const char *name, const char *why) {
    tn_text there;
    tn_text_init(&there, tn_runtime_allocator(runtime));
    list_devices(runtime, &there);
    tn_fail(TN_ERROR_NOT_FOUND, "there is no device '%s'%s%s; there is: %s", name,
            why[0] ? ": " : "", why[0] == ' ' ? why + 1 : why, there.data ? there.data : "cpu");
    tn_text_deinit(&there);
    return TN_ERROR_NOT_FOUND;
}

/* What a library of the kind has logged, which begins with the kind: why it finds no device. */
static const char *reason_of(tn_runtime *runtime, const device_name *name) {
    const char *said = tn_runtime_last_log(runtime);
    const size_t length = strlen(name->kind);
    return strncmp(said, name->kind, length) == 0 && said[length] == ':' ? said + length + 1 : "";
}

/* The library of a kind of device, as it comes with Tenon. */
static tn_status load_library(tn_runtime *runtime, const device_name *name, char *why,
                              size_t why_bytes) {
    char path[4096 + 64];
    const char *folder = tn_runtime_device_folder(runtime);
    snprintf(why, why_bytes, "%s", reason_of(runtime, name));
    if (!folder[0]) return TN_OK;
    snprintf(path, sizeof(path), "%s/libtenon_%s.so", folder, name->kind);
    if (!tn_file_exists(path)) {
        if (!why[0])
            snprintf(why, why_bytes, "no loaded library provides it, and '%s' is not there", path);
        return TN_OK;
    }
    const tn_status status = tn_runtime_load_library(runtime, path);
    const char *reason = reason_of(runtime, name);
    if (status == TN_OK)
        snprintf(why, why_bytes, "the library '%s' finds none%s%s", path, reason[0] ? ":" : "",
                 reason);
    return status;
}

tn_status tn_device_take(tn_runtime *runtime, const char *text, tn_used_device *out_device) {
    device_name name;
    char why[4096 + 1024];
    TN_TRY(read_name(text, &name));
    if (strcmp(name.kind, "cpu") == 0) {
        if (name.index > 0) return fail_missing(runtime, text, "the processor is one device");
        *out_device = (tn_used_device){tn_runtime_cpu(runtime), NULL};
        return TN_OK;
    }
    if (find_loaded(runtime, &name, out_device)) return TN_OK;
    TN_TRY(load_library(runtime, &name, why, sizeof(why)));
    if (find_loaded(runtime, &name, out_device)) return TN_OK;
    return fail_missing(runtime, text, why);
}

void tn_device_give_back(tn_used_device *device) {
    if (device->library) tn_library_release(device->library);
    *device = (tn_used_device){0};
}

tn_status tn_runtime_find_device(tn_runtime *runtime, const char *name) {
    tn_used_device device = {0};
    if (!runtime || !name) return tn_fail(TN_ERROR_ARGUMENT, "a runtime and a name are needed");
    TN_TRY(tn_device_take(runtime, name, &device));
    tn_device_give_back(&device);
    return TN_OK;
}

tn_device_info tn_device_describe(const tn_device *device, const char *library) {
    tn_device_info info = {.size = sizeof(tn_device_info),
                           .index = device->index,
                           .kind = device->kind,
                           .name = device->name ? device->name : "",
                           .fingerprint = device->fingerprint(device),
                           .library = library};
    if (TN_DEVICE_HAS(device, memory) &&
        device->memory(device, &info.memory_free, &info.memory_total) != TN_OK)
        info.memory_free = info.memory_total = 0;
    return info;
}

void tn_runtime_visit_devices(tn_runtime *runtime,
                              bool (*visit)(void *user, const tn_device_info *device), void *user) {
    if (!runtime || !visit) return;
    tn_device_info info = tn_device_describe(tn_runtime_cpu(runtime), "");
    tn_loaded_library *library;
    bool goes_on = visit(user, &info);
    for (uint64_t at = 0; goes_on && (library = tn_runtime_next_library(runtime, at)) != NULL;) {
        uint64_t count = 0;
        at = library->serial;
        const tn_device *const *devices = devices_of(library, &count);
        for (uint64_t d = 0; goes_on && d < count; d++) {
            if (tn_device_check(devices[d]) != TN_OK) continue;
            info = tn_device_describe(devices[d], library->name);
            goes_on = visit(user, &info);
        }
        tn_library_release(library);
    }
}
