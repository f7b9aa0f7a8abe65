/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs that are no arrays: sequences and maps as lists and dicts (values.c). */
#ifndef TENON_PYTHON_VALUES_H
#define TENON_PYTHON_VALUES_H

#include "context.h"

/* "tensor", "sequence", "optional", "map", "sequence of maps". */
const char *binding_kind_name(uint32_t kind);
/* Gives the context the items of an input; the object is read anew. False with an exception. */
bool values_bind(context_object *self, uint32_t input, const tn_port_info *port, PyObject *object);
/* An output as a list of arrays, an array or None, a dict, or a list of dicts. */
PyObject *values_take(context_object *self, uint32_t output, const tn_port_info *port);

#endif
