/* SPDX-License-Identifier: Apache-2.0 */
/* A context on a GPU: the stream that it runs on, the caller's memory for its outputs, and how long
 * a run is waited for. */
#include "context.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <tenon/device_memory.h>

/* A stream that the producers of tensors can have wait for their work, where the caller has set
 * none: the context's own is not to be had. */
static bool make_stream(context_object *self) {
    char name[24];
    tn_device_handle *device = NULL;
    tn_stream *stream = NULL;
    snprintf(name, sizeof(name), "cuda:%d", self->engine->device_index);
    tn_status status = tn_device_open(self->engine->runtime->runtime, name, &device);
    if (status == TN_OK) status = tn_stream_create(device, &stream);
    if (status == TN_OK) status = tn_context_set_stream(self->context, tn_stream_native(stream));
    tn_device_release(device); /* the stream holds a count */
    if (status != TN_OK) {
        tn_stream_destroy(stream);
        binding_raise();
        return false;
    }
    self->own_stream = stream;
    return true;
}

bool context_want(context_object *self, device_want *out_want) {
    if (!self->stream && !self->own_stream && !make_stream(self)) return false;
    void *native = self->stream ? self->stream : tn_stream_native(self->own_stream);
    *out_want = (device_want){.index = self->engine->device_index, .stream = (uintptr_t)native};
    return true;
}

PyObject *context_set_stream(PyObject *object, PyObject *stream) {
    context_object *self = (context_object *)object;
    unsigned long long native = stream == Py_None ? 0 : PyLong_AsUnsignedLongLong(stream);
    if (PyErr_Occurred() || !context_begin(self)) return NULL;
    const tn_status status = tn_context_set_stream(self->context, (void *)(uintptr_t)native);
    if (status == TN_OK) {
        self->stream = (void *)(uintptr_t)native;
        tn_stream_destroy(self->own_stream);
        self->own_stream = NULL;
    }
    context_end(self);
    if (status != TN_OK) return binding_raise();
    Py_RETURN_NONE;
}

/* Memory of at least so many bytes that the caller's function answers. */
static void *ask_for_memory(context_object *self, uint32_t output, uint64_t bytes) {
    output_slot *slot = &self->outputs[output];
    PyObject *name = PyTuple_GetItem(self->engine->output_names, output);
    device_want want;
    Py_CLEAR(slot->owner);
    array_close(&slot->view);
    memset(&slot->view, 0, offsetof(array_view, strides));
    if (!context_want(self, &want)) return NULL;
    slot->owner = PyObject_CallFunction(self->allocate, "OK", name, (unsigned long long)bytes);
    const int is_open = slot->owner ? dlpack_open(slot->owner, &want, &slot->view) : -1;
    if (is_open > 0 && slot->view.is_on_device && slot->view.is_packed && slot->view.bytes >= bytes)
        return slot->view.data;
    if (!PyErr_Occurred())
        binding_raise_text(TN_ERROR_ARGUMENT,
                           "allocate(%s, %llu): a contiguous tensor of so many bytes in the memory "
                           "of cuda:%d is wanted",
                           tn_engine_output(self->engine->engine, output)->name,
                           (unsigned long long)bytes, self->engine->device_index);
    return NULL;
}

void *context_allocate_on_device(void *user, uint32_t output, uint64_t bytes, uint64_t alignment) {
    const PyGILState_STATE state = PyGILState_Ensure();
    void *data = PyErr_Occurred() ? NULL : ask_for_memory(user, output, bytes);
    (void)alignment; /* the run refuses what is not aligned */
    PyGILState_Release(state);
    return data;
}

PyObject *context_device_output(context_object *self, uint32_t index, const tn_tensor *tensor) {
    output_slot *slot = &self->outputs[index];
    return Py_BuildValue("(OsN)", slot->owner, binding_type_name(tensor->type),
                         binding_extents(tensor->rank, tensor->shape));
}

static bool is_all_on_device(const context_object *self) {
    for (uint32_t i = 0; i < self->engine->input_count; i++)
        if (!self->inputs[i].is_on_device) return false;
    for (uint32_t i = 0; i < self->engine->output_count; i++)
        if (!self->outputs[i].view.is_on_device) return false;
    return true;
}

tn_status context_wait(context_object *self) {
    bool is_done = false;
    if (self->engine->device_index < 0 || (!self->stream && !self->own_stream)) return TN_OK;
    if (self->stream && is_all_on_device(self)) return TN_OK;
    while (!is_done) {
        const tn_status status = tn_context_is_done(self->context, &is_done);
        if (status != TN_OK) return status;
        if (!is_done) sched_yield();
    }
    return TN_OK;
}
