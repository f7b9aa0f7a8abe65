/* SPDX-License-Identifier: Apache-2.0 */
/* graph._build: a plan from a graph, with a bound on the loss of accuracy where batches are given;
 * and graph._calibrate: scales from batches. */
#include "build_arguments.h"

bool graph_begin(graph_object *self) {
    if (binding_refuse_forked(self->runtime)) return false;
    if (self->is_busy) {
        binding_raise_text(TN_ERROR_STATE,
                           "another thread works on this graph: wait for it, or read the model a "
                           "second time");
        return false;
    }
    return self->is_busy = true;
}

void graph_end(graph_object *self) {
    self->is_busy = false;
}

static tn_status build_plan(tn_graph *graph, const build_arguments *build, tn_plan **out_plan,
                            char **out_report) {
    if (!build->batches.get) return tn_build(graph, &build->options, out_plan);
    const tn_accuracy_options accuracy = {.size = sizeof(accuracy),
                                          .max_loss = build->max_loss,
                                          .build = &build->options,
                                          .batches = &build->batches.batches};
    return tn_build_accurate(graph, &accuracy, out_plan, out_report);
}

PyObject *graph_build(PyObject *object, PyObject *arguments, PyObject *keywords) {
    graph_object *self = (graph_object *)object;
    build_arguments build = {0};
    PyObject *result = NULL;
    if (!graph_begin(self)) return NULL;
    if (build_arguments_read(&build, self, arguments, keywords)) {
        tn_status status;
        tn_plan *plan = NULL;
        char *report = NULL;
        Py_BEGIN_ALLOW_THREADS;
        status = build_plan(self->graph, &build, &plan, &report);
        Py_END_ALLOW_THREADS;
        result = status == TN_OK ? binding_plan_new(self->runtime, plan, report) : binding_raise();
        tn_text_free(self->runtime->runtime, report);
        binding_log_flush();
    }
    build_arguments_free(&build);
    graph_end(self);
    return result;
}

PyObject *graph_calibrate(PyObject *object, PyObject *arguments, PyObject *keywords) {
    graph_object *self = (graph_object *)object;
    build_arguments build = {0};
    PyObject *result = NULL;
    if (!graph_begin(self)) return NULL;
    if (build_arguments_read(&build, self, arguments, keywords)) {
        const tn_calibrate_options options = {.size = sizeof(options),
                                              .calibrator = build.calibrator,
                                              .percentile = build.percentile,
                                              .build = &build.options,
                                              .batches = &build.batches.batches};
        tn_status status;
        tn_calibration *calibration = NULL;
        char *report = NULL;
        Py_BEGIN_ALLOW_THREADS;
        status = tn_calibrate(self->graph, &options, &calibration, &report);
        Py_END_ALLOW_THREADS;
        result = status == TN_OK
                     ? Py_BuildValue("(NN)", binding_calibration_new(self->runtime, calibration),
                                     binding_json(report))
                     : binding_raise();
        tn_text_free(self->runtime->runtime, report);
        binding_log_flush();
    }
    build_arguments_free(&build);
    graph_end(self);
    return result;
}
