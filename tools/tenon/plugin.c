/* SPDX-License-Identifier: Apache-2.0 */
/* tenon plugin: list and show what is registered; its other verbs have files of their own. */
#include "plugin_command.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tenon plugin list [--json] [--plugin LIB.so ...]  libraries, operators and kernels\n"
    "       tenon plugin show [DOMAIN::]NAME [--plugin LIB.so ...]   one operator: fields, ports, "
    "versions, kernels\n"
    "       tenon plugin new NAME ...      the project of a layer (tenon plugin new -h)\n"
    "       tenon plugin build DIR ...     compiles it (tenon plugin build -h)\n"
    "       tenon plugin check LIB.so ...  checks it (tenon plugin check -h)\n"
    "       tenon plugin bench LIB.so ...  times its kernels (tenon plugin bench -h)\n"
    "example: tenon plugin show Conv\n";

typedef struct wanted {
    const char *domain, *name;
    bool any_domain;
    size_t found;
} wanted;

static const char *field_type(uint32_t type) {
    static const char *const names[] = {"?",      "bool",  "i32",     "i64",   "f32",    "f64",
                                        "string", "bytes", "type",    "enum",  "tensor", "i64s",
                                        "f32s",   "f64s",  "strings", "graph", "any"};
    return type < sizeof(names) / sizeof(names[0]) ? names[type] : "?";
}

static void print_ports(const char *title, const tn_port *ports, uint32_t count) {
    printf("  %s\n", title);
    for (uint32_t i = 0; i < count; i++)
        printf("    %-20s %-24s %s%s%s%s%s%s%s\n", ports[i].name, ports[i].types,
               ports[i].flags & TN_PORT_OPTIONAL ? "optional; " : "",
               ports[i].flags & TN_PORT_VARIADIC ? "variadic; " : "",
               ports[i].flags & TN_PORT_SHAPE_ONLY ? "shape only; " : "",
               ports[i].flags & TN_PORT_VALUE_NEEDED ? "value needed; " : "",
               ports[i].flags & TN_PORT_SIZED_BY_RUN ? "sized by run; " : "",
               ports[i].flags & TN_PORT_VIEW ? "view; " : "", ports[i].doc ? ports[i].doc : "");
}

static bool matches(const wanted *w, const char *domain, const char *name) {
    return strcmp(w->name, name) == 0 && (w->any_domain || strcmp(w->domain, domain) == 0);
}

static bool show_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    wanted *w = user;
    if (!matches(w, op->domain, op->name)) return true;
    w->found++;
    printf("%s%s%s version %u, library %s: %s\n", op->domain, op->domain[0] ? "::" : "", op->name,
           op->since_version, library->name, op->doc ? op->doc : "");
    print_ports("inputs", op->inputs, op->input_count);
    print_ports("outputs", op->outputs, op->output_count);
    if (op->field_count) printf("  fields\n");
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = &op->fields[i];
        printf("    %-20s %-8s %s%s%s%s%s%s%s\n", field->name, field_type(field->type),
               field->flags & TN_REQUIRED ? "required; " : "", field->fallback ? "default " : "",
               field->fallback ? field->fallback : "", field->fallback ? "; " : "",
               field->choices ? field->choices : "", field->choices ? "; " : "",
               field->doc ? field->doc : "");
    }
    return true;
}

static bool show_kernel(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    const wanted *w = user;
    if (!matches(w, kernel->domain, kernel->op)) return true;
    printf("  kernel %s on %s, library %s%s%s: %s\n", kernel->name, kernel->device, library->name,
           kernel->requires_features ? ", needs " : "",
           kernel->requires_features ? kernel->requires_features : "",
           kernel->doc ? kernel->doc : "");
    for (uint32_t i = 0; i < kernel->combination_count; i++)
        printf("    %s\n", kernel->combinations[i]);
    return true;
}

/* The registry's own words for an operator that is not there, which name the nearest. */
static int fail_missing(tn_runtime *runtime, const char *domain, const char *name) {
    const tn_node_description node = {.size = sizeof(node), .domain = domain, .op = name};
    tn_graph *graph = NULL;
    if (tn_graph_create(runtime, "show", &graph) == TN_OK) tn_graph_add_node(graph, &node, NULL);
    const int code = cli_fail("plugin show");
    tn_graph_destroy(graph);
    return code;
}

static int show(tn_runtime *runtime, const char *name) {
    const char *colons = strstr(name, "::");
    char *domain = colons ? strndup(name, (size_t)(colons - name)) : NULL;
    wanted w = {
        .domain = domain ? domain : "", .name = colons ? colons + 2 : name, .any_domain = !colons};
    tn_runtime_visit_operators(runtime, show_operator, &w);
    if (w.found) tn_runtime_visit_kernels(runtime, show_kernel, &w);
    const int code = w.found ? EXIT_DONE : fail_missing(runtime, w.domain, w.name);
    free(domain);
    return code;
}

int command_plugin(int argc, char **argv) {
    cli_options options;
    if (argc > 1 && strcmp(argv[1], "new") == 0) return plugin_new(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "build") == 0) return plugin_build(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "check") == 0) return plugin_check(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "bench") == 0) return plugin_bench(argc - 1, argv + 1);
    int code = cli_options_read(argc, argv, "pPvj", &options);
    if (code == EXIT_DONE && options.help) {
        fputs(help, stdout);
    } else if (code == EXIT_DONE && options.argument_count < 1) {
        code = cli_usage("plugin takes list or show (tenon plugin -h)");
    } else if (code == EXIT_DONE) {
        const char *verb = options.arguments[0];
        const bool is_list = strcmp(verb, "list") == 0 && options.argument_count == 1;
        const bool is_show = strcmp(verb, "show") == 0 && options.argument_count == 2;
        tn_runtime *runtime = NULL;
        if (code == EXIT_DONE && !is_list && !is_show)
            code = cli_usage("plugin takes `list`, or `show NAME` (tenon plugin -h)");
        if (code == EXIT_DONE && (runtime = cli_runtime(&options, &code)) != NULL)
            code =
                is_list ? plugin_list(runtime, options.json) : show(runtime, options.arguments[1]);
        tn_runtime_release(runtime);
    }
    cli_options_free(&options);
    return code;
}
