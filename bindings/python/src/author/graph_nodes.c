/* SPDX-License-Identifier: Apache-2.0 */
/* Networks built by hand, for _graph.py; see author.h. A tensor is its number. */
#include "author.h"

#include <string.h>

tn_graph *author_graph(PyObject *object) {
    if (!PyObject_TypeCheck(object, binding_graph_type)) {
        PyErr_Format(PyExc_TypeError, "expected a graph, not %R", object);
        return NULL;
    }
    graph_object *self = (graph_object *)object;
    if (!self->is_busy) return self->graph;
    PyErr_SetString(PyExc_RuntimeError, "the graph is being built on another thread");
    return NULL;
}

/* graph_create(runtime, name) */
static PyObject *graph_create(PyObject *module, PyObject *arguments) {
    PyObject *object;
    const char *name;
    tn_graph *graph;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Oz", &object, &name)) return NULL;
    tn_runtime *runtime = author_runtime(object);
    if (!runtime) return NULL;
    if (tn_graph_create(runtime, name, &graph) != TN_OK) return binding_raise();
    allocfunc allocate = (allocfunc)PyType_GetSlot(binding_graph_type, Py_tp_alloc);
    graph_object *self = (graph_object *)allocate(binding_graph_type, 0);
    if (!self) {
        tn_graph_destroy(graph);
        return NULL;
    }
    Py_INCREF(object);
    self->graph = graph;
    self->runtime = (runtime_object *)object;
    return (PyObject *)self;
}

static PyObject *number(tn_status status, const tn_tensor_id *tensor) {
    return status == TN_OK ? PyLong_FromUnsignedLong(*tensor) : binding_raise();
}

/* graph_input(graph, name, type, extents, extent_names) */
static PyObject *graph_input(PyObject *module, PyObject *arguments) {
    PyObject *object, *extents, *texts, *result = NULL;
    const char *name, *const *names;
    author_memory memory = {0};
    unsigned type;
    uint64_t count;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OsIOO", &object, &name, &type, &extents, &texts)) return NULL;
    tn_graph *graph = author_graph(object);
    int64_t *shape;
    uint32_t rank;
    tn_tensor_id tensor = 0;
    if (graph && author_extents(&memory, extents, &shape, &rank) &&
        author_texts(&memory, texts, true, &names, &count))
        result =
            number(tn_graph_add_input(graph, name, type, rank, shape, names, &tensor), &tensor);
    author_free(&memory);
    return result;
}

/* graph_constant(graph, name, (type, extents, buffer)) */
static PyObject *graph_constant(PyObject *module, PyObject *arguments) {
    PyObject *object, *tuple, *result = NULL;
    author_memory memory = {0};
    tn_tensor_id tensor = 0;
    tn_tensor value;
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OzO!", &object, &name, &PyTuple_Type, &tuple)) return NULL;
    tn_graph *graph = author_graph(object);
    if (graph && author_tensor(&memory, tuple, &value))
        result = number(tn_graph_add_constant(graph, name, value.type, value.rank, value.shape,
                                              value.data, value.bytes, &tensor),
                        &tensor);
    author_free(&memory);
    return result;
}

static tn_tensor_id *read_ids(author_memory *memory, PyObject *list, uint32_t *out_count) {
    const Py_ssize_t count = PyList_Size(list);
    tn_tensor_id *ids = author_allocate(memory, (size_t)count + 1, sizeof(*ids));
    for (Py_ssize_t i = 0; ids && i < count; i++) {
        PyObject *item = PyList_GetItem(list, i);
        ids[i] = item == Py_None ? TN_NO_TENSOR : (tn_tensor_id)PyLong_AsUnsignedLong(item);
        if (PyErr_Occurred()) return NULL;
    }
    *out_count = (uint32_t)count;
    return ids;
}

/* graph_node(graph, domain, op, version, name, inputs, output_names, attributes) */
static PyObject *graph_node(PyObject *module, PyObject *arguments) {
    tn_node_description node = {.size = sizeof(node)};
    PyObject *object, *inputs, *texts, *attributes, *result = NULL;
    author_memory memory = {0};
    uint64_t count;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OssO&zO!OO!", &object, &node.domain, &node.op, binding_u32,
                          &node.version, &node.name, &PyList_Type, &inputs, &texts, &PyList_Type,
                          &attributes))
        return NULL;
    tn_graph *graph = author_graph(object);
    if (graph && (node.inputs = read_ids(&memory, inputs, &node.input_count)) != NULL &&
        author_texts(&memory, texts, true, &node.output_names, &count) &&
        author_attributes(&memory, attributes, &node.attributes, &node.attribute_count)) {
        tn_tensor_id *outputs = author_allocate(&memory, (size_t)count + 1, sizeof(*outputs));
        node.output_count = (uint32_t)count;
        if (outputs && tn_graph_add_node(graph, &node, outputs) != TN_OK) binding_raise();
        if (!PyErr_Occurred()) result = PyList_New(0);
        for (uint64_t i = 0; result && i < count; i++) {
            PyObject *item = PyLong_FromUnsignedLong(outputs[i]);
            if (!item || PyList_Append(result, item) != 0) Py_CLEAR(result);
            Py_XDECREF(item);
        }
    }
    author_free(&memory);
    return result;
}

/* graph_output(graph, tensor, name) */
static PyObject *graph_output(PyObject *module, PyObject *arguments) {
    PyObject *object;
    const char *name;
    unsigned tensor;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OIz", &object, &tensor, &name)) return NULL;
    tn_graph *graph = author_graph(object);
    if (!graph) return NULL;
    if (tn_graph_add_output(graph, tensor, name) != TN_OK) return binding_raise();
    Py_RETURN_NONE;
}

/* graph_opset(graph, domain, version) */
static PyObject *graph_opset(PyObject *module, PyObject *arguments) {
    PyObject *object;
    const char *domain;
    uint32_t version;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OsO&", &object, &domain, binding_u32, &version)) return NULL;
    tn_graph *graph = author_graph(object);
    if (!graph) return NULL;
    if (tn_graph_set_opset(graph, domain, version) != TN_OK) return binding_raise();
    Py_RETURN_NONE;
}

PyMethodDef author_graph_methods[] = {
    {"graph_create", graph_create, METH_VARARGS, NULL},
    {"graph_input", graph_input, METH_VARARGS, NULL},
    {"graph_constant", graph_constant, METH_VARARGS, NULL},
    {"graph_node", graph_node, METH_VARARGS, NULL},
    {"graph_output", graph_output, METH_VARARGS, NULL},
    {"graph_opset", graph_opset, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
