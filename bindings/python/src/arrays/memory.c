/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of outputs: aligned as kernels want it, and lent to NumPy by the buffer protocol, so that
 * an array lies where the network wrote it. */
#include "binding.h"

#include <stdlib.h>
#include <tenon/plugin/string.h>

#define ALIGNMENT 64u

typedef struct memory_object {
    PyObject base;
    void *data;
    uint64_t bytes;
} memory_object;

static PyTypeObject *memory_type;
static PyObject *ndarray;

void *binding_memory_allocate(uint64_t bytes) {
    void *data = NULL;
    return posix_memalign(&data, ALIGNMENT, bytes > 0 ? bytes : ALIGNMENT) == 0 ? data : NULL;
}

static void memory_dealloc(PyObject *self) {
    free(((memory_object *)self)->data);
    binding_free(self);
}

static int memory_get_buffer(PyObject *self, Py_buffer *view, int flags) {
    memory_object *memory = (memory_object *)self;
    return PyBuffer_FillInfo(view, self, memory->data, (Py_ssize_t)memory->bytes, 0, flags);
}

PyObject *binding_memory_new(void *data, uint64_t bytes) {
    memory_object *memory = PyObject_New(memory_object, memory_type);
    if (!memory) {
        free(data);
        return NULL;
    }
    memory->data = data;
    memory->bytes = bytes;
    return (PyObject *)memory;
}

static PyObject *array_of_strings(const tn_tensor *tensor, PyObject *shape) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= (uint64_t)tensor->shape[i];
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (uint64_t i = 0; list && i < count; i++) {
        uint64_t bytes;
        const char *text = tn_string_at(tensor, i, &bytes);
        PyObject *item = PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "surrogateescape");
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) Py_CLEAR(list);
    }
    PyObject *array = list ? binding_call("_arrays", "of_strings", "OO", list, shape) : NULL;
    Py_XDECREF(list);
    return array;
}

PyObject *binding_array_new(const tn_tensor *tensor, void *data, uint64_t bytes) {
    PyObject *shape = binding_extents(tensor->rank, tensor->shape), *array = NULL;
    PyObject *dtype = binding_dtype(tensor->type);
    if (!shape || !dtype) {
        free(data);
    } else if (tensor->type == TN_STRING) {
        array = array_of_strings(tensor, shape);
        free(data);
    } else {
        PyObject *memory = binding_memory_new(data, bytes);
        if (memory && binding_type_bytes(tensor->type) == 0)
            array = binding_call("_arrays", "unpack", "OsO", memory,
                                 binding_type_name(tensor->type), shape);
        else if (memory)
            array = PyObject_CallFunctionObjArgs(ndarray, shape, dtype, memory, NULL);
        Py_XDECREF(memory);
    }
    Py_XDECREF(shape);
    return array;
}

bool binding_memory_init(PyObject *module) {
    static PyType_Slot slots[] = {{Py_tp_dealloc, memory_dealloc},
                                  {Py_bf_getbuffer, memory_get_buffer},
                                  {Py_tp_doc, "Memory that an output was written to."},
                                  {0, NULL}};
    static PyType_Spec spec = {"tenon._engine.Memory", sizeof(memory_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    PyObject *numpy = PyImport_ImportModule("numpy");
    ndarray = numpy ? PyObject_GetAttrString(numpy, "ndarray") : NULL;
    Py_XDECREF(numpy);
    memory_type = binding_type_add(module, &spec);
    return ndarray && memory_type;
}
