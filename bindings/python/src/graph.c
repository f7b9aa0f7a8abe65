/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.Graph: a network as nodes and tensors, read from a model. build.c makes plans of it. */
#include "binding.h"

#include <string.h>

PyTypeObject *binding_graph_type;

/* What reading a model needs, and who keeps it alive. */
typedef struct import_arguments {
    tn_import_options options;
    PyObject *folder_owner;
    text_list names, values;
    tn_attribute *attributes;
    const tn_attribute **pointers;
} import_arguments;

static void import_arguments_free(import_arguments *arguments) {
    Py_XDECREF(arguments->folder_owner);
    text_list_free(&arguments->names);
    text_list_free(&arguments->values);
    PyMem_Free(arguments->attributes);
    PyMem_Free(arguments->pointers);
}

/* The importer's options: a dict of texts. */
static bool read_options(import_arguments *arguments, PyObject *dict) {
    if (!dict || dict == Py_None) return true;
    PyObject *names = PyMapping_Keys(dict), *values = PyMapping_Values(dict);
    const bool is_read = names && values &&
                         text_list_read(&arguments->names, names, "import_options: names") &&
                         text_list_read(&arguments->values, values, "import_options: values");
    Py_XDECREF(names);
    Py_XDECREF(values);
    if (!is_read) return false;
    const uint32_t count = arguments->names.count;
    arguments->attributes = PyMem_Calloc(count + 1u, sizeof(*arguments->attributes));
    arguments->pointers = PyMem_Calloc(count + 1u, sizeof(*arguments->pointers));
    if (!arguments->attributes || !arguments->pointers) return PyErr_NoMemory() != NULL;
    for (uint32_t i = 0; i < count; i++) {
        arguments->attributes[i] = (tn_attribute){.size = sizeof(tn_attribute),
                                                  .type = TN_FIELD_STRING,
                                                  .name = arguments->names.items[i],
                                                  .s = arguments->values.items[i]};
        arguments->pointers[i] = &arguments->attributes[i];
    }
    arguments->options.option_count = count;
    arguments->options.options = arguments->pointers;
    return true;
}

/* A path is loaded, an object with bytes is parsed. */
static tn_status read_model(runtime_object *runtime, PyObject *model,
                            const import_arguments *arguments, tn_graph **out_graph,
                            bool *out_is_python_error) {
    tn_status status = TN_ERROR_ARGUMENT;
    *out_is_python_error = true;
    if (PyObject_CheckBuffer(model)) {
        Py_buffer view;
        if (PyObject_GetBuffer(model, &view, PyBUF_SIMPLE) != 0) return status;
        Py_BEGIN_ALLOW_THREADS;
        status = tn_graph_parse(runtime->runtime, view.buf, (uint64_t)view.len, &arguments->options,
                                out_graph);
        Py_END_ALLOW_THREADS;
        PyBuffer_Release(&view);
    } else {
        PyObject *owner;
        const char *path;
        if (!binding_path(model, &owner, &path)) return status;
        Py_BEGIN_ALLOW_THREADS;
        status = tn_graph_load(runtime->runtime, path, &arguments->options, out_graph);
        Py_END_ALLOW_THREADS;
        Py_DECREF(owner);
    }
    *out_is_python_error = false;
    return status;
}

static PyObject *graph_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"model", "runtime", "format", "folder", "options", "isolated", NULL};
    PyObject *runtime = NULL, *model, *folder = NULL, *options = NULL;
    import_arguments import = {.options = {.size = sizeof(tn_import_options)}};
    int isolated = 0;
    tn_graph *graph = NULL;
    graph_object *self = NULL;
    bool is_python_error = true;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O$zOOp:Graph", names, &model, &runtime,
                                     &import.options.format, &folder, &options, &isolated))
        return NULL;
    if (!(runtime = (PyObject *)binding_runtime_of(runtime))) return NULL;
    if (isolated) import.options.flags = TN_IMPORT_ISOLATED;
    if (folder && folder != Py_None &&
        !binding_path(folder, &import.folder_owner, &import.options.folder))
        goto done;
    if (!read_options(&import, options)) goto done;
    if (read_model((runtime_object *)runtime, model, &import, &graph, &is_python_error) != TN_OK) {
        if (!is_python_error) binding_raise();
        goto done;
    }
    binding_log_flush();
    self = (graph_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self) {
        self->graph = graph;
        self->runtime = (runtime_object *)Py_NewRef(runtime);
    } else
        tn_graph_destroy(graph);
done:
    Py_DECREF(runtime);
    import_arguments_free(&import);
    return (PyObject *)self;
}

static void graph_dealloc(PyObject *self) {
    if (!binding_is_forked(((graph_object *)self)->runtime))
        tn_graph_destroy(((graph_object *)self)->graph);
    Py_XDECREF((PyObject *)((graph_object *)self)->runtime);
    binding_free(self);
}

static const tn_port_info *input_of(const void *graph, uint32_t index) {
    return tn_graph_input(graph, index);
}
static PyObject *graph_inputs(PyObject *self, void *closure) {
    (void)closure;
    const tn_graph *graph = ((graph_object *)self)->graph;
    return binding_ports(tn_graph_input_count(graph), input_of, graph);
}
/* Of an output the model may declare what the graph knows only after a build. */
static PyObject *output_at(const tn_graph *graph, uint32_t index) {
    tn_port_info port = *tn_graph_output(graph, index);
    tn_tensor_info declared = {.size = sizeof(declared)};
    if (tn_graph_get_tensor(graph, tn_graph_output_tensor(graph, index), &declared) != TN_OK)
        return binding_raise();
    if (port.type == TN_NONE) port.type = declared.type;
    if (port.rank == UINT32_MAX) {
        port.rank = declared.rank;
        port.extents = declared.extents;
        port.names = declared.extent_names;
    }
    return binding_port(&port);
}

static PyObject *graph_outputs(PyObject *self, void *closure) {
    (void)closure;
    const tn_graph *graph = ((graph_object *)self)->graph;
    const uint32_t count = tn_graph_output_count(graph);
    PyObject *ports = PyTuple_New(count);
    for (uint32_t i = 0; ports && i < count; i++) {
        PyObject *port = output_at(graph, i);
        if (!port || PyTuple_SetItem(ports, i, port) != 0) Py_CLEAR(ports);
    }
    return ports;
}

static PyObject *graph_runtime(PyObject *self, void *closure) {
    (void)closure;
    return Py_NewRef((PyObject *)((graph_object *)self)->runtime);
}

static PyObject *graph_model_info(PyObject *self, void *closure) {
    (void)closure;
    tn_model_info info = {.size = sizeof(info)};
    if (tn_graph_get_model_info(((graph_object *)self)->graph, &info) != TN_OK)
        return binding_raise();
    return binding_model_info(&info);
}

static PyMethodDef methods[] = {
    {"_build", (PyCFunction)(void (*)(void))graph_build, METH_VARARGS | METH_KEYWORDS,
     "_build(**options)\n--\n\nA tenon.Plan; tenon.build has the options."},
    {"_calibrate", (PyCFunction)(void (*)(void))graph_calibrate, METH_VARARGS | METH_KEYWORDS,
     "_calibrate(**options)\n--\n\nA tenon.Calibration and its report; tenon.calibrate has the "
     "options."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef properties[] = {
    {"inputs", graph_inputs, NULL, "The inputs: a tuple of tenon.Port.", NULL},
    {"runtime", graph_runtime, NULL, "The tenon.Runtime.", NULL},
    {"outputs", graph_outputs, NULL, "The outputs: a tuple of tenon.Port.", NULL},
    {"model_info", graph_model_info, NULL, "What the model's file says of itself: a dict.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

bool binding_graph_init(PyObject *module) {
    static PyType_Slot slots[] = {
        {Py_tp_new, graph_new},
        {Py_tp_dealloc, graph_dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, properties},
        {Py_tp_doc,
         "Graph(model, runtime=None, *, format=None, folder=None, options=None, "
         "isolated=False)\n--\n\n"
         "A network, read from a file (str or path) or from bytes, by the importer of that "
         "format.\n"
         "`folder`: where external data of a model in memory lies; `options`: the importer's, a\n"
         "dict of texts; `isolated`: read in a helper process. Raises tenon.Error."},
        {0, NULL}};
    static PyType_Spec spec = {"tenon.Graph", sizeof(graph_object), 0, Py_TPFLAGS_DEFAULT, slots};
    return (binding_graph_type = binding_type_add(module, &spec)) != NULL;
}
