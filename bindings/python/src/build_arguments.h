/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a build and the batches of a calibration, from Python's arguments to those of C.
 */
#ifndef TENON_BINDING_BUILD_ARGUMENTS_H
#define TENON_BINDING_BUILD_ARGUMENTS_H

#include "profiles.h"

/* Batches of sample inputs: what tn_batches asks for, answered by a Python function. */
typedef struct batch_reader {
    tn_batches batches;
    PyObject *get; /* get(index): a tuple of arrays, in the order of the graph's inputs */
    PyObject *now; /* the tuple of the last call */
    PyObject *progress;
    const tn_graph *graph;
    uint32_t input_count;
    array_view *views;
    tn_tensor *tensors;
    int64_t (*shapes)[TN_MAX_RANK];
} batch_reader;
/* Of (count, get); None: none, and `get` is null. False with an exception. */
bool batch_reader_init(batch_reader *reader, PyObject *batches, const tn_graph *graph,
                       PyObject *progress);
void batch_reader_free(batch_reader *reader);

typedef struct build_arguments {
    tn_builder_options options;
    PyObject *timing_cache_owner, *progress;
    text_list keep, pins, without_rewrites, refit;
    text_list border_names, border_types;
    tn_border *borders;
    const tn_border **border_pointers;
    profile_list profiles;
    batch_reader batches;
    double max_loss; /* of tn_accuracy_options; with batches */
    uint32_t calibrator;
    double percentile;
} build_arguments;
bool build_arguments_read(build_arguments *build, graph_object *graph, PyObject *arguments,
                          PyObject *keywords);
void build_arguments_free(build_arguments *build);
/* tn_builder_options.progress and tn_batches.progress: `user` is a Python function or None. */
bool build_report_progress(void *user, const char *stage, uint64_t done, uint64_t count);

/* False, with an exception, where another thread works on the graph. */
bool graph_begin(graph_object *self);
void graph_end(graph_object *self);

/* calibration.c */
typedef struct calibration_object {
    PyObject base;
    tn_calibration *calibration;
    runtime_object *runtime;
} calibration_object;
extern PyTypeObject *binding_calibration_type;
PyObject *binding_calibration_new(runtime_object *runtime, tn_calibration *calibration);

#endif
