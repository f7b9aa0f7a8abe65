/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a build; tenon/_build.py makes its arguments of what people write. */
#include "build_arguments.h"

void build_arguments_free(build_arguments *build) {
    Py_XDECREF(build->timing_cache_owner);
    text_list_free(&build->keep);
    text_list_free(&build->pins);
    text_list_free(&build->without_rewrites);
    text_list_free(&build->refit);
    text_list_free(&build->border_names);
    text_list_free(&build->border_types);
    PyMem_Free(build->borders);
    PyMem_Free(build->border_pointers);
    profile_list_free(&build->profiles);
    batch_reader_free(&build->batches);
}

/* Called without the interpreter's lock: says how far the build is, and ends it when a signal's
 * handler or the callback raises. */
bool build_report_progress(void *user, const char *stage, uint64_t done, uint64_t count) {
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

/* Of a list of (name, type, channels_last), where the type may be "". */
static bool read_borders(build_arguments *build, PyObject *borders) {
    if (!borders || borders == Py_None) return true;
    const Py_ssize_t count = PyList_Size(borders);
    if (count < 0) return false;
    build->borders = PyMem_Calloc((size_t)count + 1, sizeof(*build->borders));
    build->border_pointers = PyMem_Calloc((size_t)count + 1, sizeof(*build->border_pointers));
    PyObject *names = PyList_New(0);
    bool is_read = build->borders && build->border_pointers && names;
    for (Py_ssize_t i = 0; is_read && i < count; i++) {
        const char *type;
        int is_channels_last;
        PyObject *name;
        is_read =
            PyArg_ParseTuple(PyList_GetItem(borders, i), "Usp", &name, &type, &is_channels_last) &&
            PyList_Append(names, name) == 0;
        if (!is_read) break;
        build->borders[i] =
            (tn_border){.size = sizeof(tn_border),
                        .type = binding_type_named(type),
                        .order = is_channels_last ? TN_BORDER_CHANNELS_LAST : TN_BORDER_AS_IS};
        build->border_pointers[i] = &build->borders[i];
    }
    is_read = is_read && text_list_read(&build->border_names, names, "borders");
    Py_XDECREF(names);
    for (Py_ssize_t i = 0; is_read && i < count; i++)
        build->borders[i].name = build->border_names.items[i];
    build->options.borders = build->border_pointers;
    build->options.border_count = (uint32_t)count;
    return is_read;
}

static bool read_lists(build_arguments *build, PyObject *lists[4]) {
    tn_builder_options *options = &build->options;
    if (!text_list_read(&build->keep, lists[0], "keep") ||
        !text_list_read(&build->pins, lists[1], "pins") ||
        !text_list_read(&build->without_rewrites, lists[2], "without_rewrites") ||
        !text_list_read(&build->refit, lists[3], "refit"))
        return false;
    options->keep = build->keep.items, options->keep_count = build->keep.count;
    options->pins = build->pins.items, options->pin_count = build->pins.count;
    options->without_rewrites = build->without_rewrites.items;
    options->without_rewrite_count = build->without_rewrites.count;
    options->refit = build->refit.items, options->refit_count = build->refit.count;
    return true;
}

static bool take_calibration(build_arguments *build, PyObject *calibration) {
    if (calibration == Py_None) return true;
    if (!Py_IS_TYPE(calibration, binding_calibration_type)) {
        PyErr_Format(PyExc_TypeError, "calibration: a tenon.Calibration is wanted, not %R",
                     calibration);
        return false;
    }
    build->options.calibration = ((calibration_object *)calibration)->calibration;
    return true;
}

bool build_arguments_read(build_arguments *build, graph_object *graph, PyObject *arguments,
                          PyObject *keywords) {
    static char *names[] = {"profiles",
                            "device",
                            "threads",
                            "precision",
                            "second_precision",
                            "timing_cache",
                            "timing_seconds",
                            "force_kernel",
                            "flags",
                            "keep",
                            "pins",
                            "without_rewrites",
                            "refit",
                            "progress",
                            "borders",
                            "calibration",
                            "batches",
                            "max_loss",
                            "calibrator",
                            "percentile",
                            NULL};
    tn_builder_options *options = &build->options;
    PyObject *profiles = NULL, *timing_cache = Py_None, *lists[4] = {0}, *borders = NULL,
             *calibration = Py_None, *batches = NULL;
    build->progress = Py_None;
    build->max_loss = -1;
    options->size = sizeof(*options);
    if (!PyArg_ParseTupleAndKeywords(
            arguments, keywords, "|$OzO&IIOdzIOOOOOOOOdId:build", names, &profiles,
            &options->device, binding_threads, &options->threads, &options->precision,
            &options->second_precision, &timing_cache, &options->timing_seconds,
            &options->force_kernel, &options->flags, &lists[0], &lists[1], &lists[2], &lists[3],
            &build->progress, &borders, &calibration, &batches, &build->max_loss,
            &build->calibrator, &build->percentile))
        return false;
    if (timing_cache != Py_None &&
        !binding_path(timing_cache, &build->timing_cache_owner, &options->timing_cache))
        return false;
    if (!read_lists(build, lists) || !profile_list_read(&build->profiles, profiles) ||
        !read_borders(build, borders) || !take_calibration(build, calibration) ||
        !batch_reader_init(&build->batches, batches, graph->graph, build->progress))
        return false;
    options->profiles = build->profiles.pointers, options->profile_count = build->profiles.count;
    options->progress = build_report_progress, options->progress_user = build->progress;
    return true;
}
