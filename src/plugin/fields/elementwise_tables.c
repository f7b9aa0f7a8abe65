/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of elementwise operators, filled from their expressions; see elementwise_tables.h. */
#include "plugin/fields/elementwise_tables.h"
#include "base/status.h"
#include "base/text.h"
#include "expression/elementwise.h"
#include "expression/expression_field.h"

#include <stdio.h>
#include <string.h>

static bool is_expression(const tn_operator *op) {
    return (op->traits & TN_OPERATOR_ELEMENTWISE) && op->expression;
}

/* ----------------------------------------------------------------------------------------------
 * fields */

static uint32_t number_bytes(uint32_t type) {
    switch (type) {
    case TN_FIELD_BOOL:
        return sizeof(bool);
    case TN_FIELD_I32:
    case TN_FIELD_F32:
    case TN_FIELD_ENUM:
        return 4;
    case TN_FIELD_I64:
    case TN_FIELD_F64:
        return 8;
    default:
        return 0;
    }
}

/* A library that reads no parameters leaves their struct to the host: each number has 8 bytes. */
static tn_status lay_out_fields(tn_arena *arena, tn_operator *op) {
    if (op->params_bytes != 0 || op->field_count == 0 || !op->fields) return TN_OK;
    if (op->field_count > 64 || op->field_size < sizeof(tn_field) || op->field_size > 4096)
        return TN_OK; /* refused with the tables of others */
    tn_field *fields = tn_arena_allocate(arena, op->field_count, sizeof(*fields));
    if (!fields) return tn_fail_memory("an operator's fields");
    for (uint32_t i = 0; i < op->field_count; i++) {
        memcpy(&fields[i], (const char *)op->fields + (size_t)i * op->field_size, sizeof(*fields));
        if (fields[i].offset != 0 || fields[i].bytes != 0)
            return tn_fail(TN_ERROR_PLUGIN,
                           "field '%s' has an offset, and the parameters have no bytes: expected "
                           "params_bytes, or neither offsets nor sizes",
                           fields[i].name ? fields[i].name : "");
        fields[i].bytes = number_bytes(fields[i].type);
        if (fields[i].bytes == 0)
            return tn_fail(TN_ERROR_PLUGIN,
                           "field '%s' is no number: expected BOOL, I32, I64, F32, F64 or ENUM "
                           "where the host lays out the parameters",
                           fields[i].name ? fields[i].name : "");
        fields[i].offset = (uint32_t)sizeof(uint64_t) * (1 + i);
    }
    op->fields = fields;
    op->field_size = sizeof(tn_field);
    op->params_bytes = sizeof(uint64_t) * (1 + (uint64_t)op->field_count);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * ports */

static bool is_same_name(const char *name, const tn_expression *expression, uint32_t step) {
    return tn_expression_is_name(expression, step, name);
}

static bool is_port(const tn_port *ports, uint32_t count, const tn_expression *expression,
                    uint32_t step) {
    uint32_t i = 0;
    while (i < count && !is_same_name(ports[i].name, expression, step))
        i++;
    return i < count;
}

static char *copy_name(tn_arena *arena, const tn_expression *expression, uint32_t step) {
    const tn_expression_step *s = &expression->steps[step];
    return tn_arena_format(arena, "%.*s", (int)s->name_length, expression->text + s->name_at);
}

/* The names that are no fields, by their first use, and the output: all of one floating-point
 * type. */
static tn_status derive_ports(tn_arena *arena, const tn_expression *expression, tn_operator *op) {
    tn_port *ports = tn_arena_allocate(arena, TN_ELEMENTWISE_MOST_INPUTS + 1, sizeof(*ports));
    uint32_t count = 0;
    if (!ports) return tn_fail_memory("an operator's ports");
    for (uint32_t i = 0; i < expression->count; i++) {
        if (expression->steps[i].kind != TN_EXPRESSION_NAME ||
            tn_expression_find_field(expression, i, op) || is_port(ports, count, expression, i))
            continue;
        if (count == TN_ELEMENTWISE_MOST_INPUTS)
            return tn_fail(TN_ERROR_PLUGIN,
                           "the expression has more than %d inputs: '%.*s' is one more, or a field "
                           "that is not there",
                           TN_ELEMENTWISE_MOST_INPUTS, (int)expression->steps[i].name_length,
                           expression->text + expression->steps[i].name_at);
        ports[count] = (tn_port){.name = copy_name(arena, expression, i),
                                 .types = count == 0 ? "T:float" : "T",
                                 .doc = "broadcast with the other inputs"};
        if (!ports[count++].name) return tn_fail_memory("an operator's ports");
    }
    if (count == 0)
        return tn_fail(TN_ERROR_PLUGIN, "the expression has no input: every name is a field's");
    bool has_y = false;
    for (uint32_t i = 0; i < count; i++)
        has_y |= strcmp(ports[i].name, "y") == 0;
    ports[count] = (tn_port){.name = has_y ? "result" : "y",
                             .types = "T",
                             .doc = "the expression's value, element by element"};
    op->port_size = sizeof(tn_port);
    op->input_count = count;
    op->inputs = ports;
    op->output_count = 1;
    op->outputs = ports + count;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * names */

static const tn_port *port_at(const tn_operator *op, uint32_t index) {
    return (const tn_port *)(const void *)((const char *)op->inputs +
                                           (size_t)index * op->port_size);
}

static tn_status fail_unknown(const tn_operator *op, const tn_expression *expression,
                              uint32_t step) {
    const tn_expression_step *s = &expression->steps[step];
    char name[64];
    tn_nearest nearest;
    snprintf(name, sizeof(name), "%.*s", (int)(s->name_length < 60 ? s->name_length : 60),
             expression->text + s->name_at);
    tn_nearest_init(&nearest, name);
    for (uint32_t i = 0; i < op->input_count; i++)
        if (port_at(op, i)->name) tn_nearest_offer(&nearest, port_at(op, i)->name);
    for (uint32_t i = 0; i < op->field_count; i++)
        if (op->fields[i].name) tn_nearest_offer(&nearest, op->fields[i].name);
    return tn_error_mend_nearest(
        tn_fail(TN_ERROR_PLUGIN, "expression, column %u: '%s' is neither an input nor a field",
                s->name_at + 1, name),
        ": ", nearest.best);
}

static tn_status check_names(const tn_operator *op, const tn_expression *expression) {
    for (uint32_t i = 0; i < expression->count; i++) {
        uint32_t input;
        if (expression->steps[i].kind != TN_EXPRESSION_NAME ||
            tn_expression_find_input(expression, i, op, &input))
            continue;
        const tn_field *field = tn_expression_find_field(expression, i, op);
        if (!field) return fail_unknown(op, expression, i);
        if (number_bytes(field->type) == 0)
            return tn_fail(TN_ERROR_PLUGIN, "expression, column %u: field '%s' is no number",
                           expression->steps[i].name_at + 1, field->name);
    }
    return TN_OK;
}

/* What the expression alone can serve. */
static tn_status check_ports(const tn_operator *op) {
    if (op->port_size < offsetof(tn_port, flags) + sizeof(uint32_t))
        return TN_OK; /* refused later */
    if (op->output_count != 1 || op->input_count == 0 ||
        op->input_count > TN_ELEMENTWISE_MOST_INPUTS)
        return tn_fail(TN_ERROR_PLUGIN,
                       "%u inputs and %u outputs: an operator that is its expression has 1 to %d "
                       "inputs and one output",
                       op->input_count, op->output_count, TN_ELEMENTWISE_MOST_INPUTS);
    for (uint32_t i = 0; op->inputs && i < op->input_count; i++)
        if (port_at(op, i)->flags & (TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_SHAPE_ONLY))
            return tn_fail(TN_ERROR_PLUGIN,
                           "input '%s' may be absent, variadic or a shape alone: give infer and "
                           "reference, expressions have one tensor at each input",
                           port_at(op, i)->name ? port_at(op, i)->name : "");
    return TN_OK;
}

tn_status tn_elementwise_fill(tn_arena *arena, tn_operator *op) {
    tn_expression expression;
    char why[200];
    if (!is_expression(op)) return TN_OK;
    TN_TRY(lay_out_fields(arena, op));
    const bool has_ports = op->input_count || op->output_count || op->inputs || op->outputs;
    if (has_ports && op->infer && op->reference) return TN_OK;
    if (!tn_expression_read(op->expression, &expression, why, sizeof(why)))
        return tn_fail(TN_ERROR_PLUGIN, "expression, %s", why);
    if (!has_ports) TN_TRY(derive_ports(arena, &expression, op));
    if (!op->reference || !op->infer) TN_TRY(check_ports(op));
    if (!op->reference && op->inputs) {
        TN_TRY(check_names(op, &expression));
        op->reference = tn_elementwise_reference;
    }
    if (!op->infer) op->infer = tn_elementwise_infer;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * cases */

/* Shapes by input, the last one for all further ones. */
typedef struct case_shapes {
    const char *shapes[3];
} case_shapes;

/* One of each: an image, a large row, a scalar, none at all, and broadcast ones. */
static const case_shapes all_shapes[] = {{{"[2,3,5,7]", "[2,3,5,7]", "[2,3,5,7]"}},
                                         {{"[1]", "[1]", "[1]"}},
                                         {{"[]", "[]", "[]"}},
                                         {{"[3,0,2]", "[3,0,2]", "[3,0,2]"}},
                                         {{"[4,33]", "[4,33]", "[4,33]"}},
                                         {{"[1,16,28,28]", "[1,16,28,28]", "[]"}},
                                         {{"[2,3,5,7]", "[3,1,1]", "[7]"}},
                                         {{"[4,1,7]", "[1,5,1]", "[4,1,1]"}},
                                         {{"[]", "[3]", "[2,1]"}}};
enum { SHAPE_COUNT = sizeof(all_shapes) / sizeof(all_shapes[0]), SHAPES_OF_ONE = 6 };

static tn_type lowest(tn_type_set types, tn_type preferred) {
    if (types & TN_TYPE_BIT(preferred)) return preferred;
    for (tn_type type = TN_NONE + 1; type < TN_TYPE_COUNT; type++)
        if (types & TN_TYPE_BIT(type)) return type;
    return TN_NONE;
}

/* A required field has a value within its bounds. */
static void add_field(tn_text *text, const tn_field *field) {
    if (!(field->flags & TN_REQUIRED)) return;
    const bool is_bounded = field->minimum != 0 || field->maximum != 0;
    const bool is_one = !is_bounded || (field->minimum <= 1 && field->maximum >= 1);
    if (field->type == TN_FIELD_ENUM)
        tn_text_add_format(text, "%s=%.*s ", field->name, (int)strcspn(field->choices, "|="),
                           field->choices);
    else
        tn_text_add_format(text, "%s=%.9g ", field->name, is_one ? 1.0 : field->minimum);
}

/* That of an earlier input with the same variable, or the port's own. */
static tn_type choose_type(const tn_elementwise_port *inputs, uint32_t input, const tn_type *types,
                           tn_type preferred) {
    for (uint32_t i = 0; i < input; i++)
        if (inputs[i].variable == inputs[input].variable &&
            inputs[input].variable != TN_ELEMENTWISE_NO_VARIABLE)
            return types[i];
    return lowest(inputs[input].types, preferred);
}

static void add_case(tn_text *text, const tn_elementwise_port *inputs, const tn_operator *op,
                     const case_shapes *shapes, tn_type preferred) {
    tn_type types[TN_ELEMENTWISE_MOST_INPUTS];
    for (uint32_t i = 0; i < op->field_count; i++)
        add_field(text, &op->fields[i]);
    tn_text_add(text, "|");
    for (uint32_t i = 0; i < op->input_count; i++) {
        types[i] = choose_type(inputs, i, types, preferred);
        tn_text_add_format(text, " %s=%s%s", op->inputs[i].name, tn_type_name(types[i]),
                           shapes->shapes[i < 2 ? i : 2]);
    }
}

static tn_status take_case(tn_arena *arena, tn_text *text, const char **out_case) {
    char *line = NULL;
    TN_TRY(tn_text_take(text, &line));
    *out_case = tn_arena_text(arena, line);
    tn_deallocate(tn_allocator_default(), line);
    return *out_case ? TN_OK : tn_fail_memory("an operator's cases");
}

bool tn_elementwise_needs_cases(const tn_operator *op) {
    return is_expression(op) && op->case_count == 0 && op->reference == tn_elementwise_reference;
}

/* All shapes in the first of f32 and the others that the operator has, and one for each type. */
tn_status tn_elementwise_fill_cases(tn_arena *arena, const tn_elementwise_port *inputs,
                                    tn_operator *op) {
    const uint32_t shape_count = op->input_count == 1 ? SHAPES_OF_ONE : SHAPE_COUNT;
    const tn_type_set types = inputs[0].types;
    const char **cases = tn_arena_allocate(arena, SHAPE_COUNT + TN_TYPE_COUNT, sizeof(*cases));
    if (!cases) return tn_fail_memory("an operator's cases");
    for (uint32_t i = 0; i < shape_count + TN_TYPE_COUNT; i++) {
        const bool is_shape = i < shape_count;
        const tn_type type = is_shape ? TN_F32 : i - shape_count;
        if (!is_shape && (type == TN_F32 || !(types & TN_TYPE_BIT(type)))) continue;
        tn_text text;
        tn_text_init(&text, tn_allocator_default());
        add_case(&text, inputs, op, &all_shapes[is_shape ? i : 4], type);
        TN_TRY(take_case(arena, &text, &cases[op->case_count]));
        op->case_count++;
    }
    op->cases = cases;
    return TN_OK;
}
