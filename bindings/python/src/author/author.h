/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the extension for authors of layers share: compile.c (layers from source text),
 * graph_nodes.c and graph_describe.c (networks built by hand, and what is in one), operation.c (one
 * operator without a network), operators.c (operators in Python), fields.c (values of fields). They
 * take plain tuples, lists and dicts; the Python side (_plugin.py, _graph.py, _operator.py) makes
 * them and has the checks that a person reads.
 */
#ifndef TENON_PYTHON_AUTHOR_H
#define TENON_PYTHON_AUTHOR_H

#include "binding.h"

#include <tenon/compile.h>
#include <tenon/operation.h>

/* The runtime of a tenon.Runtime; null with TypeError set. */
tn_runtime *author_runtime(PyObject *object);

/* The graph of a tenon._engine.Graph; null with TypeError, or RuntimeError where it is being built.
 */
tn_graph *author_graph(PyObject *object);

/* Memory and objects that are given back together. */
typedef struct author_memory {
    struct author_block *blocks;
} author_memory;
/* Zeroed memory; null with MemoryError set. */
void *author_allocate(author_memory *memory, size_t count, size_t bytes);
/* Keeps a reference to an object until author_free; steals it. False: `object` is null. */
bool author_keep(author_memory *memory, PyObject *object);
void author_free(author_memory *memory);

/* The text of a str without zero bytes, which lives as long as the object; null with TypeError or
 * ValueError set. */
const char *author_text(PyObject *object, const char *what);
/* Of a dict: the text at `key`, null where it is absent or None. False: an error is set. */
bool author_get_text(PyObject *dict, const char *key, const char **out_text);
/* Of a dict: the number at `key`, 0 where it is absent. */
bool author_get_number(PyObject *dict, const char *key, uint32_t *out_number);
/* Of a dict: the list of str at `key`, null and 0 where it is absent. */
bool author_get_texts(author_memory *memory, PyObject *dict, const char *key,
                      const char *const **out_texts, uint64_t *out_count);
/* A sequence of str, None as null where `may_be_null`. */
bool author_texts(author_memory *memory, PyObject *sequence, bool may_be_null,
                  const char *const **out_texts, uint64_t *out_count);
bool author_extents(author_memory *memory, PyObject *sequence, int64_t **out_extents,
                    uint32_t *out_rank);

/* Attributes from a list of (name, TN_FIELD_..., value): int, float, str, bytes (of lists of
 * numbers: their memory), a list of str, or (type, extents, buffer) for a tensor. */
bool author_attributes(author_memory *memory, PyObject *list,
                       const tn_attribute *const **out_attributes, uint64_t *out_count);
/* The fields that a callback sees, as a dict by their names; null with an error set. */
PyObject *author_fields(const tn_operator *op, const void *params);
/* The size of a member that holds a field of this type. */
uint32_t author_field_bytes(uint32_t type);

/* A field as compile.c and operators.c get it: (type, flags, name, fallback, choices, doc, minimum,
 * maximum), and a port: (name, types, flags, doc, alias, minimum_count). */
bool author_field(PyObject *tuple, tn_compile_field *out_field);
bool author_port(PyObject *tuple, tn_compile_port *out_port);

/* A tensor as the Python side has it, (type, extents, buffer): `tensor` points into the tuple's
 * buffer, which `memory` keeps. */
bool author_tensor(author_memory *memory, PyObject *tuple, tn_tensor *out_tensor);

/* The functions of each file, ended by a row of nulls. */
extern PyMethodDef author_compile_methods[], author_graph_methods[], author_operation_methods[],
    author_operators_methods[], author_describe_methods[];
/* Adds all of them to the module. */
bool author_init(PyObject *module);

#endif
