/* SPDX-License-Identifier: Apache-2.0 */
/* Operators and kernels as one JSON document; see plugin_show.h. */
#include "plugin_show.h"
#include "text/json_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE_BYTES = 4000 };

/* A list of the words of a set, as they are joined in text. */
static void print_set(const char *name, const char *words) {
    printf(", \"%s\": [", name);
    for (const char *at = words; *at;) {
        const char *comma = strstr(at, ", ");
        const size_t length = comma ? (size_t)(comma - at) : strlen(at);
        printf("%s\"%.*s\"", at == words ? "" : ", ", (int)length, at);
        at += length + (comma ? 2 : 0);
    }
    printf("]");
}

static void print_texts(const char *name, uint64_t count, const char *const *texts) {
    printf(", \"%s\": [", name);
    for (uint64_t i = 0; i < count; i++) {
        printf("%s", i ? ", " : "");
        json_print_string(texts[i]);
    }
    printf("]");
}

static void print_ports(const char *name, const tn_port *ports, uint32_t count) {
    char words[SHOW_WORDS];
    printf(",\n     \"%s\": [", name);
    for (uint32_t i = 0; i < count; i++) {
        printf("%s\n      {", i ? "," : "");
        json_print_member("", "name", ports[i].name);
        json_print_member(", ", "types", ports[i].types);
        json_print_member(", ", "doc", ports[i].doc);
        print_set("flags", show_port_flags(&ports[i], words));
        printf("}");
    }
    printf("]");
}

static void print_field(const tn_field *field) {
    json_print_member("", "name", field->name);
    json_print_member(", ", "type", show_field_type(field->type));
    json_print_member(", ", "doc", field->doc);
    printf(", \"required\": %s", field->flags & TN_REQUIRED ? "true" : "false");
    if (field->fallback) json_print_member(", ", "default", field->fallback);
    if (field->choices) json_print_member(", ", "choices", field->choices);
    if (field->minimum != 0 || field->maximum != 0)
        printf(", \"minimum\": %.17g, \"maximum\": %.17g", field->minimum, field->maximum);
    if (field->minimum_count != 0 || field->maximum_count != 0)
        printf(", \"minimum_count\": %u, \"maximum_count\": %u", field->minimum_count,
               field->maximum_count);
}

static void print_field_list(uint32_t count, const tn_field *fields) {
    printf(",\n     \"fields\": [");
    for (uint32_t i = 0; i < count; i++) {
        printf("%s\n      {", i ? "," : "");
        print_field(&fields[i]);
        printf("}");
    }
    printf("]");
}

static void print_kernel(const show_kernel *entry, const tn_operator *op, bool is_first) {
    const tn_kernel *kernel = entry->kernel;
    char words[SHOW_WORDS];
    printf("%s\n      {", is_first ? "" : ",");
    json_print_member("", "name", kernel->name);
    json_print_member(", ", "domain", kernel->domain);
    json_print_member(", ", "operator", kernel->op);
    json_print_member(", ", "device", kernel->device);
    json_print_member(", ", "library", entry->library);
    json_print_member(", ", "doc", kernel->doc);
    json_print_member(", ", "features", kernel->requires_features);
    printf(", \"revision\": %u", kernel->revision);
    print_set("traits", show_kernel_traits(kernel->traits, words));
    if (kernel->absorbs) json_print_member(", ", "absorbs", kernel->absorbs);
    print_texts("combinations", kernel->combination_count, kernel->combinations);
    print_field_list(kernel->field_count, kernel->fields);
    printf(", \"asked_combinations\": %s, \"saves_state\": %s",
           kernel->combination ? "true" : "false", kernel->save ? "true" : "false");
    if (op && tn_kernel_fits(kernel, op) != TN_OK)
        json_print_member(", ", "not_offered", tn_last_error()->message);
    printf("}");
}

/* Those of an operator or, where it is null, of the library. */
static size_t print_kernels(const show_tables *tables, const tn_operator *op) {
    size_t count = 0;
    for (size_t i = 0; i < tables->kernel_count; i++) {
        const show_kernel *entry = &tables->kernels[i];
        if (op ? show_kernel_serves(entry->kernel, op)
               : strcmp(entry->library, tables->library) == 0)
            print_kernel(entry, op, count++ == 0);
    }
    return count;
}

static void print_operator(const show_tables *tables, const show_operator *entry, bool is_first) {
    const tn_operator *op = entry->op;
    char words[SHOW_WORDS], *signature = calloc(1, SIGNATURE_BYTES);
    printf("%s\n    {", is_first ? "" : ",");
    json_print_member("", "domain", op->domain);
    json_print_member(", ", "name", op->name);
    printf(", \"version\": %u, \"state_version\": %u", op->since_version, op->state_version);
    json_print_member(", ", "library", entry->library);
    json_print_member(", ", "doc", op->doc);
    if (signature)
        json_print_member(",\n     ", "signature", show_signature(op, signature, SIGNATURE_BYTES));
    free(signature);
    if (op->expression) json_print_member(", ", "expression", op->expression);
    print_set("traits", show_operator_traits(op->traits, words));
    printf(", \"facets\": %s, \"row\": %s", op->facet ? "true" : "false",
           op->row ? "true" : "false");
    print_ports("inputs", op->inputs, op->input_count);
    print_ports("outputs", op->outputs, op->output_count);
    print_field_list(op->field_count, op->fields);
    printf(",\n     \"kernels\": [");
    print_kernels(tables, op);
    printf("]");
    print_texts("cases", op->case_count, op->cases);
    printf("}");
}

static size_t print_rewrites(const show_tables *tables) {
    size_t count = 0;
    printf(",\n  \"rewrites\": [");
    for (size_t i = 0; i < tables->rewrite_count; i++) {
        const tn_rewrite *rewrite = tables->rewrites[i].rewrite;
        if (!show_tables_want_rewrite(tables, &tables->rewrites[i])) continue;
        printf("%s\n    {", count++ ? "," : "");
        json_print_member("", "name", rewrite->name);
        json_print_member(", ", "library", tables->rewrites[i].library);
        json_print_member(", ", "doc", rewrite->doc ? rewrite->doc : "");
        json_print_member(",\n     ", "pattern", rewrite->pattern);
        json_print_member(",\n     ", "replacement", rewrite->replacement);
        printf(", \"guard\": %s", rewrite->guard ? "true" : "false");
        print_texts("cases", rewrite->case_count, rewrite->cases);
        print_texts("near_misses", rewrite->near_miss_count, rewrite->near_misses);
        printf("}");
    }
    printf("\n  ]");
    return count;
}

size_t show_json(const show_tables *tables) {
    size_t count = 0;
    for (size_t i = 0; i < tables->operator_count && tables->name && count == 0; i++)
        count += show_tables_want(tables, &tables->operators[i]);
    if (tables->name && count == 0) return 0; /* the caller says so, on stderr */
    count = 0;
    printf("{\n  \"operators\": [");
    for (size_t i = 0; i < tables->operator_count; i++)
        if (show_tables_want(tables, &tables->operators[i]))
            print_operator(tables, &tables->operators[i], count++ == 0);
    printf("\n  ]");
    if (!tables->name) { /* all of the library's, also those of others' operators */
        printf(",\n  \"kernels\": [");
        count += print_kernels(tables, NULL);
        printf("\n  ]");
    }
    count += print_rewrites(tables);
    printf("\n}\n");
    return count;
}
