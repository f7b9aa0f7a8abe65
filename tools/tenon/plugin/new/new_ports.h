/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of a layer that `tenon plugin new` is asked for: reading --inputs and --outputs, and the
 * texts of the template for any number of ports with types of their own (templates/ports.c.in).
 */
#ifndef TENON_NEW_PORTS_H
#define TENON_NEW_PORTS_H

#include "new_layer.h"

#include <stdio.h>

/* An element type that a port may be given. */
typedef struct new_port_type {
    const char *name, *c_type, *constant; /* "f32", "float", "TN_F32" */
    int onnx;                             /* its number there */
    bool is_float;
} new_port_type;

/* Null: it is none. "" is f32. */
const new_port_type *new_port_type_of(const char *name, size_t length);
/* Null lists: the kind's own names. EXIT_DONE, or a code after having said why. */
int new_ports_set(new_layer *layer, const char *inputs, const char *outputs);
/* Whether the template for any ports is the one: several outputs, or types. */
bool new_ports_are_general(const new_layer *layer);
/* Writes the text of a placeholder; false: there is none of this name. */
bool new_ports_write(const new_layer *layer, const char *placeholder, FILE *file);

#endif
