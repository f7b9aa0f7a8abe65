/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that fill the templates of `tenon plugin new`; see new_layer.h. */
#include "new_layer.h"
#include "new_ports.h"

#include <stdlib.h>
#include <string.h>

typedef struct type_row {
    const char *name, *c_type, *constant, *sample;
} type_row;

static const type_row types[] = {{"bool", "bool ", "TN_FIELD_BOOL", "true"},
                                 {"i32", "int32_t ", "TN_FIELD_I32", "1"},
                                 {"i64", "int64_t ", "TN_FIELD_I64", "1"},
                                 {"f32", "float ", "TN_FIELD_F32", "1"},
                                 {"f64", "double ", "TN_FIELD_F64", "1"},
                                 {"string", "const char *", "TN_FIELD_STRING", "text"},
                                 {"type", "tn_type ", "TN_FIELD_TYPE", "f32"},
                                 {"i64s", "tn_i64s ", "TN_FIELD_I64S", "[1]"},
                                 {"f32s", "tn_f32s ", "TN_FIELD_F32S", "[1]"},
                                 {"strings", "tn_strings ", "TN_FIELD_STRINGS", "[text]"},
                                 {"tensor", "const tn_tensor *", "TN_FIELD_TENSOR", ""},
                                 {"enum", "uint32_t ", "TN_FIELD_ENUM", ""}};

static const type_row *row_of(const new_field *field) {
    size_t i = 0;
    while (strcmp(types[i].name, field->type) != 0)
        i++;
    return &types[i];
}

uint32_t new_source_length(const new_field *field) {
    const long length = strcmp(field->type, "enum") == 0 ? 0 : strtol(field->choices, NULL, 10);
    return length > 1 && length <= 16 ? (uint32_t)length : 1;
}

void new_source_sample(const new_field *field, char *text, size_t bytes) {
    const char *sample = row_of(field)->sample;
    if (strcmp(field->type, "enum") == 0) {
        snprintf(text, bytes, "%.*s", (int)strcspn(field->choices, "|="), field->choices);
    } else if (sample[0] == '[') {
        size_t at = 0;
        for (uint32_t i = 0; i < new_source_length(field); i++)
            at += (size_t)snprintf(text + at, bytes - at, "%c%.*s", i == 0 ? '[' : ',',
                                   (int)strlen(sample) - 2, sample + 1);
        snprintf(text + at, bytes - at, "]");
    } else {
        snprintf(text, bytes, "%s", sample);
    }
}

static void write_field(const new_layer *layer, const new_field *field, FILE *file) {
    const bool is_enum = strcmp(field->type, "enum") == 0;
    const bool has_length = field->choices[0] && !is_enum;
    fprintf(file, "    %s(%s_params, %s, %s, %s, ",
            is_enum      ? "TN_FIELD_CHOICE"
            : has_length ? "TN_FIELD_LIST"
                         : "TN_FIELD",
            layer->name, field->name, row_of(field)->constant,
            field->is_required ? "TN_REQUIRED" : "TN_OPTIONAL");
    if (field->fallback[0])
        fprintf(file, "\"%s\", ", field->fallback);
    else
        fprintf(file, "NULL, ");
    if (is_enum) fprintf(file, "\"%s\", ", field->choices);
    if (has_length) fprintf(file, "%s, %s, 1, 1e9, ", field->choices, field->choices);
    fprintf(file, "\"(what it means, its unit and range)\"),\n");
}

static void write_params(const new_layer *layer, FILE *file) {
    if (layer->field_count == 0) return;
    fprintf(file,
            "typedef struct %s_params {\n    uint64_t present; /* bit i: field i was given */\n",
            layer->name);
    for (uint32_t i = 0; i < layer->field_count; i++)
        fprintf(file, "    %s%s;\n", row_of(&layer->fields[i])->c_type, layer->fields[i].name);
    fprintf(file, "} %s_params;\n\nstatic const tn_field fields[] = {\n", layer->name);
    for (uint32_t i = 0; i < layer->field_count; i++)
        write_field(layer, &layer->fields[i], file);
    fprintf(file, "};\n");
}

static void write_input_ports(const new_layer *layer, FILE *file) {
    const bool is_resize = strcmp(layer->kind->name, "resize") == 0;
    for (uint32_t i = 0; i < layer->input_count; i++) {
        if (i > 0) fprintf(file, ", ");
        if (is_resize && i == 1)
            fprintf(file,
                    "TN_PORT(\"%s\", \"any\", TN_PORT_SHAPE_ONLY, \"its last two extents are the "
                    "output's\")",
                    layer->inputs[i]);
        else
            fprintf(file, "TN_PORT(\"%s\", \"%s\", 0, \"(its shape)\")", layer->inputs[i],
                    i == 0 ? "T:f32|f64" : "T");
    }
}

static void write_output_ports(const new_layer *layer, FILE *file) {
    const bool is_sized = strcmp(layer->kind->name, "sized-by-run") == 0;
    for (uint32_t i = 0; i < layer->output_count; i++)
        fprintf(file, "%sTN_PORT(\"%s\", \"T\", %s, \"(its shape)\")", i > 0 ? ", " : "",
                layer->outputs[i],
                is_sized ? "TN_PORT_SIZED_BY_RUN"
                : i > 0  ? "TN_PORT_OPTIONAL"
                         : "0");
}

static void write_case_fields(const new_layer *layer, FILE *file) {
    char sample[128];
    for (uint32_t i = 0; i < layer->field_count; i++) {
        if (!layer->fields[i].is_required) continue;
        new_source_sample(&layer->fields[i], sample, sizeof(sample));
        fprintf(file, "%s=%s ", layer->fields[i].name, sample);
    }
}

static void write_case_inputs(const new_layer *layer, const char *tensor, FILE *file) {
    for (uint32_t i = 0; i < layer->input_count; i++)
        fprintf(file, "%s%s=%s", i > 0 ? " " : "", layer->inputs[i], tensor);
}

/* One sum over the inputs: "x[0] + x[1]", "a[i] + b[i]". */
static void write_sum(const new_layer *layer, bool by_name, FILE *file) {
    for (uint32_t i = 0; i < layer->input_count; i++)
        if (by_name)
            fprintf(file, "%s%s[i]", i > 0 ? " + " : "", layer->inputs[i]);
        else
            fprintf(file, "%sx[%u]", i > 0 ? " + " : "", i);
}

static void write_pointers(const new_layer *layer, FILE *file) {
    for (uint32_t i = 0; i < layer->input_count; i++)
        fprintf(file, "    const float *%s = (const float *)call->inputs[%u]->data;\n",
                layer->inputs[i], i);
    fprintf(file, "    float *%s = (float *)call->outputs[0]->data;\n", layer->outputs[0]);
}

static void write_cuda_arguments(const new_layer *layer, FILE *file) {
    for (uint32_t i = 0; i < layer->input_count; i++)
        fprintf(file, "const float *%s, ", layer->inputs[i]);
    fprintf(file, "float *%s", layer->outputs[0]);
}

static void write_cuda_values(const new_layer *layer, FILE *file) {
    for (uint32_t i = 0; i < layer->input_count; i++)
        fprintf(file, "(const float *)call->inputs[%u]->data, ", i);
    fprintf(file, "(float *)call->outputs[0]->data");
}

static void write_combination(const new_layer *layer, FILE *file) {
    for (uint32_t i = 0; i < layer->input_count; i++)
        fprintf(file, "%sf32", i > 0 ? ", " : "");
    fprintf(file, " -> f32");
}

static void write_tables(const new_layer *layer, FILE *file) {
    fprintf(file, "static const tn_operator *const operators[] = {&%s};\n", layer->name);
    if (layer->has_cuda)
        fprintf(file,
                "#ifdef WITH_CUDA\nextern const tn_kernel %s_cuda; /* %s.cu */\n"
                "static const tn_kernel *const kernels[] = {&%s_cpu, &%s_cuda};\n#else\n",
                layer->name, layer->name, layer->name, layer->name);
    fprintf(file, "static const tn_kernel *const kernels[] = {&%s_cpu};\n", layer->name);
    if (layer->has_cuda) fprintf(file, "#endif\n");
    fprintf(file, "TN_LIBRARY(\"%s\", \"1.0\", operators, kernels)\n", layer->name);
}

static void write_cuda(const new_layer *layer, FILE *file) {
    if (!layer->has_cuda) return;
    fprintf(file,
            "include(CheckLanguage)\ncheck_language(CUDA)\nif(CMAKE_CUDA_COMPILER)\n"
            "    enable_language(CUDA)\n    target_sources(%s PRIVATE %s.cu)\n"
            "    target_compile_definitions(%s PRIVATE WITH_CUDA)\n"
            "    set_target_properties(%s PROPERTIES CUDA_ARCHITECTURES \"80;90\" "
            "CUDA_VISIBILITY_PRESET hidden)\n",
            layer->name, layer->name, layer->name, layer->name);
    if (layer->has_kit)
        fprintf(file, "    target_link_libraries(%s PRIVATE tenon::kit_cuda)\n", layer->name);
    fprintf(file, "endif()\n");
}

/* Placeholders that are one text. */
static bool write_name(const new_layer *layer, const char *placeholder, FILE *file) {
    if (strcmp(placeholder, "name") == 0)
        fputs(layer->name, file);
    else if (strcmp(placeholder, "Name") == 0)
        fputs(layer->operator_name, file);
    else if (strcmp(placeholder, "domain") == 0)
        fputs(layer->domain, file);
    else if (strcmp(placeholder, "x") == 0)
        fputs(layer->inputs[0], file);
    else if (strcmp(placeholder, "size") == 0)
        fputs(layer->inputs[1], file);
    else if (strcmp(placeholder, "y") == 0)
        fputs(layer->outputs[0], file);
    else if (strcmp(placeholder, "input_count") == 0)
        fprintf(file, "%u", layer->input_count);
    else if (strcmp(placeholder, "output_count") == 0)
        fprintf(file, "%u", layer->output_count);
    else if (strcmp(placeholder, "package") == 0)
        fputs(layer->has_kit ? "tenon::kit" : "tenon::plugin", file);
    else if (strcmp(placeholder, "params_type") == 0)
        fprintf(file, layer->field_count ? "%s_params" : "void", layer->name);
    else if (strcmp(placeholder, "fields_macro") == 0)
        fprintf(file, layer->field_count ? "TN_FIELDS(%s_params, fields)" : "TN_NO_FIELDS",
                layer->name);
    else
        return false;
    return true;
}

bool new_source_write(const new_layer *layer, const char *placeholder, FILE *file) {
    static const struct {
        const char *name;
        void (*write)(const new_layer *layer, FILE *file);
    } writers[] = {{"params", write_params},
                   {"input_ports", write_input_ports},
                   {"output_ports", write_output_ports},
                   {"case_fields", write_case_fields},
                   {"kernel_pointers", write_pointers},
                   {"combination", write_combination},
                   {"tables", write_tables},
                   {"cuda", write_cuda},
                   {"cuda_arguments", write_cuda_arguments},
                   {"cuda_values", write_cuda_values}};
    if (write_name(layer, placeholder, file) || new_expression_write(layer, placeholder, file) ||
        new_ports_write(layer, placeholder, file))
        return true;
    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
        if (strcmp(placeholder, writers[i].name) != 0) continue;
        writers[i].write(layer, file);
        return true;
    }
    const bool by_name = strcmp(placeholder, "kernel_value") == 0;
    if (by_name || strcmp(placeholder, "meaning") == 0)
        write_sum(layer, by_name, file);
    else if (strncmp(placeholder, "case_inputs:", 12) == 0)
        write_case_inputs(layer, placeholder + 12, file);
    else
        return false;
    return true;
}
