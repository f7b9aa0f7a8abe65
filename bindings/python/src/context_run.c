/* SPDX-License-Identifier: Apache-2.0 */
/* A run: binds the caller's arrays, runs without the interpreter's lock, and answers the outputs.
 */
#include "context.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>

/* Raises the error of inputs that are too few, too many, or not the network's. */
static PyObject *refuse_count(const context_object *self, PyObject *inputs) {
    PyObject *result =
        binding_call("_arrays", "refuse_names", "OO", self->engine->input_names, inputs);
    Py_XDECREF(result);
    return NULL;
}

/* Array number `index` of the inputs, borrowed; null with or without an exception: there is none.
 */
static PyObject *given(const context_object *self, PyObject *inputs, uint32_t index) {
    if (PyTuple_Check(inputs)) return PyTuple_GetItem(inputs, index);
    return PyDict_GetItemWithError(inputs, PyTuple_GetItem(self->engine->input_names, index));
}

static tn_status bind_input(tn_context *context, uint32_t index, const array_view *view) {
    tn_status status = tn_context_set_shape(context, index, view->rank, view->shape);
    if (status != TN_OK) return status;
    if (view->is_on_device)
        return tn_context_bind_device_input(context, index, view->data, view->bytes);
    if (view->is_packed) return tn_context_bind_input(context, index, view->data, view->bytes);
    return tn_context_bind_input_strided(context, index, view->data, view->bytes, view->rank,
                                         view->strides);
}

/* As array_open; on an engine of a GPU, DLPack tensors may lie in its memory. */
static bool open_array(context_object *self, PyObject *object, const tn_port_info *port,
                       bool is_output, array_view *view) {
    const char *kind = is_output ? "output" : "input";
    device_want want;
    if (self->engine->device_index < 0 || PyObject_CheckBuffer(object))
        return array_open(object, port->type, kind, port->name, is_output, NULL, view);
    return context_want(self, &want) &&
           array_open(object, port->type, kind, port->name, is_output, &want, view);
}

static bool open_inputs(context_object *self, PyObject *inputs) {
    for (uint32_t i = 0; i < self->engine->input_count; i++) {
        const tn_port_info *port = tn_engine_input(self->engine->engine, i);
        PyObject *array = given(self, inputs, i);
        if (!array) {
            if (!PyErr_Occurred()) refuse_count(self, inputs);
            return false;
        }
        Py_INCREF(array); /* what is called may take it from the dict */
        if (port->kind) {
            const bool is_bound = values_bind(self, i, port, array);
            Py_DECREF(array);
            if (!is_bound) return false;
            continue;
        }
        const bool is_open = open_array(self, array, port, false, &self->inputs[i]);
        Py_DECREF(array);
        if (!is_open) return false;
        if (bind_input(self->context, i, &self->inputs[i]) != TN_OK) return binding_raise() != NULL;
    }
    return true;
}

static tn_status bind_output(tn_context *context, uint32_t index, const array_view *view) {
    if (view->is_on_device)
        return tn_context_bind_device_output(context, index, view->data, view->bytes);
    if (view->is_packed) return tn_context_bind_output(context, index, view->data, view->bytes);
    return tn_context_bind_output_strided(context, index, view->data, view->bytes, view->rank,
                                          view->strides);
}

static bool open_output(context_object *self, PyObject *name, PyObject *array) {
    uint32_t index;
    PyObject *owner;
    const char *text;
    if (!binding_text(name, &owner, &text)) return false;
    const bool is_found = tn_engine_find_output(self->engine->engine, text, &index) == TN_OK;
    Py_DECREF(owner);
    if (!is_found) return binding_raise() != NULL;
    output_slot *slot = &self->outputs[index];
    const tn_port_info *port = tn_engine_output(self->engine->engine, index);
    if (port->kind) {
        binding_raise_text(TN_ERROR_UNSUPPORTED,
                           "output '%s' is a %s, which is not written to a given array: leave it "
                           "out of `out`",
                           port->name, binding_kind_name(port->kind));
        return false;
    }
    if (!open_array(self, array, port, true, &slot->view)) return false;
    slot->is_bound = true;
    return bind_output(self->context, index, &slot->view) == TN_OK || binding_raise();
}

/* Has the caller's function asked for the memory of outputs that are not bound. */
static bool allocate_others(context_object *self) {
    for (uint32_t i = 0; self->allocate && i < self->engine->output_count; i++)
        if (!self->outputs[i].is_bound &&
            tn_engine_output(self->engine->engine, i)->kind == TN_KIND_DENSE &&
            tn_context_set_device_output_allocator(self->context, i, context_allocate_on_device,
                                                   self) != TN_OK)
            return binding_raise() != NULL;
    return true;
}

/* Where two packed arrays of the caller's share memory, one result would be written over the other.
 * Strided ones may lie between each other's elements. */
static bool share_memory(const array_view *one, const array_view *other) {
    const char *a = one->data, *b = other->data;
    if (!a || !b || one->is_on_device != other->is_on_device) return false;
    return a == b ||
           (one->is_packed && other->is_packed && a < b + other->bytes && b < a + one->bytes);
}

static bool are_outputs_apart(const context_object *self) {
    for (uint32_t i = 1; i < self->engine->output_count; i++)
        for (uint32_t j = 0; j < i && self->outputs[i].is_bound; j++) {
            if (!self->outputs[j].is_bound ||
                !share_memory(&self->outputs[i].view, &self->outputs[j].view))
                continue;
            binding_raise_text(TN_ERROR_ARGUMENT,
                               "outputs '%s' and '%s': their arrays share memory; give each an "
                               "array of its own",
                               tn_engine_output(self->engine->engine, j)->name,
                               tn_engine_output(self->engine->engine, i)->name);
            return false;
        }
    return true;
}

static bool open_outputs(context_object *self, PyObject *out) {
    PyObject *name, *array;
    Py_ssize_t position = 0;
    if (!out || out == Py_None) return allocate_others(self);
    if (!PyDict_Check(out)) {
        PyErr_Format(PyExc_TypeError, "out: a dict from outputs' names to arrays is wanted, not %R",
                     out);
        return false;
    }
    while (PyDict_Next(out, &position, &name, &array))
        if (!open_output(self, name, array)) return false;
    return are_outputs_apart(self) && allocate_others(self);
}

/* Gives back what the run has; memory of outputs that became arrays is none of its any more. */
static void close_all(context_object *self) {
    for (uint32_t i = 0; i < self->engine->input_count; i++)
        array_close(&self->inputs[i]);
    for (uint32_t i = 0; i < self->engine->output_count; i++) {
        output_slot *slot = &self->outputs[i];
        free(slot->data);
        slot->data = NULL;
        Py_CLEAR(slot->owner);
        if (!slot->is_bound && !self->allocate) continue;
        tn_context_set_output_allocator(self->context, i, context_allocate_output, self);
        array_close(&slot->view);
        slot->is_bound = false;
    }
}

/* Whether the caller's array has the shape that the output got. */
static bool has_shape(const array_view *view, const tn_tensor *tensor) {
    return view->rank == tensor->rank &&
           memcmp(view->shape, tensor->shape, sizeof(int64_t) * tensor->rank) == 0;
}

static PyObject *output_array(context_object *self, uint32_t index, PyObject *out) {
    output_slot *slot = &self->outputs[index];
    const tn_port_info *port = tn_engine_output(self->engine->engine, index);
    const tn_tensor *tensor;
    if (port->kind) return values_take(self, index, port);
    if (tn_context_output(self->context, index, &tensor) != TN_OK) return binding_raise();
    PyObject *name = PyTuple_GetItem(self->engine->output_names, index);
    if (slot->owner) return context_device_output(self, index, tensor);
    if (!slot->is_bound) {
        void *data = slot->data;
        slot->data = NULL;
        return binding_array_new(tensor, data, slot->bytes);
    }
    PyObject *array = PyDict_GetItemWithError(out, name);
    if (array && has_shape(&slot->view, tensor)) return Py_NewRef(array);
    PyObject *shape = array ? binding_extents(tensor->rank, tensor->shape) : NULL;
    PyObject *result =
        shape ? binding_call("_arrays", "beginning", "OOO", array, shape, name) : NULL;
    Py_XDECREF(shape);
    return result;
}

static PyObject *outputs_dict(context_object *self, PyObject *out) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < self->engine->output_count; i++) {
        PyObject *array = output_array(self, i, out);
        if (!array ||
            PyDict_SetItem(dict, PyTuple_GetItem(self->engine->output_names, i), array) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(array);
    }
    return dict;
}

enum { PARAMETERS = 3 };

/* run(inputs, out=None, allocate=None), by position or name. */
static bool read_arguments(PyObject *const *arguments, Py_ssize_t count, PyObject *names,
                           PyObject *values[PARAMETERS]) {
    static const char *const parameters[] = {"inputs", "out", "allocate"};
    const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < count && i < PARAMETERS; i++)
        values[i] = arguments[i];
    bool is_read = count <= PARAMETERS;
    for (Py_ssize_t i = 0; is_read && i < named; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        int which = 0;
        while (which < PARAMETERS && PyUnicode_CompareWithASCIIString(name, parameters[which]) != 0)
            which++;
        is_read = which < PARAMETERS && !values[which];
        if (is_read) values[which] = arguments[count + i];
    }
    if (is_read && values[0]) return true;
    PyErr_SetString(PyExc_TypeError,
                    "run(inputs, out=None, allocate=None): one to three arguments are wanted");
    return false;
}

static bool check_inputs(const context_object *self, PyObject *inputs) {
    const bool is_dict = PyDict_Check(inputs);
    if (!is_dict && !PyTuple_Check(inputs)) {
        PyErr_Format(PyExc_TypeError,
                     "inputs: a dict from names to arrays or a tuple of arrays is wanted, not %R",
                     (PyObject *)Py_TYPE(inputs));
        return false;
    }
    const Py_ssize_t count = is_dict ? PyDict_Size(inputs) : PyTuple_Size(inputs);
    return count == (Py_ssize_t)self->engine->input_count || refuse_count(self, inputs);
}

/* Adds to an error of shapes what would fit; the error is raised in any case. */
static void mend_shapes(const context_object *self, PyObject *inputs) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (error && PyErr_GivenExceptionMatches(error, binding_error_type))
        Py_XDECREF(binding_call("_shapes", "add_mend", "OOO", error, self->engine, inputs));
    PyErr_Clear();
    PyErr_Restore(type, error, traceback);
}

PyObject *context_run(PyObject *object, PyObject *const *arguments, Py_ssize_t count,
                      PyObject *names) {
    context_object *self = (context_object *)object;
    PyObject *values[PARAMETERS] = {NULL}, *result = NULL;
    if (!read_arguments(arguments, count, names, values) || !check_inputs(self, values[0]) ||
        !context_begin(self))
        return NULL;
    PyObject *inputs = values[0], *out = values[1];
    if (out && PyDict_Check(out)) /* what is called may change it */
        out = PyDict_Copy(out);
    else
        Py_XINCREF(out);
    self->allocate = values[2] && values[2] != Py_None ? values[2] : NULL;
    if (open_inputs(self, inputs) && open_outputs(self, out)) {
        tn_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = tn_context_run(self->context);
        if (status == TN_OK) status = context_wait(self);
        Py_END_ALLOW_THREADS;
        result = status == TN_OK ? outputs_dict(self, out) : binding_raise();
        binding_log_flush();
    }
    close_all(self);
    self->allocate = NULL;
    context_end(self);
    Py_XDECREF(out);
    if (!result) mend_shapes(self, inputs);
    return result;
}
