/* SPDX-License-Identifier: Apache-2.0 */
/* tenon inspect: what is in a plan, or a model as it would be built, without running it; inspecting
 * a plan loads no code. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tenon inspect MODEL.onnx|PLAN [--json] [options]\n"
    "  a plan: graph, kernels, formats, profiles, manifest, sizes; no code is loaded\n"
    "  a model: the same of the plan that it would become (needs its plugins: -p, --plugin LIB.so, "
    "-s, --shape ...)\n"
    "      --json          the whole as one JSON document\n"
    "      --html FILE     the document as a page\n"
    "example: tenon inspect net.plan --json\n";

static bool is_plan(const char *path) {
    const size_t length = strlen(path);
    return length < 5 || strcmp(path + length - 5, ".onnx") != 0;
}

/* JSON as lines that a person reads: one object of an array a line, quotes and braces left out. */
static void print_plain(const char *json) {
    int depth = 0;
    bool in_text = false;
    for (const char *at = json; *at; at++) {
        if (*at == '"' && (at == json || at[-1] != '\\')) {
            in_text = !in_text;
            continue;
        }
        if (!in_text && (*at == '{' || *at == '[')) {
            depth++;
            if (depth <= 3 && *at == '{' && depth > 1) printf("\n%*s", (depth - 2) * 2, "");
            continue;
        }
        if (!in_text && (*at == '}' || *at == ']')) {
            depth--;
            continue;
        }
        if (!in_text && depth == 1 && *at == ',') {
            printf("\n");
            continue;
        }
        if (*at == '\n' || (!in_text && depth == 1 && *at == ' ' && at > json && at[-1] == ','))
            continue;
        putchar(*at);
    }
    printf("\n");
}

static int write_page(const char *path, const char *title, const char *json) {
    static const char head[] =
        "<!doctype html><meta charset=utf-8><title>Tenon</title><style>body{font:14px "
        "sans-serif;margin:2em}"
        "pre{background:#f4f4f4;padding:1em;overflow:auto}</style><h1>";
    const size_t bytes = strlen(json) * 6 + strlen(title) + sizeof(head) + 64;
    char *page = malloc(bytes);
    if (!page) return cli_fault("no memory for the page");
    size_t at = (size_t)snprintf(page, bytes, "%s%s</h1><pre>", head, title);
    for (const char *c = json; *c; c++) {
        if (*c == '<')
            at += (size_t)snprintf(page + at, bytes - at, "&lt;");
        else if (*c == '&')
            at += (size_t)snprintf(page + at, bytes - at, "&amp;");
        else
            page[at++] = *c;
    }
    at += (size_t)snprintf(page + at, bytes - at, "</pre>\n");
    const bool is_written = whole_file_write(path, NULL, 0, page, at);
    free(page);
    return is_written ? EXIT_DONE : EXIT_FAULT;
}

static int show(const cli_options *options, const char *name, const char *json) {
    if (options->html) return write_page(options->html, name, json);
    if (options->json)
        fputs(json, stdout);
    else
        print_plain(json);
    return EXIT_DONE;
}

static int inspect_plan(tn_runtime *runtime, const cli_options *options, const char *path) {
    char *json;
    if (tn_plan_inspect(runtime, path, &json) != TN_OK) return cli_fail(path);
    const int code = show(options, path, json);
    tn_text_free(runtime, json);
    return code;
}

static int inspect_model(tn_runtime *runtime, const cli_options *options, const char *path) {
    int code = EXIT_FAULT;
    tn_plan *plan = session_build(runtime, path, options, &code);
    if (!plan) return code;
    code = show(options, path, tn_plan_report(plan));
    tn_plan_destroy(plan);
    return code;
}

int command_inspect(int argc, char **argv) {
    cli_options options;
    int code = cli_options_read(argc, argv, "pPstjHv", &options);
    options.no_timing = true;
    if (code == EXIT_DONE && options.help) {
        fputs(help, stdout);
    } else if (code == EXIT_DONE && options.argument_count != 1) {
        code = cli_usage("inspect takes one model or plan (tenon inspect -h)");
    } else if (code == EXIT_DONE) {
        const char *path = options.arguments[0];
        tn_runtime *runtime = cli_runtime(&options, &code);
        if (runtime)
            code = is_plan(path) ? inspect_plan(runtime, &options, path)
                                 : inspect_model(runtime, &options, path);
        tn_runtime_release(runtime);
    }
    cli_options_free(&options);
    return code;
}
