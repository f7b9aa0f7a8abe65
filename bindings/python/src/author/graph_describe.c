/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a network, for tenon.debug: its nodes and tensors as tuples. */
#include "author.h"

#include <tenon/describe.h>

/* A tuple of tensors' numbers, None for an absent one. */
static PyObject *tensors_of(const tn_tensor_id *tensors, uint32_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (uint32_t i = 0; tuple && i < count; i++) {
        PyObject *item =
            tensors[i] == TN_NO_TENSOR ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(tensors[i]);
        if (!item || PyTuple_SetItem(tuple, i, item) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *node_at(const tn_graph *graph, uint32_t index) {
    tn_node_info node = {.size = sizeof(node)};
    if (tn_graph_get_node(graph, index, &node) != TN_OK) return binding_raise();
    PyObject *inputs = tensors_of(node.inputs, node.input_count);
    PyObject *outputs = inputs ? tensors_of(node.outputs, node.output_count) : NULL;
    if (!outputs) {
        Py_XDECREF(inputs);
        return NULL;
    }
    return Py_BuildValue("(sssNNI)", node.name, node.domain, node.op, inputs, outputs,
                         node.body_count);
}

static PyObject *tensor_at(const tn_graph *graph, uint32_t index) {
    tn_tensor_info tensor = {.size = sizeof(tensor)};
    if (tn_graph_get_tensor(graph, index, &tensor) != TN_OK) return binding_raise();
    return Py_BuildValue("(zzN)", tensor.name,
                         tensor.type == TN_NONE ? NULL : binding_type_name(tensor.type),
                         PyBool_FromLong(tensor.is_output != 0));
}

static PyObject *list_of(const tn_graph *graph, uint32_t count,
                         PyObject *(*get)(const tn_graph *graph, uint32_t index)) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < count; i++) {
        PyObject *item = get(graph, i);
        if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* graph_nodes(graph): of each node (name, domain, op, inputs, outputs, bodies), in order */
static PyObject *graph_nodes(PyObject *module, PyObject *object) {
    const tn_graph *graph = author_graph(object);
    (void)module;
    return graph ? list_of(graph, tn_graph_node_count(graph), node_at) : NULL;
}

/* graph_tensors(graph): of each tensor, by its number, (name, type or None, whether it is an
 * output) */
static PyObject *graph_tensors(PyObject *module, PyObject *object) {
    const tn_graph *graph = author_graph(object);
    (void)module;
    return graph ? list_of(graph, tn_graph_tensor_count(graph), tensor_at) : NULL;
}

PyMethodDef author_describe_methods[] = {
    {"graph_nodes", graph_nodes, METH_O, NULL},
    {"graph_tensors", graph_tensors, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
