/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.Runtime: the registry of operators and kernels, with the libraries that are loaded. */
#include "binding.h"

PyTypeObject *binding_runtime_type;

static PyObject *runtime_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"log_level", "environment", "kernel_libraries", "run_threads", NULL};
    uint32_t level = TN_LOG_WARNING;
    int environment = 1, kernel_libraries = 1;
    uint32_t run_threads = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$O&ppO&:Runtime", names, binding_u32,
                                     &level, &environment, &kernel_libraries, binding_threads,
                                     &run_threads))
        return NULL;
    const tn_runtime_options options = {
        .size = sizeof(options),
        .log_level = level,
        .log = binding_log,
        .run_threads = run_threads,
        .flags = (environment ? 0 : TN_RUNTIME_NO_ENVIRONMENT) |
                 (kernel_libraries ? 0 : TN_RUNTIME_NO_KERNEL_LIBRARIES),
    };
    tn_runtime *runtime;
    tn_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tn_runtime_create(&options, &runtime);
    Py_END_ALLOW_THREADS;
    if (status != TN_OK) return binding_raise();
    binding_log_flush();
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    runtime_object *self = (runtime_object *)allocate(type, 0);
    if (!self) {
        tn_runtime_release(runtime);
        return NULL;
    }
    self->runtime = runtime;
    self->fork_count = binding_fork_count;
    return (PyObject *)self;
}

bool binding_is_forked(const runtime_object *runtime) {
    return runtime->fork_count != binding_fork_count;
}

bool binding_refuse_forked(const runtime_object *runtime) {
    if (!binding_is_forked(runtime)) return false;
    binding_raise_text(TN_ERROR_STATE,
                       "it was made before a fork, which has left its threads behind: load the "
                       "network again in the new process");
    return true;
}

runtime_object *binding_runtime_of(PyObject *given) {
    PyObject *runtime = given && given != Py_None
                            ? Py_NewRef(given)
                            : binding_call("_runtime", "default_runtime", "()");
    if (runtime && !Py_IS_TYPE(runtime, binding_runtime_type)) {
        PyErr_Format(PyExc_TypeError, "runtime: a tenon.Runtime is wanted, not %R", runtime);
        Py_CLEAR(runtime);
    }
    return (runtime_object *)runtime;
}

bool binding_load_plugins(runtime_object *runtime, PyObject *plugins) {
    if (!plugins || plugins == Py_None) return true;
    PyObject *result = binding_call("_runtime", "load_plugins", "OO", runtime, plugins);
    Py_XDECREF(result);
    return result != NULL;
}

static void runtime_dealloc(PyObject *self) {
    if (!binding_is_forked((runtime_object *)self))
        tn_runtime_release(((runtime_object *)self)->runtime);
    binding_free(self);
}

typedef struct two_texts {
    const char *first, *second;
} two_texts;

/* Calls `function` without the interpreter's lock. */
static PyObject *call(runtime_object *self, tn_status (*function)(tn_runtime *, const two_texts *),
                      const two_texts *texts) {
    tn_status status;
    if (binding_refuse_forked(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = function(self->runtime, texts);
    Py_END_ALLOW_THREADS;
    if (status != TN_OK) return binding_raise();
    binding_log_flush();
    Py_RETURN_NONE;
}

static tn_status load(tn_runtime *runtime, const two_texts *texts) {
    return tn_runtime_load_library_as(runtime, texts->first, texts->second);
}
static tn_status load_folder(tn_runtime *runtime, const two_texts *texts) {
    return tn_runtime_load_directory(runtime, texts->first);
}
static tn_status add_path(tn_runtime *runtime, const two_texts *texts) {
    return tn_runtime_add_search_path(runtime, texts->first);
}
static tn_status unload(tn_runtime *runtime, const two_texts *texts) {
    return tn_runtime_unload_library(runtime, texts->first);
}
static tn_status find_device(tn_runtime *runtime, const two_texts *texts) {
    return tn_runtime_find_device(runtime, texts->first);
}

static PyObject *runtime_load_library(PyObject *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"path", "domain", NULL};
    PyObject *path, *owner, *result = NULL;
    two_texts texts = {0};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|z:load_library", names, &path,
                                     &texts.second))
        return NULL;
    if (binding_path(path, &owner, &texts.first)) {
        result = call((runtime_object *)self, load, &texts);
        Py_DECREF(owner);
    }
    return result;
}

static PyObject *with_path(PyObject *self, PyObject *path,
                           tn_status (*function)(tn_runtime *, const two_texts *)) {
    PyObject *owner, *result;
    two_texts texts = {0};
    if (!binding_path(path, &owner, &texts.first)) return NULL;
    result = call((runtime_object *)self, function, &texts);
    Py_DECREF(owner);
    return result;
}

static PyObject *runtime_load_directory(PyObject *self, PyObject *path) {
    return with_path(self, path, load_folder);
}
static PyObject *runtime_add_search_path(PyObject *self, PyObject *path) {
    return with_path(self, path, add_path);
}
static PyObject *runtime_unload_library(PyObject *self, PyObject *name) {
    return with_path(self, name, unload);
}
static PyObject *runtime_find_device(PyObject *self, PyObject *name) {
    return with_path(self, name, find_device);
}

/* Appends a dict to the list `user`; false ends the visit, with an exception. */
static bool append(void *user, PyObject *item) {
    const bool is_added = item && PyList_Append(user, item) == 0;
    Py_XDECREF(item);
    return is_added;
}
static bool add_library(void *user, const tn_library_info *library) {
    return append(user, Py_BuildValue("{s:s,s:s,s:s,s:s,s:K,s:K,s:K,s:K}", "name", library->name,
                                      "version", library->version, "path", library->path, "domain",
                                      library->domain, "hash", (unsigned long long)library->hash,
                                      "operators", (unsigned long long)library->operator_count,
                                      "kernels", (unsigned long long)library->kernel_count,
                                      "rewrites", (unsigned long long)library->rewrite_count));
}
static bool add_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    return append(user,
                  Py_BuildValue("{s:s,s:s,s:I,s:s,s:s}", "domain", op->domain ? op->domain : "",
                                "name", op->name, "version", (unsigned)op->since_version, "doc",
                                op->doc ? op->doc : "", "library", library->name));
}
static bool add_kernel(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    return append(user,
                  Py_BuildValue("{s:s,s:s,s:s,s:s,s:s}", "domain",
                                kernel->domain ? kernel->domain : "", "op", kernel->op, "name",
                                kernel->name, "device", kernel->device, "library", library->name));
}
static bool add_device(void *user, const tn_device_info *device) {
    return append(user,
                  Py_BuildValue("{s:s,s:I,s:s,s:s,s:s,s:K,s:K}", "kind", device->kind, "index",
                                (unsigned)device->index, "name", device->name, "fingerprint",
                                device->fingerprint, "library", device->library, "memory_free",
                                (unsigned long long)device->memory_free, "memory_total",
                                (unsigned long long)device->memory_total));
}

#define LISTER(what, function, visitor)                                                            \
    static PyObject *runtime_##what(PyObject *self, void *closure) {                               \
        (void)closure;                                                                             \
        PyObject *list = PyList_New(0);                                                            \
        if (list) function(((runtime_object *)self)->runtime, visitor, list);                      \
        if (PyErr_Occurred()) Py_CLEAR(list);                                                      \
        return list;                                                                               \
    }
LISTER(libraries, tn_runtime_visit_libraries, add_library)
LISTER(operators, tn_runtime_visit_operators, add_operator)
LISTER(kernels, tn_runtime_visit_kernels, add_kernel)
LISTER(devices, tn_runtime_visit_devices, add_device)

static PyObject *runtime_cpu_features(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(tn_runtime_cpu_features(((runtime_object *)self)->runtime));
}

static PyMethodDef methods[] = {{"load_library", (PyCFunction)(void (*)(void))runtime_load_library,
                                 METH_VARARGS | METH_KEYWORDS,
                                 "load_library(path, domain=None)\n--\n\nLoads a plugin library "
                                 "(.so) and registers its operators and "
                                 "kernels, in `domain` instead of\ntheir own where one is given. "
                                 "The same content again is the same "
                                 "library. Raises tenon.Error."},
                                {"load_directory", runtime_load_directory, METH_O,
                                 "load_directory(path)\n--\n\nLoads every library (*.so) of a "
                                 "folder; one that does not load is a warning "
                                 "in the log."},
                                {"add_search_path", runtime_add_search_path, METH_O,
                                 "add_search_path(path)\n--\n\nAdds a folder where libraries that "
                                 "a plan names are looked for."},
                                {"unload_library", runtime_unload_library, METH_O,
                                 "unload_library(name)\n--\n\nGives up one count of a library, by "
                                 "its name or path; engines that use it "
                                 "go on."},
                                {"find_device", runtime_find_device, METH_O,
                                 "find_device(name)\n--\n\nRaises tenon.Error unless there is a "
                                 "device of this name: 'cpu', 'cuda', "
                                 "'cuda:1'."},
                                {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"libraries", runtime_libraries, NULL, "The loaded libraries: a list of dicts.", NULL},
    {"operators", runtime_operators, NULL, "The registered versions of operators: a list of dicts.",
     NULL},
    {"kernels", runtime_kernels, NULL, "The registered kernels: a list of dicts.", NULL},
    {"devices", runtime_devices, NULL,
     "The processor and the devices of loaded libraries: a list of dicts.", NULL},
    {"cpu_features", runtime_cpu_features, NULL, "The processor's features, like 'sse2,avx2,fma'.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

bool binding_runtime_init(PyObject *module) {
    static PyType_Slot slots[] = {
        {Py_tp_new, runtime_new},
        {Py_tp_dealloc, runtime_dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, properties},
        {Py_tp_doc,
         "Runtime(*, log_level=2, environment=True, kernel_libraries=True, run_threads=0)\n--\n\n"
         "The registry of operators, kernels and libraries that graphs, plans and engines are made "
         "in.\n"
         "`log_level`: 1 errors to 4 all; `environment`: whether TENON_PLUGIN_PATH and its like "
         "are\n"
         "read; `kernel_libraries`: whether oneDNN's kernels are loaded where they are installed."},
        {0, NULL}};
    static PyType_Spec spec = {"tenon.Runtime", sizeof(runtime_object), 0, Py_TPFLAGS_DEFAULT,
                               slots};
    return (binding_runtime_type = binding_type_add(module, &spec)) != NULL;
}
