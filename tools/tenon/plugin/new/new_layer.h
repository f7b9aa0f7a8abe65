/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer that `tenon plugin new` is asked for: its name, fields and ports, as read from the
 * options (new_layer.c, new_ports.c, new_expression.c), as texts for the templates (new_source.c),
 * as a network of one node (new_model.c).
 */
#ifndef TENON_NEW_LAYER_H
#define TENON_NEW_LAYER_H

#include "cli/cli.h"

#include <stdio.h>

enum { NEW_FIELD_LIMIT = 64, NEW_PORT_LIMIT = 64, NEW_NAME_LIMIT = 64, NEW_TYPE_LIMIT = 8 };

typedef struct new_field {
    char name[NEW_NAME_LIMIT], type[16];
    char fallback[128], choices[128]; /* "" : none */
    bool is_required;
} new_field;

/* What kind of layer: which template, and the ports and fields that it needs. */
typedef struct new_kind {
    const char *name, *template_name, *what;
    const char *fields; /* of its own, in the syntax of --fields */
    const char *inputs; /* names by default; their number is fixed unless `is_variable` */
    const char *outputs;
    bool is_variable;
} new_kind;
extern const new_kind new_kinds[]; /* ends with a null name */

typedef struct new_layer {
    const new_kind *kind;
    char name[NEW_NAME_LIMIT];          /* soft_clip: of files, of the library, in C */
    char operator_name[NEW_NAME_LIMIT]; /* SoftClip */
    const char *domain;
    new_field fields[NEW_FIELD_LIMIT];
    uint32_t field_count;
    char inputs[NEW_PORT_LIMIT][NEW_NAME_LIMIT], outputs[NEW_PORT_LIMIT][NEW_NAME_LIMIT];
    /* "f32"; "": as the template has it (f32, or where all ports are so, f64 too) */
    char input_types[NEW_PORT_LIMIT][NEW_TYPE_LIMIT], output_types[NEW_PORT_LIMIT][NEW_TYPE_LIMIT];
    uint32_t input_count, output_count;
    bool has_cuda;
    bool has_kit;           /* is linked with the kernel kit */
    const char *expression; /* null: the layer has a template with code */
    bool has_named_ports;   /* of an expression: the caller named its inputs or output */
} new_layer;

/* --- new_layer.c: each answers EXIT_DONE, or a code after having said why --- */
int new_layer_set_name(new_layer *layer, const char *name);
int new_layer_set_kind(new_layer *layer, const char *name);
int new_layer_set_devices(new_layer *layer, const char *list);
/* Adds fields: "low:f32=0, high:f32=6, mode:enum(slow|fast)=slow, axes:i64s=[0,1], name:string". */
int new_layer_add_fields(new_layer *layer, const char *list);
/* Items of lists between commas that stand outside brackets: the next one, without spaces around
 * it; answers where the one behind it begins. */
const char *new_layer_take_item(const char *at, const char **out_item, size_t *out_length);
/* Whether a name is a word of C, or one that the templates use. */
bool new_layer_is_taken(const char *name);
bool new_layer_is_identifier(const char *text, size_t length);

/* --- new_expression.c --- */
/* Reads an expression with the fields known: its names that are no fields are the inputs, where
 * `inputs` (of --inputs, may be null) does not name them in another order or with types. */
int new_expression_set(new_layer *layer, const char *text, const char *inputs, const char *outputs);
bool new_expression_write(const new_layer *layer, const char *placeholder, FILE *file);

/* --- new_source.c --- */
/* Writes the text of a placeholder; false: there is none of this name. */
bool new_source_write(const new_layer *layer, const char *placeholder, FILE *file);
/* A value that a required field may have in a case; of a list, `new_source_length` items. */
void new_source_sample(const new_field *field, char *text, size_t bytes);
uint32_t new_source_length(const new_field *field);

/* --- new_model.c: writes NAME.onnx --- */
bool new_model_write(const new_layer *layer, const char *path);

#endif
