/* SPDX-License-Identifier: Apache-2.0 */
/* What a model's file says of itself, as a dict: for graphs and engines. */
#include "binding.h"

static PyObject *dict_of_metadata(const tn_model_info *info) {
    PyObject *dict = PyDict_New();
    for (uint64_t i = 0; dict && i < info->metadata_count; i++) {
        PyObject *value = PyUnicode_FromString(info->metadata[i].value);
        if (!value || PyDict_SetItemString(dict, info->metadata[i].key, value) != 0) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *dict_of_opsets(const tn_model_info *info) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < info->opset_count; i++) {
        PyObject *version = PyLong_FromUnsignedLong(info->opsets[i].version);
        if (!version || PyDict_SetItemString(dict, info->opsets[i].domain, version) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(version);
    }
    return dict;
}

PyObject *binding_model_info(const tn_model_info *info) {
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:s,s:L,s:N,s:N}", "graph_name", info->graph_name,
                         "producer_name", info->producer_name, "producer_version",
                         info->producer_version, "domain", info->domain, "doc", info->doc,
                         "source_format", info->source_format, "model_version",
                         (long long)info->model_version, "opsets", dict_of_opsets(info), "metadata",
                         dict_of_metadata(info));
}
