/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of other libraries by the DLPack protocol, without a copy: object.__dlpack__() answers a
 * capsule with the structs below. */
#include "binding.h"

#include <string.h>

/* The binary interface of DLPack 0.8 (https://dmlc.github.io/dlpack/latest/c_api.html), which
 * version 1 still has under the name "dltensor". */
typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; null: packed */
    uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
} dl_managed;
enum { DEVICE_CPU = 1, DEVICE_CUDA = 2, DEVICE_CUDA_HOST = 3 };

void dlpack_close(dl_managed *managed) {
    if (managed && managed->deleter) managed->deleter(managed);
}

/* Whether a tensor's memory is the host's, or of the device that is wanted. */
static bool check_device(const dl_tensor *tensor, const device_want *want) {
    const int32_t type = tensor->device_type;
    const bool is_host = type == DEVICE_CPU || type == DEVICE_CUDA_HOST;
    if (is_host || (want && type == DEVICE_CUDA && tensor->device_id == want->index)) return true;
    if (want)
        binding_raise_text(TN_ERROR_DEVICE,
                           "a tensor in memory of another device came (DLPack's kind %d, number "
                           "%d), one of the engine's, cuda:%d, or of the host is wanted",
                           (int)type, (int)tensor->device_id, (int)want->index);
    else
        binding_raise_text(
            TN_ERROR_DEVICE,
            "a tensor in a device's memory came (of DLPack's kind %d), one of the host's "
            "is wanted; tensor.cpu() is that",
            (int)type);
    return false;
}

static bool describe(const dl_tensor *tensor, const device_want *want, array_view *view) {
    if (tensor->rank < 0 || tensor->rank > TN_MAX_RANK) {
        binding_raise_text(TN_ERROR_SHAPE, "a tensor of %d axes came, at most %d are possible",
                           (int)tensor->rank, TN_MAX_RANK);
        return false;
    }
    view->type = binding_type_of_dlpack(tensor->code, tensor->bits, tensor->lanes);
    view->rank = (uint32_t)tensor->rank;
    view->shape = tensor->shape;
    view->data = (char *)tensor->data + tensor->byte_offset;
    if (!check_device(tensor, want)) return false;
    view->is_on_device = tensor->device_type == DEVICE_CUDA;
    int64_t packed = 1, last = 1;
    view->is_packed = true;
    for (int32_t i = tensor->rank - 1; i >= 0; i--) {
        view->strides[i] = tensor->strides ? tensor->strides[i] : packed;
        if (view->strides[i] != packed && tensor->shape[i] != 1) view->is_packed = false;
        packed *= tensor->shape[i];
        last += (tensor->shape[i] - 1) * view->strides[i];
    }
    view->bytes = packed > 0 ? (uint64_t)last * tensor->bits / 8 : 0;
    return true;
}

/* The object's capsule. Of what may lie on a device, it is asked on which stream it is read: the
 * producer has that wait for its own work. */
static PyObject *ask(PyObject *object, PyObject *method, const device_want *want) {
    PyObject *where = want ? PyObject_CallMethod(object, "__dlpack_device__", NULL) : NULL;
    if (want && !where) return NULL;
    PyObject *kind = where ? PySequence_GetItem(where, 0) : NULL;
    const long type = kind ? PyLong_AsLong(kind) : DEVICE_CPU;
    Py_XDECREF(kind);
    Py_XDECREF(where);
    if (PyErr_Occurred()) return NULL;
    if (type != DEVICE_CUDA) return PyObject_CallFunctionObjArgs(method, NULL);
    PyObject *none = PyTuple_New(0), *named = Py_BuildValue("{s:K}", "stream", want->stream);
    PyObject *capsule = none && named ? PyObject_Call(method, none, named) : NULL;
    Py_XDECREF(none);
    Py_XDECREF(named);
    return capsule;
}

int dlpack_open(PyObject *object, const device_want *want, array_view *view) {
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    if (!method) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
        PyErr_Clear();
        return 0;
    }
    PyObject *capsule = ask(object, method, want);
    Py_DECREF(method);
    if (!capsule) return -1;
    dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    if (managed && PyCapsule_SetName(capsule, "used_dltensor") != 0) managed = NULL;
    Py_DECREF(capsule);
    if (!managed) return -1;
    if (!describe(&managed->tensor, want, view)) {
        dlpack_close(managed);
        return -1;
    }
    view->managed = managed;
    return 1;
}
