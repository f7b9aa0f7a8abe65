/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a layer's source; see layer_source.h. What the author gives as names is checked
 * (layer_check.c), what he gives as text is quoted; his code is taken as it is. */
#include "compile/layer_source.h"
#include "base/status.h"
#include "compile/layer_check.h"
#include "compile/sized_copy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct layer_writer {
    const tn_compile_layer *layer;
    const char *source_name;
    tn_text *text;
} layer_writer;

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
        tn_sized_copy(&field, sizeof(field), layer->fields[i]);
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
        tn_sized_copy(&field, sizeof(field), layer->fields[i]);
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
        tn_sized_copy(&port, sizeof(port), ports[i]);
        tn_text_add_format(writer->text, "    {.name = \"%s\", .types = ", port.name);
        tn_layer_source_add_literal(writer->text, port.types ? port.types : "f32");
        tn_text_add(writer->text, ", .doc = ");
        tn_layer_source_add_literal(writer->text, port.doc);
        tn_text_add_format(writer->text, ", .flags = %uu, .alias = %uu, .minimum_count = %uu},\n",
                           port.flags, port.alias, port.minimum_count);
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
        tn_sized_copy(&port, sizeof(port), ports[i]);
        if (port.flags & TN_PORT_VARIADIC) continue;
        tn_text_add_format(writer->text,
                           "    %s *%s = call->%s_count > %uu ? call->%ss[%u] : NULL;\n"
                           "    (void)%s;\n",
                           type, port.name, array, i, array, i, port.name);
    }
}

/* What a callback's function is, around the author's body. */
typedef struct callback_form {
    const char *type, *more, *end;
} callback_form;
static const callback_form usual = {"tn_status", "", "    return TN_OK;\n"};
static const callback_form releasing = {"void", "", ""};
static const callback_form counting = {"tn_status", ", double *out_operations",
                                       "    return TN_OK;\n"};

static void write_function(const layer_writer *writer, const callback_form *form, const char *name,
                           const char *code) {
    const tn_compile_layer *layer = writer->layer;
    char part[32];
    if (!code) return;
    snprintf(part, sizeof(part), ".%s", name);
    tn_text_add_format(writer->text,
                       "static %s layer_%s(tn_call *call%s) TN_NOEXCEPT {\n"
                       "    const layer_fields *fields = (const layer_fields *)call->params;\n"
                       "    (void)fields;\n",
                       form->type, name, form->more);
    write_ports(writer, "const tn_tensor", "input", layer->input_count, layer->inputs);
    write_ports(writer, "tn_tensor", "output", layer->output_count, layer->outputs);
    tn_text_add(writer->text, "    {\n");
    write_piece(writer, part, code);
    tn_text_add_format(writer->text, "    }\n%s}\n", form->end);
}

static const char same_shape[] =
    "    for (uint32_t layer_i = 0; layer_i < call->output_count; layer_i++) {\n"
    "        if (!call->outputs[layer_i]) continue;\n"
    "        call->outputs[layer_i]->rank = call->inputs[0]->rank;\n"
    "        for (uint32_t layer_k = 0; layer_k < call->inputs[0]->rank; layer_k++)\n"
    "            call->outputs[layer_i]->shape[layer_k] = call->inputs[0]->shape[layer_k];\n"
    "    }";

/* The host fills in its reference, and the shape rule where that is not given. */
static bool is_expression_alone(const tn_compile_layer *layer) {
    return layer->expression && !layer->reference && !layer->run;
}

static void write_functions(const layer_writer *writer) {
    const tn_compile_layer *layer = writer->layer;
    if (layer->support) write_piece(writer, ".support", layer->support);
    const bool has_host_shapes = !layer->infer && is_expression_alone(layer);
    write_function(writer, &usual, "infer",
                   has_host_shapes ? NULL
                   : layer->infer  ? layer->infer
                                   : same_shape);
    write_function(writer, &usual, "is_identity", layer->is_identity);
    write_function(writer, &counting, "operations", layer->operations);
    write_function(writer, &usual, "reference", layer->reference);
    write_function(writer, &usual, "accepts", layer->accepts);
    write_function(writer, &usual, "tactics", layer->tactics);
    write_function(writer, &usual, "prepare", layer->prepare);
    write_function(writer, &releasing, "release", layer->release);
    write_function(writer, &usual, "open", layer->open);
    write_function(writer, &releasing, "close", layer->close);
    write_function(writer, &usual, "reshape", layer->reshape);
    write_function(writer, &usual, "run", layer->run);
}

/* A member of a table where there is code for it. */
static void write_member(const layer_writer *writer, const char *name, const char *code) {
    if (code) tn_text_add_format(writer->text, ", .%s = layer_%s", name, name);
}

static void write_text_member(const layer_writer *writer, const char *name, const char *text) {
    tn_text_add_format(writer->text, ", .%s = ", name);
    tn_layer_source_add_literal(writer->text, text);
}

/* The members stand in the order of the struct, which C++ asks for. */
static void write_operator(const layer_writer *writer) {
    const tn_compile_layer *layer = writer->layer;
    tn_text *text = writer->text;
    tn_text_add_format(text,
                       "static const tn_operator layer_operator = {.size = sizeof(tn_operator), "
                       ".since_version = %uu, .state_version = 1, .traits = %uu",
                       layer->since_version ? layer->since_version : 1, layer->traits);
    write_text_member(writer, "domain", layer->domain ? layer->domain : "");
    tn_text_add_format(text, ", .name = \"%s\", .variant = NULL", layer->name);
    write_text_member(writer, "doc", layer->doc ? layer->doc : "");
    tn_text_add_format(text, ",\n    %s, %s, TN_OUTPUTS(layer_outputs)",
                       layer->field_count ? "TN_FIELDS(layer_fields, layer_field_table)"
                                          : "TN_NO_FIELDS",
                       layer->input_count ? "TN_INPUTS(layer_inputs)" : "TN_NO_INPUTS");
    if (layer->infer || !is_expression_alone(layer)) tn_text_add(text, ", .infer = layer_infer");
    if (!is_expression_alone(layer))
        tn_text_add_format(text, ", .reference = layer_%s", layer->reference ? "reference" : "run");
    write_member(writer, "is_identity", layer->is_identity);
    if (layer->expression) write_text_member(writer, "expression", layer->expression);
    if (layer->case_count) tn_text_add(text, ", TN_CASES(layer_cases)");
    write_member(writer, "operations", layer->operations);
    tn_text_add(text, "};\n");
}

static void write_texts(const layer_writer *writer, const char *name, uint64_t count,
                        const char *const *texts) {
    if (count == 0) return;
    tn_text_add_format(writer->text, "static const char *const %s[] = {\n", name);
    for (uint64_t i = 0; i < count; i++) {
        tn_layer_source_add_literal(writer->text, texts[i]);
        tn_text_add(writer->text, ",\n");
    }
    tn_text_add(writer->text, "};\n");
}

static void write_kernel(const layer_writer *writer) {
    const tn_compile_layer *layer = writer->layer;
    const uint32_t version = layer->since_version ? layer->since_version : 1;
    tn_text *text = writer->text;
    tn_text_add(text, "static const tn_kernel layer_kernel = {.size = sizeof(tn_kernel), "
                      ".revision = 1");
    write_text_member(writer, "domain", layer->domain ? layer->domain : "");
    tn_text_add_format(text, ", .op = \"%s\", .minimum_version = %uu, .maximum_version = %uu",
                       layer->name, version, version);
    write_text_member(writer, "device", layer->device ? layer->device : "cpu");
    tn_text_add(text, ", .name = \"compiled\", .doc = NULL");
    write_text_member(writer, "requires_features", layer->requires_features);
    write_text_member(writer, "absorbs", layer->absorbs);
    tn_text_add_format(text, ", .traits = %uu", layer->kernel_traits);
    if (layer->combination_count) tn_text_add(text, ", TN_COMBINATIONS(layer_combinations)");
    write_member(writer, "accepts", layer->accepts);
    write_member(writer, "tactics", layer->tactics);
    write_member(writer, "prepare", layer->prepare);
    write_member(writer, "release", layer->release);
    write_member(writer, "open", layer->open);
    write_member(writer, "close", layer->close);
    write_member(writer, "reshape", layer->reshape);
    tn_text_add(text, ", .run = layer_run};\n");
}

/* One without kernels, for which there is no macro. */
static const char library_without_kernels[] =
    "TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;\n"
    "TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {\n"
    "    static tn_library table = {sizeof(tn_library), TN_ABI_MAJOR, TN_ABI_MINOR, 0, \"%s\",\n"
    "        \"compiled\", TN_COUNT(layer_operators), layer_operators, 0, NULL, NULL, NULL, NULL, "
    "0, NULL};\n"
    "    (void)host;\n"
    "    return &table;\n"
    "}\n";

static void write_library(const layer_writer *writer) {
    tn_text *text = writer->text;
    tn_text_add(text, "static const tn_operator *const layer_operators[] = {&layer_operator};\n");
    if (!writer->layer->run) {
        tn_text_add_format(text, library_without_kernels, writer->layer->name);
        return;
    }
    tn_text_add_format(text,
                       "static const tn_kernel *const layer_kernels[] = {&layer_kernel};\n"
                       "TN_LIBRARY(\"%s\", \"compiled\", layer_operators, layer_kernels)\n",
                       writer->layer->name);
}

tn_status tn_layer_source_write(const tn_compile_layer *layer, const char *source_name,
                                tn_text *out_source) {
    const layer_writer writer = {.layer = layer, .source_name = source_name, .text = out_source};
    TN_TRY(tn_layer_check(layer));
    tn_text_add(out_source, "#include <math.h>\n#include <string.h>\n#include <tenon/plugin.h>\n");
    write_fields(&writer);
    write_functions(&writer);
    write_field_table(&writer);
    write_port_table(&writer, "layer_inputs", layer->input_count, layer->inputs);
    write_port_table(&writer, "layer_outputs", layer->output_count, layer->outputs);
    write_texts(&writer, "layer_cases", layer->case_count, layer->cases);
    write_texts(&writer, "layer_combinations", layer->combination_count, layer->combinations);
    write_operator(&writer);
    if (layer->run) write_kernel(&writer);
    write_library(&writer);
    return out_source->is_failed ? tn_fail_memory("a layer's source") : TN_OK;
}
