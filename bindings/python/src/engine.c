/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.Engine: a loaded plan, immutable, shared by threads. */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *binding_engine_type;

static const tn_port_info *input_of(const void *engine, uint32_t index) {
    return tn_engine_input(engine, index);
}
static const tn_port_info *output_of(const void *engine, uint32_t index) {
    return tn_engine_output(engine, index);
}

/* The ports' names as interned texts. */
static PyObject *names_of(const tn_engine *engine, uint32_t count,
                          const tn_port_info *(*get)(const void *owner, uint32_t index)) {
    PyObject *names = PyTuple_New(count);
    for (uint32_t i = 0; names && i < count; i++) {
        PyObject *name = PyUnicode_InternFromString(get(engine, i)->name);
        if (!name || PyTuple_SetItem(names, i, name) != 0) Py_CLEAR(names);
    }
    return names;
}

static bool find_other(void *user, const tn_device_info *device) {
    *(bool *)user = strcmp(device->kind, "cpu") != 0;
    return !*(bool *)user;
}

/* The number of the GPU that the engine runs on; -1: none. */
static int find_device(const runtime_object *runtime, tn_engine *engine, const char *asked) {
    const tn_plan_description *description = NULL;
    bool has_others = false;
    tn_runtime_visit_devices(runtime->runtime, find_other, &has_others);
    if (!has_others || tn_engine_describe(engine, &description) != TN_OK) return -1;
    const bool is_cuda =
        description->program_count > 0 && strcmp(description->programs[0]->device, "cuda") == 0;
    tn_plan_description_destroy(description);
    const char *number = asked ? strchr(asked, ':') : NULL;
    return is_cuda ? number ? atoi(number + 1) : 0 : -1;
}

PyObject *binding_engine_wrap(runtime_object *runtime, PyObject *borrowed, tn_engine *engine,
                              int device_index) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(binding_engine_type, Py_tp_alloc);
    engine_object *self = (engine_object *)allocate(binding_engine_type, 0);
    if (!self) {
        tn_engine_release(engine);
        return NULL;
    }
    self->engine = engine;
    self->runtime = (runtime_object *)Py_NewRef((PyObject *)runtime);
    self->borrowed = Py_XNewRef(borrowed);
    self->device_index = device_index;
    self->input_count = tn_engine_input_count(engine);
    self->output_count = tn_engine_output_count(engine);
    self->input_names = names_of(engine, self->input_count, input_of);
    self->output_names = names_of(engine, self->output_count, output_of);
    if (!self->input_names || !self->output_names) Py_CLEAR(self);
    return (PyObject *)self;
}

PyObject *binding_engine_new(plan_object *plan, tn_engine *engine, const char *device) {
    return binding_engine_wrap(plan->runtime, plan->is_borrowed ? (PyObject *)plan : NULL, engine,
                               find_device(plan->runtime, engine, device));
}

static void engine_dealloc(PyObject *object) {
    engine_object *self = (engine_object *)object;
    if (!binding_is_forked(self->runtime)) {
        Py_BEGIN_ALLOW_THREADS;
        tn_engine_release(self->engine);
        Py_END_ALLOW_THREADS;
    }
    Py_XDECREF(self->borrowed); /* behind the engine, which has read its memory */
    Py_XDECREF((PyObject *)self->runtime);
    Py_XDECREF(self->input_names);
    Py_XDECREF(self->output_names);
    binding_free(object);
}

static PyObject *engine_context(PyObject *object, PyObject *none) {
    (void)none;
    engine_object *self = (engine_object *)object;
    tn_context *context;
    tn_status status;
    if (binding_refuse_forked(self->runtime)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = tn_context_create(self->engine, &context);
    Py_END_ALLOW_THREADS;
    if (status != TN_OK) return binding_raise();
    binding_log_flush();
    return binding_context_new(self, context);
}

static PyObject *engine_inputs(PyObject *object, void *closure) {
    (void)closure;
    const engine_object *self = (engine_object *)object;
    return binding_ports(self->input_count, input_of, self->engine);
}
static PyObject *engine_outputs(PyObject *object, void *closure) {
    (void)closure;
    const engine_object *self = (engine_object *)object;
    return binding_ports(self->output_count, output_of, self->engine);
}

static PyObject *shapes_of(const tn_profile_input *input) {
    if (!input) Py_RETURN_NONE;
    return Py_BuildValue("(NNN)", binding_extents(input->rank, input->minimum),
                         binding_extents(input->rank, input->optimum),
                         binding_extents(input->rank, input->maximum));
}

static PyObject *engine_profiles(PyObject *object, void *closure) {
    (void)closure;
    const engine_object *self = (engine_object *)object;
    PyObject *profiles = PyList_New(0);
    for (uint32_t p = 0; profiles && p < tn_engine_profile_count(self->engine); p++) {
        PyObject *profile = PyDict_New();
        for (uint32_t i = 0; profile && i < self->input_count; i++) {
            PyObject *shapes = shapes_of(tn_engine_profile_of(self->engine, p, i));
            if (!shapes ||
                PyDict_SetItem(profile, PyTuple_GetItem(self->input_names, i), shapes) != 0)
                Py_CLEAR(profile);
            Py_XDECREF(shapes);
        }
        if (!profile || PyList_Append(profiles, profile) != 0) Py_CLEAR(profiles);
        Py_XDECREF(profile);
    }
    return profiles;
}

static PyObject *engine_report(PyObject *object, void *closure) {
    (void)closure;
    return binding_json(tn_engine_report(((engine_object *)object)->engine));
}

static PyObject *engine_model_info(PyObject *object, void *closure) {
    (void)closure;
    tn_model_info info = {.size = sizeof(info)};
    if (tn_engine_get_model_info(((engine_object *)object)->engine, &info) != TN_OK)
        return binding_raise();
    return binding_model_info(&info);
}

static PyObject *engine_device(PyObject *object, void *closure) {
    (void)closure;
    const engine_object *self = (engine_object *)object;
    return self->device_index < 0 ? PyUnicode_FromString("cpu")
                                  : PyUnicode_FromFormat("cuda:%d", self->device_index);
}

static PyMethodDef methods[] = {{"context", engine_context, METH_NOARGS,
                                 "context()\n--\n\nA tenon.Context: one thread's running state. "
                                 "Contexts of one engine run side by side."},
                                {"refit", engine_refit, METH_O,
                                 "refit(weights)\n--\n\nAn engine with other data for constants "
                                 "that the plan was built to have it for (build(refit=...)):\n"
                                 "`weights` is a dict from names to arrays of the constants' types "
                                 "and shapes, or another\ncheckpoint of the model. This one, and "
                                 "its contexts, stay as they are. Raises tenon.Error."},
                                {NULL, NULL, 0, NULL}};
static PyGetSetDef properties[] = {
    {"inputs", engine_inputs, NULL, "The inputs: a tuple of tenon.Port.", NULL},
    {"device", engine_device, NULL, "Where it runs: 'cpu', 'cuda:0'.", NULL},
    {"outputs", engine_outputs, NULL, "The outputs: a tuple of tenon.Port.", NULL},
    {"constants", engine_constants, NULL,
     "The constants that refit() takes other data for: a tuple of tenon.Port.", NULL},
    {"profiles", engine_profiles, NULL,
     "The shapes that the plan was built for: of each profile a dict from an input's name to its "
     "minimum, "
     "optimum and maximum shape, or None where any shape is accepted.",
     NULL},
    {"report", engine_report, NULL, "The nodes as they will run, with kernels and formats: dicts.",
     NULL},
    {"model_info", engine_model_info, NULL, "What the model's file said of itself: a dict.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

bool binding_engine_init(PyObject *module) {
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, engine_dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, properties},
        {Py_tp_doc, "A loaded plan, immutable, shared by threads: Plan.engine() loads it."},
        {0, NULL}};
    static PyType_Spec spec = {"tenon.Engine", sizeof(engine_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return (binding_engine_type = binding_type_add(module, &spec)) != NULL;
}
