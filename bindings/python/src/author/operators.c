/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators whose shape rule and reference are Python functions, for _operator.py; see author.h. A
 * callback takes the interpreter's lock, on whichever thread it comes; since all calls of this
 * extension that may lead here release it, none waits for the other.
 */
#include "author.h"

#include <stdlib.h>
#include <string.h>

/* One library with one operator; of it the table, and what the table points to. */
typedef struct python_operator {
    tn_library library;
    tn_operator op;
    const tn_operator *operators[1];
    PyObject *object;      /* has `infer` and `reference`, which answer a text where they fail */
    PyObject *description; /* holds the texts */
    author_memory memory;
} python_operator;

static PyObject *view(const tn_tensor *tensor, bool is_written) {
    PyObject *data = Py_None, *extents, *result;
    if (tensor->data && is_written)
        data = PyMemoryView_FromMemory(tensor->data, (Py_ssize_t)tensor->bytes, PyBUF_WRITE);
    else if (tensor->data)
        data = PyMemoryView_FromMemory(tensor->data, (Py_ssize_t)tensor->bytes, PyBUF_READ);
    else
        Py_INCREF(data);
    if (!data) return NULL;
    extents = binding_extents(tensor->rank, tensor->shape);
    result = extents ? Py_BuildValue("(IOO)", tensor->type, extents, data) : NULL;
    Py_XDECREF(extents);
    Py_DECREF(data);
    return result;
}

static PyObject *views(const tn_tensor *const *tensors, uint32_t count, bool is_written) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < count; i++) {
        PyObject *item = Py_None;
        if (tensors[i])
            item = view(tensors[i], is_written);
        else
            Py_INCREF(item);
        if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* What the Python side answered, as a status: a text is a reason. Null is an exception; Ctrl-C is
 * raised again where the interpreter has the thread back. */
static tn_status fail_by(tn_call *call, PyObject *answer) {
    tn_status status = TN_ERROR_PLUGIN;
    if (answer && PyUnicode_Check(answer)) {
        const char *text = PyUnicode_AsUTF8AndSize(answer, NULL);
        status = call->host->fail(call, TN_ERROR_PLUGIN, "%s", text ? text : "failed");
    } else if (!answer && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        status = call->host->fail(call, TN_ERROR_PLUGIN, "its Python function was interrupted");
        PyErr_SetInterrupt();
    } else {
        status = call->host->fail(call, TN_ERROR_PLUGIN, "the Python function failed");
    }
    PyErr_Clear();
    return status;
}

static tn_status set_output(tn_call *call, uint32_t index, PyObject *item) {
    PyObject *extents;
    unsigned type;
    uint32_t rank;
    int64_t shape[TN_MAX_RANK];
    tn_tensor *output = call->outputs[index];
    if (!item || !PyArg_ParseTuple(item, "IO", &type, &extents) ||
        !binding_extents_read(extents, "the shape of an output", &rank, shape))
        return TN_ERROR_PLUGIN;
    if (!output) return TN_OK;
    if (type) output->type = type;
    output->rank = rank;
    memcpy(output->shape, shape, rank * sizeof(*shape));
    return TN_OK;
}

static tn_status infer(tn_call *call) TN_NOEXCEPT {
    const python_operator *self = call->user;
    tn_status status = TN_ERROR_PLUGIN;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *inputs = views(call->inputs, call->input_count, false);
    PyObject *fields = inputs ? author_fields(call->op, call->params) : NULL;
    PyObject *answer = fields ? PyObject_CallMethod(self->object, "infer", "OOI", inputs, fields,
                                                    (unsigned)call->output_count)
                              : NULL;
    if (answer && PyList_Check(answer)) {
        status = PyList_Size(answer) == (Py_ssize_t)call->output_count ? TN_OK : TN_ERROR_PLUGIN;
        for (uint32_t i = 0; status == TN_OK && i < call->output_count; i++)
            status = set_output(call, i, PyList_GetItem(answer, (Py_ssize_t)i));
    }
    if (status != TN_OK) status = fail_by(call, answer);
    Py_XDECREF(answer);
    Py_XDECREF(fields);
    Py_XDECREF(inputs);
    PyGILState_Release(state);
    return status;
}

static tn_status reference(tn_call *call) TN_NOEXCEPT {
    const python_operator *self = call->user;
    tn_status status = TN_OK;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *inputs = views(call->inputs, call->input_count, false);
    PyObject *outputs =
        inputs ? views((const tn_tensor *const *)call->outputs, call->output_count, true) : NULL;
    PyObject *fields = outputs ? author_fields(call->op, call->params) : NULL;
    PyObject *answer =
        fields ? PyObject_CallMethod(self->object, "reference", "OOO", inputs, outputs, fields)
               : NULL;
    if (answer != Py_None) status = fail_by(call, answer);
    Py_XDECREF(answer);
    Py_XDECREF(fields);
    Py_XDECREF(outputs);
    Py_XDECREF(inputs);
    PyGILState_Release(state);
    return status;
}

/* Without an interpreter, at its end, the memory stays. */
static void release(tn_library *library) {
    python_operator *self = (python_operator *)(void *)library;
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_XDECREF(self->object);
    Py_XDECREF(self->description);
    author_free(&self->memory);
    PyGILState_Release(state);
    free(self);
}

static bool read_fields(python_operator *self, PyObject *list) {
    const Py_ssize_t count = list ? PyList_Size(list) : 0;
    tn_field *fields = author_allocate(&self->memory, (size_t)count + 1, sizeof(*fields));
    uint32_t at = sizeof(uint64_t); /* `present` */
    for (Py_ssize_t i = 0; fields && i < count; i++) {
        tn_compile_field given;
        if (!author_field(PyList_GetItem(list, i), &given)) return false;
        const uint32_t bytes = author_field_bytes(given.type), alignment = bytes > 8 ? 8 : bytes;
        at = (at + alignment - 1) / alignment * alignment;
        fields[i] = (tn_field){.name = given.name,
                               .doc = given.doc,
                               .fallback = given.fallback,
                               .choices = given.choices,
                               .type = given.type,
                               .flags = given.flags,
                               .offset = at,
                               .bytes = bytes,
                               .minimum = given.minimum,
                               .maximum = given.maximum};
        at += bytes;
    }
    self->op.fields = fields;
    self->op.field_size = sizeof(tn_field);
    self->op.field_count = (uint32_t)count;
    self->op.params_bytes = count ? (at + 7u) / 8 * 8 : 0;
    return fields != NULL;
}

static bool read_ports(python_operator *self, PyObject *list, const tn_port **out_ports,
                       uint32_t *out_count) {
    const Py_ssize_t count = list ? PyList_Size(list) : 0;
    tn_port *ports = author_allocate(&self->memory, (size_t)count + 1, sizeof(*ports));
    for (Py_ssize_t i = 0; ports && i < count; i++) {
        tn_compile_port given;
        if (!author_port(PyList_GetItem(list, i), &given)) return false;
        ports[i] = (tn_port){.name = given.name,
                             .types = given.types ? given.types : "f32",
                             .doc = given.doc ? given.doc : "",
                             .flags = given.flags,
                             .alias = given.alias,
                             .minimum_count = given.minimum_count};
    }
    *out_ports = ports;
    *out_count = (uint32_t)count;
    return ports != NULL;
}

static bool read_operator(python_operator *self, PyObject *dict) {
    tn_operator *op = &self->op;
    uint32_t version;
    if (!author_get_text(dict, "domain", &op->domain) ||
        !author_get_text(dict, "name", &op->name) || !author_get_text(dict, "doc", &op->doc) ||
        !author_get_number(dict, "since_version", &version) ||
        !author_get_number(dict, "traits", &op->traits) ||
        !author_get_texts(&self->memory, dict, "cases", &op->cases, &op->case_count) ||
        !read_fields(self, PyDict_GetItemString(dict, "fields")) ||
        !read_ports(self, PyDict_GetItemString(dict, "inputs"), &op->inputs, &op->input_count) ||
        !read_ports(self, PyDict_GetItemString(dict, "outputs"), &op->outputs, &op->output_count))
        return false;
    op->since_version = version ? version : 1;
    return true;
}

/* add_operator(runtime, description, object) */
static PyObject *add_operator(PyObject *module, PyObject *arguments) {
    PyObject *object, *dict, *functions;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!O", &object, &PyDict_Type, &dict, &functions)) return NULL;
    tn_runtime *runtime = author_runtime(object);
    python_operator *self = runtime ? calloc(1, sizeof(*self)) : NULL;
    if (!self) return runtime ? PyErr_NoMemory() : NULL;
    Py_INCREF(functions);
    Py_INCREF(dict);
    self->object = functions;
    self->description = dict;
    self->op = (tn_operator){.size = sizeof(tn_operator),
                             .state_version = 1,
                             .port_size = sizeof(tn_port),
                             .infer = infer,
                             .reference = reference,
                             .user = self};
    self->operators[0] = &self->op;
    self->library = (tn_library){.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .version = "Python",
                                 .operator_count = 1,
                                 .operators = self->operators};
    tn_status status = TN_ERROR_ARGUMENT;
    if (read_operator(self, dict) && author_get_text(dict, "library", &self->library.name)) {
        Py_BEGIN_ALLOW_THREADS;
        status = tn_runtime_add_library(runtime, &self->library, release);
        Py_END_ALLOW_THREADS;
        if (status != TN_OK) binding_raise();
    }
    if (status != TN_OK) {
        release(&self->library);
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ----------------------------------------------------------------------------------------------
 * what is registered */

static PyObject *describe_fields(const tn_operator *op) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < op->field_count; i++) {
        const tn_field *field =
            (const tn_field *)(const void *)((const char *)op->fields + (size_t)i * op->field_size);
        PyObject *item =
            Py_BuildValue("(IIszzzdd)", field->type, field->flags, field->name, field->fallback,
                          field->choices, field->doc, field->minimum, field->maximum);
        if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *describe_ports(const tn_operator *op, const tn_port *ports, uint32_t count) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < count; i++) {
        const tn_port *port =
            (const tn_port *)(const void *)((const char *)ports + (size_t)i * op->port_size);
        PyObject *item = Py_BuildValue("(szI)", port->name, port->types, port->flags);
        if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static bool describe_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    PyObject *item = NULL, *fields = describe_fields(op);
    PyObject *inputs = describe_ports(op, op->inputs, op->input_count);
    PyObject *outputs = describe_ports(op, op->outputs, op->output_count);
    if (fields && inputs && outputs)
        item = Py_BuildValue("{s:s,s:s,s:I,s:z,s:s,s:s,s:O,s:O,s:O}", "domain",
                             op->domain ? op->domain : "", "name", op->name, "version",
                             op->since_version, "doc", op->doc, "library", library->name, "path",
                             library->path, "fields", fields, "inputs", inputs, "outputs", outputs);
    const bool is_added = item && PyList_Append(user, item) == 0;
    Py_XDECREF(item);
    Py_XDECREF(fields);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    return is_added;
}

/* describe_operators(runtime) -> a list of dicts. */
static PyObject *describe_operators(PyObject *module, PyObject *object) {
    (void)module;
    tn_runtime *runtime = author_runtime(object);
    PyObject *list = runtime ? PyList_New(0) : NULL;
    if (list) tn_runtime_visit_operators(runtime, describe_operator, list);
    if (PyErr_Occurred()) Py_CLEAR(list);
    return list;
}

PyMethodDef author_operators_methods[] = {
    {"describe_operators", describe_operators, METH_O, NULL},
    {"add_operator", add_operator, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
