/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.Calibration: a table from tensors' names to the scales that they are stored with in 8 bits.
 */
#include "build_arguments.h"

PyTypeObject *binding_calibration_type;

PyObject *binding_calibration_new(runtime_object *runtime, tn_calibration *calibration) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(binding_calibration_type, Py_tp_alloc);
    calibration_object *self = (calibration_object *)allocate(binding_calibration_type, 0);
    if (!self) {
        tn_calibration_destroy(calibration);
        return NULL;
    }
    self->calibration = calibration;
    self->runtime = (runtime_object *)Py_NewRef((PyObject *)runtime);
    return (PyObject *)self;
}

static PyObject *calibration_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"path", "runtime", NULL};
    PyObject *path = Py_None, *given = NULL, *owner = NULL, *result = NULL;
    const char *text = NULL;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO:Calibration", names, &path, &given))
        return NULL;
    runtime_object *runtime = binding_runtime_of(given);
    if (runtime && (path == Py_None || binding_path(path, &owner, &text))) {
        tn_calibration *calibration;
        const tn_status status = text ? tn_calibration_read(runtime->runtime, text, &calibration)
                                      : tn_calibration_create(runtime->runtime, &calibration);
        result = status == TN_OK ? binding_calibration_new(runtime, calibration) : binding_raise();
    }
    Py_XDECREF(owner);
    Py_XDECREF((PyObject *)runtime);
    return result;
}

static void calibration_dealloc(PyObject *object) {
    calibration_object *self = (calibration_object *)object;
    if (!binding_is_forked(self->runtime)) tn_calibration_destroy(self->calibration);
    Py_XDECREF((PyObject *)self->runtime);
    binding_free(object);
}

static PyObject *calibration_save(PyObject *object, PyObject *path) {
    PyObject *owner;
    const char *text;
    if (!binding_path(path, &owner, &text)) return NULL;
    const tn_status status =
        tn_calibration_write(((calibration_object *)object)->calibration, text);
    Py_DECREF(owner);
    if (status != TN_OK) return binding_raise();
    Py_RETURN_NONE;
}

static Py_ssize_t calibration_length(PyObject *object) {
    return (Py_ssize_t)tn_calibration_count(((calibration_object *)object)->calibration);
}

static PyObject *calibration_get(PyObject *object, PyObject *key) {
    PyObject *owner;
    const char *name;
    float scale;
    if (!binding_text(key, &owner, &name)) return NULL;
    const bool is_found =
        tn_calibration_find(((calibration_object *)object)->calibration, name, &scale);
    Py_DECREF(owner);
    if (is_found) return PyFloat_FromDouble((double)scale);
    PyErr_SetObject(PyExc_KeyError, key);
    return NULL;
}

static int calibration_set(PyObject *object, PyObject *key, PyObject *value) {
    PyObject *owner;
    const char *name;
    const double scale = value ? PyFloat_AsDouble(value) : -1;
    if (!value) PyErr_SetString(PyExc_TypeError, "a scale is set, and not removed");
    if (PyErr_Occurred() || !binding_text(key, &owner, &name)) return -1;
    const tn_status status =
        tn_calibration_set(((calibration_object *)object)->calibration, name, (float)scale);
    Py_DECREF(owner);
    if (status != TN_OK) binding_raise();
    return status == TN_OK ? 0 : -1;
}

static PyObject *calibration_items(PyObject *object, PyObject *none) {
    (void)none;
    const tn_calibration *calibration = ((calibration_object *)object)->calibration;
    PyObject *list = PyList_New(0);
    const char *name;
    float scale;
    for (uint64_t i = 0; list && tn_calibration_entry(calibration, i, &name, &scale); i++) {
        PyObject *item = Py_BuildValue("(sf)", name, (double)scale);
        if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"save", calibration_save, METH_O,
     "save(path)\n--\n\nWrites the table as the text of TensorRT's calibration caches."},
    {"items", calibration_items, METH_NOARGS,
     "items()\n--\n\nThe entries: a list of (tensor, scale)."},
    {NULL, NULL, 0, NULL}};

bool binding_calibration_init(PyObject *module) {
    static PyType_Slot slots[] = {
        {Py_tp_new, calibration_new},
        {Py_tp_dealloc, calibration_dealloc},
        {Py_tp_methods, methods},
        {Py_mp_length, calibration_length},
        {Py_mp_subscript, calibration_get},
        {Py_mp_ass_subscript, calibration_set},
        {Py_tp_doc,
         "Calibration(path=None, runtime=None)\n--\n\n"
         "The scales that tensors are stored with in 8 bits: calibration[tensor] = largest / 127.\n"
         "`path`: a table that save(), `tenon build --write-calibration` or TensorRT wrote."},
        {0, NULL}};
    static PyType_Spec spec = {"tenon.Calibration", sizeof(calibration_object), 0,
                               Py_TPFLAGS_DEFAULT, slots};
    return (binding_calibration_type = binding_type_add(module, &spec)) != NULL;
}
