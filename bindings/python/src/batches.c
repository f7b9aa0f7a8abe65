/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of sample inputs for calibrations: arrays that a Python function answers. */
#include "build_arguments.h"

#include <string.h>

static void close_now(batch_reader *reader) {
    for (uint32_t i = 0; i < reader->input_count; i++)
        array_close(&reader->views[i]);
    Py_CLEAR(reader->now);
}

static bool open_input(batch_reader *reader, uint32_t index, PyObject *array) {
    const tn_port_info *port = tn_graph_input(reader->graph, index);
    array_view *view = &reader->views[index];
    if (!array ||
        !array_open(array, port->type, "calibration: input", port->name, false, NULL, view))
        return false;
    if (!view->is_packed) {
        binding_raise_text(TN_ERROR_ARGUMENT,
                           "calibration: input '%s': a contiguous array is wanted", port->name);
        return false;
    }
    memcpy(reader->shapes[index], view->shape, view->rank * sizeof(int64_t));
    reader->tensors[index] = (tn_tensor){.size = sizeof(tn_tensor),
                                         .type = port->type,
                                         .rank = view->rank,
                                         .data = view->data,
                                         .bytes = view->bytes,
                                         .shape = reader->shapes[index],
                                         .name = port->name};
    return true;
}

static bool open_batch(batch_reader *reader, uint64_t index) {
    close_now(reader);
    reader->now = PyObject_CallFunction(reader->get, "K", (unsigned long long)index);
    if (!reader->now || !PyTuple_Check(reader->now) ||
        PyTuple_Size(reader->now) != (Py_ssize_t)reader->input_count) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a batch is a tuple of all inputs");
        return false;
    }
    for (uint32_t i = 0; i < reader->input_count; i++)
        if (!open_input(reader, i, PyTuple_GetItem(reader->now, i))) return false;
    return true;
}

static tn_status read_batch(void *user, uint64_t index, const tn_tensor **out_inputs) {
    batch_reader *reader = user;
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool is_open = open_batch(reader, index);
    for (uint32_t i = 0; is_open && i < reader->input_count; i++)
        out_inputs[i] = &reader->tensors[i];
    PyGILState_Release(state);
    return is_open ? TN_OK : TN_ERROR_ARGUMENT;
}

static bool report(void *user, const char *stage, uint64_t done, uint64_t count) {
    return build_report_progress(((batch_reader *)user)->progress, stage, done, count);
}

bool batch_reader_init(batch_reader *reader, PyObject *batches, const tn_graph *graph,
                       PyObject *progress) {
    unsigned long long count;
    PyObject *get;
    if (!batches || batches == Py_None) return true;
    if (!PyArg_ParseTuple(batches, "KO", &count, &get)) return false;
    reader->get = Py_NewRef(get);
    reader->progress = progress;
    reader->graph = graph;
    reader->input_count = tn_graph_input_count(graph);
    reader->views = PyMem_Calloc(reader->input_count + 1u, sizeof(*reader->views));
    reader->tensors = PyMem_Calloc(reader->input_count + 1u, sizeof(*reader->tensors));
    reader->shapes = PyMem_Calloc(reader->input_count + 1u, sizeof(*reader->shapes));
    if (!reader->views || !reader->tensors || !reader->shapes) return PyErr_NoMemory() != NULL;
    reader->batches = (tn_batches){.size = sizeof(tn_batches),
                                   .count = count,
                                   .read = read_batch,
                                   .progress = report,
                                   .user = reader};
    return true;
}

void batch_reader_free(batch_reader *reader) {
    if (reader->views) close_now(reader);
    PyMem_Free(reader->views);
    PyMem_Free(reader->tensors);
    PyMem_Free(reader->shapes);
    Py_CLEAR(reader->get);
}
