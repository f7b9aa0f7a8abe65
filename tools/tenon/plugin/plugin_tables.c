/* SPDX-License-Identifier: Apache-2.0 */
/* What is registered, as lists: visiting holds the registry, so nothing else can be asked
 * meanwhile. See plugin_show.h. */
#include "plugin_show.h"

#include <stdlib.h>
#include <string.h>

/* Room for one more; false when there is none. */
static bool grow(void **items, size_t *capacity, size_t count, size_t bytes) {
    if (count < *capacity) return true;
    const size_t larger = *capacity ? 2 * *capacity : 256;
    void *grown = realloc(*items, larger * bytes);
    if (!grown) return false;
    *items = grown;
    *capacity = larger;
    return true;
}

static bool note_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    show_tables *t = user;
    if (!grow((void **)&t->operators, &t->operator_capacity, t->operator_count,
              sizeof(*t->operators)))
        return !(t->has_failed = true);
    show_operator *entry = &t->operators[t->operator_count++];
    *entry = (show_operator){op, strdup(library->name), strdup(library->version)};
    t->has_failed |= !entry->library || !entry->version;
    return !t->has_failed;
}

static bool note_kernel(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    show_tables *t = user;
    if (!grow((void **)&t->kernels, &t->kernel_capacity, t->kernel_count, sizeof(*t->kernels)))
        return !(t->has_failed = true);
    show_kernel *entry = &t->kernels[t->kernel_count++];
    *entry = (show_kernel){kernel, strdup(library->name)};
    t->has_failed |= !entry->library;
    return !t->has_failed;
}

static bool note_rewrite(void *user, const tn_rewrite *rewrite, const tn_library_info *library) {
    show_tables *t = user;
    if (!grow((void **)&t->rewrites, &t->rewrite_capacity, t->rewrite_count, sizeof(*t->rewrites)))
        return !(t->has_failed = true);
    show_rewrite *entry = &t->rewrites[t->rewrite_count++];
    *entry = (show_rewrite){rewrite, strdup(library->name)};
    t->has_failed |= !entry->library;
    return !t->has_failed;
}

/* Whether a replacement's text has the operator in it. */
static bool emits(const tn_rewrite *rewrite, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = rewrite->replacement; (at = strstr(at, name)); at += length) {
        const char before = at > rewrite->replacement ? at[-1] : ' ';
        if (strchr(" =:(,\t\n", before) && strchr("(@ ", at[length])) return true;
    }
    return false;
}

bool show_tables_want_rewrite(const show_tables *tables, const show_rewrite *rewrite) {
    return tables->name ? emits(rewrite->rewrite, tables->name)
                        : strcmp(rewrite->library, tables->library) == 0;
}

bool show_tables_read(show_tables *tables, tn_runtime *runtime) {
    tn_runtime_visit_operators(runtime, note_operator, tables);
    tn_runtime_visit_kernels(runtime, note_kernel, tables);
    tn_runtime_visit_rewrites(runtime, note_rewrite, tables);
    return !tables->has_failed;
}

void show_tables_free(show_tables *tables) {
    for (size_t i = 0; i < tables->operator_count; i++) {
        free(tables->operators[i].library);
        free(tables->operators[i].version);
    }
    for (size_t i = 0; i < tables->kernel_count; i++)
        free(tables->kernels[i].library);
    for (size_t i = 0; i < tables->rewrite_count; i++)
        free(tables->rewrites[i].library);
    free(tables->rewrites);
    free(tables->operators);
    free(tables->kernels);
}

bool show_tables_want(const show_tables *tables, const show_operator *op) {
    if (tables->name)
        return strcmp(tables->name, op->op->name) == 0 &&
               (tables->is_any_domain || strcmp(tables->domain, op->op->domain) == 0);
    return strcmp(tables->library, op->library) == 0;
}
