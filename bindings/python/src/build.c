/* SPDX-License-Identifier: Apache-2.0 */
/* graph.build: a plan from a graph. tenon/_build.py makes its arguments of what people write. */
#include "binding.h"
#include "profiles.h"

typedef struct build_arguments {
    tn_builder_options options;
    PyObject *timing_cache_owner, *progress;
    text_list keep, pins, without_rewrites, refit;
    profile_list profiles;
} build_arguments;

static void build_arguments_free(build_arguments *build) {
    Py_XDECREF(build->timing_cache_owner);
    text_list_free(&build->keep);
    text_list_free(&build->pins);
    text_list_free(&build->without_rewrites);
    text_list_free(&build->refit);
    profile_list_free(&build->profiles);
}

/* Called by the builder, without the interpreter's lock: says how far it is, and ends the build
 * when a signal's handler or the callback raises. */
static bool report_progress(void *user, const char *stage, uint64_t done, uint64_t count) {
    PyObject *progress = user;
    const PyGILState_STATE state = PyGILState_Ensure();
    binding_log_flush();
    bool goes_on = PyErr_CheckSignals() == 0;
    if (goes_on && progress != Py_None) {
        PyObject *answer = PyObject_CallFunction(progress, "sKK", stage, (unsigned long long)done,
                                                 (unsigned long long)count);
        goes_on = answer && answer != Py_False;
        Py_XDECREF(answer);
    }
    PyGILState_Release(state);
    return goes_on;
}

static bool read_arguments(build_arguments *build, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {
        "profiles",     "device",           "threads",      "precision", "second_precision",
        "timing_cache", "timing_seconds",   "force_kernel", "flags",     "keep",
        "pins",         "without_rewrites", "refit",        "progress",  NULL};
    tn_builder_options *options = &build->options;
    PyObject *profiles = NULL, *timing_cache = Py_None, *keep = NULL, *pins = NULL,
             *rewrites = NULL, *refit = NULL;
    build->progress = Py_None;
    options->size = sizeof(*options);
    if (!PyArg_ParseTupleAndKeywords(
            arguments, keywords, "|$OzIIIOdzIOOOOO:build", names, &profiles, &options->device,
            &options->threads, &options->precision, &options->second_precision, &timing_cache,
            &options->timing_seconds, &options->force_kernel, &options->flags, &keep, &pins,
            &rewrites, &refit, &build->progress))
        return false;
    if (timing_cache != Py_None &&
        !binding_path(timing_cache, &build->timing_cache_owner, &options->timing_cache))
        return false;
    if (!text_list_read(&build->keep, keep, "keep") ||
        !text_list_read(&build->pins, pins, "pins") ||
        !text_list_read(&build->without_rewrites, rewrites, "without_rewrites") ||
        !text_list_read(&build->refit, refit, "refit") ||
        !profile_list_read(&build->profiles, profiles))
        return false;
    options->keep = build->keep.items, options->keep_count = build->keep.count;
    options->pins = build->pins.items, options->pin_count = build->pins.count;
    options->without_rewrites = build->without_rewrites.items;
    options->without_rewrite_count = build->without_rewrites.count;
    options->refit = build->refit.items, options->refit_count = build->refit.count;
    options->profiles = build->profiles.pointers, options->profile_count = build->profiles.count;
    options->progress = report_progress, options->progress_user = build->progress;
    return true;
}

PyObject *graph_build(PyObject *object, PyObject *arguments, PyObject *keywords) {
    graph_object *self = (graph_object *)object;
    build_arguments build = {0};
    PyObject *result = NULL;
    tn_plan *plan = NULL;
    if (self->is_busy)
        return binding_raise_text(TN_ERROR_STATE,
                                  "the graph is being built by another thread: wait for it, "
                                  "or read the model a second time");
    if (read_arguments(&build, arguments, keywords)) {
        tn_status status;
        self->is_busy = true;
        Py_BEGIN_ALLOW_THREADS;
        status = tn_build(self->graph, &build.options, &plan);
        Py_END_ALLOW_THREADS;
        self->is_busy = false;
        result = status == TN_OK ? binding_plan_new(self->runtime, plan) : binding_raise();
        binding_log_flush();
    }
    build_arguments_free(&build);
    return result;
}
