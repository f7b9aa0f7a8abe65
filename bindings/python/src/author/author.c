/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the plain objects of the Python side; see author.h. */
#include "author.h"

#include <stdlib.h>
#include <string.h>

typedef struct author_block {
    struct author_block *next;
    PyObject *object; /* or the memory behind it */
} author_block;

tn_runtime *author_runtime(PyObject *object) {
    if (PyObject_TypeCheck(object, binding_runtime_type))
        return ((runtime_object *)object)->runtime;
    PyErr_Format(PyExc_TypeError, "expected a tenon.Runtime, not %R", object);
    return NULL;
}

void *author_allocate(author_memory *memory, size_t count, size_t bytes) {
    if (bytes && count > (SIZE_MAX / 2 - sizeof(author_block)) / bytes) {
        PyErr_NoMemory();
        return NULL;
    }
    author_block *block = calloc(1, sizeof(author_block) + count * bytes);
    if (!block) {
        PyErr_NoMemory();
        return NULL;
    }
    block->next = memory->blocks;
    memory->blocks = block;
    return block + 1;
}

bool author_keep(author_memory *memory, PyObject *object) {
    if (!object) return false;
    if (!author_allocate(memory, 0, 1)) {
        Py_DECREF(object);
        return false;
    }
    memory->blocks->object = object;
    return true;
}

void author_free(author_memory *memory) {
    while (memory->blocks) {
        author_block *next = memory->blocks->next;
        Py_XDECREF(memory->blocks->object);
        free(memory->blocks);
        memory->blocks = next;
    }
}

const char *author_text(PyObject *object, const char *what) {
    Py_ssize_t length;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a str, not %R", what, object);
        return NULL;
    }
    const char *text = PyUnicode_AsUTF8AndSize(object, &length);
    if (text && strlen(text) != (size_t)length) {
        PyErr_Format(PyExc_ValueError, "%s: the text has a zero byte", what);
        return NULL;
    }
    return text;
}

bool author_get_text(PyObject *dict, const char *key, const char **out_text) {
    PyObject *found = PyDict_GetItemString(dict, key);
    *out_text = NULL;
    if (!found || found == Py_None) return true;
    *out_text = author_text(found, key);
    return *out_text != NULL;
}

bool author_get_number(PyObject *dict, const char *key, uint32_t *out_number) {
    PyObject *found = PyDict_GetItemString(dict, key);
    *out_number = 0;
    if (!found) return true;
    const unsigned long number = PyLong_AsUnsignedLong(found);
    if (PyErr_Occurred()) return false;
    *out_number = (uint32_t)number;
    return true;
}

bool author_texts(author_memory *memory, PyObject *sequence, bool may_be_null,
                  const char *const **out_texts, uint64_t *out_count) {
    const Py_ssize_t count = PySequence_Size(sequence);
    const char **texts =
        count < 0 ? NULL : author_allocate(memory, (size_t)count + 1, sizeof(*texts));
    for (Py_ssize_t i = 0; texts && i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        if (!author_keep(memory, item)) return false;
        if (item == Py_None && may_be_null) continue;
        texts[i] = author_text(item, "a list of texts");
        if (!texts[i]) return false;
    }
    *out_texts = texts;
    *out_count = (uint64_t)count;
    return texts != NULL;
}

bool author_get_texts(author_memory *memory, PyObject *dict, const char *key,
                      const char *const **out_texts, uint64_t *out_count) {
    PyObject *found = PyDict_GetItemString(dict, key);
    *out_texts = NULL;
    *out_count = 0;
    return !found || found == Py_None || author_texts(memory, found, false, out_texts, out_count);
}

bool author_extents(author_memory *memory, PyObject *sequence, int64_t **out_extents,
                    uint32_t *out_rank) {
    const Py_ssize_t rank = PySequence_Size(sequence);
    int64_t *extents =
        rank < 0 ? NULL : author_allocate(memory, (size_t)rank + 1, sizeof(*extents));
    for (Py_ssize_t i = 0; extents && i < rank; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        if (!author_keep(memory, item)) return false;
        extents[i] = PyLong_AsLongLong(item);
        if (PyErr_Occurred()) return false;
    }
    *out_extents = extents;
    *out_rank = (uint32_t)rank;
    return extents != NULL;
}

bool author_field(PyObject *tuple, tn_compile_field *out_field) {
    *out_field = (tn_compile_field){.size = sizeof(*out_field)};
    return PyArg_ParseTuple(tuple, "IIszzzdd", &out_field->type, &out_field->flags,
                            &out_field->name, &out_field->fallback, &out_field->choices,
                            &out_field->doc, &out_field->minimum, &out_field->maximum) != 0;
}

bool author_port(PyObject *tuple, tn_compile_port *out_port) {
    *out_port = (tn_compile_port){.size = sizeof(*out_port)};
    return PyArg_ParseTuple(tuple, "szIzII", &out_port->name, &out_port->types, &out_port->flags,
                            &out_port->doc, &out_port->alias, &out_port->minimum_count) != 0;
}

bool author_init(PyObject *module) {
    PyMethodDef *const tables[] = {author_compile_methods, author_graph_methods,
                                   author_operation_methods, author_operators_methods,
                                   author_describe_methods};
    for (size_t i = 0; i < TN_COUNT(tables); i++)
        if (PyModule_AddFunctions(module, tables[i]) != 0) return false;
    return true;
}
