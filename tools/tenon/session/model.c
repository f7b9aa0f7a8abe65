/* SPDX-License-Identifier: Apache-2.0 */
/* Reading models of each format; see model.h. */
#include "borders.h"
#include "model.h"
#include "cli/shapes.h"
#include "files/file_kind.h"

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
 * formats */

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

static tn_graph *load_onnx(tn_runtime *runtime, const char *path, const name_list *inputs,
                           const name_list *outputs, int *out_exit) {
    tn_graph *graph = NULL;
    if (tn_graph_load_onnx(runtime, path, &graph) != TN_OK ||
        choose_outputs(graph, outputs) != TN_OK) {
        *out_exit = cli_fail(path);
    } else if (check_inputs(graph, inputs, path)) {
        return graph;
    } else {
        *out_exit = EXIT_FAULT;
    }
    tn_graph_destroy(graph);
    return NULL;
}

/* An input that is named, with the shape that --shape gives it, if it does. */
typedef struct uff_input {
    tn_uff_input input;
    int64_t extents[TN_MAX_RANK];
} uff_input;

static void set_uff_input(const cli_options *options, const char *name, uff_input *out) {
    out->input = (tn_uff_input){.size = sizeof(out->input), .name = name};
    if (shape_option_extents(options, name, out->extents, &out->input.rank))
        out->input.extents = out->extents;
}

static tn_graph *load_uff(tn_runtime *runtime, const char *path, const cli_options *options,
                          const name_list *inputs, const name_list *outputs, int *out_exit) {
    name_list shaped = {0};
    const size_t count = inputs->count + options->shapes.count;
    uff_input *items = calloc(count + 1, sizeof(*items));
    const tn_uff_input **pointers = calloc(count + 1, sizeof(*pointers));
    tn_graph *graph = NULL;
    if (!items || !pointers || !names_read(&options->shapes, false, &shaped)) {
        *out_exit = cli_fault("no memory");
    } else {
        uint32_t used = 0;
        for (uint32_t i = 0; i < shaped.count; i++)
            set_uff_input(options, shaped.items[i], &items[used++]);
        for (uint32_t i = 0; i < inputs->count; i++)
            set_uff_input(options, inputs->items[i], &items[used++]);
        for (uint32_t i = 0; i < used; i++)
            pointers[i] = &items[i].input;
        tn_uff_options uff = {.size = sizeof(uff),
                              .input_count = used,
                              .inputs = pointers,
                              .output_count = outputs->count,
                              .outputs = (const char *const *)outputs->items};
        tn_status status = tn_graph_load_uff(runtime, path, &uff, &graph);
        if (status == TN_ERROR_FORMAT && options->lacks_weights) {
            uff.flags = TN_UFF_WITHOUT_WEIGHTS;
            status = tn_graph_load_uff(runtime, path, &uff, &graph);
            *options->lacks_weights = status == TN_OK;
        }
        if (status != TN_OK) *out_exit = cli_fail(path);
    }
    names_free(&shaped);
    free(pointers);
    free(items);
    return graph;
}

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

/* A network's extents are what it was trained with; those of --shape go before them. */
static tn_status load_caffe_shaped(tn_runtime *runtime, const char *path,
                                   const cli_options *options, const name_list *shaped,
                                   tn_graph **out_graph) {
    tn_caffe_options caffe = {.size = sizeof(caffe)};
    tn_graph *graph = NULL;
    tn_status status = tn_graph_load_caffe(runtime, path, options->weights, &caffe, &graph);
    if (status == TN_OK && !is_reshaped(graph, options)) {
        *out_graph = graph;
        return TN_OK;
    }
    tn_graph_destroy(graph);
    if (status != TN_OK) return status;
    caffe.open_input_count = shaped->count;
    caffe.open_inputs = (const char *const *)shaped->items;
    return tn_graph_load_caffe(runtime, path, options->weights, &caffe, out_graph);
}

static tn_graph *load_caffe(tn_runtime *runtime, const char *path, const cli_options *options,
                            const name_list *inputs, const name_list *outputs, int *out_exit) {
    name_list shaped = {0};
    tn_graph *graph = NULL;
    bool is_good = false;
    if (!names_read(&options->shapes, false, &shaped))
        *out_exit = cli_fault("no memory");
    else if (load_caffe_shaped(runtime, path, options, &shaped, &graph) != TN_OK ||
             choose_outputs(graph, outputs) != TN_OK)
        *out_exit = cli_fail(path);
    else if (!check_inputs(graph, inputs, path))
        *out_exit = EXIT_FAULT;
    else
        is_good = true;
    names_free(&shaped);
    if (is_good) return graph;
    tn_graph_destroy(graph);
    return NULL;
}

/* The mean image of --mean FILE; gives the graph back, or null. */
static tn_graph *add_mean(tn_graph *graph, const cli_options *options, int *out_exit) {
    const char *file = options->mean_file;
    if (!graph || !file) return graph;
    const char *equals = strchr(file, '=');
    char *name = equals ? strndup(file, (size_t)(equals - file)) : NULL;
    const bool is_good =
        (!equals || name) && tn_graph_load_caffe_mean(graph, name, equals ? equals + 1 : file,
                                                      options->mean_file_scale) == TN_OK;
    free(name);
    if (is_good) return graph;
    *out_exit = cli_fail("--mean");
    tn_graph_destroy(graph);
    return NULL;
}

tn_graph *model_load(tn_runtime *runtime, const char *path, const cli_options *options,
                     int *out_exit) {
    name_list inputs = {0}, outputs = {0};
    tn_graph *graph = NULL;
    const file_kind kind = file_kind_of(path);
    if (!read_names(options, &inputs, &outputs))
        *out_exit = cli_fault("no memory");
    else if (kind == FILE_UFF)
        graph = load_uff(runtime, path, options, &inputs, &outputs, out_exit);
    else if (kind == FILE_CAFFE)
        graph = load_caffe(runtime, path, options, &inputs, &outputs, out_exit);
    else
        graph = load_onnx(runtime, path, &inputs, &outputs, out_exit);
    names_free(&outputs);
    names_free(&inputs);
    graph = add_mean(graph, options, out_exit);
    if (!graph || borders_apply(graph, options, out_exit)) return graph;
    tn_graph_destroy(graph);
    return NULL;
}
