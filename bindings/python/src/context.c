/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.Context: one thread's running state on an engine. */
#include "context.h"

#include <stdlib.h>

PyTypeObject *binding_context_type;

void *context_allocate_output(void *user, uint32_t output, uint64_t bytes, uint64_t alignment) {
    output_slot *slot = &((context_object *)user)->outputs[output];
    (void)alignment; /* 64 on the processor, as binding_memory_allocate has it */
    free(slot->data);
    slot->data = binding_memory_allocate(bytes);
    slot->bytes = bytes;
    return slot->data;
}

static void context_dealloc(PyObject *object) {
    context_object *self = (context_object *)object;
    if (!binding_is_forked(self->engine->runtime)) {
        Py_BEGIN_ALLOW_THREADS;
        tn_context_destroy(self->context);
        tn_stream_destroy(self->own_stream);
        Py_END_ALLOW_THREADS;
    }
    PyMem_Free(self->inputs);
    PyMem_Free(self->outputs);
    Py_XDECREF((PyObject *)self->engine);
    binding_free(object);
}

PyObject *binding_context_new(engine_object *engine, tn_context *context) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(binding_context_type, Py_tp_alloc);
    context_object *self = (context_object *)allocate(binding_context_type, 0);
    if (!self) {
        tn_context_destroy(context);
        return NULL;
    }
    self->context = context;
    self->engine = (engine_object *)Py_NewRef((PyObject *)engine);
    self->inputs = PyMem_Calloc(engine->input_count + 1u, sizeof(*self->inputs));
    self->outputs = PyMem_Calloc(engine->output_count + 1u, sizeof(*self->outputs));
    if (!self->inputs || !self->outputs) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    for (uint32_t i = 0; i < engine->output_count; i++)
        if (tn_engine_output(engine->engine, i)->kind == TN_KIND_DENSE &&
            tn_context_set_output_allocator(context, i, context_allocate_output, self) != TN_OK) {
            Py_DECREF(self);
            return binding_raise();
        }
    return (PyObject *)self;
}

bool context_begin(context_object *self) {
    if (binding_refuse_forked(self->engine->runtime)) return false;
    if (self->is_busy) {
        binding_raise_text(TN_ERROR_STATE,
                           "a run of this context is under way in another thread: each thread "
                           "needs a context of its own, by engine.context()");
        return false;
    }
    return self->is_busy = true;
}

void context_end(context_object *self) {
    self->is_busy = false;
}

static PyObject *context_cancel(PyObject *object, PyObject *none) {
    (void)none;
    return PyBool_FromLong(tn_context_cancel(((context_object *)object)->context));
}

static PyObject *context_set_profiling(PyObject *object, PyObject *is_on) {
    context_object *self = (context_object *)object;
    const int truth = PyObject_IsTrue(is_on);
    if (truth < 0 || !context_begin(self)) return NULL;
    const tn_status status = tn_context_set_profiling(self->context, truth != 0);
    context_end(self);
    if (status != TN_OK) return binding_raise();
    Py_RETURN_NONE;
}

static PyObject *context_profile(PyObject *object, PyObject *none) {
    (void)none;
    const context_object *self = (context_object *)object;
    const uint32_t count = tn_context_profile_count(self->context);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < count; i++) {
        const tn_profile_entry *entry = tn_context_profile(self->context, i);
        PyObject *row =
            Py_BuildValue("{s:s,s:s,s:s,s:K,s:K,s:K}", "node", entry->node, "op", entry->op,
                          "kernel", entry->kernel, "runs", (unsigned long long)entry->runs,
                          "total_ns", (unsigned long long)entry->total_ns, "minimum_ns",
                          (unsigned long long)entry->minimum_ns);
        if (!row || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *context_report(PyObject *object, void *closure) {
    (void)closure;
    context_object *self = (context_object *)object;
    char *text = NULL;
    if (tn_context_report(self->context, &text) != TN_OK) return binding_raise();
    PyObject *report = binding_json(text);
    tn_text_free(self->engine->runtime->runtime, text);
    return report;
}

static PyObject *context_statistics(PyObject *object, void *closure) {
    (void)closure;
    tn_context_statistics now = {.size = sizeof(now)};
    tn_context_get_statistics(((context_object *)object)->context, &now);
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "allocations", (unsigned long long)now.allocations,
        "arena_bytes", (unsigned long long)now.arena_bytes, "runs", (unsigned long long)now.runs,
        "reshapes", (unsigned long long)now.reshapes, "shape_cache_hits",
        (unsigned long long)now.shape_cache_hits, "waits", (unsigned long long)now.waits,
        "isolated_calls", (unsigned long long)now.isolated_calls, "graph_launches",
        (unsigned long long)now.graph_launches);
}

static PyObject *context_engine(PyObject *object, void *closure) {
    (void)closure;
    return Py_NewRef((PyObject *)((context_object *)object)->engine);
}

PyDoc_STRVAR(
    RUN_DOC,
    "run(inputs, out=None, allocate=None)\n--\n\n"
    "Runs the network once and answers a dict from each output's name to its NumPy array.\n\n"
    "`inputs`: a dict from each input's name to an array, or a tuple of arrays in the engine's\n"
    "order: NumPy's, any object with the buffer protocol or DLPack, or nested lists. Types must "
    "be\n"
    "the ports' (nothing is cast but Python's own numbers), shapes within the plan's profiles.\n"
    "Memory that is aligned to 64 bytes is read in place. A sequence is a list of arrays, a map a\n"
    "dict, a sequence of maps a list of dicts, an optional an array or None, as inputs and "
    "outputs.\n"
    "`out`: a dict from outputs' names to arrays that they are written to, of the output's type "
    "and\n"
    "size; these arrays are in the answer then.\n"
    "On a GPU, arrays and `out` may be DLPack tensors in its memory, which are read and written "
    "where\n"
    "they are. `allocate`: a function of an output's name and its bytes that answers a tensor "
    "there of\n"
    "so many bytes, for outputs that are not in `out`; the answer has (that tensor, the type, the "
    "shape)\n"
    "of each. Raises tenon.Error.");

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))context_run, METH_FASTCALL | METH_KEYWORDS, RUN_DOC},
    {"cancel", context_cancel, METH_NOARGS,
     "cancel()\n--\n\nEnds the run that is under way in another thread, which raises tenon.Error "
     "of code "
     "TN_ERROR_CANCELLED.\nAnswers whether there was one."},
    {"set_stream", context_set_stream, METH_O,
     "set_stream(stream)\n--\n\nThe stream of the engine's device that runs are enqueued on: a "
     "cudaStream_t as a number (1: the\ndefault one), or None for one of the context's own. A run "
     "whose tensors are all in the device's\nmemory returns before it is done."},
    {"set_profiling", context_set_profiling, METH_O,
     "set_profiling(is_on)\n--\n\nWhether runs are timed step by step; profile() has the times."},
    {"profile", context_profile, METH_NOARGS,
     "profile()\n--\n\nThe steps that were timed: dicts with node, op, kernel, runs, total_ns, "
     "minimum_ns."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef properties[] = {
    {"engine", context_engine, NULL, "The tenon.Engine.", NULL},
    {"report", context_report, NULL,
     "The steps with the context's present shapes and memory: dicts.", NULL},
    {"statistics", context_statistics, NULL, "Counts since the context was made: a dict.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

bool binding_context_init(PyObject *module) {
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, context_dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, properties},
        {Py_tp_doc, "One thread's running state: Engine.context() makes it."},
        {0, NULL}};
    static PyType_Spec spec = {"tenon.Context", sizeof(context_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return (binding_context_type = binding_type_add(module, &spec)) != NULL;
}
