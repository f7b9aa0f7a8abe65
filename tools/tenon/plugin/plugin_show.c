/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon plugin show: an operator, or all of a library, as text or as Markdown; as JSON in
 * plugin_show_json.c.
 */
#include "plugin_show.h"
#include "cli/cli.h"
#include "plugin_command.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE_BYTES = 4000 };

typedef struct printer {
    const show_tables *tables;
    bool is_markdown;
} printer;

/* ----------------------------------------------------------------------------------------------
 * rows: columns of text, or a table of Markdown */

/* A cell; in Markdown '|' is written so that it does not end it. */
static void print_cell(const printer *w, int width, const char *text) {
    if (!w->is_markdown) {
        printf("%-*s ", width, text);
        return;
    }
    printf("| ");
    for (; *text; text++)
        printf(*text == '|' ? "\\%c" : "%c", *text);
    putchar(' ');
}

static void end_row(const printer *w) {
    printf(w->is_markdown ? "|\n" : "\n");
}

static void begin_table(const printer *w, const char *title, const char *const *columns,
                        size_t count) {
    if (!w->is_markdown) {
        printf("  %s\n", title);
        return;
    }
    printf("\n");
    for (size_t i = 0; i < count; i++)
        printf("| %s ", columns[i]);
    printf("|\n");
    for (size_t i = 0; i < count; i++)
        printf("|-");
    printf("|\n");
}

static void begin_line(const printer *w) {
    if (!w->is_markdown) printf("    ");
}

/* "traits: ..." where there are any. */
static void print_words(const printer *w, const char *indent, const char *title,
                        const char *words) {
    if (!words || !words[0]) return;
    if (w->is_markdown)
        printf("- %s: %s\n", title, words);
    else
        printf("%s%-10s %s\n", indent, title, words);
}

/* ----------------------------------------------------------------------------------------------
 * operators */

static void print_ports(const printer *w, const char *title, const tn_port *ports, uint32_t count) {
    const char *const columns[] = {title, "types", "", ""};
    char words[SHOW_WORDS];
    if (count == 0) return;
    begin_table(w, title, columns, 4);
    for (uint32_t i = 0; i < count; i++) {
        const char *flags = show_port_flags(&ports[i], words), *doc = ports[i].doc;
        begin_line(w);
        print_cell(w, 20, ports[i].name);
        print_cell(w, 24, ports[i].types);
        if (w->is_markdown) {
            print_cell(w, 0, flags);
            print_cell(w, 0, doc ? doc : "");
        } else {
            printf("%s%s%s", flags, flags[0] && doc ? "; " : "", doc ? doc : "");
        }
        end_row(w);
    }
}

static void print_field(const printer *w, const tn_field *field) {
    char words[SHOW_WORDS], range[SHOW_WORDS];
    const char *bounds = show_field_range(field, words);
    snprintf(range, sizeof(range), "%s%s%s", bounds, bounds[0] && field->choices ? "; " : "",
             field->choices ? field->choices : "");
    begin_line(w);
    print_cell(w, 20, field->name);
    print_cell(w, 8, show_field_type(field->type));
    print_cell(w, 10,
               field->flags & TN_REQUIRED ? "required"
               : field->fallback          ? field->fallback
                                          : "-");
    print_cell(w, 16, range);
    print_cell(w, 0, field->doc ? field->doc : "");
    end_row(w);
}

static void print_fields(const printer *w, const tn_operator *op) {
    static const char *const columns[] = {"field", "type", "default", "range", ""};
    if (op->field_count == 0) return;
    begin_table(w, "fields (name, type, default, range)", columns, 5);
    for (uint32_t i = 0; i < op->field_count; i++)
        print_field(w, &op->fields[i]);
}

static void print_traits(const printer *w, const tn_operator *op) {
    char words[SHOW_WORDS];
    if (w->is_markdown) printf("\n");
    print_words(w, "  ", "traits", show_operator_traits(op->traits, words));
    snprintf(words, sizeof(words), "%s%s%s", op->facet ? "by its facets" : "",
             op->facet && op->row ? ", " : "", op->row ? "as a row function" : "");
    print_words(w, "  ", "fused", words);
    print_words(w, "  ", "expression", op->expression);
}

static void print_cases(const printer *w, const tn_operator *op) {
    if (op->case_count == 0) return;
    printf(w->is_markdown ? "\nCases:\n\n" : "  cases\n");
    for (uint64_t i = 0; i < op->case_count; i++)
        printf(w->is_markdown ? "%llu. `%s`\n" : "    %3llu  %s\n", (unsigned long long)i + 1,
               op->cases[i]);
}

/* ----------------------------------------------------------------------------------------------
 * kernels */

/* What the kernel has of its own, and why it is not offered for this operator (null: none). */
static void print_own(const printer *w, const tn_kernel *kernel, const tn_operator *op) {
    char words[SHOW_WORDS];
    print_words(w, "    ", "reads", show_kernel_fields(kernel, words));
    print_words(w, "    ", "plan", kernel->save ? "keeps its state" : NULL);
    if (op && tn_kernel_fits(kernel, op) != TN_OK)
        print_words(w, "    ", "not offered", tn_last_error()->message);
}

static void print_kernel(const printer *w, const show_kernel *entry, const tn_operator *op) {
    const tn_kernel *kernel = entry->kernel;
    char words[SHOW_WORDS];
    printf(w->is_markdown ? "\n### Kernel %s on %s, library %s\n\n"
                          : "  kernel %s on %s, library %s\n",
           kernel->name, kernel->device, entry->library);
    if (!op) print_words(w, "    ", "operator", kernel->op);
    print_words(w, "    ", "doc", kernel->doc);
    print_words(w, "    ", "needs", kernel->requires_features);
    print_words(w, "    ", "traits", show_kernel_traits(kernel->traits, words));
    print_words(w, "    ", "absorbs", kernel->absorbs);
    print_own(w, kernel, op);
    if (kernel->combination)
        print_words(w, "    ", "takes", "what it answers for each node");
    else if (kernel->combination_count == 0)
        print_words(w, "    ", "takes", "all types of the operator, linear");
    for (uint32_t i = 0; i < kernel->combination_count; i++)
        if (w->is_markdown)
            printf("- `%s`\n", kernel->combinations[i]);
        else
            printf("    %s\n", kernel->combinations[i]);
}

static void print_operator(const printer *w, const show_operator *entry) {
    const tn_operator *op = entry->op;
    char *signature = calloc(1, SIGNATURE_BYTES);
    printf(w->is_markdown ? "## %s%s%s version %u\n\nLibrary %s%s%s, state version %u. %s\n\n"
                          : "%s%s%s version %u, library %s%s%s, state version %u: %s\n",
           op->domain, op->domain[0] ? "::" : "", op->name, op->since_version, entry->library,
           entry->version[0] ? " " : "", entry->version, op->state_version, op->doc ? op->doc : "");
    if (signature)
        printf(w->is_markdown ? "    %s\n" : "  %s\n",
               show_signature(op, signature, SIGNATURE_BYTES));
    free(signature);
    print_ports(w, "inputs", op->inputs, op->input_count);
    print_ports(w, "outputs", op->outputs, op->output_count);
    print_fields(w, op);
    print_traits(w, op);
    for (size_t i = 0; i < w->tables->kernel_count; i++)
        if (show_kernel_serves(w->tables->kernels[i].kernel, op))
            print_kernel(w, &w->tables->kernels[i], op);
    print_cases(w, op);
}

/* Whether the kernel is the library's, and its operator is another's. */
static bool is_foreign(const show_tables *tables, const show_kernel *kernel) {
    for (size_t i = 0; i < tables->operator_count; i++)
        if (show_tables_want(tables, &tables->operators[i]) &&
            show_kernel_serves(kernel->kernel, tables->operators[i].op))
            return false;
    return strcmp(kernel->library, tables->library) == 0;
}

static void print_rewrite(const printer *w, const show_rewrite *entry) {
    const tn_rewrite *rewrite = entry->rewrite;
    printf(w->is_markdown ? "\n### Rewrite %s, library %s\n\n" : "  rewrite %s, library %s\n",
           rewrite->name, entry->library);
    print_words(w, "    ", "doc", rewrite->doc);
    print_words(w, "    ", "pattern", rewrite->pattern);
    print_words(w, "    ", "becomes", rewrite->replacement);
    print_words(w, "    ", "where", rewrite->guard ? "its guard accepts" : NULL);
}

size_t show_text(const show_tables *tables, bool is_markdown) {
    const printer w = {.tables = tables, .is_markdown = is_markdown};
    size_t count = 0;
    for (size_t i = 0; i < tables->operator_count; i++) {
        if (!show_tables_want(tables, &tables->operators[i])) continue;
        if (count++ > 0) printf("\n");
        print_operator(&w, &tables->operators[i]);
    }
    for (size_t i = 0; i < tables->kernel_count && !tables->name; i++) {
        if (!is_foreign(tables, &tables->kernels[i])) continue;
        print_kernel(&w, &tables->kernels[i], NULL);
        count++;
    }
    const bool is_shown = count > 0 || !tables->name;
    for (size_t i = 0; i < tables->rewrite_count && is_shown; i++) {
        if (!show_tables_want_rewrite(tables, &tables->rewrites[i])) continue;
        print_rewrite(&w, &tables->rewrites[i]);
        count++;
    }
    return count;
}

/* ----------------------------------------------------------------------------------------------
 * the command */

/* The registry's own words for an operator that is not there, which name the nearest. */
static int fail_missing(tn_runtime *runtime, const char *domain, const char *name) {
    const tn_node_description node = {.size = sizeof(node), .domain = domain, .op = name};
    tn_graph *graph = NULL;
    if (tn_graph_create(runtime, "show", &graph) == TN_OK) tn_graph_add_node(graph, &node, NULL);
    const int code = cli_fail("plugin show");
    tn_graph_destroy(graph);
    return code;
}

typedef struct library_at {
    char path[PATH_MAX], name[256];
} library_at;

/* The library of this file or, where its content was loaded from elsewhere, the last one. */
static bool visit_library(void *user, const tn_library_info *library) {
    library_at *at = user;
    const bool is_this = strcmp(library->path, at->path) == 0;
    if (library->path[0]) snprintf(at->name, sizeof(at->name), "%s", library->name);
    return !is_this;
}

static bool is_file_name(const char *text) {
    const size_t length = strlen(text);
    return strchr(text, '/') || (length > 3 && strcmp(text + length - 3, ".so") == 0);
}

/* Of a name or of a library, as `wanted` says. */
static int show_all(tn_runtime *runtime, const show_tables *wanted, const cli_options *options) {
    show_tables tables = *wanted;
    size_t count = 0;
    int code = EXIT_DONE;
    if (!show_tables_read(&tables, runtime))
        code = cli_fault("no memory for the list of operators");
    else
        count = options->json ? show_json(&tables) : show_text(&tables, options->markdown);
    show_tables_free(&tables);
    if (count > 0 || code != EXIT_DONE) return code;
    return wanted->name ? fail_missing(runtime, wanted->domain, wanted->name)
                        : cli_fault("library '%s' has neither operators nor kernels nor rewrites",
                                    wanted->library);
}

static int show_library(tn_runtime *runtime, const char *file, const cli_options *options) {
    library_at at = {{0}, {0}};
    if (tn_runtime_load_library(runtime, file) != TN_OK) return cli_fail("plugin show");
    if (!realpath(file, at.path)) at.path[0] = 0;
    tn_runtime_visit_libraries(runtime, visit_library, &at);
    return show_all(runtime, &(show_tables){.library = at.name}, options);
}

int plugin_show(tn_runtime *runtime, const char *name, const cli_options *options) {
    if (options->json && options->markdown)
        return cli_usage("plugin show: --json or --markdown, not both");
    if (is_file_name(name)) return show_library(runtime, name, options);
    cli_load_kernels(runtime);
    const char *colons = strstr(name, "::");
    char *domain = colons ? strndup(name, (size_t)(colons - name)) : NULL;
    if (colons && !domain) return cli_fault("no memory");
    const show_tables wanted = {.domain = domain ? domain : "",
                                .name = colons ? colons + 2 : name,
                                .is_any_domain = !colons};
    const int code = show_all(runtime, &wanted, options);
    free(domain);
    return code;
}
