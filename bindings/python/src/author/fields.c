/* SPDX-License-Identifier: Apache-2.0 */
/* Values of fields: from Python as attributes, and to Python as a callback sees them; see author.h.
 */
#include "author.h"

#include <string.h>

/* A buffer's memory is kept by a memoryview in `memory`. */
static bool open_buffer(author_memory *memory, PyObject *object, const void **out_data,
                        uint64_t *out_bytes) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) != 0) return false;
    /* The object keeps its memory: the Python side hands over bytes and contiguous arrays that
     * nobody resizes. */
    *out_data = buffer.buf;
    *out_bytes = (uint64_t)buffer.len;
    PyBuffer_Release(&buffer);
    Py_INCREF(object);
    return author_keep(memory, object);
}

bool author_tensor(author_memory *memory, PyObject *tuple, tn_tensor *out_tensor) {
    PyObject *extents, *data;
    const void *elements = NULL;
    *out_tensor = (tn_tensor){.size = sizeof(*out_tensor), .name = ""};
    if (!PyArg_ParseTuple(tuple, "IOO", &out_tensor->type, &extents, &data) ||
        !author_extents(memory, extents, &out_tensor->shape, &out_tensor->rank) ||
        !open_buffer(memory, data, &elements, &out_tensor->bytes))
        return false;
    out_tensor->data = (void *)(uintptr_t)elements;
    return true;
}

static bool read_list(author_memory *memory, PyObject *value, uint32_t bytes,
                      tn_attribute *attribute) {
    uint64_t length = 0;
    if (!open_buffer(memory, value, &attribute->items, &length)) return false;
    attribute->count = length / bytes;
    return true;
}

static bool read_value(author_memory *memory, PyObject *value, tn_attribute *attribute) {
    const char *const *texts;
    tn_tensor *tensor;
    switch (attribute->type) {
    case TN_FIELD_I64:
        attribute->i = PyLong_AsLongLong(value);
        return !PyErr_Occurred();
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        attribute->f = PyFloat_AsDouble(value);
        return !PyErr_Occurred();
    case TN_FIELD_STRING:
        attribute->s = author_text(value, attribute->name);
        if (attribute->s) attribute->count = strlen(attribute->s);
        return attribute->s != NULL;
    case TN_FIELD_I64S:
    case TN_FIELD_F64S:
        return read_list(memory, value, 8, attribute);
    case TN_FIELD_F32S:
        return read_list(memory, value, 4, attribute);
    case TN_FIELD_BYTES:
        return read_list(memory, value, 1, attribute);
    case TN_FIELD_STRINGS:
        if (!author_texts(memory, value, false, &texts, &attribute->count)) return false;
        attribute->items = texts;
        return true;
    case TN_FIELD_TENSOR:
        attribute->tensor = tensor = author_allocate(memory, 1, sizeof(*tensor));
        return tensor && author_tensor(memory, value, tensor);
    default:
        PyErr_Format(PyExc_ValueError, "field '%s': type %u has no value here", attribute->name,
                     attribute->type);
        return false;
    }
}

bool author_attributes(author_memory *memory, PyObject *list,
                       const tn_attribute *const **out_attributes, uint64_t *out_count) {
    const Py_ssize_t count = PyList_Size(list);
    tn_attribute *attributes = author_allocate(memory, (size_t)count + 1, sizeof(*attributes));
    const tn_attribute **pointers = author_allocate(memory, (size_t)count + 1, sizeof(*pointers));
    if (count < 0 || !attributes || !pointers) return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value;
        attributes[i] = (tn_attribute){.size = sizeof(*attributes)};
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sIO", &attributes[i].name,
                              &attributes[i].type, &value) ||
            !read_value(memory, value, &attributes[i]))
            return false;
        pointers[i] = &attributes[i];
    }
    *out_attributes = pointers;
    *out_count = (uint64_t)count;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * to Python */

uint32_t author_field_bytes(uint32_t type) {
    switch (type) {
    case TN_FIELD_BOOL:
        return 1;
    case TN_FIELD_I32:
    case TN_FIELD_F32:
    case TN_FIELD_TYPE:
    case TN_FIELD_ENUM:
        return 4;
    case TN_FIELD_I64:
    case TN_FIELD_F64:
    case TN_FIELD_STRING:
    case TN_FIELD_TENSOR:
        return 8;
    default:
        return 16; /* a count and a pointer */
    }
}

static PyObject *list_of(const void *member, uint32_t type) {
    const tn_i64s *list = member; /* the lists differ in the type of their items alone */
    const void *items = list->items;
    PyObject *made = PyList_New(0);
    for (uint64_t i = 0; made && i < list->count; i++) {
        PyObject *item =
            type == TN_FIELD_I64S   ? PyLong_FromLongLong(((const int64_t *)items)[i])
            : type == TN_FIELD_F32S ? PyFloat_FromDouble((double)((const float *)items)[i])
            : type == TN_FIELD_F64S ? PyFloat_FromDouble(((const double *)items)[i])
                                    : PyUnicode_FromString(((const char *const *)items)[i]);
        if (!item || PyList_Append(made, item) != 0) Py_CLEAR(made);
        Py_XDECREF(item);
    }
    return made;
}

/* The n-th of "nearest|linear|cubic", whose numbers may be given: "a=1|b=4". */
static PyObject *choice(const char *choices, uint32_t number) {
    uint32_t next = 0;
    for (const char *at = choices; at && *at;) {
        const size_t length = strcspn(at, "|"), name = strcspn(at, "|=");
        uint32_t value = next;
        if (name < length) {
            value = 0;
            for (size_t i = name + 1; i < length; i++)
                value = value * 10 + (uint32_t)(at[i] - '0');
        }
        if (value == number) return PyUnicode_FromStringAndSize(at, (Py_ssize_t)name);
        next = value + 1;
        at += length + (at[length] == '|');
    }
    return PyLong_FromUnsignedLong(number);
}

static PyObject *value_of(const tn_field *field, const void *member) {
    switch (field->type) {
    case TN_FIELD_BOOL:
        return PyBool_FromLong(*(const bool *)member);
    case TN_FIELD_I32:
        return PyLong_FromLong(*(const int32_t *)member);
    case TN_FIELD_I64:
        return PyLong_FromLongLong(*(const int64_t *)member);
    case TN_FIELD_F32:
        return PyFloat_FromDouble((double)*(const float *)member);
    case TN_FIELD_F64:
        return PyFloat_FromDouble(*(const double *)member);
    case TN_FIELD_ENUM:
        return choice(field->choices, *(const uint32_t *)member);
    case TN_FIELD_TYPE:
        return PyLong_FromUnsignedLong(*(const uint32_t *)member);
    case TN_FIELD_STRING:
        if (!*(const char *const *)member) break;
        return PyUnicode_FromString(*(const char *const *)member);
    case TN_FIELD_BYTES:
        return PyBytes_FromStringAndSize((const char *)((const tn_bytes *)member)->items,
                                         (Py_ssize_t)((const tn_bytes *)member)->count);
    case TN_FIELD_I64S:
    case TN_FIELD_F32S:
    case TN_FIELD_F64S:
    case TN_FIELD_STRINGS:
        return list_of(member, field->type);
    default:
        break;
    }
    Py_RETURN_NONE;
}

PyObject *author_fields(const tn_operator *op, const void *params) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < op->field_count; i++) {
        const tn_field *field =
            (const tn_field *)(const void *)((const char *)op->fields + (size_t)i * op->field_size);
        PyObject *value = value_of(field, (const char *)params + field->offset);
        if (!value || PyDict_SetItemString(dict, field->name, value) != 0) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}
