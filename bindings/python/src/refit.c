/* SPDX-License-Identifier: Apache-2.0 */
/* Refit: other data for constants of an engine or of a plan's file, from arrays by name or from
 * another model of the same network. */
#include "binding.h"

#include <string.h>
#include <tenon/refit.h>

static const tn_port_info *find_constant(const tn_refit *refit, const char *name) {
    for (uint32_t i = 0; i < tn_refit_count(refit); i++)
        if (strcmp(tn_refit_constant(refit, i)->name, name) == 0)
            return tn_refit_constant(refit, i);
    return NULL;
}

/* One constant's data, linear. */
static bool set_array(tn_refit *refit, const tn_port_info *constant, PyObject *given) {
    array_view view;
    if (!array_open(given, constant->type, "constant", constant->name, false, NULL, &view))
        return false;
    if (!view.is_packed) {
        array_close(&view);
        PyObject *packed = binding_call("_arrays", "packed", "(O)", given);
        const bool is_set = packed && set_array(refit, constant, packed);
        Py_XDECREF(packed);
        return is_set;
    }
    const tn_status status = tn_refit_set(refit, constant->name, constant->type, view.rank,
                                          view.shape, view.data, view.bytes);
    array_close(&view);
    return status == TN_OK || binding_raise();
}

static bool set_item(tn_refit *refit, PyObject *key, PyObject *array) {
    PyObject *owner;
    const char *name;
    if (!binding_text(key, &owner, &name)) return false;
    const tn_port_info *constant = find_constant(refit, name);
    bool is_set = false;
    if (constant)
        is_set = set_array(refit, constant, array);
    else if (tn_refit_set(refit, name, TN_F32, 0, NULL, "", 0) != TN_OK)
        binding_raise(); /* with the nearest name */
    Py_DECREF(owner);
    return is_set;
}

static bool set_items(tn_refit *refit, PyObject *weights) {
    PyObject *copy = PyDict_Copy(weights), *key, *array; /* what is called may change it */
    Py_ssize_t position = 0;
    bool is_set = copy != NULL;
    while (is_set && PyDict_Next(copy, &position, &key, &array))
        is_set = set_item(refit, key, array);
    Py_XDECREF(copy);
    return is_set;
}

static bool set_model(tn_refit *refit, runtime_object *runtime, PyObject *model) {
    PyObject *object = binding_call("_build", "graph_of", "OO", model, runtime);
    if (!object) return false;
    graph_object *graph = (graph_object *)object;
    tn_status status;
    if (graph->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "the graph is being built on another thread");
        Py_DECREF(object);
        return false;
    }
    graph->is_busy = true;
    Py_BEGIN_ALLOW_THREADS;
    status = tn_refit_set_all(refit, graph->graph, NULL);
    Py_END_ALLOW_THREADS;
    graph->is_busy = false;
    Py_DECREF(object);
    return status == TN_OK || binding_raise();
}

static bool set(tn_refit *refit, runtime_object *runtime, PyObject *weights) {
    return PyDict_Check(weights) ? set_items(refit, weights) : set_model(refit, runtime, weights);
}

PyObject *engine_refit(PyObject *object, PyObject *weights) {
    engine_object *self = (engine_object *)object;
    tn_refit *refit = NULL;
    tn_engine *engine = NULL;
    if (binding_refuse_forked(self->runtime)) return NULL;
    if (tn_refit_create(self->engine, &refit) != TN_OK) return binding_raise();
    tn_status status = TN_ERROR_STATE;
    const bool is_set = set(refit, self->runtime, weights);
    Py_BEGIN_ALLOW_THREADS;
    if (is_set) status = tn_refit_apply(refit, &engine);
    Py_END_ALLOW_THREADS;
    PyObject *result = NULL;
    if (status == TN_OK)
        result = binding_engine_wrap(self->runtime, self->borrowed, engine, self->device_index);
    else if (is_set)
        binding_raise();
    binding_log_flush();
    tn_refit_destroy(refit);
    return result;
}

/* refit_plan(runtime, path, weights, out): of a plan's file. */
PyObject *binding_refit_plan(PyObject *module, PyObject *arguments) {
    PyObject *runtime, *weights;
    const char *path, *out;
    tn_refit *refit = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!yOy", binding_runtime_type, &runtime, &path, &weights,
                          &out))
        return NULL;
    runtime_object *owner = (runtime_object *)runtime;
    if (binding_refuse_forked(owner)) return NULL;
    if (tn_refit_create_for_plan(owner->runtime, path, &refit) != TN_OK) return binding_raise();
    tn_status status = TN_ERROR_STATE;
    const bool is_set = set(refit, owner, weights);
    Py_BEGIN_ALLOW_THREADS;
    if (is_set) status = tn_refit_save(refit, out);
    Py_END_ALLOW_THREADS;
    if (is_set && status != TN_OK) binding_raise();
    tn_refit_destroy(refit);
    if (status != TN_OK) return NULL;
    Py_RETURN_NONE;
}

static const tn_port_info *constant_of(const void *engine, uint32_t index) {
    return tn_engine_refit_constant(engine, index);
}

PyObject *engine_constants(PyObject *object, void *closure) {
    (void)closure;
    const engine_object *self = (engine_object *)object;
    return binding_ports(tn_engine_refit_count(self->engine), constant_of, self->engine);
}
