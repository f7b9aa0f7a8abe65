/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of a build from Python's lists (tenon/_build.py makes them). */
#include "profiles.h"

#include <string.h>

/* An input of a profile with the memory of its shapes. */
typedef struct profile_row {
    tn_profile_input input;
    int64_t extents[3][TN_MAX_RANK];
} profile_row;

static bool read_values(PyObject *owners, PyObject *values, profile_row *row) {
    if (values == Py_None) return true;
    const void *pointers[3];
    for (Py_ssize_t i = 0; i < 3; i++) {
        PyObject *item = PyTuple_GetItem(values, i);
        char *bytes = item ? PyBytes_AsString(item) : NULL;
        if (!bytes || PyList_Append(owners, item) != 0) return false;
        pointers[i] = bytes;
    }
    row->input.minimum_value = pointers[0];
    row->input.optimum_value = pointers[1];
    row->input.maximum_value = pointers[2];
    return true;
}

static bool read_row(PyObject *owners, PyObject *item, profile_row *row) {
    PyObject *name, *shapes[3], *values, *owner;
    if (!PyArg_ParseTuple(item, "UOOOO", &name, &shapes[0], &shapes[1], &shapes[2], &values))
        return false;
    row->input = (tn_profile_input){.size = sizeof(tn_profile_input)};
    if (!binding_text(name, &owner, &row->input.name)) return false;
    const bool is_kept = PyList_Append(owners, owner) == 0;
    Py_DECREF(owner);
    if (!is_kept) return false;
    for (size_t i = 0; i < 3; i++) {
        uint32_t rank;
        if (!binding_extents_read(shapes[i], row->input.name, &rank, row->extents[i])) return false;
        if (i > 0 && rank != row->input.rank) {
            PyErr_Format(PyExc_ValueError, "shapes: '%s' has shapes of %u and of %u extents",
                         row->input.name, (unsigned)row->input.rank, (unsigned)rank);
            return false;
        }
        row->input.rank = rank;
    }
    row->input.minimum = row->extents[0];
    row->input.optimum = row->extents[1];
    row->input.maximum = row->extents[2];
    return read_values(owners, values, row);
}

/* Memory that lives as long as `owners`. */
static void *keep(PyObject *owners, size_t bytes) {
    PyObject *memory = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes + 8);
    const bool is_kept = memory && PyList_Append(owners, memory) == 0;
    Py_XDECREF(memory);
    return is_kept ? memset(PyBytes_AsString(memory), 0, bytes) : NULL;
}

static bool read_profile(profile_list *list, PyObject *items, tn_profile *profile) {
    const Py_ssize_t count = PyList_Size(items);
    if (count < 0) return false;
    profile_row *rows = keep(list->owners, (size_t)count * sizeof(*rows));
    const tn_profile_input **pointers = keep(list->owners, (size_t)count * sizeof(*pointers));
    if (!rows || !pointers) return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!read_row(list->owners, PyList_GetItem(items, i), &rows[i])) return false;
        pointers[i] = &rows[i].input;
    }
    *profile = (tn_profile){
        .size = sizeof(tn_profile), .input_count = (uint32_t)count, .inputs = pointers};
    return true;
}

bool profile_list_read(profile_list *list, PyObject *profiles) {
    *list = (profile_list){0};
    if (!profiles || profiles == Py_None) return true;
    const Py_ssize_t count = PyList_Size(profiles);
    if (count < 0 || !(list->owners = PyList_New(0))) return false;
    list->profiles = keep(list->owners, (size_t)count * sizeof(*list->profiles));
    list->pointers = keep(list->owners, (size_t)count * sizeof(*list->pointers));
    if (!list->profiles || !list->pointers) return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!read_profile(list, PyList_GetItem(profiles, i), &list->profiles[i])) return false;
        list->pointers[i] = &list->profiles[i];
    }
    list->count = (uint32_t)count;
    return true;
}

void profile_list_free(profile_list *list) {
    Py_CLEAR(list->owners);
}
