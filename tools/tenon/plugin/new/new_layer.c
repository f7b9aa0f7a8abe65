/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what `tenon plugin new` is told about a layer; see new_layer.h. */
#include "new_layer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const new_kind new_kinds[] = {
    {"elementwise", "elementwise.c.in", "each element by itself", "", "x", "y", true},
    {"reduction", "reduction.c.in", "a row to one element", "axis:i64=-1", "x", "y", false},
    {"pooling", "pooling.c.in", "a window to one element",
     "kernel:i64s[2]=[2,2], strides:i64s[2]=[2,2]", "x", "y", false},
    {"resize", "resize.c.in", "images to the size of a tensor of which only the shape is read", "",
     "x,size", "y", false},
    {"two-outputs", "two-outputs.c.in", "one input, two outputs", "", "x", "y,z", false},
    {"sized-by-run", "sized-by-run.c.in", "an output whose size the data decides",
     "threshold:f32=0", "x", "y", false},
    {NULL, NULL, NULL, NULL, NULL, NULL, false}};

bool new_layer_is_identifier(const char *text, size_t length) {
    if (length == 0 || length >= NEW_NAME_LIMIT || isdigit((unsigned char)text[0])) return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_') return false;
    return true;
}

bool new_layer_is_taken(const char *name) {
    static const char *const words[] = {
        "auto",      "break",    "case",     "char",      "const",   "continue",
        "default",   "do",       "double",   "else",      "enum",    "extern",
        "float",     "for",      "goto",     "if",        "inline",  "int",
        "long",      "register", "restrict", "return",    "short",   "signed",
        "sizeof",    "static",   "struct",   "switch",    "typedef", "union",
        "unsigned",  "void",     "volatile", "while",     "bool",    "true",
        "false",     "i",        "p",        "call",      "begin",   "end",
        "thread",    "user",     "inputs",   "outputs",   "count",   "infer",
        "reference", "run",      "run_part", "meaning",   "get",     "put",
        "count_of",  "fields",   "cases",    "operators", "kernels", "combinations",
        "main",      "tensor",   "value"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i], name) == 0) return true;
    return false;
}

int new_layer_set_name(new_layer *layer, const char *name) {
    const size_t length = strlen(name);
    if (!new_layer_is_identifier(name, length) || !islower((unsigned char)name[0]))
        return cli_usage(
            "plugin new: '%s' is not a name like soft_clip (lower case letters, digits "
            "and _, at most %d)",
            name, NEW_NAME_LIMIT - 1);
    if (new_layer_is_taken(name))
        return cli_usage("plugin new: '%s' is a word of C or a name in the source that is written; "
                         "choose another one",
                         name);
    memcpy(layer->name, name, length + 1);
    size_t at = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '_') continue;
        const bool starts = i == 0 || name[i - 1] == '_';
        layer->operator_name[at++] = (char)(starts ? toupper((unsigned char)name[i]) : name[i]);
    }
    layer->operator_name[at] = 0;
    return EXIT_DONE;
}

int new_layer_set_kind(new_layer *layer, const char *name) {
    char all[256] = "";
    for (const new_kind *kind = new_kinds; kind->name; kind++) {
        if (strcmp(kind->name, name) == 0) {
            layer->kind = kind;
            return EXIT_DONE;
        }
        strcat(strcat(all, all[0] ? ", " : ""), kind->name);
    }
    return cli_usage("option --like: '%s' is none of %s", name, all);
}

int new_layer_set_devices(new_layer *layer, const char *list) {
    layer->has_cuda = strcmp(list, "cpu,cuda") == 0;
    if (layer->has_cuda || strcmp(list, "cpu") == 0) return EXIT_DONE;
    return cli_usage("option --devices: '%s' is neither cpu nor cpu,cuda", list);
}

/* ----------------------------------------------------------------------------------------------
 * lists: items between commas that stand outside brackets */

static const char *skip_spaces(const char *at) {
    while (*at == ' ')
        at++;
    return at;
}

const char *new_layer_take_item(const char *at, const char **out_item, size_t *out_length) {
    int depth = 0;
    at = skip_spaces(at);
    *out_item = at;
    for (; *at && (*at != ',' || depth > 0); at++)
        depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
    const char *end = at;
    while (end > *out_item && end[-1] == ' ')
        end--;
    *out_length = (size_t)(end - *out_item);
    return *at ? at + 1 : at;
}

static bool copy(char *to, size_t capacity, const char *from, size_t length) {
    if (length >= capacity) return false;
    memcpy(to, from, length);
    to[length] = 0;
    return true;
}

static int bad_field(const char *item, size_t length, const char *expected) {
    return cli_usage("option --fields: '%.*s': expected %s", (int)length, item, expected);
}

/* NAME:TYPE[=DEFAULT]; TYPE may be enum(a|b) and a list may say its length, i64s[2]. */
static int read_field(new_layer *layer, const char *item, size_t length) {
    static const char *const types[] = {"bool", "i32",  "i64",  "f32",     "f64",    "string",
                                        "type", "i64s", "f32s", "strings", "tensor", "enum"};
    if (layer->field_count == NEW_FIELD_LIMIT)
        return cli_usage("option --fields: there are at most %d fields", NEW_FIELD_LIMIT);
    new_field *field = &layer->fields[layer->field_count];
    *field = (new_field){.is_required = true};
    const char *end = item + length, *colon = memchr(item, ':', length);
    if (!colon || !new_layer_is_identifier(item, (size_t)(colon - item)))
        return bad_field(item, length, "NAME:TYPE or NAME:TYPE=DEFAULT");
    copy(field->name, sizeof(field->name), item, (size_t)(colon - item));
    const char *type = skip_spaces(colon + 1), *equals = memchr(type, '=', (size_t)(end - type));
    const char *type_end = equals ? equals : end, *name_end = type;
    while (name_end < type_end && isalnum((unsigned char)*name_end))
        name_end++;
    bool is_known = false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        is_known = is_known || (strlen(types[i]) == (size_t)(name_end - type) &&
                                strncmp(types[i], type, (size_t)(name_end - type)) == 0);
    if (!is_known || !copy(field->type, sizeof(field->type), type, (size_t)(name_end - type)))
        return bad_field(item, length,
                         "a type: bool, i32, i64, f32, f64, string, type, enum(a|b), i64s, f32s, "
                         "strings or tensor");
    if (*name_end == '(' || *name_end == '[') {
        const char *close =
            memchr(name_end, *name_end == '(' ? ')' : ']', (size_t)(type_end - name_end));
        if (!close || !copy(field->choices, sizeof(field->choices), name_end + 1,
                            (size_t)(close - name_end - 1)))
            return bad_field(item, length, "a closing bracket after the type");
    }
    if (strcmp(field->type, "enum") == 0 && !field->choices[0])
        return bad_field(item, length, "choices, like mode:enum(slow|fast)");
    field->is_required = !equals && strcmp(field->type, "tensor") != 0;
    if (equals) {
        const char *value = skip_spaces(equals + 1);
        if (!copy(field->fallback, sizeof(field->fallback), value, (size_t)(end - value)) ||
            strpbrk(field->fallback, "\"\\\n"))
            return bad_field(item, length, "a default of at most 127 characters, without quotes");
    }
    for (uint32_t i = 0; i < layer->field_count; i++)
        if (strcmp(layer->fields[i].name, field->name) == 0)
            return cli_usage("option --fields: '%s' is named twice", field->name);
    layer->field_count++;
    return EXIT_DONE;
}

int new_layer_add_fields(new_layer *layer, const char *list) {
    int code = EXIT_DONE;
    for (const char *at = skip_spaces(list); *at && code == EXIT_DONE;) {
        const char *item;
        size_t length;
        at = new_layer_take_item(at, &item, &length);
        code = read_field(layer, item, length);
    }
    return code;
}
