/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.Context inside: context.c has the type, context_run.c a run, context_device.c what a run on
 * a GPU has beside. */
#ifndef TENON_BINDING_CONTEXT_H
#define TENON_BINDING_CONTEXT_H

#include "binding.h"

#include <tenon/device_memory.h>

/* What a run has of an output. */
typedef struct output_slot {
    void *data; /* allocated in the run; null: none, or the caller's */
    uint64_t bytes;
    bool is_bound;   /* the caller's array is `view` */
    PyObject *owner; /* what the caller's allocate answered, whose memory is `view`; or null */
    array_view view;
} output_slot;

typedef struct context_object {
    PyObject base;
    tn_context *context;
    engine_object *engine;
    array_view *inputs;
    output_slot *outputs;
    void *stream;          /* the caller's, of the device; or null */
    tn_stream *own_stream; /* made for tensors of the device where there is none of the caller's */
    PyObject *allocate;    /* of the run that is under way, borrowed; or null */
    bool is_busy;          /* a thread is in a run or another call */
} context_object;

/* context.run(inputs, out=None, allocate=None). */
PyObject *context_run(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                      PyObject *names);
/* tn_output_allocate for output_slot. */
void *context_allocate_output(void *user, uint32_t output, uint64_t bytes, uint64_t alignment);
/* context.set_stream(stream). */
PyObject *context_set_stream(PyObject *self, PyObject *stream);
/* Where tensors of the engine's device are to be, and the stream of the run; false with an
 * exception. */
bool context_want(context_object *self, device_want *out_want);
/* tn_output_allocate by the caller's function, in the memory of the device. */
void *context_allocate_on_device(void *user, uint32_t output, uint64_t bytes, uint64_t alignment);
/* What is answered of such an output: (what the function answered, type, shape). */
PyObject *context_device_output(context_object *self, uint32_t index, const tn_tensor *tensor);
/* Waits for a run that has returned before it was done, but where all of it is the device's and on
 * the caller's stream. Without the interpreter's lock. */
tn_status context_wait(context_object *self);
/* False, with an exception, where another thread has the context. */
bool context_begin(context_object *self);
void context_end(context_object *self);

#endif
