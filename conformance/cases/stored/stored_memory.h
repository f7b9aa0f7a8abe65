/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of one tensor of a kernel that is called directly (stored.h): on the host, exactly as
 * long as it must be or between guards, and on a device between guards, with an image on the host
 * that is copied there and fetched from there.
 */
#ifndef TN_CONFORMANCE_CASES_STORED_MEMORY_H
#define TN_CONFORMANCE_CASES_STORED_MEMORY_H

#include "cases/stored/stored.h"

/* Null device: the processor. */
typedef struct tn_stored_target {
    const tn_device *device;
    void *stream;
} tn_stored_target;

typedef struct tn_stored_memory {
    tn_tensor_storage storage;
    tn_quantization quantization;
    uint64_t zero_point[1];  /* in the tensor's type */
    tn_stored_target target; /* set by the caller */
    bool is_on_host;         /* set by the caller: a port in host memory whatever the device */
    bool is_shape_only;      /* set by the caller: it has no data */
    char *memory;            /* of the host; guards included where it has them */
    void *on_device;         /* guards included; null: none */
    size_t guard;            /* bytes before and after, in `memory` */
    size_t bytes;            /* between the guards */
} tn_stored_memory;

/* The same numbers as the tensor's, linear and of its own type. */
tn_status tn_stored_memory_describe_own(const tn_stored_tensor *tensor, void *data,
                                        tn_tensor_storage *out_storage);
/* An input: the tensor's numbers as they are stored. */
tn_status tn_stored_memory_fill(tn_stored_memory *memory, const tn_stored_tensor *tensor);
/* An output, all bytes of which are the guard's. */
tn_status tn_stored_memory_poison(tn_stored_memory *memory, const tn_stored_tensor *tensor);
/* Scratch. */
tn_status tn_stored_memory_rubbish(tn_stored_memory *memory, size_t bytes);
/* Sets the tensor's data as a kernel sees it at this stage. */
void tn_stored_memory_show(tn_stored_memory *memory, bool is_running, bool is_constant);
/* Copies what a device has back into `memory`. */
tn_status tn_stored_memory_fetch(tn_stored_memory *memory);
bool tn_stored_memory_is_guarded(const tn_stored_memory *memory);
/* Whether an input on a device is what it was. */
bool tn_stored_memory_is_unchanged(const tn_stored_memory *memory);
/* The host's image, past its guard. */
void *tn_stored_memory_host(const tn_stored_memory *memory);
void tn_stored_memory_free(tn_stored_memory *memory);

#endif
