/* SPDX-License-Identifier: Apache-2.0 */
/* A layer that is an expression: reading it, and the texts of its template
 * (templates/expression.c.in); see new_layer.h. */
#include "new_layer.h"
#include "new_ports.h"
#include "src/expression/expression.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * reading */

static bool has_name(const tn_expression *expression, const char *name) {
    for (uint32_t i = 0; i < expression->count; i++)
        if (tn_expression_is_name(expression, i, name)) return true;
    return false;
}

static int check_fields(const new_layer *layer, const tn_expression *expression) {
    static const char *const number_types[] = {"bool", "i32", "i64", "f32", "f64"};
    for (uint32_t i = 0; i < layer->field_count; i++) {
        const new_field *field = &layer->fields[i];
        bool is_number = false;
        for (size_t k = 0; k < sizeof(number_types) / sizeof(number_types[0]); k++)
            is_number = is_number || strcmp(number_types[k], field->type) == 0;
        if (!is_number)
            return cli_usage("option --fields: '%s' is of type %s: expected a number beside "
                             "--expression (bool, i32, i64, f32, f64)",
                             field->name, field->type);
        if (!has_name(expression, field->name))
            return cli_usage("option --fields: '%s' is not in the expression", field->name);
    }
    return EXIT_DONE;
}

static bool is_field(const new_layer *layer, const tn_expression *expression, uint32_t step) {
    for (uint32_t i = 0; i < layer->field_count; i++)
        if (tn_expression_is_name(expression, step, layer->fields[i].name)) return true;
    return false;
}

static bool is_input(const new_layer *layer, const tn_expression *expression, uint32_t step) {
    for (uint32_t i = 0; i < layer->input_count; i++)
        if (tn_expression_is_name(expression, step, layer->inputs[i])) return true;
    return false;
}

enum { MOST_INPUTS = 6 };

/* The names that are no fields, by their first use, as a list. */
static int derive_inputs(const new_layer *layer, const tn_expression *expression, char *list,
                         size_t bytes) {
    uint32_t count = 0;
    size_t at = 0;
    list[0] = 0;
    for (uint32_t i = 0; i < expression->count; i++) {
        const tn_expression_step *step = &expression->steps[i];
        bool is_known = is_field(layer, expression, i);
        if (step->kind != TN_EXPRESSION_NAME || is_known) continue;
        for (uint32_t k = 0; k < i && !is_known; k++)
            is_known = expression->steps[k].kind == TN_EXPRESSION_NAME &&
                       expression->steps[k].name_length == step->name_length &&
                       memcmp(expression->text + expression->steps[k].name_at,
                              expression->text + step->name_at, step->name_length) == 0;
        if (is_known) continue;
        if (count++ == MOST_INPUTS || step->name_length >= NEW_NAME_LIMIT)
            return cli_usage("option --expression: column %u: '%.*s' is one input too many (there "
                             "are at most %d), or its name is too long",
                             step->name_at + 1, (int)step->name_length,
                             expression->text + step->name_at, MOST_INPUTS);
        at += (size_t)snprintf(list + at, bytes - at, "%s%.*s", at ? "," : "",
                               (int)step->name_length, expression->text + step->name_at);
    }
    return count > 0 ? EXIT_DONE
                     : cli_usage("option --expression: every name is a field: expected an input");
}

/* Of --inputs: what the expression has, and nothing else. */
static int check_inputs(const new_layer *layer, const tn_expression *expression) {
    for (uint32_t i = 0; i < layer->input_count; i++) {
        if (!has_name(expression, layer->inputs[i]))
            return cli_usage("option --inputs: '%s' is not in the expression", layer->inputs[i]);
        for (uint32_t k = 0; k < layer->field_count; k++)
            if (strcmp(layer->inputs[i], layer->fields[k].name) == 0)
                return cli_usage("option --inputs: '%s' is a field's name", layer->inputs[i]);
    }
    for (uint32_t i = 0; i < expression->count; i++)
        if (expression->steps[i].kind == TN_EXPRESSION_NAME && !is_input(layer, expression, i) &&
            !is_field(layer, expression, i))
            return cli_usage("option --expression: column %u: '%.*s' is neither in --inputs nor in "
                             "--fields",
                             expression->steps[i].name_at + 1,
                             (int)expression->steps[i].name_length,
                             expression->text + expression->steps[i].name_at);
    if (layer->input_count > MOST_INPUTS)
        return cli_usage("option --inputs: an expression has at most %d", MOST_INPUTS);
    return layer->output_count == 1
               ? EXIT_DONE
               : cli_usage("option --outputs: an expression has one, not %u", layer->output_count);
}

int new_expression_set(new_layer *layer, const char *text, const char *inputs,
                       const char *outputs) {
    char why[200], derived[(MOST_INPUTS + 1) * NEW_NAME_LIMIT];
    tn_expression expression;
    layer->expression = text;
    layer->has_named_ports = inputs || outputs;
    if (!tn_expression_read(text, &expression, why, sizeof(why)))
        return cli_usage("option --expression: %s (docs/expressions.md)", why);
    int code = check_fields(layer, &expression);
    if (code == EXIT_DONE && !inputs)
        code = derive_inputs(layer, &expression, derived, sizeof(derived));
    const bool has_y = has_name(&expression, "y");
    if (code == EXIT_DONE)
        code = new_ports_set(layer, inputs ? inputs : derived,
                             outputs ? outputs
                             : has_y ? "result"
                                     : "y");
    return code == EXIT_DONE ? check_inputs(layer, &expression) : code;
}

/* ----------------------------------------------------------------------------------------------
 * writing */

static void write_fields(const new_layer *layer, FILE *file) {
    if (layer->field_count == 0) return;
    fprintf(file, "static const tn_field fields[] = {\n");
    for (uint32_t i = 0; i < layer->field_count; i++) {
        const new_field *field = &layer->fields[i];
        fprintf(file, "    TN_NUMBER(%s, ", field->name);
        for (const char *at = field->type; *at; at++)
            fputc(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at, file);
        if (field->is_required)
            fprintf(file, ", NULL, ");
        else
            fprintf(file, ", \"%s\", ", field->fallback);
        fprintf(file, "\"(what it means, its unit and range)\"),\n");
    }
    fprintf(file, "};\n");
}

static void write_port(const char *name, const char *type, const char *end, FILE *file) {
    fprintf(file, "TN_PORT(\"%s\", \"%s\", 0, \"(what it is)\")%s", name, type, end);
}

static void write_ports(const new_layer *layer, FILE *file) {
    const bool is_typed = new_ports_are_general(layer);
    if (!layer->has_named_ports) return;
    fprintf(file, "static const tn_port inputs[] = {");
    for (uint32_t i = 0; i < layer->input_count; i++)
        write_port(layer->inputs[i],
                   !is_typed                  ? i == 0 ? "T:float" : "T"
                   : layer->input_types[i][0] ? layer->input_types[i]
                                              : "f32",
                   i + 1 < layer->input_count ? ",\n                                 " : "};\n",
                   file);
    fprintf(file, "static const tn_port outputs[] = {");
    write_port(layer->outputs[0],
               !is_typed                   ? "T"
               : layer->output_types[0][0] ? layer->output_types[0]
                                           : "f32",
               "};\n", file);
}

/* On one line: what else the text may hold, its reader has refused. */
static void write_text(const char *text, FILE *file) {
    for (; *text; text++)
        fputc(*text == '\n' || *text == '\t' ? ' ' : *text, file);
}

static void write_declaration(const new_layer *layer, FILE *file) {
    const bool has_fields = layer->field_count > 0;
    fprintf(file, "TN_ELEMENTWISE%s(\n    \"%s\", \"%s\", 1, \"",
            layer->has_named_ports ? "_WITH"
            : has_fields           ? ""
                                   : "_PLAIN",
            layer->domain, layer->operator_name);
    write_text(layer->expression, file);
    fprintf(file, "\",\n    %s\"(one sentence)\"",
            has_fields && !layer->has_named_ports ? "fields, " : "");
    if (layer->has_named_ports)
        fprintf(file, ", %s,\n    TN_INPUTS(inputs), TN_OUTPUTS(outputs)",
                has_fields ? "TN_NUMBERS(fields)" : "TN_NO_FIELDS");
    fprintf(file, ")");
}

bool new_expression_write(const new_layer *layer, const char *placeholder, FILE *file) {
    if (strcmp(placeholder, "number_fields") == 0)
        write_fields(layer, file);
    else if (strcmp(placeholder, "expression_ports") == 0)
        write_ports(layer, file);
    else if (strcmp(placeholder, "elementwise") == 0)
        write_declaration(layer, file);
    else
        return false;
    return true;
}
