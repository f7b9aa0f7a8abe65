/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs and outputs that are no arrays: a sequence is a list of arrays, an optional an array or
 * None, an optional of a sequence a list or None, a map a dict, a sequence of maps a list of dicts.
 * What callers give is made a list of items by tenon._values.
 */
#include "values.h"

#include <string.h>
#include <tenon/plugin/string.h>

const char *binding_kind_name(uint32_t kind) {
    static const char *const names[] = {
        [TN_KIND_DENSE] = "tensor",          [TN_KIND_SEQUENCE] = "sequence",
        [TN_KIND_OPTIONAL] = "optional",     [TN_KIND_MAP] = "map",
        [TN_KIND_MAPS] = "sequence of maps", [TN_KIND_OPTIONAL_SEQUENCE] = "optional sequence"};
    return kind < sizeof(names) / sizeof(*names) && names[kind] ? names[kind]
                                                                : "value of an unknown kind";
}

static bool is_map(const tn_port_info *port) {
    return port->kind == TN_KIND_MAP || port->kind == TN_KIND_MAPS;
}

/* ----------------------------------------------------------------------------------------------
 * inputs */

static bool append(context_object *self, uint32_t input, const tn_port_info *port, tn_type type,
                   PyObject *item) {
    array_view view;
    uint64_t bytes = 0;
    if (!array_open(item, type, "input", port->name, false, NULL, &view)) return false;
    bytes = view.bytes;
    if (!view.is_packed) { /* tenon._values answers packed ones */
        array_close(&view);
        binding_raise_text(TN_ERROR_INTERNAL, "input '%s': an item is not packed", port->name);
        return false;
    }
    const tn_status status =
        tn_context_append_item(self->context, input, type, view.rank, view.shape, view.data, bytes);
    array_close(&view);
    return status == TN_OK || binding_raise() != NULL;
}

bool values_bind(context_object *self, uint32_t input, const tn_port_info *port, PyObject *object) {
    const char *key_type = port->key_type ? binding_type_name(port->key_type) : "";
    PyObject *items =
        binding_call("_values", "items", "Ossss", object, binding_kind_name(port->kind),
                     binding_type_name(port->type), key_type, port->name);
    bool is_bound = items && PyList_Check(items);
    if (is_bound && tn_context_clear_items(self->context, input) != TN_OK)
        is_bound = binding_raise() != NULL;
    if (is_bound && port->kind == TN_KIND_OPTIONAL_SEQUENCE && object != Py_None &&
        tn_context_set_element(self->context, input) != TN_OK)
        is_bound = binding_raise() != NULL;
    for (Py_ssize_t i = 0; is_bound && i < PyList_Size(items); i++)
        is_bound =
            append(self, input, port, is_map(port) && i % 2 == 0 ? port->key_type : port->type,
                   PyList_GetItem(items, i));
    Py_XDECREF(items);
    return is_bound;
}

/* ----------------------------------------------------------------------------------------------
 * outputs */

/* A copy of an item as an array. */
static PyObject *array_of(const tn_tensor *item) {
    void *data = NULL;
    if (item->type != TN_STRING) {
        data = binding_memory_allocate(item->bytes);
        if (!data) return PyErr_NoMemory();
        if (item->bytes > 0) memcpy(data, item->data, (size_t)item->bytes);
    }
    return binding_array_new(item, data, item->bytes);
}

/* An element of a vector as Python's own object. */
static PyObject *object_of(const tn_tensor *item, int64_t index) {
    uint64_t bytes;
    switch (item->type) {
    case TN_F32:
        return PyFloat_FromDouble((double)((const float *)item->data)[index]);
    case TN_F64:
        return PyFloat_FromDouble(((const double *)item->data)[index]);
    case TN_I64:
        return PyLong_FromLongLong(((const int64_t *)item->data)[index]);
    case TN_STRING: {
        const char *text = tn_string_at(item, (uint64_t)index, &bytes);
        return PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "surrogateescape");
    }
    default:
        binding_raise_text(TN_ERROR_UNSUPPORTED, "a map with elements of type %s",
                           binding_type_name(item->type));
        return NULL;
    }
}

static PyObject *objects_of(const tn_tensor *item) {
    PyObject *objects = PyList_New((Py_ssize_t)item->shape[0]);
    for (int64_t i = 0; objects && i < item->shape[0]; i++) {
        PyObject *object = object_of(item, i);
        if (!object || PyList_SetItem(objects, (Py_ssize_t)i, object) != 0) Py_CLEAR(objects);
    }
    return objects;
}

static PyObject *dict_of(PyObject *keys, const tn_tensor *values) {
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict && i < PyList_Size(keys); i++) {
        PyObject *value = object_of(values, i);
        if (!value || PyDict_SetItem(dict, PyList_GetItem(keys, i), value) != 0) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* Maps that share their keys, as a classifier's do, share the objects. */
typedef struct map_reader {
    const tn_tensor *keys;
    PyObject *objects;
} map_reader;

static PyObject *read_map(context_object *self, uint32_t output, uint64_t index,
                          map_reader *reader) {
    const tn_tensor *keys, *values;
    if (tn_context_output_item(self->context, output, index, &keys) != TN_OK ||
        tn_context_output_item(self->context, output, index + 1, &values) != TN_OK)
        return binding_raise();
    if (keys != reader->keys) {
        Py_XDECREF(reader->objects);
        reader->objects = objects_of(keys);
        reader->keys = reader->objects ? keys : NULL;
    }
    return reader->objects ? dict_of(reader->objects, values) : NULL;
}

static PyObject *read_array(context_object *self, uint32_t output, uint64_t index) {
    const tn_tensor *item;
    if (tn_context_output_item(self->context, output, index, &item) != TN_OK)
        return binding_raise();
    return array_of(item);
}

PyObject *values_take(context_object *self, uint32_t output, const tn_port_info *port) {
    map_reader reader = {0};
    const bool is_optional = port->kind == TN_KIND_OPTIONAL;
    const bool may_be_none = is_optional || port->kind == TN_KIND_OPTIONAL_SEQUENCE;
    uint64_t length = 0;
    bool has_element = true;
    if (tn_context_output_length(self->context, output, &length) != TN_OK) return binding_raise();
    if (may_be_none && tn_context_output_has_element(self->context, output, &has_element) != TN_OK)
        return binding_raise();
    if (!has_element) return Py_NewRef(Py_None);
    const uint64_t step = is_map(port) ? 2 : 1;
    PyObject *list = PyList_New((Py_ssize_t)(length / step));
    for (uint64_t i = 0; list && i < length; i += step) {
        PyObject *item =
            is_map(port) ? read_map(self, output, i, &reader) : read_array(self, output, i);
        if (!item || PyList_SetItem(list, (Py_ssize_t)(i / step), item) != 0) Py_CLEAR(list);
    }
    Py_XDECREF(reader.objects);
    if (!list || (!is_optional && port->kind != TN_KIND_MAP)) return list;
    PyObject *only = Py_NewRef(PyList_GetItem(list, 0));
    Py_DECREF(list);
    return only;
}
