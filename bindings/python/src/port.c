/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.Port: what an input or output is; and shapes as tuples. */
#include "binding.h"
#include "values.h"

static PyTypeObject *port_type;

PyObject *binding_extents(uint32_t rank, const int64_t *extents) {
    PyObject *tuple = PyTuple_New(rank);
    for (uint32_t i = 0; tuple && i < rank; i++) {
        PyObject *extent = PyLong_FromLongLong(extents[i]);
        if (!extent || PyTuple_SetItem(tuple, i, extent) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

bool binding_extents_read(PyObject *object, const char *what, uint32_t *out_rank,
                          int64_t extents[TN_MAX_RANK]) {
    PyObject *items = PySequence_Tuple(object);
    const Py_ssize_t rank = items ? PyTuple_Size(items) : 0;
    bool is_read = items && rank <= TN_MAX_RANK;
    for (Py_ssize_t i = 0; is_read && i < rank; i++) {
        PyObject *number = PyNumber_Index(PyTuple_GetItem(items, i));
        extents[i] = number ? PyLong_AsLongLong(number) : -1;
        Py_XDECREF(number);
        is_read = !PyErr_Occurred();
    }
    Py_XDECREF(items);
    *out_rank = (uint32_t)rank;
    if (is_read) return true;
    PyErr_Clear();
    PyErr_Format(
        PyExc_TypeError,
        "%s: a shape, a tuple of at most %d whole numbers like (1, 3, 224, 224), is wanted, "
        "not %R",
        what, TN_MAX_RANK, object);
    return false;
}

/* One extent: its number; its name, or None, where it is known at run time. */
static PyObject *extent_of(const tn_port_info *port, uint32_t axis) {
    if (port->extents[axis] >= 0) return PyLong_FromLongLong(port->extents[axis]);
    const char *name = port->names ? port->names[axis] : NULL;
    if (name) return PyUnicode_FromString(name);
    return Py_NewRef(Py_None);
}

static PyObject *shape_of(const tn_port_info *port) {
    if (port->rank == UINT32_MAX) return Py_NewRef(Py_None);
    PyObject *shape = PyTuple_New(port->rank);
    for (uint32_t i = 0; shape && i < port->rank; i++) {
        PyObject *extent = extent_of(port, i);
        if (!extent || PyTuple_SetItem(shape, i, extent) != 0) Py_CLEAR(shape);
    }
    return shape;
}

PyObject *binding_port(const tn_port_info *info) {
    if (!info) return NULL;
    PyObject *dtype = info->type == TN_NONE ? Py_None : binding_dtype(info->type);
    const char *type = binding_type_name(info->type);
    const char *key_type = info->key_type ? binding_type_name(info->key_type) : NULL;
    PyObject *values[] = {PyUnicode_FromString(info->name),
                          type ? PyUnicode_FromString(type) : Py_NewRef(Py_None),
                          shape_of(info),
                          Py_XNewRef(dtype),
                          PyBool_FromLong(info->is_value != 0),
                          PyUnicode_FromString(binding_kind_name(info->kind)),
                          key_type ? PyUnicode_FromString(key_type) : Py_NewRef(Py_None)};
    const Py_ssize_t count = sizeof(values) / sizeof(values[0]);
    PyObject *port = PyStructSequence_New(port_type);
    bool is_whole = port != NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        is_whole = is_whole && values[i];
        if (port && values[i])
            PyStructSequence_SetItem(port, i, values[i]);
        else
            Py_XDECREF(values[i]);
    }
    if (!is_whole) Py_CLEAR(port);
    return port;
}

PyObject *binding_ports(uint32_t count,
                        const tn_port_info *(*get)(const void *owner, uint32_t index),
                        const void *owner) {
    PyObject *ports = PyTuple_New(count);
    for (uint32_t i = 0; ports && i < count; i++) {
        PyObject *port = binding_port(get(owner, i));
        if (!port || PyTuple_SetItem(ports, i, port) != 0) Py_CLEAR(ports);
    }
    return ports;
}

bool binding_port_init(PyObject *module) {
    static PyStructSequence_Field fields[] = {
        {"name", "the tensor's name"},
        {"type", "the element type's name, like 'f32'; None: not known before shapes are"},
        {"shape",
         "a tuple: a number for each extent, a name or None where it is known at run time; "
         "None: even the rank is known at run time"},
        {"dtype", "the NumPy dtype of its arrays"},
        {"is_value", "True: an input whose values decide shapes"},
        {"kind",
         "'tensor', 'sequence', 'optional', 'optional sequence', 'map' or 'sequence of maps'"},
        {"key_type", "of maps 'i64' or 'string'; else None"},
        {NULL, NULL}};
    static PyStructSequence_Desc description = {"tenon.Port", "An input or output.", fields, 5};
    port_type = PyStructSequence_NewType(&description);
    return port_type && PyModule_AddObjectRef(module, "Port", (PyObject *)port_type) == 0;
}
