/* SPDX-License-Identifier: Apache-2.0 */
/* tenon plugin list: libraries, operators and kernels, as lines or as one JSON document. */
#include "plugin_command.h"

#include "cli/cli.h"
#include "text/json_print.h"

static bool print_library(void *user, const tn_library_info *library) {
    (void)user;
    printf("%-20s %-10s %4llu operators %4llu kernels  %016llx  %s%s%s\n", library->name,
           library->version, (unsigned long long)library->operator_count,
           (unsigned long long)library->kernel_count, (unsigned long long)library->hash,
           library->path[0] ? library->path : "(linked in)", library->domain[0] ? "@" : "",
           library->domain);
    return true;
}

static bool print_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    (void)user;
    printf("%s%s%s version %u (%s)\n", op->domain, op->domain[0] ? "::" : "", op->name,
           op->since_version, library->name);
    return true;
}

/* Begins an item of the list whose number of items so far is *user. */
static void begin_item(void *user) {
    size_t *count = user;
    printf("%s\n    {", (*count)++ ? "," : "");
}

static bool print_library_json(void *user, const tn_library_info *library) {
    begin_item(user);
    json_print_member("", "name", library->name);
    json_print_member(", ", "version", library->version);
    json_print_member(", ", "path", library->path);
    json_print_member(", ", "domain", library->domain);
    printf(", \"hash\": \"%016llx\", \"operators\": %llu, \"kernels\": %llu, \"rewrites\": %llu}",
           (unsigned long long)library->hash, (unsigned long long)library->operator_count,
           (unsigned long long)library->kernel_count, (unsigned long long)library->rewrite_count);
    return true;
}

/* The strings at `offset` in each of `count` structs of `bytes`. */
static void print_names(const char *name, uint32_t count, uint32_t bytes, const void *items,
                        size_t offset) {
    printf(", \"%s\": [", name);
    for (uint32_t i = 0; i < count; i++) {
        const char *entry = (const char *)items + (size_t)i * bytes + offset;
        printf("%s", i ? ", " : "");
        json_print_string(*(const char *const *)(const void *)entry);
    }
    printf("]");
}

static bool print_operator_json(void *user, const tn_operator *op, const tn_library_info *library) {
    begin_item(user);
    json_print_member("", "domain", op->domain);
    json_print_member(", ", "name", op->name);
    printf(", \"version\": %u", op->since_version);
    json_print_member(", ", "library", library->name);
    json_print_member(", ", "doc", op->doc);
    print_names("inputs", op->input_count, op->port_size, op->inputs, offsetof(tn_port, name));
    print_names("outputs", op->output_count, op->port_size, op->outputs, offsetof(tn_port, name));
    print_names("fields", op->field_count, op->field_size, op->fields, offsetof(tn_field, name));
    printf(", \"cases\": %llu}", (unsigned long long)op->case_count);
    return true;
}

static bool print_kernel_json(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    begin_item(user);
    json_print_member("", "domain", kernel->domain);
    json_print_member(", ", "operator", kernel->op);
    json_print_member(", ", "name", kernel->name);
    json_print_member(", ", "device", kernel->device);
    json_print_member(", ", "library", library->name);
    json_print_member(", ", "features", kernel->requires_features);
    json_print_member(", ", "doc", kernel->doc);
    printf("}");
    return true;
}

static int list_json(tn_runtime *runtime) {
    size_t libraries = 0, operators = 0, kernels = 0;
    printf("{\n  \"libraries\": [");
    tn_runtime_visit_libraries(runtime, print_library_json, &libraries);
    printf("\n  ],\n  \"operators\": [");
    tn_runtime_visit_operators(runtime, print_operator_json, &operators);
    printf("\n  ],\n  \"kernels\": [");
    tn_runtime_visit_kernels(runtime, print_kernel_json, &kernels);
    printf("\n  ]\n}\n");
    return EXIT_DONE;
}

int plugin_list(tn_runtime *runtime, const cli_options *options) {
    if (options->missing) return plugin_missing(runtime, options);
    if (options->json) return list_json(runtime);
    tn_runtime_visit_libraries(runtime, print_library, NULL);
    printf("\n");
    tn_runtime_visit_operators(runtime, print_operator, NULL);
    return EXIT_DONE;
}
