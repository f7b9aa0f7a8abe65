/* SPDX-License-Identifier: Apache-2.0 */
/* Python objects as tensors: NumPy's arrays and all else with the buffer protocol or DLPack, where
 * they are; what is neither, or of another type or layout, goes through tenon._arrays. */
#include "binding.h"

#include <string.h>

void array_close(array_view *view) {
    if (view->buffer.obj) PyBuffer_Release(&view->buffer);
    dlpack_close(view->managed);
    Py_CLEAR(view->owner);
    view->managed = NULL;
    view->buffer.obj = NULL;
}

/* Strides in elements; false: they are none, or negative. */
static bool take_strides(array_view *view) {
    const Py_buffer *buffer = &view->buffer;
    Py_ssize_t packed = buffer->itemsize, last = buffer->itemsize;
    view->is_packed = true;
    for (int i = buffer->ndim - 1; i >= 0; i--) {
        const Py_ssize_t stride = buffer->strides ? buffer->strides[i] : packed;
        if (stride != packed && buffer->shape[i] != 1) view->is_packed = false;
        view->strides[i] = stride / buffer->itemsize;
        if (stride < 0 || stride % buffer->itemsize != 0) {
            if (buffer->shape[i] != 1) return false;
            view->strides[i] = 0;
        } else
            last += (buffer->shape[i] - 1) * stride;
        packed *= buffer->shape[i];
    }
    view->bytes = view->is_packed ? (uint64_t)buffer->len : (uint64_t)last;
    return true;
}

_Static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "extents are 64 bits");

/* By the buffer protocol; false without an exception where that is not possible. */
static bool open_buffer(PyObject *object, bool is_written, array_view *view) {
    const int flags = is_written ? PyBUF_STRIDED | PyBUF_FORMAT : PyBUF_STRIDED_RO | PyBUF_FORMAT;
    if (!PyObject_CheckBuffer(object)) return false;
    if (PyObject_GetBuffer(object, &view->buffer, flags) != 0) {
        view->buffer.obj = NULL;
        PyErr_Clear();
        return false;
    }
    Py_buffer *buffer = &view->buffer;
    view->type = binding_type_of_format(buffer->format, buffer->itemsize);
    if (buffer->ndim <= TN_MAX_RANK && view->type != TN_NONE && take_strides(view)) {
        view->data = buffer->buf;
        view->rank = (uint32_t)buffer->ndim;
        view->shape = (const int64_t *)buffer->shape;
        return true;
    }
    PyBuffer_Release(buffer);
    buffer->obj = NULL;
    return false;
}

/* Whether elements that tenon._arrays made are those of type `to`: floats of 8 bits are bytes
 * there, and bfloat16 is uint16. */
static bool serves(tn_type from, tn_type to) {
    return from == to || (binding_type_bytes(from) == binding_type_bytes(to) &&
                          (from == TN_U8 || from == TN_U16));
}

/* (bytes, shape): strings, and types of less than a byte, in one block. */
static bool open_block(PyObject *made, array_view *view) {
    PyObject *block = PyTuple_GetItem(made, 0), *shape = PyTuple_GetItem(made, 1);
    if (!block || !shape || !binding_extents_read(shape, "shape", &view->rank, view->strides) ||
        PyObject_GetBuffer(block, &view->buffer, PyBUF_SIMPLE) != 0) {
        view->buffer.obj = NULL;
        return false;
    }
    view->shape = view->strides; /* of no other use for an array that is packed */
    view->is_packed = true;
    view->data = view->buffer.buf;
    view->bytes = (uint64_t)view->buffer.len;
    return true;
}

/* Nothing converts what lies on a device. Closes it on failure. */
static bool check_device_view(array_view *view, tn_type type, const char *kind, const char *name) {
    const bool is_right = view->type == type;
    if (is_right && view->is_packed) return true;
    const char *came = binding_type_name(view->type);
    array_close(view);
    if (is_right)
        binding_raise_text(TN_ERROR_ARGUMENT,
                           "%s '%s': a tensor with gaps in a device's memory came; "
                           "tensor.contiguous() is without",
                           kind, name);
    else
        binding_raise_text(TN_ERROR_TYPE, "%s '%s': a tensor of %s came, %s is wanted", kind, name,
                           came ? came : "another type", binding_type_name(type));
    return false;
}

bool array_open(PyObject *object, tn_type type, const char *kind, const char *name, bool is_written,
                const device_want *want, array_view *view) {
    memset(view, 0, offsetof(array_view, strides));
    if (open_buffer(object, is_written, view)) {
        if (view->type == type) return true;
        array_close(view);
    } else if (!PyObject_CheckBuffer(object)) {
        const int is_open = dlpack_open(object, want, view);
        if (is_open < 0) return false;
        if (is_open > 0 && view->is_on_device) return check_device_view(view, type, kind, name);
        if (is_open > 0 && view->type == type) return true;
        array_close(view);
    }
    PyObject *made = binding_call("_arrays", is_written ? "prepare_output" : "prepare", "Osss",
                                  object, binding_type_name(type), kind, name);
    if (!made) return false;
    memset(view, 0, offsetof(array_view, strides));
    const bool is_open = PyTuple_Check(made)
                             ? open_block(made, view)
                             : open_buffer(made, is_written, view) && serves(view->type, type);
    if (is_open) {
        view->owner = made;
        view->type = type;
        return true;
    }
    Py_DECREF(made);
    array_close(view);
    if (!PyErr_Occurred())
        binding_raise_text(TN_ERROR_TYPE, "%s '%s': its memory cannot be read as %s", kind, name,
                           binding_type_name(type));
    return false;
}
