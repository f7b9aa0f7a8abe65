/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said when no library has the operator of a node: one sentence for networks of all origins
 * (ONNX, UFF, Caffe, built by hand). The registry's look-up names the nearest operator; this adds
 * what the node has and how a library is given.
 */
#ifndef TN_PLUGIN_MISSING_H
#define TN_PLUGIN_MISSING_H

#include <tenon/runtime.h>

/* Extends the last error, which a look-up of the operator `name` in the registry has just set, by
 * the node's fields with their types and values (shortened) and by a library on the search path
 * that may have the operator, and answers `status` as it came. Other statuses than
 * TN_ERROR_UNSUPPORTED are left alone. An attribute of type TN_FIELD_TYPE holds a tn_type in `i`.
 */
tn_status tn_missing_describe(tn_runtime *runtime, const char *name, tn_status status,
                              uint64_t count, const tn_attribute *const *attributes);

#endif
