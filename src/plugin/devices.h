/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices by name: the processor, which the runtime has itself, and those that libraries provide.
 * One that no loaded library has is looked for in the folder tenon/devices beside the core library.
 */
#ifndef TN_PLUGIN_DEVICES_H
#define TN_PLUGIN_DEVICES_H

#include "plugin/runtime.h"

#include <tenon/plugin/device.h>

#include <stddef.h>

/* Whether a device's table has a function that came later. */
#define TN_DEVICE_HAS(device, function)                                                            \
    ((device)->size >= offsetof(tn_device, function) + sizeof((device)->function) &&               \
     (device)->function)

/* A device in use: its library stays loaded. */
typedef struct tn_used_device {
    const tn_device *device;    /* never null */
    tn_loaded_library *library; /* null: the processor */
} tn_used_device;

/* The device of a name like "cpu", "cuda" (the first of its kind) or "cuda:1". To be given back by
 * tn_device_give_back. TN_ERROR_ARGUMENT: no name of a device; TN_ERROR_NOT_FOUND: what was looked
 * for, where, and what there is; TN_ERROR_PLUGIN: its table is broken. */
tn_status tn_device_take(tn_runtime *runtime, const char *name, tn_used_device *out_device);
void tn_device_give_back(tn_used_device *device); /* an empty one is fine */
/* The name that finds it again: "cpu", "cuda:0". */
enum { TN_DEVICE_NAME_BYTES = 64 };
void tn_device_name(const tn_device *device, char name[TN_DEVICE_NAME_BYTES]);
/* Whether this is not the processor: its kernels are asynchronous, its memory is its own. */
bool tn_device_is_remote(const tn_device *device);
/* Whether it makes graphs of what is enqueued. */
bool tn_device_captures(const tn_device *device);
/* The reason that a device gives for a failure, as an error: "DOING: REASON". */
tn_status tn_device_failed(const tn_device *device, tn_status status, const char *doing);

/* Around callbacks of the device's kernels: it is then the calling thread's current one. */
uint32_t tn_device_enter(const tn_device *device);
void tn_device_leave(const tn_device *device, uint32_t before);
/* The error after which this process can use the device no more; TN_OK: it can. */
tn_status tn_device_alive(const tn_device *device);
/* The error of a launch of the calling thread that nobody has looked at, "DOING: REASON". */
tn_status tn_device_launched(const tn_device *device, const char *doing);

/* The caller's allocator, checked; null: none, and `allocate` is null. TN_ERROR_ARGUMENT. */
tn_status tn_device_allocator_read(const tn_device_allocator *given, tn_device_allocator *out_own);
/* Memory of a device, in the order of a stream, from the caller's allocator (where its `allocate`
 * is there) or from the device. `what` is for the error. */
tn_status tn_device_take_memory(const tn_device *device, const tn_device_allocator *own,
                                size_t bytes, void *stream, const char *what, void **out_memory);
void tn_device_give_memory(const tn_device *device, const tn_device_allocator *own, void *memory,
                           void *stream);

/* As it is shown; `library` is the name of the one that provides it. */
tn_device_info tn_device_describe(const tn_device *device, const char *library);

/* Whether a device's table has what a device must have. TN_ERROR_PLUGIN. */
tn_status tn_device_check(const tn_device *device);

#endif
