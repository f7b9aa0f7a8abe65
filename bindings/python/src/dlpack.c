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
enum { DEVICE_CPU = 1, DEVICE_CUDA_HOST = 3 };

void dlpack_close(dl_managed *managed) {
    if (managed && managed->deleter) managed->deleter(managed);
}

static bool describe(const dl_tensor *tensor, array_view *view) {
    if (tensor->rank < 0 || tensor->rank > TN_MAX_RANK) {
        binding_raise_text(TN_ERROR_SHAPE, "a tensor of %d axes came, at most %d are possible",
                           (int)tensor->rank, TN_MAX_RANK);
        return false;
    }
    view->type = binding_type_of_dlpack(tensor->code, tensor->bits, tensor->lanes);
    view->rank = (uint32_t)tensor->rank;
    view->shape = tensor->shape;
    view->data = (char *)tensor->data + tensor->byte_offset;
    if (tensor->device_type != DEVICE_CPU && tensor->device_type != DEVICE_CUDA_HOST) {
        binding_raise_text(
            TN_ERROR_DEVICE,
            "a tensor in a device's memory came (of DLPack's kind %d), one of the host's "
            "is wanted; tensor.cpu() is that",
            (int)tensor->device_type);
        return false;
    }
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

int dlpack_open(PyObject *object, array_view *view) {
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    if (!method) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
        PyErr_Clear();
        return 0;
    }
    PyObject *capsule = PyObject_CallFunctionObjArgs(method, NULL);
    Py_DECREF(method);
    if (!capsule) return -1;
    dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    if (managed && PyCapsule_SetName(capsule, "used_dltensor") != 0) managed = NULL;
    Py_DECREF(capsule);
    if (!managed) return -1;
    if (!describe(&managed->tensor, view)) {
        dlpack_close(managed);
        return -1;
    }
    view->managed = managed;
    return 1;
}
