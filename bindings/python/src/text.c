/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, paths and counts of Python as those of C. */
#include "binding.h"

#include <string.h>

static bool take_bytes(PyObject *bytes, PyObject **out_owner, const char **out_text) {
    if (!bytes) return false;
    const char *text = PyBytes_AsString(bytes);
    if (!text || strlen(text) != (size_t)PyBytes_Size(bytes)) {
        if (text) PyErr_SetString(PyExc_ValueError, "a text has a zero character in it");
        Py_DECREF(bytes);
        return false;
    }
    *out_owner = bytes;
    *out_text = text;
    return true;
}

static int take_number(PyObject *object, const char *what, unsigned long most,
                       uint32_t *out_number) {
    PyObject *index = PyNumber_Index(object); /* of NumPy's integers, too */
    const unsigned long long number = index ? PyLong_AsUnsignedLongLong(index) : 0;
    Py_XDECREF(index);
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError)) return 0;
    if (PyErr_Occurred() || number > most) {
        PyErr_Format(PyExc_ValueError, "%s from 0 to %lu is wanted, not %R", what, most, object);
        return 0;
    }
    *out_number = (uint32_t)number;
    return 1;
}

int binding_u32(PyObject *object, void *out_number) {
    return take_number(object, "a number", UINT32_MAX, out_number);
}

int binding_threads(PyObject *object, void *out_number) {
    return take_number(object, "a number of threads", 1024, out_number);
}

bool binding_text(PyObject *object, PyObject **out_owner, const char **out_text) {
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "a text (str) is wanted, not %R", object);
        return false;
    }
    return take_bytes(PyUnicode_AsUTF8String(object), out_owner, out_text);
}

bool binding_path(PyObject *object, PyObject **out_owner, const char **out_path) {
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(object, &bytes)) return false;
    return take_bytes(bytes, out_owner, out_path);
}

static bool add(text_list *list, PyObject *item, uint32_t capacity) {
    PyObject *owner = NULL;
    if (list->count == capacity || !binding_text(item, &owner, &list->items[list->count]))
        return false;
    const bool is_added = PyList_Append(list->owners, owner) == 0;
    Py_DECREF(owner);
    list->count += is_added;
    return is_added;
}

bool text_list_read(text_list *list, PyObject *iterable, const char *what) {
    *list = (text_list){0};
    if (!iterable || iterable == Py_None) return true;
    PyObject *items = PyUnicode_Check(iterable) ? PyList_New(0) : PySequence_List(iterable);
    if (items && PyUnicode_Check(iterable) && PyList_Append(items, iterable) != 0) Py_CLEAR(items);
    list->owners = PyList_New(0);
    const uint32_t capacity = items ? (uint32_t)PyList_Size(items) : 0;
    list->items = PyMem_Calloc(capacity + 1u, sizeof(*list->items));
    bool is_read = items && list->owners && list->items;
    for (uint32_t i = 0; is_read && i < capacity; i++)
        is_read = add(list, PyList_GetItem(items, i), capacity);
    Py_XDECREF(items);
    if (is_read) return true;
    if (PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: a text or a list of texts is wanted, not %R", what,
                     iterable);
    text_list_free(list);
    return false;
}

void text_list_free(text_list *list) {
    Py_CLEAR(list->owners);
    PyMem_Free(list->items);
    list->items = NULL;
    list->count = 0;
}
