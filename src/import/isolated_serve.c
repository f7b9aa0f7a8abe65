/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper's side of reading a model: a runtime with the asker's libraries and search path reads
 * it, and the graph is packed while its reading lasts. What the process is about is in the shared
 * page before it begins with it. Then it ends, without any library's last word.
 */
#include "base/status.h"
#include "helper/helper_process.h"
#include "import/isolated.h"
#include "plugin/library_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct server {
    tn_isolated_page *page;
    tn_isolated_request request;
    tn_isolated_cursor cursor;
    tn_runtime *runtime;
    tn_arena *arena;
} server;

static void note_stage(server *s, uint32_t stage) {
    atomic_store(&s->page->stage, stage);
}

static void name_it(char *to, size_t capacity, const char *name) {
    snprintf(to, capacity, "%s", name);
}

/* ----------------------------------------------------------------------------------------------
 * the request */

static tn_status take_request(server *s) {
    tn_isolated_take(&s->cursor, &s->request, sizeof(s->request));
    s->request.path = tn_isolated_take_text(&s->cursor);
    s->request.folder = tn_isolated_take_text(&s->cursor);
    s->request.format = tn_isolated_take_text(&s->cursor);
    return s->cursor.status;
}

static bool has_search_path(tn_runtime *runtime, const char *path) {
    for (size_t i = 0; i < tn_runtime_search_path_count(runtime); i++)
        if (strcmp(tn_runtime_search_path(runtime, i), path) == 0) return true;
    return false;
}

static tn_status add_search_paths(server *s) {
    for (uint64_t i = 0; i < s->request.search_path_count; i++) {
        const char *path = tn_isolated_take_name(&s->cursor);
        TN_TRY(s->cursor.status);
        if (!has_search_path(s->runtime, path))
            TN_TRY(tn_runtime_add_search_path(s->runtime, path));
    }
    return TN_OK;
}

static tn_status load_libraries(server *s) {
    for (uint64_t i = 0; i < s->request.library_count; i++) {
        tn_library_load_options options = {0};
        tn_loaded_library *library;
        const uint64_t hash = tn_isolated_take_u64(&s->cursor);
        const char *path = tn_isolated_take_name(&s->cursor);
        options.domain = tn_isolated_take_name(&s->cursor);
        TN_TRY(s->cursor.status);
        name_it(s->page->library, sizeof(s->page->library), path);
        note_stage(s, TN_ISOLATED_LOADS);
        TN_TRY(tn_library_load(s->runtime, path, &options, &library));
        if (library->hash != hash)
            return tn_fail(TN_ERROR_STATE,
                           "library %s was replaced by another one since it was loaded", path);
    }
    s->page->library[0] = 0;
    return TN_OK;
}

static tn_status take_options(server *s, tn_import_options *options) {
    const uint64_t count = s->request.option_count;
    tn_attribute *items = tn_arena_allocate(s->arena, (size_t)count, sizeof(*items));
    const tn_attribute **list = tn_arena_allocate(s->arena, (size_t)count, sizeof(*list));
    if (!items || !list) return tn_fail_memory("options");
    for (uint64_t i = 0; i < count; i++) {
        items[i] = tn_isolated_take_attribute(&s->cursor, s->arena);
        list[i] = &items[i];
    }
    *options = (tn_import_options){.size = sizeof(*options),
                                   .format = s->request.format,
                                   .option_count = count,
                                   .options = list};
    return s->cursor.status;
}

/* ----------------------------------------------------------------------------------------------
 * reading */

/* Behind what was logged before; what does not fit is left out. */
static void keep_log(void *user, uint32_t level, const char *text) {
    tn_isolated_page *page = user;
    const size_t length = strlen(text), capacity = TN_ISOLATED_LOG_BYTES - page->log_bytes;
    if (length + 2 > capacity) return;
    page->log[page->log_bytes] = (char)level;
    memcpy(page->log + page->log_bytes + 1, text, length + 1);
    page->log_bytes += (uint32_t)length + 2;
}

static void loads(void *user, const char *path) {
    server *s = user;
    name_it(s->page->library, sizeof(s->page->library), path ? path : "");
    note_stage(s, path ? TN_ISOLATED_LOADS : TN_ISOLATED_CHOOSES);
}

static void begins(void *user, const tn_importer_entry *entry) {
    server *s = user;
    name_it(s->page->importer, sizeof(s->page->importer), entry->importer.name);
    name_it(s->page->library, sizeof(s->page->library), entry->library ? entry->library->path : "");
    note_stage(s, TN_ISOLATED_READS);
}

static tn_status ends(void *user, const tn_reading *reading) {
    server *s = user;
    note_stage(s, TN_ISOLATED_PACKS);
    return tn_isolated_pack(reading, TN_HELPER_SECOND, s->page);
}

static tn_status read_model(server *s) {
    const tn_reading_watch watch = {
        .user = s, .position = &s->page->position, .loads = loads, .begins = begins, .ends = ends};
    tn_import_options options;
    tn_graph *graph = NULL;
    TN_TRY(take_options(s, &options));
    const tn_reading_source from = {.path = s->request.path,
                                    .folder = s->request.folder,
                                    .data = s->cursor.at,
                                    .bytes = (size_t)(s->cursor.end - s->cursor.at)};
    note_stage(s, TN_ISOLATED_CHOOSES);
    return tn_reading_load(s->runtime, &options, &from, &watch, &graph);
}

static tn_status serve(server *s) {
    TN_TRY(take_request(s));
    const tn_runtime_options options = {
        .size = sizeof(options),
        .flags = s->request.reads_environment ? 0 : TN_RUNTIME_NO_ENVIRONMENT,
        .log_level = s->request.log_level,
        .log = keep_log,
        .log_user = s->page};
    TN_TRY(tn_runtime_create(&options, &s->runtime));
    TN_TRY(tn_arena_create(tn_runtime_allocator(s->runtime), &s->arena));
    TN_TRY(add_search_paths(s));
    TN_TRY(load_libraries(s));
    return read_model(s);
}

/* ----------------------------------------------------------------------------------------------
 * the process */

/* Where memory is short this process goes first. */
static void volunteer(void) {
    const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    if (write(file, "1000", 4) < 0) { /* then it does not */
    }
    close(file);
}

int tn_helper_read(void) {
    server s = {.page = tn_helper_map_page(sizeof(tn_isolated_page))};
    if (!s.page || s.page->version != TN_ISOLATED_VERSION || s.page->bytes != sizeof(*s.page))
        return 2;
    volunteer();
    const size_t bytes = (size_t)s.page->request_bytes;
    const char *request = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, TN_HELPER_SECOND, 0);
    if (request == MAP_FAILED || !tn_helper_watch()) return 1;
    s.cursor = (tn_isolated_cursor){.at = request, .end = request + bytes};
    s.page->status = serve(&s);
    if (s.page->status != TN_OK) tn_error_save(&s.page->error);
    note_stage(&s, TN_ISOLATED_ENDED);
    _exit(0);
}
