/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.Plan: a built network, as the builder made it, as bytes, or as a file. */
#include "binding.h"

#include <string.h>

PyTypeObject *binding_plan_type;

static plan_object *plan_allocate(PyTypeObject *type, runtime_object *runtime) {
    plan_object *self = (plan_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self) self->runtime = (runtime_object *)Py_NewRef((PyObject *)runtime);
    return self;
}

PyObject *binding_plan_new(runtime_object *runtime, tn_plan *plan, const char *accuracy) {
    plan_object *self = plan_allocate(binding_plan_type, runtime);
    if (!self) {
        tn_plan_destroy(plan);
        return NULL;
    }
    self->plan = plan;
    if (accuracy && !(self->accuracy = binding_json(accuracy))) Py_CLEAR(self);
    return (PyObject *)self;
}

enum { PLAN_ALIGNMENT = 64 }; /* of bytes that an engine reads without a copy */

static bool is_aligned(const void *data) {
    return (uintptr_t)data % PLAN_ALIGNMENT == 0;
}

/* Whether `source` can be borrowed from; sets ValueError. A path has no bytes yet. */
static bool check_borrowed(const plan_object *self) {
    if (!self->bytes)
        PyErr_SetString(PyExc_ValueError,
                        "borrow=True is for the bytes of a plan: a file is mapped, not copied");
    else if (!is_aligned(self->view.buf))
        PyErr_Format(PyExc_ValueError,
                     "borrow=True: the plan's bytes begin at %p, which is not aligned to %d bytes",
                     self->view.buf, PLAN_ALIGNMENT);
    return !PyErr_Occurred();
}

/* An object with bytes is kept; all else is a path. */
static PyObject *plan_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"source", "runtime", "borrow", NULL};
    PyObject *given = NULL, *source, *owner;
    const char *path;
    int borrow = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|Op:Plan", names, &source, &given,
                                     &borrow))
        return NULL;
    runtime_object *runtime = binding_runtime_of(given);
    plan_object *self = runtime ? plan_allocate(type, runtime) : NULL;
    Py_XDECREF((PyObject *)runtime);
    if (!self) return NULL;
    if (PyObject_CheckBuffer(source)) {
        if (PyObject_GetBuffer(source, &self->view, PyBUF_SIMPLE) == 0) {
            self->bytes = Py_NewRef(source);
            self->is_borrowed = borrow;
            if (!borrow || check_borrowed(self)) return (PyObject *)self;
        }
    } else if (borrow) {
        check_borrowed(self);
    } else if (binding_path(source, &owner, &path)) {
        self->path = PyUnicode_DecodeFSDefault(path);
        Py_DECREF(owner);
        if (self->path) return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

static void plan_dealloc(PyObject *object) {
    plan_object *self = (plan_object *)object;
    if (!binding_is_forked(self->runtime)) tn_plan_destroy(self->plan);
    if (self->bytes) PyBuffer_Release(&self->view);
    Py_XDECREF(self->bytes);
    Py_XDECREF(self->path);
    Py_XDECREF(self->accuracy);
    Py_XDECREF((PyObject *)self->runtime);
    binding_free(object);
}

/* The bytes of a plan that is not a file. */
static const void *memory_of(const plan_object *self, uint64_t *out_bytes) {
    if (self->plan) return tn_plan_bytes(self->plan, out_bytes);
    *out_bytes = (uint64_t)self->view.len;
    return self->view.buf;
}

static PyObject *plan_tobytes(PyObject *object, PyObject *none) {
    (void)none;
    plan_object *self = (plan_object *)object;
    if (self->path) return binding_call("_plan", "read", "O", self->path);
    uint64_t bytes;
    const void *data = memory_of(self, &bytes);
    return PyBytes_FromStringAndSize(data, (Py_ssize_t)bytes);
}

static PyObject *plan_save(PyObject *object, PyObject *path_object) {
    plan_object *self = (plan_object *)object;
    if (!self->plan) return binding_call("_plan", "save", "OO", object, path_object);
    PyObject *owner;
    const char *path;
    tn_status status;
    if (!binding_path(path_object, &owner, &path)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = tn_plan_save(self->plan, path);
    Py_END_ALLOW_THREADS;
    Py_DECREF(owner);
    if (status != TN_OK) return binding_raise();
    Py_RETURN_NONE;
}

static tn_status load(plan_object *self, const char *path, const tn_engine_options *options,
                      tn_engine **out_engine) {
    if (self->plan)
        return tn_engine_load_plan(self->runtime->runtime, self->plan, options, out_engine);
    if (path) return tn_engine_load(self->runtime->runtime, path, options, out_engine);
    uint64_t bytes;
    const void *data = memory_of(self, &bytes);
    if (self->is_borrowed) /* the engine's object keeps the plan's */
        return tn_engine_load_borrowed(self->runtime->runtime, data, bytes, options, NULL, NULL,
                                       out_engine);
    return tn_engine_load_bytes(self->runtime->runtime, data, bytes, options, out_engine);
}

/* Loads what the caller trusts of the plan's embedded libraries: True, for all of them, or their
 * SHA-256. */
static bool load_embedded(plan_object *self, const char *path, PyObject *trust) {
    tn_embedded_options options = {.size = sizeof(options)};
    text_list list = {0};
    tn_status status;
    if (!trust || trust == Py_None || trust == Py_False) return true;
    if (trust == Py_True)
        options.flags = TN_EMBEDDED_TRUST_ALL;
    else if (!text_list_read(&list, trust, "trust"))
        return false;
    options.trusted_count = list.count;
    options.trusted = list.items;
    Py_BEGIN_ALLOW_THREADS;
    if (path) {
        status = tn_runtime_load_embedded(self->runtime->runtime, path, &options, NULL);
    } else {
        uint64_t bytes;
        const void *data = memory_of(self, &bytes);
        status =
            tn_runtime_load_embedded_bytes(self->runtime->runtime, data, bytes, &options, NULL);
    }
    Py_END_ALLOW_THREADS;
    text_list_free(&list);
    return status == TN_OK || binding_raise();
}

static PyObject *plan_embed_libraries(PyObject *object, PyObject *none) {
    (void)none;
    plan_object *self = (plan_object *)object;
    tn_plan *plan = NULL;
    tn_status status;
    if (!self->plan) {
        PyErr_SetString(PyExc_ValueError,
                        "libraries are embedded in a plan that was built here: build it with "
                        "embed_libraries=True");
        return NULL;
    }
    if (binding_refuse_forked(self->runtime)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = tn_plan_embed_libraries(self->plan, &plan);
    Py_END_ALLOW_THREADS;
    if (status != TN_OK) return binding_raise();
    plan_object *made = (plan_object *)binding_plan_new(self->runtime, plan, NULL);
    if (made) made->accuracy = Py_XNewRef(self->accuracy);
    return (PyObject *)made;
}

static PyObject *plan_engine(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"plugins",
                            "threads",
                            "device",
                            "exact",
                            "checked",
                            "checked_any_number",
                            "isolated",
                            "verify_all",
                            "allowed",
                            "checked_dump",
                            "isolation_limit_ms",
                            "trust",
                            NULL};
    plan_object *self = (plan_object *)object;
    tn_engine_options options = {.size = sizeof(options)};
    PyObject *plugins = NULL, *allowed = NULL, *trust = NULL, *owner = NULL, *result = NULL;
    const char *path = NULL;
    int flags[5] = {0};
    text_list list;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OO&zpppppOzO&O:engine", names,
                                     &plugins, binding_threads, &options.threads, &options.device,
                                     &flags[0], &flags[1], &flags[2], &flags[3], &flags[4],
                                     &allowed, &options.checked_dump, binding_u32,
                                     &options.isolation_limit_ms, &trust))
        return NULL;
    for (size_t i = 0; i < 5; i++)
        options.flags |= flags[i] ? 1u << i : 0;
    if (binding_refuse_forked(self->runtime) || !binding_load_plugins(self->runtime, plugins) ||
        !text_list_read(&list, allowed, "allowed"))
        return NULL;
    options.allowed_count = list.count;
    options.allowed = list.items;
    if ((!self->path || binding_path(self->path, &owner, &path)) &&
        load_embedded(self, path, trust)) {
        tn_engine *engine = NULL;
        tn_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = load(self, path, &options, &engine);
        Py_END_ALLOW_THREADS;
        result =
            status == TN_OK ? binding_engine_new(self, engine, options.device) : binding_raise();
        binding_log_flush();
    }
    Py_XDECREF(owner);
    text_list_free(&list);
    return result;
}

static PyObject *plan_report(PyObject *object, void *closure) {
    (void)closure;
    const plan_object *self = (plan_object *)object;
    if (!self->plan) return Py_NewRef(Py_None);
    PyObject *report = binding_json(tn_plan_report(self->plan));
    if (report && self->accuracy && PyDict_SetItemString(report, "accuracy", self->accuracy) != 0)
        Py_CLEAR(report);
    return report;
}

static PyObject *plan_html(PyObject *object, PyObject *none) {
    (void)none;
    return binding_call("_picture", "frame", "(O)", object);
}

static PyObject *plan_refit(PyObject *object, PyObject *arguments) {
    PyObject *weights, *path;
    if (!PyArg_ParseTuple(arguments, "OO:refit", &weights, &path)) return NULL;
    return binding_call("_plan", "refit", "OOO", object, weights, path);
}

static PyObject *plan_path(PyObject *object, void *closure) {
    (void)closure;
    PyObject *path = ((plan_object *)object)->path;
    return Py_NewRef(path ? path : Py_None);
}

static PyObject *plan_runtime(PyObject *object, void *closure) {
    (void)closure;
    return Py_NewRef((PyObject *)((plan_object *)object)->runtime);
}

PyDoc_STRVAR(
    ENGINE_DOC,
    "engine(*, plugins=(), threads=0, device=None, exact=False, checked=False,\n"
    "       checked_any_number=False, isolated=False, verify_all=False, allowed=None,\n"
    "       checked_dump=None, isolation_limit_ms=0, trust=None)\n--\n\n"
    "Loads the plan: a tenon.Engine. `plugins`: libraries (paths) to load before, where the "
    "plan's\n"
    "are not found; `threads`: 0 as the plan was built; `device`: 'cpu', 'cuda', 'cuda:1', None: "
    "the\n"
    "plan's where it is here; `exact`: refuse other libraries and machines than the plan was "
    "built\n"
    "with; `checked`: run in guarded memory; `isolated`: kernels of plugins run in a process of\n"
    "their own, `isolation_limit_ms` a call at most; `verify_all`: all checksums of the file;\n"
    "`allowed`: hashes or folders of the libraries that may be loaded; `trust`: the SHA-256 (64\n"
    "hexadecimal digits) of libraries that the plan embeds and that may be loaded, or True for all "
    "of\n"
    "them: code that is as trusted as the program. Raises tenon.Error.");

static PyMethodDef methods[] = {
    {"tobytes", plan_tobytes, METH_NOARGS, "tobytes()\n--\n\nThe plan's bytes."},
    {"save", plan_save, METH_O,
     "save(path)\n--\n\nWrites the plan beside `path` and renames it: an old file stays where that "
     "fails. "
     "Raises tenon.Error."},
    {"engine", (PyCFunction)(void (*)(void))plan_engine, METH_VARARGS | METH_KEYWORDS, ENGINE_DOC},
    {"embed_libraries", plan_embed_libraries, METH_NOARGS,
     "embed_libraries()\n--\n\nAnother tenon.Plan, with the plugin libraries that this one needs "
     "in "
     "it. They are loaded where\nengine() is told to trust them. Raises ValueError (a plan that "
     "was "
     "not built here), tenon.Error."},
    {"refit", plan_refit, METH_VARARGS,
     "refit(weights, path)\n--\n\nWrites the plan with other data for constants, as Engine.refit "
     "has "
     "it, without loading it; answers\nthe new tenon.Plan. Kernels stay as they are. Raises "
     "tenon.Error."},
    {"_repr_html_", plan_html, METH_NOARGS,
     "_repr_html_()\n--\n\nThe picture of the network, for notebooks."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef properties[] = {
    {"report", plan_report, NULL,
     "What the build chose: nodes, kernels, formats, times, memory, as dicts; None of a plan that "
     "was not built here.",
     NULL},
    {"path", plan_path, NULL, "The file, or None.", NULL},
    {"runtime", plan_runtime, NULL, "The tenon.Runtime that engines are loaded in.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

bool binding_plan_init(PyObject *module) {
    static PyType_Slot slots[] = {
        {Py_tp_new, plan_new},
        {Py_tp_dealloc, plan_dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, properties},
        {Py_tp_doc, "Plan(source, runtime=None, borrow=False)\n--\n\nA built network: `source` is "
                    "a file (str or path) or its bytes, "
                    "of which nothing is read\nbefore engine() is called. Engines copy bytes; with "
                    "`borrow` they "
                    "read them where they lie (an isolated\nengine's helpers get a copy): they "
                    "must be aligned to "
                    "64 bytes and not change as long as an\nengine is there. Raises ValueError."},
        {0, NULL}};
    static PyType_Spec spec = {"tenon.Plan", sizeof(plan_object), 0, Py_TPFLAGS_DEFAULT, slots};
    return (binding_plan_type = binding_type_add(module, &spec)) != NULL;
}
