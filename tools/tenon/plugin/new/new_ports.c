/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of a new layer; see new_ports.h. */
#include "new_ports.h"

#include <string.h>

static const new_port_type types[] = {
    {"f32", "float", "TN_F32", 1, true},    {"f64", "double", "TN_F64", 11, true},
    {"i64", "int64_t", "TN_I64", 7, false}, {"i32", "int32_t", "TN_I32", 6, false},
    {"i16", "int16_t", "TN_I16", 5, false}, {"i8", "int8_t", "TN_I8", 3, false},
    {"u8", "uint8_t", "TN_U8", 2, false},   {"bool", "uint8_t", "TN_BOOL", 9, false}};

const new_port_type *new_port_type_of(const char *name, size_t length) {
    if (length == 0) return &types[0];
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
            return &types[i];
    return NULL;
}

static const new_port_type *type_of(const char *name) {
    return new_port_type_of(name, strlen(name));
}

/* ----------------------------------------------------------------------------------------------
 * reading */

typedef struct port_list {
    const char *option;
    char (*names)[NEW_NAME_LIMIT];
    char (*types)[NEW_TYPE_LIMIT];
    uint32_t count;
} port_list;

/* TYPE, or like(INPUT) of an output, which then has that input's type. */
static bool read_type(const new_layer *layer, const char *text, size_t length, char *type) {
    for (uint32_t i = 0; i < layer->input_count; i++) {
        char like[NEW_NAME_LIMIT + 8];
        snprintf(like, sizeof(like), "like(%s)", layer->inputs[i]);
        if (strlen(like) != length || memcmp(like, text, length) != 0) continue;
        memcpy(type, layer->input_types[i], NEW_TYPE_LIMIT);
        return true;
    }
    const new_port_type *known = length > 0 ? new_port_type_of(text, length) : NULL;
    if (known) snprintf(type, NEW_TYPE_LIMIT, "%s", known->name);
    return known != NULL;
}

static int read_port(const new_layer *layer, port_list *list, const char *item, size_t length) {
    const char *colon = memchr(item, ':', length);
    const size_t name_length = colon ? (size_t)(colon - item) : length;
    if (list->count == NEW_PORT_LIMIT || !new_layer_is_identifier(item, name_length))
        return cli_usage("option --%s: '%.*s' is not a list of at most %d names", list->option,
                         (int)length, item, NEW_PORT_LIMIT);
    char *name = list->names[list->count], *type = list->types[list->count];
    memcpy(name, item, name_length);
    name[name_length] = 0;
    type[0] = 0;
    if (new_layer_is_taken(name))
        return cli_usage("option --%s: '%s' is a word of C or a variable of the source that is "
                         "written; choose another name",
                         list->option, name);
    if (colon && !read_type(layer, colon + 1, length - name_length - 1, type))
        return cli_usage("option --%s: '%.*s': expected NAME, NAME:TYPE with f32, f64, i64, i32, "
                         "i16, i8, u8 or bool%s",
                         list->option, (int)length, item,
                         strcmp(list->option, "outputs") == 0 ? ", or NAME:like(INPUT)" : "");
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            return cli_usage("option --%s: '%s' is named twice", list->option, name);
    list->count++;
    return EXIT_DONE;
}

static int read_ports(const new_layer *layer, port_list *list, const char *text) {
    int code = EXIT_DONE;
    while (*text && code == EXIT_DONE) {
        const char *item;
        size_t length;
        text = new_layer_take_item(text, &item, &length);
        if (length > 0 || *text) code = read_port(layer, list, item, length);
    }
    if (code == EXIT_DONE && list->count == 0)
        code = cli_usage("option --%s: at least one", list->option);
    return code;
}

static uint32_t count_names(const char *list) {
    uint32_t count = 1;
    for (; *list; list++)
        count += *list == ',';
    return count;
}

static int check_fixed(const new_layer *layer, const char *option, const char *given,
                       uint32_t count, const char *own) {
    if (!given || count == count_names(own)) return EXIT_DONE;
    return cli_usage("option --%s: '%s' names %u, but a layer like %s has %u; one like elementwise "
                     "may have any number",
                     option, given, count, layer->kind->name, count_names(own));
}

static bool has_types(char (*list)[NEW_TYPE_LIMIT], uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (list[i][0]) return true;
    return false;
}

int new_ports_set(new_layer *layer, const char *inputs, const char *outputs) {
    const new_kind *kind = layer->kind;
    port_list in = {"inputs", layer->inputs, layer->input_types, 0};
    port_list out = {"outputs", layer->outputs, layer->output_types, 0};
    int code = read_ports(layer, &in, inputs ? inputs : kind->inputs);
    layer->input_count = in.count;
    if (code == EXIT_DONE) code = read_ports(layer, &out, outputs ? outputs : kind->outputs);
    layer->output_count = out.count;
    if (code == EXIT_DONE && !kind->is_variable)
        code = check_fixed(layer, "inputs", inputs, in.count, kind->inputs);
    if (code == EXIT_DONE && !kind->is_variable)
        code = check_fixed(layer, "outputs", outputs, out.count, kind->outputs);
    if (code == EXIT_DONE && !kind->is_variable &&
        (has_types(layer->input_types, in.count) || has_types(layer->output_types, out.count)))
        code = cli_usage("ports of a layer like %s have no types of their own; those of one like "
                         "elementwise may",
                         kind->name);
    for (uint32_t i = 0; code == EXIT_DONE && i < out.count; i++)
        for (uint32_t j = 0; j < in.count; j++)
            if (strcmp(layer->outputs[i], layer->inputs[j]) == 0)
                code = cli_usage("'%s' is an input and an output", layer->outputs[i]);
    return code;
}

bool new_ports_are_general(const new_layer *layer) {
    return layer->kind->is_variable &&
           (layer->output_count != 1 ||
            has_types((char(*)[NEW_TYPE_LIMIT])(uintptr_t)layer->input_types, layer->input_count) ||
            has_types((char(*)[NEW_TYPE_LIMIT])(uintptr_t)layer->output_types,
                      layer->output_count));
}

/* ----------------------------------------------------------------------------------------------
 * writing */

static void write_list(const char (*names)[NEW_NAME_LIMIT], const char (*list)[NEW_TYPE_LIMIT],
                       uint32_t count, FILE *file) {
    for (uint32_t i = 0; i < count; i++)
        fprintf(file, "%sTN_PORT(\"%s\", \"%s\", 0, \"(its shape)\")",
                i > 0 ? ",\n                                 " : "", names[i],
                type_of(list[i])->name);
}

static void write_inputs(const new_layer *layer, FILE *file) {
    write_list(layer->inputs, layer->input_types, layer->input_count, file);
}
static void write_outputs(const new_layer *layer, FILE *file) {
    write_list(layer->outputs, layer->output_types, layer->output_count, file);
}

static void write_combination(const new_layer *layer, FILE *file) {
    for (uint32_t i = 0; i < layer->input_count; i++)
        fprintf(file, "%s%s", i > 0 ? ", " : "", type_of(layer->input_types[i])->name);
    fprintf(file, " -> ");
    for (uint32_t i = 0; i < layer->output_count; i++)
        fprintf(file, "%s%s", i > 0 ? ", " : "", type_of(layer->output_types[i])->name);
}

/* The sum over the inputs, as doubles: of `x[0]` and so on, or of the kernel's pointers. */
static void write_sum(const new_layer *layer, bool by_name, FILE *file) {
    for (uint32_t i = 0; i < layer->input_count; i++) {
        if (i > 0) fprintf(file, " + ");
        if (by_name)
            fprintf(file, "(double)%s[i]", layer->inputs[i]);
        else
            fprintf(file, "x[%u]", i);
    }
}

/* Outputs of integers and booleans say whether the sum is above 0: no sum of theirs overflows. */
static void write_meanings(const new_layer *layer, FILE *file) {
    for (uint32_t i = 0; i < layer->output_count; i++) {
        fprintf(file, "    y[%u] = ", i);
        write_sum(layer, false, file);
        fprintf(file, type_of(layer->output_types[i])->is_float ? ";\n" : " > 0;\n");
    }
}

/* One output is always asked for. */
static void write_values(const new_layer *layer, FILE *file) {
    for (uint32_t i = 0; i < layer->output_count; i++) {
        const new_port_type *type = type_of(layer->output_types[i]);
        fprintf(file, "        ");
        if (layer->output_count > 1) fprintf(file, "if (%s) ", layer->outputs[i]);
        fprintf(file, "%s[i] = (%s)(", layer->outputs[i], type->c_type);
        write_sum(layer, true, file);
        fprintf(file, type->is_float ? ");\n" : " > 0);\n");
    }
}

static void write_pointers(const new_layer *layer, FILE *file) {
    for (uint32_t i = 0; i < layer->input_count; i++) {
        const char *type = type_of(layer->input_types[i])->c_type;
        fprintf(file, "    const %s *%s = (const %s *)call->inputs[%u]->data;\n", type,
                layer->inputs[i], type, i);
    }
    for (uint32_t i = 0; i < layer->output_count; i++) {
        const char *type = type_of(layer->output_types[i])->c_type;
        fprintf(file, "    %s *%s = ", type, layer->outputs[i]);
        if (layer->output_count > 1) fprintf(file, "call->outputs[%u] ? ", i);
        fprintf(file, "(%s *)call->outputs[%u]->data%s;\n", type, i,
                layer->output_count > 1 ? " : NULL" : "");
    }
}

static bool uses(const char (*list)[NEW_TYPE_LIMIT], uint32_t count, const new_port_type *type) {
    for (uint32_t i = 0; i < count; i++)
        if (type_of(list[i]) == type) return true;
    return false;
}

/* Cases of a switch for the types that occur; that of f32 is the template's. */
static void write_gets(const new_layer *layer, FILE *file) {
    for (size_t i = 1; i < sizeof(types) / sizeof(types[0]); i++)
        if (uses(layer->input_types, layer->input_count, &types[i]))
            fprintf(file, "    case %s:\n        return (double)((const %s *)tensor->data)[i];\n",
                    types[i].constant, types[i].c_type);
}
static void write_puts(const new_layer *layer, FILE *file) {
    for (size_t i = 1; i < sizeof(types) / sizeof(types[0]); i++)
        if (uses(layer->output_types, layer->output_count, &types[i]))
            fprintf(file,
                    "    case %s:\n        ((%s *)tensor->data)[i] = (%s)value;\n        break;\n",
                    types[i].constant, types[i].c_type, types[i].c_type);
}

static void write_case(const new_layer *layer, const char *shape, FILE *file) {
    for (uint32_t i = 0; i < layer->input_count; i++)
        fprintf(file, "%s%s=%s%s", i > 0 ? " " : "", layer->inputs[i],
                type_of(layer->input_types[i])->name, shape);
}

bool new_ports_write(const new_layer *layer, const char *placeholder, FILE *file) {
    static const char cases[] = "typed_inputs:";
    static const struct {
        const char *name;
        void (*write)(const new_layer *layer, FILE *file);
    } writers[] = {{"typed_input_ports", write_inputs},
                   {"typed_output_ports", write_outputs},
                   {"typed_combination", write_combination},
                   {"typed_pointers", write_pointers},
                   {"typed_values", write_values},
                   {"meanings", write_meanings},
                   {"gets", write_gets},
                   {"puts", write_puts}};
    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
        if (strcmp(placeholder, writers[i].name) != 0) continue;
        writers[i].write(layer, file);
        return true;
    }
    if (strncmp(placeholder, cases, strlen(cases)) != 0) return false;
    write_case(layer, placeholder + strlen(cases), file);
    return true;
}
