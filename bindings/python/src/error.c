/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the C interface as exceptions: tenon.Error, with the same text and the same fields. */
#include "binding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

PyObject *binding_error_type;

PyDoc_STRVAR(
    error_doc,
    "What Tenon refuses or fails at. str(error) says where it was, what is wrong and what would\n"
    "mend it. `code` is the name of the status, like \"TN_ERROR_SHAPE\". `node`, `operator`,\n"
    "`library`, `file`, `mend` are texts and `offset`, `line`, `column` numbers, each None where "
    "it\n"
    "is not known; `message` is the text without the chain of locations, which is `where`.");

static const char *const fields[] = {"code", "message", "where",  "node", "operator", "library",
                                     "file", "mend",    "offset", "line", "column"};

bool binding_error_init(PyObject *module) {
    PyObject *defaults = PyDict_New();
    for (size_t i = 0; defaults && i < sizeof(fields) / sizeof(fields[0]); i++)
        if (PyDict_SetItemString(defaults, fields[i], Py_None) != 0) Py_CLEAR(defaults);
    if (!defaults) return false;
    binding_error_type =
        PyErr_NewExceptionWithDoc("tenon.Error", error_doc, PyExc_RuntimeError, defaults);
    Py_DECREF(defaults);
    return binding_error_type && PyModule_AddObjectRef(module, "Error", binding_error_type) == 0;
}

static PyObject *text(const char *value) {
    return PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "replace");
}

/* Sets a field to `value`, which it takes over; null is a failure of before. */
static bool set(PyObject *error, const char *field, PyObject *value) {
    const bool is_set = value && PyObject_SetAttrString(error, field, value) == 0;
    Py_XDECREF(value);
    return is_set;
}

static bool set_text(PyObject *error, const char *field, const char *value) {
    return !value[0] || set(error, field, text(value));
}

static bool set_number(PyObject *error, const char *field, uint64_t value, uint64_t unknown) {
    return value == unknown || set(error, field, PyLong_FromUnsignedLongLong(value));
}

static PyObject *raise(PyObject *message, const tn_error *from) {
    PyObject *error =
        message ? PyObject_CallFunctionObjArgs(binding_error_type, message, NULL) : NULL;
    Py_XDECREF(message);
    if (error && set_text(error, "code", tn_status_name(from->status)) &&
        set_text(error, "message", from->message) && set_text(error, "where", from->where) &&
        set_text(error, "node", from->node) && set_text(error, "operator", from->op) &&
        set_text(error, "library", from->library) && set_text(error, "file", from->file) &&
        set_text(error, "mend", from->mend) &&
        set_number(error, "offset", from->offset, UINT64_MAX) &&
        set_number(error, "line", from->line, 0) && set_number(error, "column", from->column, 0))
        PyErr_SetObject(binding_error_type, error);
    Py_XDECREF(error);
    return NULL;
}

/* Ctrl-C that ended a Python function within the call goes before the error that it became. */
static PyObject *prefer_interrupt(void) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (PyErr_CheckSignals() == 0) {
        PyErr_Restore(type, error, traceback);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return NULL;
}

PyObject *binding_raise(void) {
    binding_log_flush();
    if (PyErr_Occurred()) return NULL;
    const tn_error *from = tn_last_error();
    PyObject *message = text(from->message);
    if (message && from->where[0]) {
        PyObject *where = text(from->where);
        PyObject *both = where ? PyUnicode_FromFormat("%U: %U", where, message) : NULL;
        Py_XDECREF(where);
        Py_DECREF(message);
        message = both;
    }
    raise(message, from);
    return prefer_interrupt();
}

PyObject *binding_raise_text(tn_status status, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    const tn_error error = {.size = sizeof(error),
                            .status = status,
                            .message = message,
                            .where = "",
                            .node = "",
                            .op = "",
                            .library = "",
                            .file = "",
                            .mend = "",
                            .offset = UINT64_MAX};
    return raise(text(message), &error);
}
