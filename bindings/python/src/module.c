/* SPDX-License-Identifier: Apache-2.0 */
/* The module tenon._engine: its table, and what its files share. */
#include "author/author.h"
#include "binding.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

PyObject *binding_call(const char *module, const char *name, const char *format, ...) {
    char path[64];
    snprintf(path, sizeof(path), "tenon.%s", module);
    va_list list;
    va_start(list, format);
    PyObject *arguments = Py_VaBuildValue(format, list);
    va_end(list);
    if (arguments && !PyTuple_Check(arguments)) {
        PyObject *tuple = PyTuple_Pack(1, arguments);
        Py_DECREF(arguments);
        arguments = tuple;
    }
    PyObject *owner = arguments ? PyImport_ImportModule(path) : NULL;
    PyObject *function = owner ? PyObject_GetAttrString(owner, name) : NULL;
    PyObject *result = function ? PyObject_CallObject(function, arguments) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(owner);
    Py_XDECREF(arguments);
    return result;
}

PyObject *binding_json(const char *text) {
    PyObject *json = PyImport_ImportModule("json");
    PyObject *value = json ? PyObject_CallMethod(json, "loads", "s", text) : NULL;
    Py_XDECREF(json);
    return value;
}

void binding_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

PyTypeObject *binding_type_add(PyObject *module, PyType_Spec *spec) {
    PyObject *type = PyType_FromSpec(spec);
    if (type && PyModule_AddType(module, (PyTypeObject *)type) != 0) Py_CLEAR(type);
    return (PyTypeObject *)type;
}

static PyObject *version(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyUnicode_FromString(tn_version());
}

unsigned binding_fork_count;

static PyObject *count_fork(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    binding_fork_count++;
    Py_RETURN_NONE;
}

/* libgomp's team of the calling thread does not survive a fork: the child would wait for it for
 * ever. It ends here, and the next run begins another one. Without libgomp there is none. */
static PyObject *end_team(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    enum { PAUSE_HARD = 2 }; /* omp_pause_hard of OpenMP 5.0 */
    void *library = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *function = library ? dlsym(library, "omp_pause_resource_all") : NULL;
    if (function) ((int (*)(int))(uintptr_t)function)(PAUSE_HARD);
    if (library) dlclose(library);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_end_team", end_team, METH_NOARGS,
     "_end_team()\n--\n\nFor os.register_at_fork: before the fork."},
    {"_count_fork", count_fork, METH_NOARGS,
     "_count_fork()\n--\n\nFor os.register_at_fork: in the child."},
    {"refit_plan", binding_refit_plan, METH_VARARGS,
     "refit_plan(runtime, path, weights, out)\n--\n\nFor Plan.refit; paths are bytes."},
    {"version", version, METH_NOARGS,
     "version() -> str\n--\n\nThe version of the engine's library, like '0.1.0'."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tenon._engine",
    .m_doc = "The C interface of Tenon as Python's types; the package tenon is made of it.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__engine(void);
PyMODINIT_FUNC PyInit__engine(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module && binding_error_init(module) && binding_memory_init(module) &&
        binding_port_init(module) && binding_runtime_init(module) && binding_graph_init(module) &&
        binding_plan_init(module) && binding_engine_init(module) && binding_context_init(module) &&
        binding_calibration_init(module) && author_init(module))
        return module;
    Py_XDECREF(module);
    return NULL;
}
