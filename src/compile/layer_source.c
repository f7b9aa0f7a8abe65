/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a layer's source; see layer_source.h. What the author gives as names is checked, what he
 * gives as text is quoted; his code is taken as it is. */
#include "compile/layer_source.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { MOST_FIELDS = 64, MOST_PORTS = 64 };

typedef struct layer_writer {
    const tn_compile_layer *layer;
    const char *source_name;
    tn_text *text;
} layer_writer;

void tn_layer_source_copy_sized(void *to, size_t bytes, const void *from) {
    uint32_t size;
    memcpy(&size, from, sizeof(size));
    memset(to, 0, bytes);
    memcpy(to, from, size < bytes ? size : bytes);
}

void tn_layer_source_add_literal(tn_text *source, const char *text) {
    if (!text) {
        tn_text_add(source, "NULL");
        return;
    }
    tn_text_add(source, "\"");
    for (const char *at = text; *at; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte < 32 || byte > 126 || byte == '"' || byte == '\\' || byte == '?')
            tn_text_add_format(source, "\\%03o", byte);
        else
            tn_text_add_format(source, "%c", byte);
    }
    tn_text_add(source, "\"");
}

/* ----------------------------------------------------------------------------------------------
 * checking */

static bool is_identifier(const char *name) {
    if (!name || !name[0] || (name[0] >= '0' && name[0] <= '9') || strlen(name) > 100) return false;
    for (const char *at = name; *at; at++) {
        const bool is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        if (!is_letter && !(*at >= '0' && *at <= '9') && *at != '_') return false;
    }
    return true;
}

static tn_status check_name(const char *what, uint32_t index, const char *name) {
    if (is_identifier(name)) return TN_OK;
    return tn_fail(TN_ERROR_ARGUMENT,
                   "the name of %s %u is %s%s%s: expected an identifier of C, at most 100 letters, "
                   "digits and '_'",
                   what, index, name ? "'" : "", name ? name : "missing", name ? "'" : "");
}

static tn_status check_field(uint32_t index, const tn_compile_field *given) {
    tn_compile_field field;
    if (!given) return tn_fail(TN_ERROR_ARGUMENT, "field %u is null", index);
    tn_layer_source_copy_sized(&field, sizeof(field), given);
    TN_TRY(check_name("field", index, field.name));
    if (field.type < TN_FIELD_BOOL || field.type > TN_FIELD_STRINGS)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "field '%s' has type %u: expected TN_FIELD_BOOL (%u) to TN_FIELD_STRINGS "
                       "(%u)",
                       field.name, field.type, TN_FIELD_BOOL, TN_FIELD_STRINGS);
    if (!isfinite(field.minimum) || !isfinite(field.maximum))
        return tn_fail(TN_ERROR_ARGUMENT, "the bounds of field '%s' are not finite", field.name);
    return TN_OK;
}

static tn_status check_port(const char *what, uint32_t index, uint32_t count,
                            const tn_compile_port *given) {
    const uint32_t known = TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_SHAPE_ONLY |
                           TN_PORT_VALUE_NEEDED | TN_PORT_SIZED_BY_RUN | TN_PORT_HETEROGENEOUS;
    tn_compile_port port;
    if (!given) return tn_fail(TN_ERROR_ARGUMENT, "%s %u is null", what, index);
    tn_layer_source_copy_sized(&port, sizeof(port), given);
    TN_TRY(check_name(what, index, port.name));
    if (strcmp(port.name, "call") == 0 || strcmp(port.name, "fields") == 0)
        return tn_fail(TN_ERROR_ARGUMENT, "%s %u may not be named '%s', which the code has already",
                       what, index, port.name);
    if (port.flags & ~known)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "%s '%s' has flags %#x that need a whole source (tn_port's alias)", what,
                       port.name, port.flags & ~known);
    if ((port.flags & TN_PORT_VARIADIC) && index + 1 < count)
        return tn_fail(TN_ERROR_ARGUMENT, "%s '%s' is variadic, and not the last", what, port.name);
    return TN_OK;
}

static tn_status check_counts(const tn_compile_layer *layer) {
    if (layer->field_count > MOST_FIELDS || layer->input_count > MOST_PORTS ||
        layer->output_count > MOST_PORTS || layer->output_count == 0)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "a layer of %u fields, %u inputs and %u outputs: expected at most %d fields "
                       "and %d inputs, and 1 to %d outputs",
                       layer->field_count, layer->input_count, layer->output_count, MOST_FIELDS,
                       MOST_PORTS, MOST_PORTS);
    if ((layer->field_count && !layer->fields) || (layer->input_count && !layer->inputs) ||
        !layer->outputs || layer->case_count > 10000 || (layer->case_count && !layer->cases))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the layer counts fields, ports or cases that are not there");
    if (!layer->run || (!layer->infer && layer->input_count == 0))
        return tn_fail(TN_ERROR_ARGUMENT, "the layer has no code for `%s`",
                       layer->run ? "infer', and no input to take a shape from" : "run'");
    return TN_OK;
}

static tn_status check_layer(const tn_compile_layer *layer) {
    if (!is_identifier(layer->name))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the layer's name is '%s': expected an identifier of C, like SoftClip",
                       layer->name ? layer->name : "");
    TN_TRY(check_counts(layer));
    for (uint32_t i = 0; i < layer->field_count; i++)
        TN_TRY(check_field(i, layer->fields[i]));
    for (uint32_t i = 0; i < layer->input_count; i++)
        TN_TRY(check_port("input", i, layer->input_count, layer->inputs[i]));
    for (uint32_t i = 0; i < layer->output_count; i++)
        TN_TRY(check_port("output", i, layer->output_count, layer->outputs[i]));
    for (uint64_t i = 0; i < layer->case_count; i++)
        if (!layer->cases[i])
            return tn_fail(TN_ERROR_ARGUMENT, "case %llu is null", (unsigned long long)i);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * writing */

static void write_fields(const layer_writer *writer) {
    static const char *const members[] = {
        [TN_FIELD_BOOL] = "bool",      [TN_FIELD_I32] = "int32_t",
        [TN_FIELD_I64] = "int64_t",    [TN_FIELD_F32] = "float",
        [TN_FIELD_F64] = "double",     [TN_FIELD_STRING] = "const char *",
        [TN_FIELD_BYTES] = "tn_bytes", [TN_FIELD_TYPE] = "tn_type",
        [TN_FIELD_ENUM] = "uint32_t",  [TN_FIELD_TENSOR] = "const tn_tensor *",
        [TN_FIELD_I64S] = "tn_i64s",   [TN_FIELD_F32S] = "tn_f32s",
        [TN_FIELD_F64S] = "tn_f64s",   [TN_FIELD_STRINGS] = "tn_strings",
    };
    const tn_compile_layer *layer = writer->layer;
    tn_compile_field field;
    tn_text_add(writer->text, "typedef struct layer_fields {\n    uint64_t present;\n");
    for (uint32_t i = 0; i < layer->field_count; i++) {
        tn_layer_source_copy_sized(&field, sizeof(field), layer->fields[i]);
        tn_text_add_format(writer->text, "    %s %s;\n", members[field.type], field.name);
    }
    tn_text_add(writer->text, "} layer_fields;\n");
}

/* Nine digits are not enough for the bounds of integers. */
static void write_number(tn_text *text, double value) {
    if (fabs(value) < 9e15 && value == floor(value))
        tn_text_add_format(text, "%lld.0", (long long)value);
    else
        tn_text_add_number(text, value);
}

static void write_field_row(const tn_compile_field *field, tn_text *text) {
    tn_text_add_format(text, "    TN_FIELD_FULL(layer_fields, %s, %uu, %uu, ", field->name,
                       field->type, field->flags);
    tn_layer_source_add_literal(text, field->fallback);
    tn_text_add(text, ", ");
    tn_layer_source_add_literal(text, field->choices);
    tn_text_add(text, ", ");
    write_number(text, field->minimum);
    tn_text_add(text, ", ");
    write_number(text, field->maximum);
    tn_text_add(text, ", 0, 0, ");
    tn_layer_source_add_literal(text, field->doc);
    tn_text_add(text, "),\n");
}

static void write_field_table(const layer_writer *writer) {
    const tn_compile_layer *layer = writer->layer;
    tn_compile_field field;
    if (layer->field_count == 0) return;
    tn_text_add(writer->text, "static const tn_field layer_field_table[] = {\n");
    for (uint32_t i = 0; i < layer->field_count; i++) {
        tn_layer_source_copy_sized(&field, sizeof(field), layer->fields[i]);
        write_field_row(&field, writer->text);
    }
    tn_text_add(writer->text, "};\n");
}

static void write_port_table(const layer_writer *writer, const char *name, uint32_t count,
                             const tn_compile_port *const *ports) {
    tn_compile_port port;
    if (count == 0) return;
    tn_text_add_format(writer->text, "static const tn_port %s[] = {\n", name);
    for (uint32_t i = 0; i < count; i++) {
        tn_layer_source_copy_sized(&port, sizeof(port), ports[i]);
        tn_text_add_format(writer->text, "    TN_PORT(\"%s\", ", port.name);
        tn_layer_source_add_literal(writer->text, port.types ? port.types : "f32");
        tn_text_add_format(writer->text, ", %uu, ", port.flags);
        tn_layer_source_add_literal(writer->text, port.doc);
        tn_text_add(writer->text, "),\n");
    }
    tn_text_add(writer->text, "};\n");
}

/* The compiler's messages from here on speak of `name`, from `line` on. */
static void write_line(const layer_writer *writer, uint64_t line, const char *part) {
    tn_text name;
    tn_text_init(&name, writer->text->allocator);
    tn_text_add_format(&name, "%s%s", writer->source_name, part);
    tn_text_add_format(writer->text, "#line %llu ", (unsigned long long)line);
    tn_layer_source_add_literal(writer->text, name.data ? name.data : "");
    tn_text_add(writer->text, "\n");
    if (name.is_failed) writer->text->is_failed = true;
    tn_text_deinit(&name);
}

/* A piece of the author's, under its own name and lines, and back again. */
static void write_piece(const layer_writer *writer, const char *part, const char *code) {
    uint64_t line = 2; /* the one after the directive */
    write_line(writer, 1, part);
    tn_text_add(writer->text, code);
    tn_text_add(writer->text, "\n");
    for (const char *at = writer->text->data; at && *at; at++)
        line += *at == '\n';
    write_line(writer, line, " (the code around it)");
}

static void write_ports(const layer_writer *writer, const char *type, const char *array,
                        uint32_t count, const tn_compile_port *const *ports) {
    tn_compile_port port;
    for (uint32_t i = 0; i < count; i++) {
        tn_layer_source_copy_sized(&port, sizeof(port), ports[i]);
        if (port.flags & TN_PORT_VARIADIC) continue;
        tn_text_add_format(writer->text,
                           "    %s *%s = call->%s_count > %uu ? call->%ss[%u] : NULL;\n"
                           "    (void)%s;\n",
                           type, port.name, array, i, array, i, port.name);
    }
}

static void write_function(const layer_writer *writer, const char *name, const char *code) {
    const tn_compile_layer *layer = writer->layer;
    char part[32] = ".";
    strcat(part, name);
    tn_text_add_format(writer->text,
                       "static tn_status layer_%s(tn_call *call) TN_NOEXCEPT {\n"
                       "    const layer_fields *fields = (const layer_fields *)call->params;\n"
                       "    (void)fields;\n",
                       name);
    write_ports(writer, "const tn_tensor", "input", layer->input_count, layer->inputs);
    write_ports(writer, "tn_tensor", "output", layer->output_count, layer->outputs);
    tn_text_add(writer->text, "    {\n");
    write_piece(writer, part, code);
    tn_text_add(writer->text, "    }\n    return TN_OK;\n}\n");
}

static const char same_shape[] =
    "    for (uint32_t layer_i = 0; layer_i < call->output_count; layer_i++) {\n"
    "        if (!call->outputs[layer_i]) continue;\n"
    "        call->outputs[layer_i]->rank = call->inputs[0]->rank;\n"
    "        for (uint32_t layer_k = 0; layer_k < call->inputs[0]->rank; layer_k++)\n"
    "            call->outputs[layer_i]->shape[layer_k] = call->inputs[0]->shape[layer_k];\n"
    "    }";

static void write_functions(const layer_writer *writer) {
    const tn_compile_layer *layer = writer->layer;
    if (layer->support) write_piece(writer, ".support", layer->support);
    write_function(writer, "infer", layer->infer ? layer->infer : same_shape);
    write_function(writer, "run", layer->run);
    if (layer->reference) write_function(writer, "reference", layer->reference);
}

static void write_operator(const layer_writer *writer) {
    const tn_compile_layer *layer = writer->layer;
    tn_text *text = writer->text;
    tn_text_add_format(text,
                       "static const tn_operator layer_operator = {.size = sizeof(tn_operator), "
                       ".since_version = %uu, .state_version = 1, .traits = %uu, .domain = ",
                       layer->since_version ? layer->since_version : 1, layer->traits);
    tn_layer_source_add_literal(text, layer->domain ? layer->domain : "");
    tn_text_add_format(text, ", .name = \"%s\", .variant = NULL, .doc = ", layer->name);
    tn_layer_source_add_literal(text, layer->doc ? layer->doc : "");
    tn_text_add_format(text,
                       ",\n    %s, %s, TN_OUTPUTS(layer_outputs),\n"
                       "    .infer = layer_infer, .reference = layer_%s",
                       layer->field_count ? "TN_FIELDS(layer_fields, layer_field_table)"
                                          : "TN_NO_FIELDS",
                       layer->input_count ? "TN_INPUTS(layer_inputs)" : "TN_NO_INPUTS",
                       layer->reference ? "reference" : "run");
    tn_text_add(text, layer->case_count ? ", TN_CASES(layer_cases)};\n" : "};\n");
}

static void write_cases(const layer_writer *writer) {
    const tn_compile_layer *layer = writer->layer;
    if (layer->case_count == 0) return;
    tn_text_add(writer->text, "static const char *const layer_cases[] = {\n");
    for (uint64_t i = 0; i < layer->case_count; i++) {
        tn_layer_source_add_literal(writer->text, layer->cases[i]);
        tn_text_add(writer->text, ",\n");
    }
    tn_text_add(writer->text, "};\n");
}

static void write_kernel_and_library(const layer_writer *writer) {
    const tn_compile_layer *layer = writer->layer;
    tn_text_add(writer->text,
                "static const tn_kernel layer_kernel = {.size = sizeof(tn_kernel), .revision = 1, "
                ".domain = ");
    tn_layer_source_add_literal(writer->text, layer->domain ? layer->domain : "");
    tn_text_add_format(writer->text,
                       ", .op = \"%s\", .minimum_version = %uu, .maximum_version = %uu, .device = "
                       "\"cpu\", .name = \"compiled\", .run = layer_run};\n"
                       "static const tn_operator *const layer_operators[] = {&layer_operator};\n"
                       "static const tn_kernel *const layer_kernels[] = {&layer_kernel};\n"
                       "TN_LIBRARY(\"%s\", \"compiled\", layer_operators, layer_kernels)\n",
                       layer->name, layer->since_version ? layer->since_version : 1,
                       layer->since_version ? layer->since_version : 1, layer->name);
}

tn_status tn_layer_source_write(const tn_compile_layer *layer, const char *source_name,
                                tn_text *out_source) {
    const layer_writer writer = {.layer = layer, .source_name = source_name, .text = out_source};
    TN_TRY(check_layer(layer));
    tn_text_add(out_source, "#include <math.h>\n#include <string.h>\n#include <tenon/plugin.h>\n");
    write_fields(&writer);
    write_functions(&writer);
    write_field_table(&writer);
    write_port_table(&writer, "layer_inputs", layer->input_count, layer->inputs);
    write_port_table(&writer, "layer_outputs", layer->output_count, layer->outputs);
    write_cases(&writer);
    write_operator(&writer);
    write_kernel_and_library(&writer);
    return out_source->is_failed ? tn_fail_memory("a layer's source") : TN_OK;
}
