/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host fills into the table of an elementwise operator that is its expression: the layout
 * of its fields, ports, shape rule, reference and cases. What the library gives stays as it is.
 */
#ifndef TN_PLUGIN_FIELDS_ELEMENTWISE_TABLES_H
#define TN_PLUGIN_FIELDS_ELEMENTWISE_TABLES_H

#include "base/memory.h"
#include "tensor/type.h"

enum { TN_ELEMENTWISE_MOST_INPUTS = 6 };
#define TN_ELEMENTWISE_NO_VARIABLE UINT32_MAX

/* Before the ports are copied. TN_ERROR_PLUGIN: the expression is none of the language, or names
 * what is not there. */
tn_status tn_elementwise_fill(tn_arena *arena, tn_operator *op);
/* What an input port accepts; equal variables are equal types. */
typedef struct tn_elementwise_port {
    tn_type_set types;
    uint32_t variable;
} tn_elementwise_port;
/* With the types of all inputs known: cases, where there are none. */
tn_status tn_elementwise_fill_cases(tn_arena *arena, const tn_elementwise_port *inputs,
                                    tn_operator *op);
bool tn_elementwise_needs_cases(const tn_operator *op);

#endif
