/* SPDX-License-Identifier: Apache-2.0 */
/* Layers from source text: tn_compile_library for _plugin.py; see author.h. */
#include "author.h"

#include <string.h>

/* The texts of a layer by their names in the dict, which are those of the struct. */
typedef struct layer_text {
    const char *key;
    size_t offset;
} layer_text;
#define LAYER_TEXT(member)                                                                         \
    { #member, offsetof(tn_compile_layer, member) }
static const layer_text layer_texts[] = {
    LAYER_TEXT(domain),  LAYER_TEXT(name),    LAYER_TEXT(doc),        LAYER_TEXT(support),
    LAYER_TEXT(infer),   LAYER_TEXT(run),     LAYER_TEXT(reference),  LAYER_TEXT(expression),
    LAYER_TEXT(absorbs), LAYER_TEXT(device),  LAYER_TEXT(accepts),    LAYER_TEXT(requires_features),
    LAYER_TEXT(tactics), LAYER_TEXT(prepare), LAYER_TEXT(release),    LAYER_TEXT(open),
    LAYER_TEXT(close),   LAYER_TEXT(reshape), LAYER_TEXT(operations), LAYER_TEXT(is_identity),
};

static bool read_fields(author_memory *memory, PyObject *parts, tn_compile_layer *layer) {
    PyObject *list = PyDict_GetItemString(parts, "fields");
    const Py_ssize_t count = list ? PyList_Size(list) : 0;
    tn_compile_field *fields = author_allocate(memory, (size_t)count + 1, sizeof(*fields));
    const tn_compile_field **pointers =
        author_allocate(memory, (size_t)count + 1, sizeof(*pointers));
    if (count < 0 || !fields || !pointers) return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!author_field(PyList_GetItem(list, i), &fields[i])) return false;
        pointers[i] = &fields[i];
    }
    layer->fields = pointers;
    layer->field_count = (uint32_t)count;
    return true;
}

static bool read_ports(author_memory *memory, PyObject *parts, const char *key,
                       const tn_compile_port *const **out_ports, uint32_t *out_count) {
    PyObject *list = PyDict_GetItemString(parts, key);
    const Py_ssize_t count = list ? PyList_Size(list) : 0;
    tn_compile_port *ports = author_allocate(memory, (size_t)count + 1, sizeof(*ports));
    const tn_compile_port **pointers =
        author_allocate(memory, (size_t)count + 1, sizeof(*pointers));
    if (count < 0 || !ports || !pointers) return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!author_port(PyList_GetItem(list, i), &ports[i])) return false;
        pointers[i] = &ports[i];
    }
    *out_ports = pointers;
    *out_count = (uint32_t)count;
    return true;
}

static bool read_layer(author_memory *memory, PyObject *parts, tn_compile_layer *layer) {
    uint64_t combinations = 0;
    for (size_t i = 0; i < TN_COUNT(layer_texts); i++) {
        const char *text;
        if (!author_get_text(parts, layer_texts[i].key, &text)) return false;
        memcpy((char *)layer + layer_texts[i].offset, (const void *)&text, sizeof(const char *));
    }
    if (!author_get_number(parts, "since_version", &layer->since_version) ||
        !author_get_number(parts, "traits", &layer->traits) ||
        !author_get_number(parts, "kernel_traits", &layer->kernel_traits) ||
        !author_get_texts(memory, parts, "cases", &layer->cases, &layer->case_count) ||
        !author_get_texts(memory, parts, "combinations", &layer->combinations, &combinations))
        return false;
    layer->combination_count = (uint32_t)combinations;
    return read_fields(memory, parts, layer) &&
           read_ports(memory, parts, "inputs", &layer->inputs, &layer->input_count) &&
           read_ports(memory, parts, "outputs", &layer->outputs, &layer->output_count);
}

static bool read_options(author_memory *memory, PyObject *dict, tn_compile_options *options) {
    const struct {
        const char *key;
        const char *const **texts;
        uint32_t *count;
    } lists[] = {{"include_folders", &options->include_folders, &options->include_folder_count},
                 {"libraries", &options->libraries, &options->library_count},
                 {"compiler_flags", &options->compiler_flags, &options->flag_count}};
    for (size_t i = 0; i < TN_COUNT(lists); i++) {
        uint64_t count;
        if (!author_get_texts(memory, dict, lists[i].key, lists[i].texts, &count)) return false;
        *lists[i].count = (uint32_t)count;
    }
    return author_get_number(dict, "flags", &options->flags) &&
           author_get_text(dict, "source", &options->source) &&
           author_get_text(dict, "source_name", &options->source_name) &&
           author_get_text(dict, "compiler", &options->compiler) &&
           author_get_text(dict, "cache_folder", &options->cache_folder);
}

/* compile_library(runtime, layer or None, options) -> the library's file. */
static PyObject *compile_library(PyObject *module, PyObject *arguments) {
    PyObject *object, *parts, *dict, *path = NULL;
    tn_compile_layer layer = {.size = sizeof(layer)};
    tn_compile_options options = {.size = sizeof(options)};
    author_memory memory = {0};
    char *file = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO!", &object, &parts, &PyDict_Type, &dict)) return NULL;
    tn_runtime *runtime = author_runtime(object);
    if (!runtime) return NULL;
    if (parts != Py_None) options.layer = &layer;
    if (read_options(&memory, dict, &options) &&
        (parts == Py_None || read_layer(&memory, parts, &layer))) {
        tn_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = tn_compile_library(runtime, &options, &file);
        Py_END_ALLOW_THREADS;
        path = status == TN_OK ? PyUnicode_DecodeFSDefault(file) : binding_raise();
    }
    binding_log_flush();
    tn_text_free(runtime, file);
    author_free(&memory);
    return path;
}

PyMethodDef author_compile_methods[] = {
    {"compile_library", compile_library, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
