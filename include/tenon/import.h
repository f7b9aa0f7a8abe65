/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading models from files. Which formats there are is up to importers (tenon/plugin/importer.h):
 * ONNX's is built in, others are libraries beside Tenon's own, in tenon/importers, and on the
 * search path, which are loaded when a file asks for them.
 */
#ifndef TENON_IMPORT_H
#define TENON_IMPORT_H

#include <tenon/graph.h>
#include <tenon/plugin/importer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a model is read. */
typedef struct tn_import_options {
    uint32_t size;  /* sizeof(tn_import_options) */
    uint32_t flags; /* TN_IMPORT_ISOLATED or 0 */
    /* An importer's name; null: by the file's ending, then by its first bytes. */
    const char *format;
    /* Of a model in memory: where further files lie; null: they are refused. */
    const char *folder;
    /* The importer's options, by name. A text (TN_FIELD_STRING) serves for each of them, and is
     * read as the table's defaults are written. */
    uint64_t option_count;
    const tn_attribute *const *options;
    /* TN_IMPORT_ISOLATED: the helper program (null: tenon-isolate, which lies beside this library),
     * the milliseconds that the whole reading may take (0: 60,000; UINT32_MAX: any), and the bytes
     * of memory that the helper may take for it, mapped files not counted (0: three quarters of the
     * machine's; UINT64_MAX: any). */
    const char *isolation_helper;
    uint32_t isolation_limit_ms;
    uint32_t reserved;
    uint64_t isolation_memory;
} tn_import_options;
enum {
    TN_IMPORT_ISOLATED =
        1u /* the importer is chosen, its library loaded if it is not yet, and the file read in a
              helper process, which hands the graph over; all of that is checked here. The helper
              has the libraries that were loaded here from files, and the search path, but nothing
              that the program has linked in or added itself. Its crash, its exit, a reading that
              takes too long or too much memory is TN_ERROR_PLUGIN that names file, importer and
              library, and the position as far as the importer said it. Operators are made here as
              ever. Constants in files that the importer keeps are mapped here, all others are
              copied once. The graph is the same as without. See docs/guarded-running.md */
};

/* Reads a model. `options` may be null. TN_ERROR_NOT_FOUND, TN_ERROR_IO; TN_ERROR_FORMAT: the file
 * is damaged, or of no format that is known (the message lists them); TN_ERROR_ARGUMENT names an
 * option that the importer does not have, a flag that is none, TN_ERROR_RANGE or TN_ERROR_TYPE one
 * that does not fit; TN_ERROR_UNSUPPORTED lists all operators that are missing, each with the
 * nearest name. [thread: any] */
TN_EXPORT tn_status tn_graph_load(tn_runtime *runtime, const char *path,
                                  const tn_import_options *options, tn_graph **out_graph);
/* The same from memory, which is not needed after the call. */
TN_EXPORT tn_status tn_graph_parse(tn_runtime *runtime, const void *data, uint64_t bytes,
                                   const tn_import_options *options, tn_graph **out_graph);

/* Which importer would read the file: TN_OK and its name (static, or the library's); the errors of
 * tn_graph_load. Libraries are loaded as there. [thread: any] */
TN_EXPORT tn_status tn_graph_find_importer(tn_runtime *runtime, const char *path,
                                           const tn_importer **out_importer);

/* Calls `visit` for each importer until it answers false; libraries that are listed beside the
 * core library and on the search path are loaded first (one that does not load is a warning in the
 * log). Pointers live during the call. [thread: any] */
TN_EXPORT void tn_runtime_visit_importers(tn_runtime *runtime,
                                          bool (*visit)(void *user, const tn_importer *importer,
                                                        const tn_library_info *library),
                                          void *user);

/* ONNX: tn_graph_load with the format "onnx". External data is looked for inside the file's folder
 * and mapped. Texts that exporters write for an extent that is not known ("?", "", "None", "-1",
 * "unk__7", "DynamicDimension.0") are no names. Where the model declares an output, or a tensor
 * between nodes, with another type or shape than its node computes, the first build of the graph
 * warns in the log, and uses what is computed. */
TN_EXPORT tn_status tn_graph_load_onnx(tn_runtime *runtime, const char *path, tn_graph **out_graph);
/* The same from memory. `folder` is where external data lies; null: refuse it. */
TN_EXPORT tn_status tn_graph_parse_onnx(tn_runtime *runtime, const void *data, uint64_t bytes,
                                        const char *folder, tn_graph **out_graph);

/* Takes a mean image from an input, of whatever network: the layers get (x - mean) * scale instead
 * of x. The file is a model that is one constant, like Caffe's .binaryproto. `input` may be null
 * when there is one. TN_ERROR_SHAPE when the mean's shape is not the input's; on an error the graph
 * may be used no more. */
TN_EXPORT tn_status tn_graph_load_mean(tn_graph *graph, const char *input, const char *path,
                                       double scale);
/* The same of a graph that was read already: its one output is a constant. */
TN_EXPORT tn_status tn_graph_subtract_mean(tn_graph *graph, const char *input, const tn_graph *mean,
                                           double scale);

#ifdef __cplusplus
}
#endif
#endif
