/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.Context inside: context.c has the type, context_run.c a run. */
#ifndef TENON_BINDING_CONTEXT_H
#define TENON_BINDING_CONTEXT_H

#include "binding.h"

/* What a run has of an output. */
typedef struct output_slot {
    void *data; /* allocated in the run; null: none, or the caller's */
    uint64_t bytes;
    bool is_bound; /* the caller's array is `view` */
    array_view view;
} output_slot;

typedef struct context_object {
    PyObject base;
    tn_context *context;
    engine_object *engine;
    array_view *inputs;
    output_slot *outputs;
    bool is_busy; /* a thread is in a run or another call */
} context_object;

/* context.run(inputs, out=None). */
PyObject *context_run(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                      PyObject *names);
/* tn_output_allocate for output_slot. */
void *context_allocate_output(void *user, uint32_t output, uint64_t bytes, uint64_t alignment);
/* False, with an exception, where another thread has the context. */
bool context_begin(context_object *self);
void context_end(context_object *self);

#endif
