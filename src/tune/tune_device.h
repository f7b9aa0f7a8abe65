/* SPDX-License-Identifier: Apache-2.0 */
/* A context on a device that is not the processor, timed there: inputs and outputs stay in the
 * device's memory, and nobody waits between runs. */
#ifndef TN_TUNE_TUNE_DEVICE_H
#define TN_TUNE_TUNE_DEVICE_H

#include <tenon/engine.h>
#include <tenon/plugin/device.h>

#include <stdint.h>

/* Zero: there is none. */
typedef struct tn_tune_device {
    const tn_allocator *allocator;
    const tn_device *device;
    tn_context *context;
    void *stream, *begin, *end;
    void **blocks;
    uint32_t block_count, runs; /* of a sample */
} tn_tune_device;

/* Gives the context a stream of its own, which lives until close; the context ends before. */
tn_status tn_tune_device_open(tn_tune_device *own, const tn_allocator *allocator,
                              const tn_device *device, const tn_engine *engine,
                              tn_context *context);
void tn_tune_device_close(tn_tune_device *own);
/* Copies an input's elements there, and binds it. */
tn_status tn_tune_device_bind_input(tn_tune_device *own, uint32_t input, const void *data,
                                    uint64_t bytes);
/* Binds the outputs, and runs for the first time. */
tn_status tn_tune_device_start(tn_tune_device *own, const tn_engine *engine);
/* Nanoseconds of a run, of several one behind the other. */
tn_status tn_tune_device_sample(tn_tune_device *own, double *out_ns);

#endif
