/* SPDX-License-Identifier: Apache-2.0 */
/* tenon inspect: what is in a plan, or a model as it would be built, without running it; inspecting
 * a plan loads no code. */
#include "cli/importers.h"
#include "inspect_text.h"
#include "report/report_page.h"
#include "session/model.h"
#include "session/option_use.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: tenon inspect MODEL|PLAN [--json] [options]\n"
    "  a plan: inputs, outputs, libraries, operators, and a line a step: node, operators, kernel, "
    "what it reads and writes; no code is loaded\n"
    "  a model: the same of the plan that it would become (needs its plugins and weights)\n"
    "      --json          all there is, with constants and fields of nodes, as one JSON document\n"
    "      --html FILE     the same as a page: a picture of the network, times, memory\n"
    "      --dot FILE      the nodes and tensors for Graphviz\n"
    "  -p, --plugin LIB.so  -P, --plugin-dir DIR  -s, --shape NAME=...  -t, --threads N   of a "
    "model;\n"
    "      --mean [NAME=]FILE.binaryproto  --scale F   the input's mean image\n"
    "      --isolate, --isolate-limit MS   the model is read in a process of its own, which may "
    "take MS (default 60000)\n"
    "  -v, --verbose   log all\n"
    "example: tenon inspect net.plan --json\n";

/* ----------------------------------------------------------------------------------------------
 * graphviz */

/* The texts of an array that follows `key` in a line of the document, one call of `visit` each. */
static void each_text(const char *line, size_t length, const char *key,
                      void (*visit)(void *user, const char *text, size_t bytes), void *user) {
    const char *end = line + length, *at = strstr(line, key);
    if (!at || at >= end) return;
    at += strlen(key);
    while (at < end && *at != ']') {
        const char *quote = memchr(at, '"', (size_t)(end - at)),
                   *close = memchr(at, ']', (size_t)(end - at));
        if (!quote || (close && close < quote)) return;
        const char *stop = quote + 1;
        while (stop < end && (*stop != '"' || stop[-1] == '\\'))
            stop++;
        visit(user, quote + 1, (size_t)(stop - quote - 1));
        at = stop + 1;
    }
}

typedef struct dot_node {
    FILE *file;
    size_t index;
} dot_node;

static void edge_in(void *user, const char *text, size_t bytes) {
    const dot_node *node = user;
    fprintf(node->file, "  \"t:%.*s\" -> n%zu;\n", (int)bytes, text, node->index);
}
static void edge_out(void *user, const char *text, size_t bytes) {
    const dot_node *node = user;
    fprintf(node->file, "  n%zu -> \"t:%.*s\";\n  \"t:%.*s\" [label=\"%.*s\", shape=plaintext];\n",
            node->index, (int)bytes, text, (int)bytes, text, (int)bytes, text);
}

/* The operator's name of a node's line. */
static void operator_of(const char *line, char *name, size_t bytes) {
    const char *at = strstr(line, "\"op\": \"");
    snprintf(name, bytes, "%.*s", at ? (int)strcspn(at + 7, "\"") : 1, at ? at + 7 : "?");
}

/* The nodes and tensors of the document, as Graphviz takes them. */
static int write_dot(const char *path, const char *json) {
    char *text = NULL;
    size_t bytes = 0;
    dot_node node = {.file = open_memstream(&text, &bytes)};
    if (!node.file) return cli_fault("no memory for the graph");
    fprintf(node.file, "digraph tenon {\n  node [shape=box, fontname=\"sans-serif\"];\n");
    const char *line = strstr(json, "\"nodes\": [");
    for (line = line ? strchr(line, '\n') : NULL; line && strncmp(line + 1, "    {", 5) == 0;
         node.index++) {
        const size_t length = strcspn(++line, "\n");
        char name[128];
        operator_of(line, name, sizeof(name));
        fprintf(node.file, "  n%zu [label=\"%s\", style=filled, fillcolor=\"#eef3f9\"];\n",
                node.index, name);
        each_text(line, length, "\"inputs\": [", edge_in, &node);
        each_text(line, length, "\"outputs\": [", edge_out, &node);
        line = strchr(line, '\n');
    }
    fprintf(node.file, "}\n");
    fclose(node.file);
    const bool is_written = text && whole_file_write(path, NULL, 0, text, bytes);
    free(text);
    return is_written ? EXIT_DONE : EXIT_FAULT;
}

static int show(const cli_options *options, const char *name, const char *json) {
    if (options->dot) return write_dot(options->dot, json);
    if (options->html)
        return report_page_write(options->html, name, "plan", json) ? EXIT_DONE : EXIT_FAULT;
    if (options->json)
        fputs(json, stdout);
    else
        return inspect_text_print(options->arguments[0], json);
    return EXIT_DONE;
}

/* The document of a plan with zeros for the weights that are not there. */
static int show_without_weights(const cli_options *options, const char *name, const char *json) {
    static const char note[] = "{\n  \"weights\": \"not in the file\",";
    char *marked = malloc(strlen(json) + sizeof(note));
    if (!marked) return cli_fault("no memory");
    strcpy(marked, note);
    strcat(marked, json + 1);
    const int code = show(options, name, marked);
    free(marked);
    return code;
}

static int inspect_plan(tn_runtime *runtime, const cli_options *options, const char *path) {
    char *json;
    if (tn_plan_inspect(runtime, path, &json) != TN_OK) return cli_fail(path);
    const bool lacks_weights = options->lacks_weights && *options->lacks_weights;
    const int code =
        lacks_weights ? show_without_weights(options, path, json) : show(options, path, json);
    tn_text_free(runtime, json);
    return code;
}

/* A model is built into a plan that is forgotten again. */
static int inspect_model(tn_runtime *runtime, const cli_options *options, const char *path) {
    int code = EXIT_FAULT;
    char name[] = "/tmp/tenon-inspect-XXXXXX";
    tn_plan *plan = session_build(runtime, path, options, &code);
    if (!plan) return code;
    const int descriptor = mkstemp(name);
    if (descriptor < 0) {
        code = cli_fault("cannot create a temporary file");
    } else {
        close(descriptor);
        code = tn_plan_save(plan, name) == TN_OK ? inspect_plan(runtime, options, name)
                                                 : cli_fail(name);
        unlink(name);
    }
    tn_plan_destroy(plan);
    return code;
}

int command_inspect(int argc, char **argv) {
    cli_options options;
    bool lacks_weights = false;
    int code = cli_options_read(argc, argv, "pPwstjmkHDIJv", &options);
    options.no_timing = true;
    options.lacks_weights = &lacks_weights;
    if (code == EXIT_DONE && options.help) {
        fputs(help, stdout);
        importers_print_options();
    } else if (code == EXIT_DONE && options.argument_count != 1) {
        code = cli_usage("inspect takes one model or plan (tenon inspect -h)");
    } else if (code == EXIT_DONE && (code = option_use_check(&options)) == EXIT_DONE) {
        const char *path = options.arguments[0];
        tn_runtime *runtime = cli_runtime(&options, &code);
        if (runtime)
            code = !model_is_named(path) ? inspect_plan(runtime, &options, path)
                                         : inspect_model(runtime, &options, path);
        tn_runtime_release(runtime);
    }
    cli_options_free(&options);
    return code;
}
