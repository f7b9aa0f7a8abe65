/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon doctor MODEL|PLAN: each operator and library that is needed, found or not, where, and with
 * the content that the plan was built with or another one. What is searched and loaded is what a
 * run would search and load.
 */
#include "doctor.h"
#include "session/model.h"
#include "session/session.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_true(const json *value) {
    return json_number(value, 0) != 0;
}

/* A reason of several lines, each under its location. */
static void print_reason(const char *why) {
    for (; *why; why += *why == '\n') {
        const size_t length = strcspn(why, "\n");
        printf("      %.*s\n", (int)length, why);
        why += length;
    }
}

static void print_library(const json *library) {
    const char *state = json_text_of(library, "state"), *file = json_text_of(library, "file"),
               *path = json_text_of(library, "found_path");
    printf("  %s %s", json_text_of(library, "name"), json_text_of(library, "version"));
    if (file[0]) printf(" (%s, content %s)", file, json_text_of(library, "hash"));
    if (json_text_of(library, "sha256")[0])
        printf(", embedded with SHA-256 %s", json_text_of(library, "sha256"));
    if (strcmp(state, "missing") == 0) {
        printf(": MISSING%s\n", is_true(json_member(library, "needed"))
                                    ? ""
                                    : "; it gave kernels, which are chosen again without it");
        print_reason(json_text_of(library, "why"));
    } else if (!path[0]) {
        printf(": linked in\n");
    } else if (strcmp(state, "same") == 0) {
        printf(": the same content, %s\n", path);
    } else {
        printf(": OTHER content %s, version %s, %s\n", json_text_of(library, "found_hash"),
               json_text_of(library, "found_version"), path);
    }
}

/* Why an operator is missing is said with its library, where that is missing too. */
static bool is_library_missing(const json *libraries, const char *name) {
    for (const json *it = libraries ? libraries->first : NULL; it; it = it->next)
        if (strcmp(json_text_of(it, "name"), name) == 0)
            return strcmp(json_text_of(it, "state"), "missing") == 0;
    return false;
}

static size_t print_operators(const json *operators, const json *libraries) {
    size_t builtin = 0;
    for (const json *it = operators ? operators->first : NULL; it; it = it->next) {
        const bool is_found = is_true(json_member(it, "found"));
        const char *domain = json_text_of(it, "domain"), *source = json_text_of(it, "found_in");
        if (is_found && strcmp(source, "builtin") == 0) {
            builtin++;
            continue;
        }
        printf("  %s%s%s version %.0f: ", domain, domain[0] ? "::" : "", json_text_of(it, "name"),
               json_number_of(it, "version"));
        if (is_found)
            printf("found in library %s\n", source);
        else
            printf("MISSING, of library %s\n", json_text_of(it, "library"));
        if (!is_found && !is_library_missing(libraries, json_text_of(it, "library")))
            print_reason(json_text_of(it, "why"));
    }
    return builtin;
}

/* Which machines the plan has kernels for; true where one of them is this. */
static bool print_programs(const json *programs, double fitting) {
    const long cores = doctor_core_count();
    printf("kernels were chosen for:\n");
    for (const json *it = programs ? programs->first : NULL; it; it = it->next) {
        const double threads = json_number_of(it, "threads");
        const json *profile = json_member(it, "profile");
        printf("  %s; %.0f thread%s", json_text_of(it, "fingerprint"), threads,
               threads == 1 ? "" : "s");
        if (profile) printf("; profile %.0f", json_number(profile, 0));
        printf(": ");
        if (is_true(json_member(it, "fits")) && threads > (double)cores)
            printf("this machine, where only %ld cores may be used\n", cores);
        else if (is_true(json_member(it, "fits")))
            printf("this machine\n");
        else
            printf("not this machine: %s\n", json_text_of(it, "why"));
    }
    if (fitting == 0)
        printf("  none of them is this machine: loading chooses kernels again, without timing, and "
               "--exact refuses; build the plan here\n");
    return fitting > 0;
}

static int print_explanation(const char *name, const char *text, bool is_exact) {
    json *document = json_read(text);
    if (!document) return cli_fault("%s: what was found cannot be read", name);
    const json *operators = json_member(document, "operators"),
               *libraries = json_member(document, "libraries");
    const double missing = json_number_of(document, "missing");
    printf("%s\nlibraries:\n", name);
    for (const json *it = libraries ? libraries->first : NULL; it; it = it->next)
        print_library(it);
    printf("operators:\n");
    const size_t builtin = print_operators(operators, libraries);
    if (builtin > 0) printf("  %zu more, all found among the built-in ones\n", builtin);
    if (missing > 0)
        printf("%.0f of %zu operators missing\n", missing, json_count(operators));
    else
        printf("all %zu operators found\n", json_count(operators));
    const bool fits =
        print_programs(json_member(document, "programs"), json_number_of(document, "fitting"));
    json_free(document);
    return missing > 0 || (is_exact && !fits) ? EXIT_FAULT : EXIT_DONE;
}

static int explain_plan(tn_runtime *runtime, const char *path, const char *name,
                        const cli_options *options) {
    const tn_engine_options engine = session_engine_options(options);
    char *text = NULL;
    if (session_load_embedded(runtime, path, options) != TN_OK) return cli_fail(name);
    if (tn_plan_explain(runtime, path, &engine, &text) != TN_OK) return cli_fail(name);
    int code = EXIT_DONE;
    if (options->json) {
        json *document = json_read(text);
        const bool is_missing = json_number(json_member(document, "missing"), 1) > 0,
                   fits = json_number_of(document, "fitting") > 0;
        code = is_missing || (options->exact && !fits) ? EXIT_FAULT : EXIT_DONE;
        fputs(text, stdout);
        json_free(document);
    } else {
        code = print_explanation(name, text, options->exact);
    }
    tn_text_free(runtime, text);
    return code;
}

/* A model is built into a plan that is forgotten again. What is missing is said by the reader. */
static int explain_model(tn_runtime *runtime, const char *path, const cli_options *options) {
    int code = EXIT_FAULT;
    char name[] = "/tmp/tenon-doctor-XXXXXX";
    cli_options build = *options;
    build.no_timing = true;
    tn_plan *plan = session_build(runtime, path, &build, &code);
    if (!plan) return code == EXIT_UNSUPPORTED ? EXIT_FAULT : code;
    const int descriptor = mkstemp(name);
    if (descriptor < 0) {
        code = cli_fault("cannot create a temporary file");
    } else {
        close(descriptor);
        code = tn_plan_save(plan, name) == TN_OK ? explain_plan(runtime, name, path, options)
                                                 : cli_fail(name);
        unlink(name);
    }
    tn_plan_destroy(plan);
    return code;
}

int doctor_file(tn_runtime *runtime, const char *path, const cli_options *options) {
    return model_is_named(path) ? explain_model(runtime, path, options)
                                : explain_plan(runtime, path, path, options);
}
