/* SPDX-License-Identifier: Apache-2.0 */
/* One operator without a network, for plugin(x, field=...) in Python; see author.h. */
#include "author.h"

#include <string.h>

static const char capsule_name[] = "tenon.operation";

static void destroy(PyObject *capsule) {
    tn_operation_destroy(PyCapsule_GetPointer(capsule, capsule_name));
}

/* operation_create(runtime, domain, op, version, input_count, output_count, attributes, threads) */
static PyObject *operation_create(PyObject *module, PyObject *arguments) {
    tn_operation_description description = {.size = sizeof(description)};
    PyObject *object, *list, *capsule = NULL;
    tn_operation *operation = NULL;
    author_memory memory = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OssO&IIO!O&", &object, &description.domain, &description.op,
                          binding_u32, &description.version, &description.input_count,
                          &description.output_count, &PyList_Type, &list, binding_threads,
                          &description.threads))
        return NULL;
    tn_runtime *runtime = author_runtime(object);
    if (runtime &&
        author_attributes(&memory, list, &description.attributes, &description.attribute_count)) {
        tn_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = tn_operation_create(runtime, &description, &operation);
        Py_END_ALLOW_THREADS;
        capsule =
            status == TN_OK ? PyCapsule_New(operation, capsule_name, destroy) : binding_raise();
        if (status == TN_OK && !capsule) tn_operation_destroy(operation);
    }
    author_free(&memory);
    return capsule;
}

/* Inputs are (type, extents, buffer) or None. */
static const tn_tensor **read_inputs(author_memory *memory, PyObject *list) {
    const Py_ssize_t count = PyList_Size(list);
    tn_tensor *tensors = author_allocate(memory, (size_t)count + 1, sizeof(*tensors));
    const tn_tensor **pointers = author_allocate(memory, (size_t)count + 1, sizeof(*pointers));
    for (Py_ssize_t i = 0; tensors && pointers && i < count; i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (item == Py_None) continue;
        if (!author_tensor(memory, item, &tensors[i])) return NULL;
        pointers[i] = &tensors[i];
    }
    return tensors ? pointers : NULL;
}

static tn_tensor **make_outputs(author_memory *memory, uint32_t count) {
    tn_tensor *tensors = author_allocate(memory, count + 1u, sizeof(*tensors));
    tn_tensor **pointers = author_allocate(memory, count + 1u, sizeof(*pointers));
    int64_t *extents = author_allocate(memory, (count + 1u) * TN_MAX_RANK, sizeof(*extents));
    if (!tensors || !pointers || !extents) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        tensors[i] = (tn_tensor){.size = sizeof(*tensors), .shape = extents + i * TN_MAX_RANK};
        pointers[i] = &tensors[i];
    }
    return pointers;
}

/* (type, extents, bytearray or None) of each output. */
static PyObject *describe(tn_tensor *const *outputs, uint32_t count, bool has_data) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < count; i++) {
        const tn_tensor *output = outputs[i];
        PyObject *item = NULL, *data = Py_None;
        PyObject *extents = binding_extents(output->rank, output->shape);
        if (has_data)
            data = PyByteArray_FromStringAndSize(output->data, (Py_ssize_t)output->bytes);
        else
            Py_INCREF(data);
        if (extents && data) item = Py_BuildValue("(IOO)", output->type, extents, data);
        if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
        Py_XDECREF(item);
        Py_XDECREF(extents);
        Py_XDECREF(data);
    }
    return list;
}

/* operation_run(operation, inputs, output_count, is_run): one thread at a time. */
static PyObject *operation_run(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *list, *result = NULL;
    author_memory memory = {0};
    unsigned count;
    int is_run;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!Ip", &capsule, &PyList_Type, &list, &count, &is_run))
        return NULL;
    tn_operation *operation = PyCapsule_GetPointer(capsule, capsule_name);
    const tn_tensor **inputs = operation ? read_inputs(&memory, list) : NULL;
    tn_tensor **outputs = inputs ? make_outputs(&memory, count) : NULL;
    if (outputs) {
        tn_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = is_run ? tn_operation_run(operation, inputs, outputs)
                        : tn_operation_infer(operation, inputs, outputs);
        Py_END_ALLOW_THREADS;
        result = status == TN_OK ? describe(outputs, count, is_run) : binding_raise();
    }
    author_free(&memory);
    binding_log_flush();
    return result;
}

static PyObject *operation_report(PyObject *module, PyObject *capsule) {
    tn_operation *operation = PyCapsule_GetPointer(capsule, capsule_name);
    (void)module;
    return operation ? PyUnicode_FromString(tn_operation_report(operation)) : NULL;
}

PyMethodDef author_operation_methods[] = {
    {"operation_create", operation_create, METH_VARARGS, NULL},
    {"operation_run", operation_run, METH_VARARGS, NULL},
    {"operation_report", operation_report, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
