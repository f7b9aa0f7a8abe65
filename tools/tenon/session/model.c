/* SPDX-License-Identifier: Apache-2.0 */
/* Reading models of each format; see model.h. */
#include "borders.h"
#include "model.h"
#include "cli/importers.h"
#include "cli/shapes.h"
#include "files/file_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool model_is_named(const char *path) {
    return file_kind_is_model(file_kind_of(path));
}

/* ----------------------------------------------------------------------------------------------
 * names of ports */

typedef struct name_list {
    char **items;
    uint32_t count;
} name_list;

static void names_free(name_list *names) {
    for (uint32_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

/* The names before '='; texts without it are names where `takes_all`, else something of another
 * kind (a file for the only port there is). */
static bool names_read(const text_list *texts, bool takes_all, name_list *out_names) {
    out_names->count = 0;
    out_names->items = calloc(texts->count + 1, sizeof(*out_names->items));
    for (size_t i = 0; out_names->items && i < texts->count; i++) {
        const char *text = texts->items[i], *equals = strchr(text, '=');
        if (!equals && !takes_all) continue;
        char *name = strndup(text, equals ? (size_t)(equals - text) : strlen(text));
        if (!name) return false;
        out_names->items[out_names->count++] = name;
    }
    return out_names->items != NULL;
}

/* All outputs are kept where a folder is to take them. */
static bool read_names(const cli_options *options, name_list *inputs, name_list *outputs) {
    static const text_list none = {0};
    const bool is_build = options->plan != NULL;
    return names_read(&options->inputs, is_build, inputs) &&
           names_read(options->output_dir ? &none : &options->outputs, is_build, outputs);
}

/* ----------------------------------------------------------------------------------------------
 * inputs and outputs */

static tn_status choose_outputs(tn_graph *graph, const name_list *names) {
    if (names->count == 0) return TN_OK;
    tn_tensor_id *ids = calloc(names->count, sizeof(*ids));
    tn_status status = ids ? TN_OK : TN_ERROR_MEMORY;
    for (uint32_t i = 0; i < names->count && status == TN_OK; i++)
        status = tn_graph_find(graph, names->items[i], &ids[i]);
    if (status == TN_OK) tn_graph_clear_outputs(graph);
    for (uint32_t i = 0; i < names->count && status == TN_OK; i++)
        status = tn_graph_add_output(graph, ids[i], names->items[i]);
    free(ids);
    return status;
}

/* Inputs that are named must be there: those of an ONNX model are what the file says. */
static bool check_inputs(const tn_graph *graph, const name_list *names, const char *path) {
    for (uint32_t i = 0; i < names->count; i++) {
        bool is_there = false;
        for (uint32_t j = 0; j < tn_graph_input_count(graph); j++)
            is_there |= strcmp(tn_graph_input(graph, j)->name, names->items[i]) == 0;
        if (is_there) continue;
        cli_fault("%s: there is no input '%s'; the first of %u is '%s'", path, names->items[i],
                  tn_graph_input_count(graph),
                  tn_graph_input_count(graph) ? tn_graph_input(graph, 0)->name : "");
        return false;
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * options of the importer */

#define OPTIONS_AT_MOST 64

/* What an importer is given; texts of `inputs` are owned. */
typedef struct import_options {
    tn_attribute items[OPTIONS_AT_MOST];
    const tn_attribute *pointers[OPTIONS_AT_MOST];
    uint64_t count;
    name_list inputs;
    const char **lists[OPTIONS_AT_MOST]; /* of fields that are lists, by their index in items */
} import_options;

static tn_attribute *add_option(import_options *list, const char *name, uint32_t type) {
    if (list->count == OPTIONS_AT_MOST) return NULL;
    tn_attribute *item = &list->items[list->count];
    *item = (tn_attribute){.size = sizeof(*item), .type = type, .name = name};
    list->pointers[list->count++] = item;
    return item;
}

static void add_names(import_options *list, const char *name, const name_list *names) {
    tn_attribute *item = names->count > 0 ? add_option(list, name, TN_FIELD_STRINGS) : NULL;
    if (!item) return;
    item->count = names->count;
    item->items = names->items;
}

/* Options that were given by name; the same again is one more of a list. */
static bool add_given(import_options *list, const cli_options *options,
                      const tn_importer *importer) {
    const size_t total = options->import_names.count;
    for (size_t i = 0; i < total; i++) {
        const char *name = options->import_names.items[i];
        const tn_field *field = importers_field(importer, name);
        const bool is_list = field && field->type == TN_FIELD_STRINGS;
        tn_attribute *item = NULL;
        for (uint64_t k = 0; is_list && k < list->count; k++)
            if (list->lists[k] && strcmp(list->items[k].name, name) == 0) item = &list->items[k];
        if (!item) item = add_option(list, name, is_list ? TN_FIELD_STRINGS : TN_FIELD_STRING);
        if (!item) return false;
        if (!is_list) {
            item->s = options->import_values.items[i];
            continue;
        }
        const char ***texts = &list->lists[item - list->items];
        if (!*texts) *texts = calloc(total, sizeof(**texts));
        if (!*texts) return false;
        (*texts)[item->count++] = options->import_values.items[i];
        item->items = *texts;
    }
    return true;
}

/* "NAME=1x3x224x224" with the shape of --shape, or the name alone. */
static char *input_text(const cli_options *options, const char *name) {
    int64_t extents[TN_MAX_RANK];
    uint32_t rank = 0;
    const bool has_shape = shape_option_extents(options, name, extents, &rank);
    const size_t capacity = strlen(name) + 2 + 24 * TN_MAX_RANK;
    char *text = calloc(capacity, 1);
    size_t at = 0;
    if (!text) return NULL;
    at += (size_t)snprintf(text, capacity, "%s%s", name, has_shape ? "=" : "");
    for (uint32_t i = 0; has_shape && i < rank; i++)
        at += (size_t)snprintf(text + at, capacity - at, "%s%lld", i > 0 ? "x" : "",
                               (long long)extents[i]);
    return text;
}

/* By --shape, in another profile. */
static bool is_named_before(const name_list *names, uint32_t index) {
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(names->items[i], names->items[index]) == 0) return true;
    return false;
}

/* Inputs that --shape and --input name. */
static bool read_inputs(const cli_options *options, const name_list *shaped,
                        const name_list *inputs, name_list *out) {
    out->items = calloc((size_t)shaped->count + inputs->count + 1, sizeof(*out->items));
    for (uint32_t i = 0; out->items && i < shaped->count + inputs->count; i++) {
        const char *name = i < shaped->count ? shaped->items[i] : inputs->items[i - shaped->count];
        if (i < shaped->count && is_named_before(shaped, i)) continue;
        char *text = input_text(options, name);
        if (!text) return false;
        out->items[out->count++] = text;
    }
    return out->items != NULL;
}

static void import_options_free(import_options *list) {
    names_free(&list->inputs);
    for (size_t i = 0; i < OPTIONS_AT_MOST; i++)
        free(list->lists[i]);
}

/* ----------------------------------------------------------------------------------------------
 * reading */

/* Whether --shape says otherwise than the network's text does. */
static bool is_reshaped(const tn_graph *graph, const cli_options *options) {
    for (uint32_t i = 0; i < tn_graph_input_count(graph); i++) {
        const tn_port_info *port = tn_graph_input(graph, i);
        int64_t extents[TN_MAX_RANK];
        uint32_t rank = 0;
        if (!shape_option_extents(options, port->name, extents, &rank) || rank != port->rank)
            continue;
        for (uint32_t axis = 0; axis < rank; axis++)
            if (port->extents[axis] >= 0 && port->extents[axis] != extents[axis]) return true;
    }
    return false;
}

tn_import_options model_import_options(const cli_options *options) {
    return (tn_import_options){.size = sizeof(tn_import_options),
                               .flags = options->isolate_reading ? TN_IMPORT_ISOLATED : 0u,
                               .isolation_limit_ms = options->isolate_limit_ms};
}

/* What there is to read. */
typedef struct model {
    const char *path;
    const tn_importer *importer; /* null: of no format that is known, which its reader says */
    const cli_options *options;
    name_list inputs, outputs, shaped;
    import_options given;
} model;

static bool has_field(const model *m, const char *name) {
    return m->importer && importers_field(m->importer, name) != NULL;
}

static tn_status load(tn_runtime *runtime, const model *m, tn_graph **out_graph) {
    tn_import_options options = model_import_options(m->options);
    options.format = m->importer ? m->importer->name : NULL;
    options.option_count = m->given.count;
    options.options = m->given.pointers;
    return tn_graph_load(runtime, m->path, &options, out_graph);
}

/* A file that lacks its weights may do. */
static tn_status load_without_weights(tn_runtime *runtime, model *m, tn_graph **out_graph) {
    tn_status status = load(runtime, m, out_graph);
    if (status != TN_ERROR_FORMAT || !m->options->lacks_weights || !has_field(m, "without_weights"))
        return status;
    tn_attribute *item = add_option(&m->given, "without_weights", TN_FIELD_BOOL);
    if (!item) return status;
    item->i = 1;
    status = load(runtime, m, out_graph);
    *m->options->lacks_weights = status == TN_OK;
    return status;
}

/* A network's extents are what it was trained with; those of --shape go before them. */
static tn_status load_shaped(tn_runtime *runtime, model *m, tn_graph **out_graph) {
    tn_graph *graph = NULL;
    const tn_status status = load_without_weights(runtime, m, &graph);
    if (status != TN_OK) return status;
    if (!has_field(m, "open_inputs") || !is_reshaped(graph, m->options)) {
        *out_graph = graph;
        return TN_OK;
    }
    tn_graph_destroy(graph);
    add_names(&m->given, "open_inputs", &m->shaped);
    return load(runtime, m, out_graph);
}

static tn_graph *load_model(tn_runtime *runtime, model *m, int *out_exit) {
    tn_graph *graph = NULL;
    if (has_field(m, "inputs")) add_names(&m->given, "inputs", &m->given.inputs);
    if (has_field(m, "outputs")) add_names(&m->given, "outputs", &m->outputs);
    if (load_shaped(runtime, m, &graph) != TN_OK ||
        (!has_field(m, "outputs") && choose_outputs(graph, &m->outputs) != TN_OK))
        *out_exit = cli_fail(m->path);
    else if (!has_field(m, "inputs") && !check_inputs(graph, &m->inputs, m->path))
        *out_exit = EXIT_FAULT;
    else
        return graph;
    tn_graph_destroy(graph);
    return NULL;
}

static tn_status load_mean(tn_graph *graph, tn_runtime *runtime, const char *name, const char *path,
                           const cli_options *options) {
    const tn_import_options import = model_import_options(options);
    tn_graph *mean = NULL;
    if (!options->isolate_reading)
        return tn_graph_load_mean(graph, name, path, options->mean_file_scale);
    tn_status status = tn_graph_load(runtime, path, &import, &mean);
    if (status == TN_OK)
        status = tn_graph_subtract_mean(graph, name, mean, options->mean_file_scale);
    tn_graph_destroy(mean);
    return status;
}

/* The mean image of --mean FILE; gives the graph back, or null. */
static tn_graph *add_mean(tn_graph *graph, tn_runtime *runtime, const cli_options *options,
                          int *out_exit) {
    const char *file = options->mean_file;
    if (!graph || !file) return graph;
    const char *equals = strchr(file, '=');
    char *name = equals ? strndup(file, (size_t)(equals - file)) : NULL;
    const bool is_good =
        (!equals || name) &&
        load_mean(graph, runtime, name, equals ? equals + 1 : file, options) == TN_OK;
    free(name);
    if (is_good) return graph;
    *out_exit = cli_fail("--mean");
    tn_graph_destroy(graph);
    return NULL;
}

tn_graph *model_load(tn_runtime *runtime, const char *path, const cli_options *options,
                     int *out_exit) {
    model m = {.path = path, .options = options, .importer = importers_of_file(path)};
    tn_graph *graph = NULL;
    if (!read_names(options, &m.inputs, &m.outputs) ||
        !names_read(&options->shapes, false, &m.shaped) ||
        !read_inputs(options, &m.shaped, &m.inputs, &m.given.inputs) ||
        (m.importer && !add_given(&m.given, options, m.importer)))
        *out_exit = cli_fault("no memory");
    else
        graph = load_model(runtime, &m, out_exit);
    import_options_free(&m.given);
    names_free(&m.shaped);
    names_free(&m.outputs);
    names_free(&m.inputs);
    graph = add_mean(graph, runtime, options, out_exit);
    if (!graph || borders_apply(graph, options, out_exit)) return graph;
    tn_graph_destroy(graph);
    return NULL;
}
