/* SPDX-License-Identifier: Apache-2.0 */
/* The importers' tables for the command line; see importers.h. */
#include "importers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static struct {
    tn_runtime *runtime;
    const cli_options *options;
    bool has_plugins;
} own;

void importers_use(const cli_options *options) {
    own.options = options;
}

void importers_close(void) {
    tn_runtime_release(own.runtime);
    own.runtime = NULL;
    own.has_plugins = false;
}

static tn_runtime *runtime(void) {
    if (!own.runtime) (void)tn_runtime_create(NULL, &own.runtime);
    return own.runtime;
}

/* Libraries that are given may have importers; what is wrong with one is said when it is loaded in
 * earnest. False: there are none, or they were loaded before. */
static bool load_plugins(void) {
    if (own.has_plugins || !own.options || !runtime()) return false;
    own.has_plugins = true;
    bool is_any = false;
    for (size_t i = 0; i < own.options->plugins.count; i++)
        is_any |= tn_runtime_load_library(own.runtime, own.options->plugins.items[i]) == TN_OK;
    for (size_t i = 0; i < own.options->plugin_dirs.count; i++)
        is_any |=
            tn_runtime_add_search_path(own.runtime, own.options->plugin_dirs.items[i]) == TN_OK;
    return is_any;
}

/* ----------------------------------------------------------------------------------------------
 * files */

static bool has_ending(const tn_importer *importer, const char *path) {
    const size_t all = strlen(path);
    for (const char *at = importer->endings; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (all > length && strncasecmp(path + all - length, at, length) == 0) return true;
        at += length;
    }
    return false;
}

typedef struct search {
    const char *path, *name; /* wanted; either is null */
    const tn_importer *importer;
    const tn_field *field;
} search;

static bool visit_ending(void *user, const tn_importer *importer, const tn_library_info *library) {
    search *wanted = user;
    (void)library;
    if (!has_ending(importer, wanted->path)) return true;
    wanted->importer = importer;
    return false;
}

static const tn_importer *find_file(const char *path) {
    const tn_importer *importer = NULL;
    search wanted = {.path = path};
    if (!runtime()) return NULL;
    if (access(path, R_OK) == 0)
        return tn_graph_find_importer(own.runtime, path, &importer) == TN_OK ? importer : NULL;
    tn_runtime_visit_importers(own.runtime, visit_ending, &wanted);
    return wanted.importer;
}

const tn_importer *importers_of_file(const char *path) {
    const tn_importer *importer = find_file(path);
    if (!importer && load_plugins()) importer = find_file(path);
    return importer;
}

/* ----------------------------------------------------------------------------------------------
 * options */

static const tn_field *field_at(const tn_importer *importer, uint32_t index) {
    return (const tn_field *)(const void *)((const char *)importer->fields +
                                            (size_t)index * importer->field_size);
}

/* The same but for '-' and '_'. */
static bool is_named(const char *field, const char *name) {
    for (; *field && *name; field++, name++)
        if (*field != *name && !(*field == '_' && *name == '-')) return false;
    return *field == *name;
}

const tn_field *importers_field(const tn_importer *importer, const char *name) {
    for (uint32_t i = 0; i < importer->field_count; i++)
        if (is_named(field_at(importer, i)->name, name)) return field_at(importer, i);
    return NULL;
}

/* Others come from --input, --output and --shape, or from memory. */
static bool is_option(const tn_field *field) {
    static const char *const others[] = {"inputs", "outputs", "open_inputs"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(field->name, others[i]) == 0) return false;
    return field->type != TN_FIELD_BYTES;
}

static bool visit_option(void *user, const tn_importer *importer, const tn_library_info *library) {
    search *wanted = user;
    const tn_field *field = importers_field(importer, wanted->name);
    (void)library;
    if (!field || !is_option(field)) return true;
    wanted->importer = importer;
    wanted->field = field;
    return false;
}

const tn_field *importers_option(const char *name, const tn_importer **out_importer) {
    search wanted = {.name = name};
    if (!runtime()) return NULL;
    tn_runtime_visit_importers(own.runtime, visit_option, &wanted);
    if (!wanted.field && load_plugins())
        tn_runtime_visit_importers(own.runtime, visit_option, &wanted);
    if (out_importer) *out_importer = wanted.importer;
    return wanted.field;
}

/* ----------------------------------------------------------------------------------------------
 * texts */

typedef struct listing {
    char *text;
    size_t bytes, length;
} listing;

static bool visit_list(void *user, const tn_importer *importer, const tn_library_info *library) {
    listing *list = user;
    (void)library;
    const int written =
        snprintf(list->text + list->length, list->bytes - list->length, "%s%s%s%s%s",
                 list->length > 0 ? ", " : "", importer->what, importer->endings[0] ? " (" : "",
                 importer->endings, importer->endings[0] ? ")" : "");
    if (written > 0) list->length += (size_t)written;
    if (list->length >= list->bytes) list->length = list->bytes - 1;
    return true;
}

void importers_list(char *text, size_t bytes) {
    listing list = {.text = text, .bytes = bytes};
    text[0] = '\0';
    if (runtime()) tn_runtime_visit_importers(own.runtime, visit_list, &list);
}

static const char *value_word(uint32_t type) {
    switch (type) {
    case TN_FIELD_BOOL:
        return "";
    case TN_FIELD_I32:
    case TN_FIELD_I64:
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        return " N";
    default:
        return " TEXT";
    }
}

static bool print_options(void *user, const tn_importer *importer, const tn_library_info *library) {
    (void)user;
    (void)library;
    for (uint32_t i = 0; i < importer->field_count; i++) {
        const tn_field *field = field_at(importer, i);
        char name[100];
        if (!is_option(field)) continue;
        snprintf(name, sizeof(name), "--%.60s%s%.30s", field->name,
                 field->choices ? " " : value_word(field->type),
                 field->choices ? field->choices : "");
        for (char *at = name; *at && *at != ' '; at++)
            if (*at == '_') *at = '-';
        printf("  %s%-25s  %s: %s\n", strcmp(field->name, "weights") == 0 ? "-w, " : "    ", name,
               importer->name, field->doc ? field->doc : "");
    }
    return true;
}

void importers_print_options(void) {
    if (!runtime()) return;
    (void)load_plugins();
    printf("of a model's format:\n");
    tn_runtime_visit_importers(own.runtime, print_options, NULL);
}
